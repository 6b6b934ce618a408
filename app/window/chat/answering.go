package chat

import (
	"context"
	"fmt"
	"slices"

	"ingot/app/window/live"
	"ingot/app/window/words"
)

// send asks a question, or the edited one anew.
func (s *Screen) send(text string) {
	if s.shown != nil || s.loading || s.blocked() {
		s.composer.set(text)
		return
	}
	m, ok := s.picked()
	if !ok && len(s.picks) == 0 && s.picksRead { // before the list is read, the default model answers
		s.composer.set(text)
		s.deps.OpenLibrary()
		return
	}
	ask := Ask{Kind: New, Conversation: s.current, Text: text, Model: m.ID, Reasoning: s.reasoning}
	if s.editing != 0 {
		i := slices.IndexFunc(s.messages, func(m Message) bool { return m.ID == s.editing })
		if i >= 0 {
			ask.Kind, ask.Message = Edit, s.editing
			s.messages = s.messages[:i]
			s.feed.SetLen(i)
		}
		s.editing = 0
	}
	s.messages = append(s.messages, Message{User: true, Text: text})
	s.start(ask, Message{Model: m.Name}, false)
}

// again asks for another answer in the place of the last.
func (s *Screen) again() {
	n := len(s.messages)
	if n == 0 || s.messages[n-1].User || s.shown != nil {
		return
	}
	m, _ := s.picked()
	last := s.messages[n-1]
	s.messages = s.messages[:n-1]
	s.feed.SetLen(n - 1)
	s.start(Ask{Kind: Again, Conversation: s.current, Message: last.ID, Model: m.ID, Reasoning: s.reasoning}, Message{Model: m.Name}, false)
}

// restart goes on with the last answer, after what ended it: the engine is started if it is gone.
func (s *Screen) restart() {
	n := len(s.messages)
	if n == 0 || s.messages[n-1].User || s.shown != nil {
		return
	}
	m, _ := s.picked()
	last := s.messages[n-1]
	if last.Text == "" { // it thinks anew
		last.Reasoning, last.Thought = "", 0
	}
	s.messages = s.messages[:n-1]
	s.feed.SetLen(n - 1)
	s.start(Ask{Kind: Continue, Conversation: s.current, Message: last.ID, Model: m.ID, Reasoning: s.reasoning},
		Message{ID: last.ID, Model: m.Name, Text: last.Text, Reasoning: last.Reasoning, Thought: last.Thought, Siblings: last.Siblings, Index: last.Index},
		last.Gone)
}

// start shows an answer that begins, and begins it. fresh loads the model first.
func (s *Screen) start(ask Ask, base Message, fresh bool) {
	s.selection.Clear()
	base.State = Writing
	s.messages = append(s.messages, base)
	s.hello.object.Hide()
	if n := len(s.messages); n > 2 { // the one before is no longer the last
		s.feed.Rebuild(n - 3)
	}
	answers := s.deps.Answers
	if fresh {
		answers = restarted{s.deps.Answers, s.deps.Engine}
	}
	st := begin(answers, ask, base, s.do, s.draw)
	s.streams = append(s.streams, st)
	s.shown = st
	s.feed.SetLen(len(s.messages))
	s.feed.ToBottom()
	s.composer.setBusy(true)
}

// restarted starts the engine before it answers.
type restarted struct {
	Answers
	engine live.Engine
}

func (r restarted) Answer(ctx context.Context, ask Ask, update func(Update)) error {
	if err := r.engine.Start(ctx, ask.Model); err != nil {
		return err
	}
	return r.Answers.Answer(ctx, ask, update)
}

// Stop ends the answer on screen; what it has written is kept.
func (s *Screen) Stop() {
	if s.shown != nil {
		s.shown.cancel()
	}
}

// draw shows what a stream has gathered. Streams of other conversations only end here.
func (s *Screen) draw(st *stream) {
	snap := st.snapshot()
	if snap.ended {
		s.streams = slices.DeleteFunc(s.streams, func(x *stream) bool { return x == st })
	}
	if st != s.shown {
		return
	}
	if s.current == 0 && snap.conv != 0 { // the conversation has been made
		s.current = snap.conv
		s.list.reload()
	}
	i := len(s.messages) - 1
	if i < 0 {
		return
	}
	keep := s.messages[i]
	s.messages[i] = snap.message
	s.messages[i].Siblings, s.messages[i].Index = keep.Siblings, keep.Index
	if i > 0 && s.messages[i-1].User && snap.question != 0 {
		s.messages[i-1].ID = snap.question
	}
	if snap.ended {
		s.finish(snap)
		return
	}
	if it, ok := s.feed.Built(i); ok {
		a := it.(*answer)
		a.act.openClosed = s.remember(a, i, snap.answer)
		s.drawWaiting(a, snap)
	}
	s.feed.Resized(i)
}

// remember keeps whether the thoughts of an answer are open, under the id it has by now.
func (s *Screen) remember(a *answer, i int, id ID) func() {
	return func() {
		s.opened[id] = a.open
		a.relayout()
		s.feed.Resized(i)
	}
}

// drawWaiting shows an answer that is being written; before its first word, what it waits for.
func (s *Screen) drawWaiting(a *answer, snap snapshot) {
	m := snap.message
	m.Siblings, m.Index = a.message.Siblings, a.message.Index
	a.show(m, snap.prompt)
	if m.State == Writing && m.Text == "" && m.Reasoning == "" && snap.prompt == nil && s.state.Phase == live.Loading {
		a.waiting.Set(fmt.Sprintf(words.T().LoadingModelF, s.modelName(), int(s.state.Progress*100)))
	}
	a.relayout()
}

func (s *Screen) modelName() string {
	if s.state.Name != "" {
		return s.state.Name
	}
	m, _ := s.picked()
	return m.Name
}

// finish shows an answer's end and reads the conversation as it is on disk now.
func (s *Screen) finish(snap snapshot) {
	s.shown = nil
	s.composer.setBusy(false)
	for i := max(len(s.messages)-2, 0); i < len(s.messages); i++ {
		s.feed.Rebuild(i)
	}
	if snap.conv != 0 && snap.message.State != Failed { // a failure says more here than on disk
		s.fetch(false)
	}
	s.list.reload()
}
