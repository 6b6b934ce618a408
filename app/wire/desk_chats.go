//go:build !headless

package wire

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ingot/app/chats"
	"ingot/app/client"
	"ingot/app/library"
	"ingot/app/openai"
	"ingot/app/window/chat"
	"ingot/app/window/live"
	"ingot/storage"
)

// deskChats is the conversations on disk, and the answers that the engine adds to them.
type deskChats struct {
	chats *chats.Service
	desk  *deskEngine
}

// List returns the conversations.
func (c *deskChats) List(context.Context) ([]chat.Summary, error) {
	all, err := c.chats.List()
	var out []chat.Summary
	for _, v := range all {
		out = append(out, chat.Summary{ID: chat.ID(v.ID), Title: v.Title, Updated: v.Updated, Pinned: v.Pinned})
	}
	return out, err
}

// Load returns one with its visible path.
func (c *deskChats) Load(_ context.Context, id chat.ID) (chat.Thread, error) {
	t, err := c.chats.Get(storage.ID(id))
	if err != nil {
		return chat.Thread{}, err
	}
	out := chat.Thread{ID: id, Title: t.Title, Model: t.Model, Reasoning: chat.Reasoning(t.Reasoning)}
	for _, n := range t.Path {
		if n.Role != "system" {
			out.Messages = append(out.Messages, c.message(n))
		}
	}
	return out, nil
}

var states = map[storage.State]chat.State{storage.StateComplete: chat.Complete, storage.StateWriting: chat.Writing,
	storage.StatePartial: chat.Partial, storage.StateStopped: chat.Stopped, storage.StateError: chat.Failed}

func (c *deskChats) message(n chats.Node) chat.Message {
	m := chat.Message{ID: chat.ID(n.ID), User: n.Role == "user", Text: n.Content, Reasoning: n.Reasoning, Thought: n.Thought,
		State: states[n.State], Problem: n.Error, Model: c.modelName(n.Model), Index: n.Index, Stats: stats(n.Stats)}
	for _, s := range n.Siblings {
		m.Siblings = append(m.Siblings, chat.ID(s))
	}
	return m
}

func stats(s storage.Stats) chat.Stats {
	return chat.Stats{Prompt: s.PromptTokens, Cached: s.CachedTokens, Completion: s.AnswerTokens, Prefill: s.PrefillRate,
		Decode: s.DecodeRate, Length: s.Finish == "length"}
}

// modelName is how people read a model's key.
func (c *deskChats) modelName(key string) string {
	if key == "" {
		return ""
	}
	if e, err := c.desk.lib.Find(key); err == nil {
		return readable(e)
	}
	return key
}

func (c *deskChats) Rename(_ context.Context, id chat.ID, title string) error {
	return c.chats.Rename(storage.ID(id), title)
}

func (c *deskChats) Delete(_ context.Context, id chat.ID) error {
	_, err := c.chats.Delete(storage.ID(id))
	return err
}

func (c *deskChats) Restore(_ context.Context, id chat.ID) error {
	return c.chats.Restore(storage.ID(id))
}

func (c *deskChats) SetModel(_ context.Context, id chat.ID, model string) error {
	return c.chats.SetModel(storage.ID(id), model)
}

func (c *deskChats) SetReasoning(_ context.Context, id chat.ID, r chat.Reasoning) error {
	return c.chats.SetReasoning(storage.ID(id), string(r))
}

func (c *deskChats) Switch(_ context.Context, id, message chat.ID) error {
	return c.chats.Switch(storage.ID(id), storage.ID(message))
}

// Subscribe tells of changes of the list; the pieces of an answer are not.
func (c *deskChats) Subscribe(fn func()) (cancel func()) {
	return c.chats.Subscribe(func(ch chats.Change) {
		if ch.Kind != chats.Text {
			fn()
		}
	})
}

// Answer writes one answer: it is on disk from its first moment and at least once a second.
func (c *deskChats) Answer(ctx context.Context, ask chat.Ask, update func(chat.Update)) error {
	draft, err := c.begin(&ask)
	if err != nil {
		return err
	}
	id := storage.ID(ask.Conversation)
	thread, err := c.chats.Get(id)
	if err != nil {
		return errors.Join(err, draft.Fail(err))
	}
	first := chat.Update{Conversation: ask.Conversation, Answer: chat.ID(draft.Message().ID)}
	for _, n := range thread.Path {
		if n.Role == "user" {
			first.Question = chat.ID(n.ID)
		}
	}
	update(first)
	c.desk.answering(1)
	defer c.desk.answering(-1)
	if err := c.desk.need(ctx, ask.Model); err != nil {
		return c.ended(ctx, draft, err)
	}
	r := c.desk.request(prompt(thread, ask.Kind), string(ask.Reasoning))
	r.ContinueFinal = ask.Kind == chat.Continue && draft.Message().Content != ""
	started := time.Now()
	var firstToken time.Duration
	var done *client.Done
	err = c.desk.local.Chat(ctx, r, func(d client.Delta) error {
		u := chat.Update{Text: d.Text, Reasoning: d.Reasoning}
		if d.Text != "" || d.Reasoning != "" {
			if firstToken == 0 {
				firstToken = time.Since(started)
			}
			draft.Append(d.Text, d.Reasoning)
		}
		if p := d.Progress; p != nil {
			u.Prompt = &chat.Progress{Total: p.Total, Cached: p.Cache, Read: p.Processed}
		}
		if d.Done != nil {
			done = d.Done
		} else {
			update(u)
		}
		return nil
	})
	if err != nil {
		return c.ended(ctx, draft, err)
	}
	s := sums(done)
	if err := draft.Finish(s); err != nil {
		return err
	}
	out := stats(s)
	out.First = firstToken
	update(chat.Update{Done: &out})
	return nil
}

