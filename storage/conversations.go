package storage

import (
	"fmt"
	"time"

	"go.etcd.io/bbolt"
)

// Conversation is the head of a conversation; its messages lie apart, so a list of heads is cheap.
type Conversation struct {
	ID        ID        `json:"id"`
	Title     string    `json:"title"`
	Named     bool      `json:"named,omitempty"`     // by the user: no automatic title replaces it
	Model     string    `json:"model,omitempty"`     // how the library finds it; empty: the default
	Reasoning string    `json:"reasoning,omitempty"` // "" (auto), "on" or "off"
	System    string    `json:"system,omitempty"`
	Folder    string    `json:"folder,omitempty"`
	Pinned    bool      `json:"pinned,omitempty"`
	Created   time.Time `json:"created"`
	Updated   time.Time `json:"updated"`
	Deleted   time.Time `json:"deleted,omitzero"` // when it was put in the trash
	Leaf      ID        `json:"leaf,omitempty"`   // the message that the visible path ends with
	// Chosen holds, for a message with several children, the one last looked at. The key 0 is the root.
	// A message that is not in it shows its newest child.
	Chosen map[ID]ID `json:"chosen,omitempty"`
}

// State says how far an answer came.
type State string

const (
	StateComplete State = "complete"
	StateWriting  State = "writing" // is being written by this process
	StatePartial  State = "partial" // the process that wrote it ended
	StateStopped  State = "stopped" // by the user
	StateError    State = "error"   // Message.Error says why
)

// Stats is what an answer cost.
type Stats struct {
	PromptTokens    int     `json:"prompt_tokens,omitempty"`
	CachedTokens    int     `json:"cached_tokens,omitempty"` // of the prompt, not read again
	AnswerTokens    int     `json:"answer_tokens,omitempty"` // thoughts included
	ReasoningTokens int     `json:"reasoning_tokens,omitempty"`
	PrefillRate     float64 `json:"prefill_rate,omitempty"` // tokens a second
	DecodeRate      float64 `json:"decode_rate,omitempty"`
	Finish          string  `json:"finish,omitempty"` // stop, length, tool_calls
}

// Message is one node of a conversation's tree.
type Message struct {
	ID        ID            `json:"id"`
	Parent    ID            `json:"parent,omitempty"` // 0: a root
	Role      string        `json:"role"`             // system, user, assistant, tool
	Content   string        `json:"content"`
	Reasoning string        `json:"reasoning,omitempty"`
	Thought   time.Duration `json:"thought,omitempty"` // how long the reasoning took
	Model     string        `json:"model,omitempty"`
	State     State         `json:"state"`
	Error     string        `json:"error,omitempty"`
	Created   time.Time     `json:"created"`
	Stats     Stats         `json:"stats,omitzero"`
}

// PutConversation saves a head and its place in the lists. One with ID 0 is new and gets its id.
func (tx *Tx) PutConversation(c *Conversation) error {
	if c.ID == 0 {
		n, err := tx.conversations().NextSequence()
		if err != nil {
			return fmt.Errorf("new conversation: %w", err)
		}
		c.ID = ID(n)
	} else if err := tx.unlist(c.ID); err != nil {
		return err
	}
	list, at := tx.updated(), c.Updated
	if !c.Deleted.IsZero() {
		list, at = tx.trash(), c.Deleted
	}
	if err := list.Put(timeKey(at, c.ID), nil); err != nil {
		return fmt.Errorf("conversation %d: %w", c.ID, err)
	}
	return put(tx.conversations(), "conversation", c.ID, c)
}

// unlist takes the saved state of a conversation out of the lists.
func (tx *Tx) unlist(id ID) error {
	old, err := tx.Conversation(id)
	if err != nil {
		return err
	}
	if old.Deleted.IsZero() {
		return tx.updated().Delete(timeKey(old.Updated, id))
	}
	return tx.trash().Delete(timeKey(old.Deleted, id))
}

// Conversation returns one head, in the trash or not, or ErrNotFound.
func (tx *Tx) Conversation(id ID) (Conversation, error) {
	return get[Conversation](tx.conversations(), "conversation", id)
}

// Conversations returns up to limit heads that are not in the trash, last updated first; limit 0: all.
func (tx *Tx) Conversations(limit int) ([]Conversation, error) { return tx.heads(tx.updated(), limit) }

// Trash returns the heads in the trash, last deleted first.
func (tx *Tx) Trash() ([]Conversation, error) { return tx.heads(tx.trash(), 0) }

func (tx *Tx) heads(list *bbolt.Bucket, limit int) ([]Conversation, error) {
	var heads []Conversation
	cur := list.Cursor()
	for k, _ := cur.Last(); k != nil && (limit == 0 || len(heads) < limit); k, _ = cur.Prev() {
		_, id, err := splitKey(k)
		if err != nil {
			return nil, err
		}
		c, err := tx.Conversation(id)
		if err != nil {
			return nil, err
		}
		heads = append(heads, c)
	}
	return heads, nil
}

// DeleteConversation removes a conversation and its messages for good.
func (tx *Tx) DeleteConversation(id ID) error {
	if err := tx.unlist(id); err != nil {
		return err
	}
	if ms := tx.messages(id); ms != nil {
		cur := tx.writing().Cursor()
		var stale [][]byte
		for k, _ := cur.Seek(key(id)); k != nil && keyID(k) == id; k, _ = cur.Next() {
			stale = append(stale, k)
		}
		for _, k := range stale {
			if err := tx.writing().Delete(k); err != nil {
				return err
			}
		}
		if err := tx.bolt.Bucket(bucketMessages).DeleteBucket(key(id)); err != nil {
			return err
		}
	}
	return tx.conversations().Delete(key(id))
}

// PutMessage saves a message of a conversation that exists. One with ID 0 is new and gets its id, which is larger
// than that of any message before it. An answer in StateWriting is listed by Writing until it has another state.
func (tx *Tx) PutMessage(conversation ID, m *Message) error {
	if tx.conversations().Get(key(conversation)) == nil {
		return fmt.Errorf("conversation %d: %w", conversation, ErrNotFound)
	}
	b, err := tx.bolt.Bucket(bucketMessages).CreateBucketIfNotExists(key(conversation))
	if err != nil {
		return err
	}
	if m.ID == 0 {
		n, err := tx.bolt.Bucket(bucketMessages).NextSequence()
		if err != nil {
			return fmt.Errorf("new message: %w", err)
		}
		m.ID = ID(n)
	}
	if m.State == StateWriting {
		err = tx.writing().Put(pairKey(conversation, m.ID), nil)
	} else {
		err = tx.writing().Delete(pairKey(conversation, m.ID))
	}
	if err != nil {
		return fmt.Errorf("message %d: %w", m.ID, err)
	}
	return put(b, "message", m.ID, m)
}

// Message returns one message, or ErrNotFound.
func (tx *Tx) Message(conversation, id ID) (Message, error) {
	return get[Message](tx.messages(conversation), "message", id)
}

// Messages returns every message of a conversation, all branches, in the order they were made.
func (tx *Tx) Messages(conversation ID) ([]Message, error) {
	return all[Message](tx.messages(conversation), "message")
}

// Place says where a message is.
type Place struct{ Conversation, Message ID }

// Writing lists the messages in StateWriting. After Open these are what a process left that ended in mid-answer.
func (tx *Tx) Writing() ([]Place, error) {
	var list []Place
	err := tx.writing().ForEach(func(k, _ []byte) error {
		c, m, err := splitKey(k)
		list = append(list, Place{c, m})
		return err
	})
	return list, err
}
