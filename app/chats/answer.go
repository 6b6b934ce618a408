package chats

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"ingot/storage"
)

// saveEvery leaves room for the write itself: an answer is on disk at least once a second.
const saveEvery = 750 * time.Millisecond

// Draft is an answer that is being written. It is on disk, in StateWriting, from the start, and again within a
// second of each Append. It ends with Finish, Stop or Fail; each of these writes the rest at once, and can be called
// again where it returns an error, since the text is still in memory then.
type Draft struct {
	s            *Service
	conversation storage.ID

	saving sync.Mutex // held while the message goes to disk, so that writes keep their order

	mu       sync.Mutex
	msg      storage.Message // Content and Reasoning are in text and thoughts
	text     strings.Builder
	thoughts strings.Builder
	began    time.Time   // of the first thought; zero: none, or over
	timer    *time.Timer // a save is due; nil: all is saved
	last     time.Time   // of the last save
	ended    bool        // nothing is added any more
}

// Writing returns the answer that is being written in a conversation, or nil.
func (s *Service) Writing(conversation storage.ID) *Draft {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.drafts[conversation]
}

// BeginAnswer starts an answer to the question that the path ends with.
func (s *Service) BeginAnswer(id storage.ID, model string) (*Draft, error) {
	return s.begin(id, func(tx *storage.Tx, c *storage.Conversation) (storage.Message, error) {
		last, err := tx.Message(id, c.Leaf)
		if errors.Is(err, storage.ErrNotFound) || err == nil && last.Role == "assistant" {
			err = ErrNothingToAnswer
		}
		return newAnswer(c.Leaf, model), err
	})
}

// Regenerate starts another answer beside one that is there.
func (s *Service) Regenerate(id, answer storage.ID, model string) (*Draft, error) {
	return s.begin(id, func(tx *storage.Tx, c *storage.Conversation) (storage.Message, error) {
		old, err := tx.Message(id, answer)
		if err == nil && old.Role != "assistant" {
			err = ErrWrongMessage
		}
		return newAnswer(old.Parent, model), err
	})
}

// Continue goes on with an answer that ended early. The draft begins with its text; thoughts that led to none are
// thought anew.
func (s *Service) Continue(id, answer storage.ID) (*Draft, error) {
	return s.begin(id, func(tx *storage.Tx, c *storage.Conversation) (storage.Message, error) {
		old, err := tx.Message(id, answer)
		if err == nil && (old.Role != "assistant" || answer != c.Leaf) {
			err = ErrWrongMessage
		}
		if old.Content == "" {
			old.Reasoning, old.Thought = "", 0
		}
		old.State, old.Error = storage.StateWriting, ""
		return old, err
	})
}

func newAnswer(parent storage.ID, model string) storage.Message {
	return storage.Message{Parent: parent, Role: "assistant", Model: model, State: storage.StateWriting, Created: time.Now()}
}

// begin saves the message that makes, which may be an old one, and opens a draft on it.
func (s *Service) begin(id storage.ID, makes func(*storage.Tx, *storage.Conversation) (storage.Message, error)) (*Draft, error) {
	s.mu.Lock()
	_, busy := s.drafts[id]
	if !busy {
		s.drafts[id] = nil // the place is taken; others see the draft when it is on disk
	}
	s.mu.Unlock()
	if busy {
		return nil, ErrBusy
	}

	var m storage.Message
	err := s.edit(id, func(tx *storage.Tx, c *storage.Conversation) (err error) {
		if m, err = makes(tx, c); err != nil {
			return err
		}
		if m.ID != 0 {
			return tx.PutMessage(id, &m)
		}
		return add(tx, c, &m)
	})
	if err != nil {
		s.forget(id)
		return nil, fmt.Errorf("start the answer: %w", err)
	}
	d := &Draft{s: s, conversation: id}
	d.text.WriteString(m.Content)
	d.thoughts.WriteString(m.Reasoning)
	d.msg = m
	d.msg.Content, d.msg.Reasoning = "", ""
	s.mu.Lock()
	s.drafts[id] = d
	s.mu.Unlock()
	s.Send(Change{Kind: Messages, Conversation: id, Message: m.ID})
	s.Send(Change{Kind: Changed, Conversation: id})
	return d, nil
}

