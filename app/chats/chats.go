// Package chats is what can be done with conversations: start, list, rename, delete and bring back, write a
// message, edit one, and have an answer written that survives a crash.
//
// A conversation is a tree of messages. What is shown is one path from a root to the leaf; editing a question and
// asking for another answer add siblings, and Switch goes from one to the other. Nothing is overwritten.
package chats

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ingot/app/feed"
	"ingot/storage"
)

var (
	// ErrBusy is returned when a conversation is asked for a second answer while one is being written.
	ErrBusy = errors.New("an answer is being written in this conversation")
	// ErrEmpty is returned for a message without text.
	ErrEmpty = errors.New("the message is empty")
	// ErrNothingToAnswer is returned when the path does not end with a question.
	ErrNothingToAnswer = errors.New("there is no question to answer")
	// ErrWrongMessage is returned when what was asked does not go with that message, such as editing an answer.
	ErrWrongMessage = errors.New("not possible for this message")
)

// Kind says what a Change is about.
type Kind int

const (
	Added      Kind = iota // a conversation is new, or back from the trash
	Changed                // its head: title, model, settings, place in the list
	Removed                // it went to the trash, or for good
	Messages               // its path has other messages than before
	Text                   // the answer being written grew; comes often
	Finished               // an answer is finished and on disk
	SaveFailed             // an answer could not be saved; it is in memory and tried again. Err says why.
)

// Change says what happened. Message is 0 where it concerns the whole conversation.
type Change struct {
	Kind         Kind
	Conversation storage.ID
	Message      storage.ID
	Err          error
}

// Service is the conversations of one database. It is safe for concurrent use.
type Service struct {
	feed.Of[Change]
	db *storage.DB

	mu     sync.Mutex
	drafts map[storage.ID]*Draft // by conversation; nil while one begins
}

