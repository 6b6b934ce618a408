// Package enginetest has an engine that answers from a script, for tests of what lies around an engine.
package enginetest

import (
	"context"
	"iter"
	"strings"
	"sync"
	"time"

	"ingot/engine"
)

// Script is an engine that says Words, one a token. Its fields are set before the first call. It is safe for
// concurrent use.
type Script struct {
	Words    []string
	Thoughts []string      // said first
	Prefill  time.Duration // time to read the prompt, told as two pieces of progress
	Gap      time.Duration // time a word takes
	Fail     error         // comes FailAt words into the answer
	FailAt   int
	Panic    string // instead, at FailAt
	About    engine.Info

	mu       sync.Mutex
	requests []engine.Request
	ended    []error // how each generation ended: nil, the context's error, Fail
	running  int
	closed   bool
}

// Generate follows the script, heeding MaxTokens, Stop, Logprobs and ctx as an engine would.
func (s *Script) Generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Event, error] {
	return func(yield func(engine.Event, error) bool) {
		s.mu.Lock()
		s.requests = append(s.requests, r)
		s.running++
		s.mu.Unlock()
		err := s.play(ctx, r, func(ev engine.Event) bool { return yield(ev, nil) })
		s.mu.Lock()
		s.running--
		s.ended = append(s.ended, err)
		s.mu.Unlock()
		if err != nil && err != errStopped {
			yield(engine.Event{}, err)
		}
	}
}

type stopped struct{}

func (stopped) Error() string { return "the caller stopped reading" }

var errStopped = stopped{}

func (s *Script) play(ctx context.Context, r engine.Request, yield func(engine.Event) bool) error {
	prompt := len(strings.Fields(r.Text)) + len(r.Tokens)
	for _, m := range r.Messages {
		prompt += len(strings.Fields(m.Content))
	}
	if (s.FailAt == 0) && s.Fail != nil {
		return s.Fail
	}
	for _, read := range []int{0, prompt} {
		if !yield(engine.Event{Prompt: &engine.PromptProgress{Total: prompt, Read: read}}) {
			return errStopped
		}
		if err := pause(ctx, s.Prefill/2); err != nil {
			return err
		}
	}
	if r.Echo && !yield(engine.Event{Text: r.Text}) {
		return errStopped
	}
	result := engine.Result{Reason: engine.FinishStop}
	said := append(append([]string{}, s.Thoughts...), s.Words...)
	for i, word := range said {
		if s.FailAt > 0 && i == s.FailAt {
			if s.Panic != "" {
				panic(s.Panic)
			}
			if s.Fail != nil {
				return s.Fail
			}
		}
		if r.MaxTokens > 0 && i == r.MaxTokens {
			result.Reason = engine.FinishLength
			break
		}
		if stop := matched(word, r.Stop); stop != "" {
			result.StopString = stop
			break
		}
		if err := pause(ctx, s.Gap); err != nil {
			return err
		}
		ev := engine.Event{Text: word}
		if i < len(s.Thoughts) {
			ev = engine.Event{Reasoning: word}
			result.Usage.Reasoning++
		}
		info := engine.TokenInfo{ID: int32(i), Bytes: []byte(word), Logprob: -0.25}
		for n := range r.Logprobs {
			info.Top = append(info.Top, engine.Candidate{ID: int32(i + n), Bytes: []byte(word), Logprob: -0.25 - float32(n)})
		}
		ev.Tokens = []engine.TokenInfo{info}
		result.Usage.Completion++
		if !yield(ev) {
			return errStopped
		}
	}
	result.Usage.Prompt = prompt
	result.Timing = engine.Timing{Prefill: s.Prefill, Decode: s.Gap * time.Duration(result.Usage.Completion)}
	if s.Gap > 0 {
		result.Timing.DecodeRate = float64(time.Second) / float64(s.Gap)
	}
	if !yield(engine.Event{Done: &result}) {
		return errStopped
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func matched(word string, stops []string) string {
	for _, stop := range stops {
		if strings.Contains(word, stop) {
			return stop
		}
	}
	return ""
}

// Requests lists what was asked so far.
func (s *Script) Requests() []engine.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]engine.Request{}, s.requests...)
}

// Ended lists how the generations so far ended.
func (s *Script) Ended() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error{}, s.ended...)
}

// Closed tells whether Close was called.
func (s *Script) Closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Info is About.
func (s *Script) Info() engine.Info { return s.About }

// Status tells of one card and of the generations that run.
func (s *Script) Status() engine.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return engine.Status{
		Cards:     []engine.Card{{Name: "cpu", Description: "a script", Total: 1000, Used: 300, Free: 700, Load: -1}},
		Slots:     []engine.Slot{{Busy: s.running > 0, Context: s.About.Context}},
		Context:   s.About.Context,
		Requests:  int64(len(s.requests)),
		Generated: int64(s.running),
	}
}

// Tokenize makes a token of every byte.
func (s *Script) Tokenize(ctx context.Context, text string, special bool) ([]int32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var out []int32
	for i := range len(text) {
		out = append(out, int32(text[i]))
	}
	return out, nil
}

// Piece is the byte that Tokenize made the token of.
func (s *Script) Piece(token int32) []byte { return []byte{byte(token)} }

// Detokenize undoes Tokenize.
func (s *Script) Detokenize(tokens []int32) string {
	var out []byte
	for _, t := range tokens {
		out = append(out, byte(t))
	}
	return string(out)
}

// Close notes that it was called.
func (s *Script) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}