func (s *Service) forget(conversation storage.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.drafts, conversation)
}

// Message returns the answer so far.
func (d *Draft) Message() storage.Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.message()
}

func (d *Draft) message() storage.Message {
	m := d.msg
	m.Content, m.Reasoning = d.text.String(), d.thoughts.String()
	if !d.began.IsZero() {
		m.Thought += time.Since(d.began)
	}
	return m
}

// Append adds a piece of the answer and of its reasoning; either may be empty. It does not wait for the disk.
func (d *Draft) Append(text, reasoning string) {
	if text == "" && reasoning == "" {
		return
	}
	d.mu.Lock()
	if d.ended {
		d.mu.Unlock()
		return
	}
	if reasoning != "" && d.began.IsZero() {
		d.began = time.Now()
	}
	d.thoughts.WriteString(reasoning)
	if text != "" && !d.began.IsZero() {
		d.msg.Thought += time.Since(d.began)
		d.began = time.Time{}
	}
	d.text.WriteString(text)
	if d.timer == nil {
		d.timer = time.AfterFunc(max(0, saveEvery-time.Since(d.last)), d.save)
	}
	id := d.msg.ID
	d.mu.Unlock()
	d.s.Send(Change{Kind: Text, Conversation: d.conversation, Message: id})
}

// save writes what is there, from the timer. Where that fails it tries again.
func (d *Draft) save() {
	d.saving.Lock()
	defer d.saving.Unlock()
	d.mu.Lock()
	if d.ended {
		d.mu.Unlock()
		return
	}
	d.timer, d.last = nil, time.Now()
	m := d.message()
	d.mu.Unlock()

	err := d.s.db.Update(func(tx *storage.Tx) error { return tx.PutMessage(d.conversation, &m) })
	if err == nil {
		return
	}
	d.mu.Lock()
	switch {
	case errors.Is(err, storage.ErrNotFound): // purged; there is no place for the answer
		d.ended = true
		d.s.forget(d.conversation)
	case d.timer == nil && !d.ended:
		d.timer = time.AfterFunc(saveEvery, d.save)
	}
	d.mu.Unlock()
	d.s.Send(Change{Kind: SaveFailed, Conversation: d.conversation, Message: m.ID, Err: err})
}

// Finish ends an answer that is complete.
func (d *Draft) Finish(stats storage.Stats) error { return d.end(storage.StateComplete, "", &stats) }

// Stop ends an answer because the user said so. stats may be nil.
func (d *Draft) Stop(stats *storage.Stats) error { return d.end(storage.StateStopped, "", stats) }

// Fail ends an answer because of why, a sentence for the user. What was written is kept.
func (d *Draft) Fail(why error) error { return d.end(storage.StateError, why.Error(), nil) }

func (d *Draft) end(state storage.State, why string, stats *storage.Stats) error {
	d.saving.Lock()
	defer d.saving.Unlock()
	d.mu.Lock()
	if d.ended {
		d.mu.Unlock()
		return nil
	}
	d.ended = true
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
	m := d.message()
	m.State, m.Error = state, why
	if stats != nil {
		m.Stats = *stats
	}
	d.mu.Unlock()

	err := d.s.edit(d.conversation, func(tx *storage.Tx, c *storage.Conversation) error {
		c.Updated = time.Now()
		return tx.PutMessage(c.ID, &m)
	})
	if errors.Is(err, storage.ErrNotFound) {
		d.s.forget(d.conversation) // the conversation was purged; there is no place for the answer
		return fmt.Errorf("save the answer: %w", err)
	}
	if err != nil {
		d.mu.Lock()
		d.ended = false
		d.timer = time.AfterFunc(saveEvery, d.save)
		d.mu.Unlock()
		return fmt.Errorf("save the answer: %w", err)
	}
	d.mu.Lock()
	d.msg, d.began = m, time.Time{}
	d.msg.Content, d.msg.Reasoning = "", ""
	d.mu.Unlock()
	d.s.forget(d.conversation)
	d.s.Send(Change{Kind: Finished, Conversation: d.conversation, Message: m.ID})
	d.s.Send(Change{Kind: Changed, Conversation: d.conversation})
	return nil
}