// Open starts on a database. Answers that a process left unfinished become partial ones; their text is kept.
func Open(db *storage.DB) (*Service, error) {
	err := db.Update(func(tx *storage.Tx) error {
		left, err := tx.Writing()
		if err != nil {
			return err
		}
		for _, p := range left {
			m, err := tx.Message(p.Conversation, p.Message)
			if err != nil {
				return err
			}
			m.State = storage.StatePartial
			if err := tx.PutMessage(p.Conversation, &m); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &Service{db: db, drafts: map[storage.ID]*Draft{}}, nil
}

// Close saves the answers that are being written as partial ones. The database stays open.
func (s *Service) Close() error {
	s.mu.Lock()
	drafts := make([]*Draft, 0, len(s.drafts))
	for _, d := range s.drafts {
		if d != nil {
			drafts = append(drafts, d)
		}
	}
	s.mu.Unlock()
	var err error
	for _, d := range drafts {
		err = errors.Join(err, d.end(storage.StatePartial, "", nil))
	}
	return err
}

// Start says how a conversation begins; the zero value is right for most.
type Start struct {
	Model     string // how the library finds it; empty: the default
	Reasoning string // "", "on" or "off"
	System    string
	Folder    string
}

// New makes a conversation without messages. Its title comes with the first one.
func (s *Service) New(o Start) (storage.Conversation, error) {
	if err := checkReasoning(o.Reasoning); err != nil {
		return storage.Conversation{}, err
	}
	now := time.Now()
	c := storage.Conversation{Model: o.Model, Reasoning: o.Reasoning, System: o.System, Folder: o.Folder, Created: now, Updated: now}
	err := s.db.Update(func(tx *storage.Tx) error { return tx.PutConversation(&c) })
	if err != nil {
		return storage.Conversation{}, fmt.Errorf("start a conversation: %w", err)
	}
	s.Send(Change{Kind: Added, Conversation: c.ID})
	return c, nil
}

// List returns the conversations, pinned ones first, then the last updated first.
func (s *Service) List() ([]storage.Conversation, error) {
	var list []storage.Conversation
	err := s.db.View(func(tx *storage.Tx) (err error) {
		list, err = tx.Conversations(0)
		return err
	})
	slices.SortStableFunc(list, func(a, b storage.Conversation) int {
		switch {
		case a.Pinned == b.Pinned:
			return 0
		case a.Pinned:
			return -1
		}
		return 1
	})
	return list, err
}

// Rename gives a title. An empty one goes back to the automatic title.
func (s *Service) Rename(id storage.ID, name string) error {
	name = strings.Join(strings.Fields(name), " ")
	return s.change(id, "rename", func(tx *storage.Tx, c *storage.Conversation) error {
		c.Title, c.Named = name, name != ""
		if c.Named {
			return nil
		}
		ms, err := tx.Messages(id)
		for _, m := range ms {
			if m.Role == "user" {
				c.Title = title(m.Content)
				break
			}
		}
		return err
	})
}

// SetModel says which model answers from now on.
func (s *Service) SetModel(id storage.ID, model string) error {
	return s.change(id, "set the model of", func(_ *storage.Tx, c *storage.Conversation) error { c.Model = model; return nil })
}

// SetReasoning says whether a model that can think aloud should: "" (auto), "on" or "off".
func (s *Service) SetReasoning(id storage.ID, reasoning string) error {
	if err := checkReasoning(reasoning); err != nil {
		return err
	}
	return s.change(id, "set the reasoning of", func(_ *storage.Tx, c *storage.Conversation) error { c.Reasoning = reasoning; return nil })
}

// SetSystem gives the instructions that stand before the first message.
func (s *Service) SetSystem(id storage.ID, text string) error {
	return s.change(id, "set the instructions of", func(_ *storage.Tx, c *storage.Conversation) error { c.System = text; return nil })
}

// SetFolder puts a conversation in a folder; "" takes it out.
func (s *Service) SetFolder(id storage.ID, folder string) error {
	return s.change(id, "move", func(_ *storage.Tx, c *storage.Conversation) error { c.Folder = folder; return nil })
}

// SetPinned keeps a conversation on top of the list.
func (s *Service) SetPinned(id storage.ID, pinned bool) error {
	return s.change(id, "pin", func(_ *storage.Tx, c *storage.Conversation) error { c.Pinned = pinned; return nil })
}

func checkReasoning(r string) error {
	switch r {
	case "", "on", "off":
		return nil
	}
	return fmt.Errorf("reasoning is auto, on or off, not %q", r)
}

// change edits a head and tells the listeners.
func (s *Service) change(id storage.ID, verb string, fn func(*storage.Tx, *storage.Conversation) error) error {
	if err := s.edit(id, fn); err != nil {
		return fmt.Errorf("%s the conversation: %w", verb, err)
	}
	s.Send(Change{Kind: Changed, Conversation: id})
	return nil
}

func (s *Service) edit(id storage.ID, fn func(*storage.Tx, *storage.Conversation) error) error {
	return s.db.Update(func(tx *storage.Tx) error {
		c, err := tx.Conversation(id)
		if err != nil {
			return err
		}
		if err := fn(tx, &c); err != nil {
			return err
		}
		return tx.PutConversation(&c)
	})
}

// Delete puts a conversation in the trash. undo brings it back to where it was; so does Restore, later.
func (s *Service) Delete(id storage.ID) (undo func() error, err error) {
	err = s.edit(id, func(_ *storage.Tx, c *storage.Conversation) error {
		if c.Deleted.IsZero() {
			c.Deleted = time.Now()
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("delete the conversation: %w", err)
	}
	s.Send(Change{Kind: Removed, Conversation: id})
	return func() error { return s.Restore(id) }, nil
}

// Restore takes a conversation out of the trash. It returns storage.ErrNotFound when it is gone for good.
func (s *Service) Restore(id storage.ID) error {
	err := s.edit(id, func(_ *storage.Tx, c *storage.Conversation) error {
		c.Deleted = time.Time{}
		return nil
	})
	if err != nil {
		return fmt.Errorf("bring the conversation back: %w", err)
	}
	s.Send(Change{Kind: Added, Conversation: id})
	return nil
}

// Trash returns the deleted conversations, last deleted first.
func (s *Service) Trash() ([]storage.Conversation, error) {
	var list []storage.Conversation
	err := s.db.View(func(tx *storage.Tx) (err error) {
		list, err = tx.Trash()
		return err
	})
	return list, err
}

// Purge removes for good what has been in the trash for longer than keep; 0 empties it. It returns how many.
func (s *Service) Purge(keep time.Duration) (int, error) {
	n, before := 0, time.Now().Add(-keep)
	err := s.db.Update(func(tx *storage.Tx) error {
		list, err := tx.Trash()
		if err != nil {
			return err
		}
		for _, c := range list {
			if c.Deleted.After(before) {
				continue
			}
			if err := tx.DeleteConversation(c.ID); err != nil {
				return err
			}
			n++
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("empty the trash: %w", err)
	}
	return n, nil
}
