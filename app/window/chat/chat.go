// Package chat is the screen of conversations: the list beside it, the messages, and the line one writes in.
package chat

import (
	"context"
	"errors"
	"time"
)

// ErrEngineGone is wrapped by what Answers.Answer returns when the engine process ended in mid-answer; the screen
// then offers to start it again and go on. The text of every error is shown: it is a sentence for people, after
// "the engine stopped: " where it wraps this one.
var ErrEngineGone = errors.New("the engine stopped")

// ID names a conversation or a message; 0 is none.
type ID uint64

// Reasoning says whether a model that can think aloud should: "" (auto), "on", "off".
type Reasoning string

// Summary is a conversation in the list.
type Summary struct {
	ID      ID
	Title   string
	Updated time.Time
	Pinned  bool
}

// State says how a message ended.
type State int

const (
	Complete State = iota
	Writing        // is being written
	Stopped        // by the user
	Partial        // the program ended before the answer did
	Failed         // Problem says why
)

// Message is one turn on the visible path of a conversation.
type Message struct {
	ID        ID
	User      bool // else the model
	Text      string
	Reasoning string
	Thought   time.Duration
	State     State
	Problem   string // one sentence, when Failed
	Gone      bool   // when Failed: because the engine ended
	Model     string // as people read it
	Stats     Stats
	Siblings  []ID // messages that could stand here, oldest first, this one among them
	Index     int  // of this one
}

// Stats sums an answer up. Zero fields are unknown.
type Stats struct {
	Prompt, Cached, Completion int     // tokens
	Prefill, Decode            float64 // tokens a second
	First                      time.Duration
	Length                     bool // ended at the length limit
}

// Thread is a conversation with its visible path.
type Thread struct {
	ID        ID
	Title     string
	Model     string // as the library names it; "": the default
	Reasoning Reasoning
	Messages  []Message
}

// Conversations is what the screen needs of the conversations kept on disk. Methods may wait for the disk.
type Conversations interface {
	// List returns pinned ones first, then the last updated first.
	List(ctx context.Context) ([]Summary, error)
	Load(ctx context.Context, id ID) (Thread, error)
	Rename(ctx context.Context, id ID, title string) error
	// Delete hides a conversation; Restore brings it back.
	Delete(ctx context.Context, id ID) error
	Restore(ctx context.Context, id ID) error
	SetModel(ctx context.Context, id ID, model string) error
	SetReasoning(ctx context.Context, id ID, r Reasoning) error
	// Switch shows the path through a sibling of a message.
	Switch(ctx context.Context, id, message ID) error
	// Subscribe has fn called, from any goroutine, when the list may have changed.
	Subscribe(fn func()) (cancel func())
}

// Kind says what an Ask wants.
type Kind int

const (
	New      Kind = iota // a question at the end; Conversation 0 begins one
	Edit                 // a question in the place of Message
	Again                // another answer in the place of Message
	Continue             // more of Message, an answer that ended early
)

// Ask is a request for an answer.
type Ask struct {
	Kind         Kind
	Conversation ID
	Message      ID
	Text         string
	Model        string // as the library names it; "": the default
	Reasoning    Reasoning
}

// Update is a piece of an answer. The first one names the conversation and its messages.
type Update struct {
	Conversation, Question, Answer ID
	Prompt                         *Progress // while the prompt is read
	Text, Reasoning                string    // to be added
	Done                           *Stats    // the last piece of an answer that is complete
}

// Progress counts prompt tokens: Read of Total are read, Cached of them were still held.
type Progress struct{ Total, Cached, Read int }

// Answers writes answers. What has been written is kept on disk whatever happens.
type Answers interface {
	// Answer saves the question, loads the model if it is not, and calls update, from one goroutine at a time, with
	// every piece. It returns when the answer is complete, nil; when ctx ends, ctx's error; else what went wrong.
	Answer(ctx context.Context, ask Ask, update func(Update)) error
}

// Model is an entry of the model picker.
type Model struct {
	ID       string
	Name     string
	Detail   string // "Q8_0 · 4.2 GB"
	Sample   bool
	Missing  bool   // its file is gone
	Problem  string // why the file cannot be used; "": it can
	NoChat   bool   // it only continues text
	NoVocab  bool   // its tokens have no texts: it takes numbers alone
	CanThink bool
	Chosen   bool // new conversations start with it
}

// able tells whether a model can answer in a conversation.
func (m Model) able() bool { return !m.Missing && m.Problem == "" && !m.NoChat && !m.NoVocab }

// Models is what the picker needs of the library.
type Models interface {
	// List returns the models in the order of the picker, the sample first.
	List(ctx context.Context) ([]Model, error)
	// Choose makes a model the one new conversations start with.
	Choose(ctx context.Context, model string) error
	// Subscribe has fn called, from any goroutine, when the list may have changed.
	Subscribe(fn func()) (cancel func())
}
