package chat

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"
)

// stream is an answer on its way. Pieces gather under the lock; the screen takes a snapshot when it draws.
type stream struct {
	ask    Ask
	model  string // as people read it
	cancel context.CancelFunc
	draw   coalescer

	mu       sync.Mutex
	conv     ID
	question ID
	answer   ID
	text     strings.Builder
	thoughts strings.Builder
	prompt   *Progress
	began    time.Time // of the thoughts
	thought  time.Duration
	stats    Stats
	ended    bool
	err      error
}

// snapshot is what a stream has gathered.
type snapshot struct {
	conv, question, answer ID
	message                Message
	prompt                 *Progress // nil once the answer begins
	ended                  bool
	err                    error
}

// begin starts an answer. done runs on the UI goroutine after the last draw.
func begin(answers Answers, ask Ask, base Message, do func(func()), draw func(*stream)) *stream {
	ctx, cancel := context.WithCancel(context.Background())
	s := &stream{ask: ask, conv: ask.Conversation, model: base.Model, cancel: cancel}
	if ask.Kind == Continue {
		s.text.WriteString(base.Text)
		s.thoughts.WriteString(base.Reasoning)
		s.thought, s.answer = base.Thought, base.ID
	}
	s.draw = coalescer{do: do, flush: func() { draw(s) }}
	go func() {
		err := answers.Answer(ctx, ask, s.add)
		s.end(err)
		cancel()
	}()
	return s
}

// add takes a piece. It is called from the goroutine that reads the engine.
func (s *stream) add(u Update) {
	s.mu.Lock()
	if u.Conversation != 0 {
		s.conv = u.Conversation
	}
	if u.Question != 0 {
		s.question = u.Question
	}
	if u.Answer != 0 {
		s.answer = u.Answer
	}
	if u.Prompt != nil {
		s.prompt = u.Prompt
	}
	if u.Reasoning != "" {
		if s.began.IsZero() {
			s.began = time.Now()
		}
		s.thoughts.WriteString(u.Reasoning)
	}
	if u.Text != "" {
		s.endThought()
		s.text.WriteString(u.Text)
	}
	if u.Text != "" || u.Reasoning != "" {
		s.prompt = nil
	}
	if u.Done != nil {
		s.stats = *u.Done
	}
	s.mu.Unlock()
	s.draw.mark()
}

func (s *stream) endThought() {
	if !s.began.IsZero() {
		s.thought += time.Since(s.began)
		s.began = time.Time{}
	}
}

func (s *stream) end(err error) {
	s.mu.Lock()
	s.endThought()
	s.ended, s.err, s.prompt = true, err, nil
	s.mu.Unlock()
	s.draw.mark()
}

func (s *stream) snapshot() snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := Message{
		ID: s.answer, Text: s.text.String(), Reasoning: s.thoughts.String(), Thought: s.thought,
		State: Writing, Model: s.model, Stats: s.stats,
	}
	if !s.began.IsZero() {
		m.Thought += time.Since(s.began)
	}
	if s.ended {
		switch {
		case s.err == nil:
			m.State = Complete
		case errors.Is(s.err, context.Canceled):
			m.State = Stopped
		default:
			m.State, m.Problem, m.Gone = Failed, sentence(s.err), errors.Is(s.err, ErrEngineGone)
		}
	}
	return snapshot{s.conv, s.question, s.answer, m, s.prompt, s.ended, s.err}
}

// sentence is what people read of an error: what was wrapped by ErrEngineGone says it all.
func sentence(err error) string {
	if rest, ok := strings.CutPrefix(err.Error(), ErrEngineGone.Error()+": "); ok {
		return rest
	}
	return err.Error()
}