// begin saves the question, if there is a new one, and starts the answer's draft.
func (c *deskChats) begin(ask *chat.Ask) (*chats.Draft, error) {
	model := ask.Model
	if model == "" {
		model = c.desk.chosen()
	}
	if ask.Conversation == 0 {
		p := c.desk.prefs.Get()
		conv, err := c.chats.New(chats.Start{Model: model, Reasoning: string(ask.Reasoning), System: p.System})
		if err != nil {
			return nil, err
		}
		ask.Conversation = chat.ID(conv.ID)
	}
	id, message := storage.ID(ask.Conversation), storage.ID(ask.Message)
	var err error
	switch ask.Kind {
	case chat.New:
		_, err = c.chats.Append(id, ask.Text)
	case chat.Edit:
		_, err = c.chats.Edit(id, message, ask.Text)
	case chat.Again:
		return c.chats.Regenerate(id, message, model)
	case chat.Continue:
		return c.chats.Continue(id, message)
	}
	if err != nil {
		return nil, err
	}
	return c.chats.BeginAnswer(id, model)
}

// ended closes a draft whose answer did not complete. What was written is kept.
func (c *deskChats) ended(ctx context.Context, draft *chats.Draft, err error) error {
	if ctx.Err() != nil {
		if e := draft.Stop(nil); e != nil {
			return e
		}
		return ctx.Err()
	}
	say := errors.New(sentence(err))
	if e := draft.Fail(say); e != nil {
		return errors.Join(say, e)
	}
	var died *client.EngineDied
	if errors.As(err, &died) {
		return fmt.Errorf("%w: %s", chat.ErrEngineGone, died.Sentence)
	}
	return say
}

// prompt is the conversation as the engine is asked: the system text, then the visible path without the answer that
// is about to be written, or with it where it is to be continued.
func prompt(t chats.Thread, kind chat.Kind) []openai.Message {
	var out []openai.Message
	if t.System != "" {
		out = append(out, openai.Message{Role: "system", Content: t.System})
	}
	path := t.Path
	if n := len(path); n > 0 && path[n-1].Role == "assistant" && (kind != chat.Continue || path[n-1].Content == "") {
		path = path[:n-1]
	}
	for _, n := range path {
		if n.Role == "assistant" && n.Content == "" {
			continue
		}
		out = append(out, openai.Message{Role: n.Role, Content: n.Content, ReasoningContent: n.Reasoning})
	}
	return out
}

func sums(d *client.Done) storage.Stats {
	var s storage.Stats
	if d == nil {
		return s
	}
	s.Finish = d.Reason
	if u := d.Usage; u != nil {
		s.PromptTokens, s.CachedTokens, s.AnswerTokens, s.ReasoningTokens = u.PromptTokens, u.PromptDetails.CachedTokens, u.CompletionTokens, u.Details.ReasoningTokens
	}
	if t := d.Timings; t != nil {
		s.PrefillRate, s.DecodeRate = t.PromptPerSecond, t.PredictedPerSecond
	}
	return s
}

// deskModels is the library for the chat screen's picker.
type deskModels struct{ desk *deskEngine }

func (m *deskModels) List(context.Context) ([]chat.Model, error) {
	all, err := m.desk.lib.List()
	chosen := m.desk.chosen()
	var out []chat.Model
	for _, e := range all {
		out = append(out, chat.Model{ID: e.Key(), Name: readable(e), Detail: detail(e), Sample: e.IsSample(), Missing: e.Missing != "",
			Problem: e.Info.Problem, NoChat: !e.Info.HasTemplate, NoVocab: e.Info.NoVocab, CanThink: e.Info.CanThink, Chosen: e.Key() == chosen})
	}
	return out, err
}

// readable is the name people see: the sample is called what its file calls itself.
func readable(e library.Entry) string {
	if e.IsSample() && e.Info.Title != "" {
		return e.Info.Title
	}
	return e.Name
}

func detail(e library.Entry) string {
	d := live.Bytes(e.Info.FileBytes)
	if e.Info.Quantization != "" {
		d = e.Info.Quantization + " · " + d
	}
	return d
}

func (m *deskModels) Choose(_ context.Context, model string) error { return choose(m.desk, model) }

func (m *deskModels) Subscribe(fn func()) (cancel func()) {
	return m.desk.lib.Subscribe(func(library.Change) { fn() })
}
