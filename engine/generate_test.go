package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"ingot/engine/chat"
	"ingot/engine/gguf"
	"ingot/engine/sample"
)

// refused runs a request that must fail before anything is generated.
func refused(t *testing.T, e *Engine, r Request) error {
	t.Helper()
	for ev, err := range e.Generate(context.Background(), r) {
		if err != nil {
			return err
		}
		t.Fatalf("%+v instead of an error", ev)
	}
	t.Fatal("neither an event nor an error")
	return nil
}

// idle waits until no slot is busy.
func idle(t *testing.T, e *Engine) {
	t.Helper()
	for range 500 {
		if !slices.ContainsFunc(e.Status().Slots, func(s Slot) bool { return s.Busy }) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("a slot stays busy")
}

func TestRequestsThatAreRefused(t *testing.T) {
	e := openSample(t, Options{Context: 64})
	vocab := e.Info().Vocab
	for _, c := range []struct {
		name string
		r    Request
		is   error
		want string
	}{
		{"nothing", Request{}, ErrBadRequest, "exactly one of messages, text and tokens"},
		{"two prompts", Request{Text: "a", Tokens: []int32{1}}, ErrBadRequest, "exactly one"},
		{"a token too high", Request{Tokens: []int32{1, int32(vocab)}}, ErrBadRequest, fmt.Sprintf("token %d at position 1 is not in the vocabulary of %d", vocab, vocab)},
		{"a negative token", Request{Tokens: []int32{-1}}, ErrBadRequest, "token -1"},
		{"negative tokens to write", Request{Text: "a", MaxTokens: -1}, ErrBadRequest, "max tokens is -1"},
		{"negative logprobs", Request{Text: "a", Logprobs: -2}, ErrBadRequest, "-2 logprobs"},
		{"a temperature below 0", Request{Text: "a", Sampling: sample.Params{Temperature: -1}}, ErrBadRequest, "temperature is -1"},
		{"a temperature that is none", Request{Text: "a", Sampling: sample.Params{Temperature: float32(math.NaN())}}, ErrBadRequest, "temperature is NaN"},
		{"too long", Request{Tokens: make([]int32, 100)}, ErrPromptTooLong, "the prompt has 100 tokens, the context holds 64"},
		{"one too long", Request{Tokens: make([]int32, 64)}, ErrPromptTooLong, "the prompt has 64 tokens, the context holds 64"},
		{"far too long a text", Request{Text: strings.Repeat("a b\n", 100_000)}, ErrPromptTooLong, "the prompt has more than 256 tokens, the context holds 64"},
		{"far too long a message", Request{Prompt: chat.Prompt{Messages: []chat.Message{user(strings.Repeat("a", 8<<20))}}}, ErrPromptTooLong, "more than 256 tokens"},
		{"to continue the user", Request{Prompt: chat.Prompt{Messages: []chat.Message{user("a")}, Continue: true}}, chat.ErrRefused, ""},
		{"template variables that are no object", Request{Prompt: chat.Prompt{Messages: []chat.Message{user("a")}, Extra: []byte("[1]")}}, ErrBadRequest, "object"},
		{"template variables that are no JSON", Request{Prompt: chat.Prompt{Messages: []chat.Message{user("a")}, Extra: []byte("{")}}, ErrBadRequest, ""},
		{"a tool that is no JSON", Request{Prompt: chat.Prompt{Messages: []chat.Message{user("a")}, Tools: []json.RawMessage{[]byte("{")}}}, ErrBadRequest, "tool 1"},
	} {
		if err := refused(t, e, c.r); !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; expected %q", c.name, err, c.want)
		}
	}
	if e.Status().Requests != 0 {
		t.Error("a refused request took a slot")
	}
}

func TestContextEndsTheAnswer(t *testing.T) {
	e := openSample(t, Options{Context: 64, UBatch: 16})
	for _, n := range []int{1, 40, 62, 63} {
		tokens, _, _, done := answerTo(t, e, Request{Tokens: slices.Repeat([]int32{5}, n), IgnoreEOS: true})
		if done.Reason != FinishLength || n+len(tokens) != 64 || done.Usage.Prompt != n || done.Usage.Completion != len(tokens) {
			t.Errorf("prompt of %d: %d tokens, %+v", n, len(tokens), done)
		}
	}
	tokens, _, _, done := answerTo(t, e, Request{Tokens: []int32{5, 6}, MaxTokens: 7, IgnoreEOS: true})
	if done.Reason != FinishLength || len(tokens) != 7 || done.Usage.Completion != 7 {
		t.Errorf("%d tokens, %+v", len(tokens), done)
	}
}

func TestUsageAndProgress(t *testing.T) {
	e := openSample(t, Options{UBatch: 32})
	r := ask(chat.ReasoningOn, 0, system(long), user("What is the capital of France?"))
	for turn := range 2 {
		var progress []PromptProgress
		var done *Result
		n, text := 0, ""
		for ev, err := range e.Generate(context.Background(), r) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Prompt != nil {
				if n > 0 {
					t.Error("the prompt goes on after the answer began")
				}
				progress = append(progress, *ev.Prompt)
			}
			n += len(ev.Tokens)
			text += ev.Text
			if ev.Done != nil {
				done = ev.Done
			}
		}
		u := done.Usage
		last := progress[len(progress)-1]
		if done.Reason != FinishStop || u.Completion != n+1 || u.Reasoning < 1 || u.Reasoning >= n || last.Read != u.Prompt || last.Total != u.Prompt || last.Cached != u.Cached {
			t.Errorf("%d tokens, %+v, progress %+v", n, done, progress)
		}
		if turn == 0 && (u.Cached != 0 || len(progress) < 3) || turn == 1 && u.Cached < u.Prompt-8 {
			t.Errorf("turn %d: %+v, progress %+v", turn, u, progress)
		}
		if done.Timing.Prefill <= 0 || done.Timing.Decode <= 0 || done.Timing.PrefillRate <= 0 || done.Timing.DecodeRate <= 0 {
			t.Errorf("%+v", done.Timing)
		}
		if strings.Contains(text, "<think>") || strings.Contains(text, "<|im_end|>") {
			t.Errorf("marks in the answer: %q", text)
		}
	}
}

func TestLogprobs(t *testing.T) {
	e := openSample(t, Options{})
	base := ask(chat.ReasoningOn, 25, user("Tell me about bread."))
	want, _, _, _ := answerTo(t, e, base)
	for _, n := range []int{-1, 1, 5, 1 << 30} {
		r := base
		r.Logprobs = n
		i := 0
		for ev, err := range e.Generate(context.Background(), r) {
			if err != nil {
				t.Fatal(err)
			}
			for _, tok := range ev.Tokens {
				if tok.ID != want[i] || string(tok.Bytes) != string(e.vocab.Piece(tok.ID)) {
					t.Fatalf("token %d is %d, expected %d", i, tok.ID, want[i])
				}
				i++
				if len(tok.Top) != min(max(n, 0), e.Info().Vocab) || tok.Logprob > 0 {
					t.Fatalf("%d candidates for %d asked, logprob %v", len(tok.Top), n, tok.Logprob)
				}
				if n < 1 {
					continue
				}
				if tok.Top[0].ID != tok.ID || tok.Top[0].Logprob != tok.Logprob {
					t.Errorf("greedy token %d (%v) is not the best candidate %+v", tok.ID, tok.Logprob, tok.Top[0])
				}
				sum := 0.0
				for j, c := range tok.Top {
					sum += math.Exp(float64(c.Logprob))
					if j > 0 && c.Logprob > tok.Top[j-1].Logprob {
						t.Error("candidates are not in order")
					}
				}
				if sum > 1+1e-5 || n > 1000 && sum < 1-1e-4 {
					t.Errorf("probabilities of %d candidates sum up to %v", len(tok.Top), sum)
				}
			}
		}
		if i != len(want) {
			t.Errorf("%d tokens with logprobs, expected %d", i, len(want))
		}
	}
	// Logprobs are of the model, whatever sampling does.
	r := base
	r.Logprobs, r.Sampling.LogitBias = 3, map[int32]float32{want[0]: -100}
	for ev, err := range e.Generate(context.Background(), r) {
		if err != nil {
			t.Fatal(err)
		}
		if len(ev.Tokens) > 0 {
			if ev.Tokens[0].ID == want[0] || ev.Tokens[0].Top[0].ID != want[0] {
				t.Errorf("%+v; expected the banned %d still to be the best candidate", ev.Tokens[0], want[0])
			}
			break
		}
	}
}

// Tokens that the file says must never be answered are not, whatever else the request turns down.
func TestSuppressedTokens(t *testing.T) {
	base := ask(chat.ReasoningOff, 3, user("Tell me about bread."))
	want, _, _, _ := answerTo(t, openSample(t, Options{}), base)
	f, err := gguf.Open(sampleDir + "/sample-Q8_0.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var tensors []gguf.WriteTensor
	for _, x := range f.Tensors() {
		tensors = append(tensors, gguf.WriteTensor{Name: x.Name, Type: x.Type, Shape: x.Shape, Data: x.Data})
	}
	f.Meta().Set("tokenizer.ggml.suppress_tokens", []int32{want[0], -1, 1 << 30})
	path := filepath.Join(t.TempDir(), "suppressed.gguf")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(gguf.Write(out, f.Meta(), tensors), out.Close()); err != nil {
		t.Fatal(err)
	}
	e, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	first := map[int32]bool{want[0]: true}
	for range 2 {
		got, _, _, _ := answerTo(t, e, base)
		if first[got[0]] {
			t.Errorf("token %d is answered", got[0])
		}
		first[got[0]] = true
		base.Sampling.LogitBias = map[int32]float32{got[0]: -100}
	}
}

// A stop string may begin and end anywhere, inside tokens and across them.
func TestStopStringsAtEverySplit(t *testing.T) {
	e := openSample(t, Options{})
	base := Request{Text: "The capital of France is", MaxTokens: 40, IgnoreEOS: true}
	_, text, _, _ := answerTo(t, e, base)
	if len(text) < 40 {
		t.Fatalf("%q is too short for this test", text)
	}
	for from := 0; from < len(text); from += 3 {
		for _, n := range []int{1, 2, 7} {
			to := min(from+n, len(text))
			r := base
			r.Stop = []string{"", "never there", text[from:to]}
			_, got, _, done := answerTo(t, e, r)
			want, _, _ := strings.Cut(text, text[from:to])
			if got != want || done.Reason != FinishStop || done.StopString != text[from:to] {
				t.Errorf("stop at %q: %q (%v %q), expected %q", text[from:to], got, done.Reason, done.StopString, want)
			}
		}
	}
	r := base
	r.Stop = []string{text[20:30], text[10:12], text[5:40]}
	if _, got, _, done := answerTo(t, e, r); got != text[:strings.Index(text, text[10:12])] || done.StopString != text[10:12] {
		t.Errorf("%q, stopped at %q", got, done.StopString)
	}
	// What looked like the beginning of a stop string comes out in the end.
	r.Stop = []string{text[len(text)-5:] + "not this"}
	if _, got, _, _ := answerTo(t, e, r); got != text {
		t.Errorf("%q, expected %q", got, text)
	}
}

func TestProcessorsUntilAndEcho(t *testing.T) {
	e := openSample(t, Options{})
	base := Request{Text: "The capital of France is", MaxTokens: 10, IgnoreEOS: true}
	plainTokens, text, _, _ := answerTo(t, e, base)

	r := base
	var sizes []int
	r.Processors = []func([]int32, []float32){
		func(tokens []int32, _ []float32) { sizes = append(sizes, len(tokens)) },
		func(_ []int32, logits []float32) { logits[plainTokens[0]] = float32(math.Inf(-1)) },
	}
	tokens, _, _, _ := answerTo(t, e, r)
	if slices.Contains(tokens, plainTokens[0]) || len(sizes) != 10 || sizes[0] != 0 || sizes[9] != 9 {
		t.Errorf("%v, sizes %v", tokens, sizes)
	}

	r = base
	r.Until = func(tokens []int32) bool { return len(tokens) == 4 }
	if tokens, _, _, done := answerTo(t, e, r); !slices.Equal(tokens, plainTokens[:4]) || done.Reason != FinishStop {
		t.Errorf("%v %v", tokens, done.Reason)
	}

	r = base
	r.Echo = true
	if _, got, _, _ := answerTo(t, e, r); got != base.Text+text {
		t.Errorf("%q, expected the prompt and %q", got, text)
	}
	r.Text, r.Tokens = "", e.vocab.Encode(base.Text, false)
	if _, got, _, _ := answerTo(t, e, r); got != base.Text+text {
		t.Errorf("%q, expected the prompt and %q", got, text)
	}

	r = base
	r.Processors = []func([]int32, []float32){func([]int32, []float32) { panic("mine") }}
	if err := failure(e, r); err == nil || !strings.Contains(err.Error(), "mine") {
		t.Errorf("a panicking processor gives %v", err)
	}
	r.Processors = []func([]int32, []float32){func(_ []int32, l []float32) {
		for i := range l {
			l[i] = float32(math.NaN())
		}
	}}
	if err := failure(e, r); !errors.Is(err, errLogits) {
		t.Errorf("scores that are no numbers give %v", err)
	}
	if tokens, _, _, _ := answerTo(t, e, base); !slices.Equal(tokens, plainTokens) {
		t.Error("the engine does not go on as before")
	}
}

// failure is the error that an answer ends with; a result before it is a fault.
func failure(e *Engine, r Request) (failed error) {
	for ev, err := range e.Generate(context.Background(), r) {
		if ev.Done != nil {
			return fmt.Errorf("a result: %+v", ev.Done)
		}
		failed = err
	}
	return failed
}

func TestIgnoreEOS(t *testing.T) {
	e := openSample(t, Options{})
	r := ask(chat.ReasoningOff, 0, user("What is the capital of France?"))
	tokens, _, _, done := answerTo(t, e, r)
	if done.Reason != FinishStop {
		t.Fatalf("%+v", done)
	}
	r.IgnoreEOS, r.MaxTokens = true, len(tokens)+10
	more, text, _, done := answerTo(t, e, r)
	if len(more) != len(tokens)+10 || done.Reason != FinishLength || !slices.Equal(more[:len(tokens)], tokens) || !e.vocab.IsEOG(more[len(tokens)]) {
		t.Errorf("%v after %v, %+v", more, tokens, done)
	}
	if strings.Contains(text, "<|im_end|>") {
		t.Errorf("%q shows a control token", text)
	}
}

func TestSeededSampling(t *testing.T) {
	e := openSample(t, Options{})
	r := ask(chat.ReasoningOn, 30, user("Tell me about bread."))
	r.Sampling = sample.Params{Temperature: 1.5, TopK: 50, Seed: 7, Seeded: true}
	first, _, _, _ := answerTo(t, e, r)
	if again, _, _, _ := answerTo(t, e, r); !slices.Equal(first, again) {
		t.Errorf("%v and %v with one seed", first, again)
	}
	r.Sampling.Seed = 8
	if other, _, _, _ := answerTo(t, e, r); slices.Equal(first, other) {
		t.Error("two seeds give one answer")
	}
}

func TestCancelling(t *testing.T) {
	e := openSample(t, Options{Context: 2048})
	endless := Request{Text: "The capital of France is", IgnoreEOS: true}
	before := runtime.NumGoroutine()
	for i := range 20 {
		n := 0
		if i%2 == 0 { // the consumer leaves
			for range e.Generate(context.Background(), endless) {
				if n++; n > i {
					break
				}
			}
		} else { // the context ends
			ctx, cancel := context.WithCancel(context.Background())
			var last error
			for _, err := range e.Generate(ctx, endless) {
				if n++; n == i {
					cancel()
				}
				last = err
			}
			if last != context.Canceled {
				t.Errorf("ended with %v", last)
			}
			cancel()
		}
		if s := e.sched.State(); s.Waiting > 0 {
			t.Errorf("%+v", s)
		}
		idle(t, e)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for ev, err := range e.Generate(ctx, endless) {
		if err != context.Canceled {
			t.Errorf("%+v %v with a context that had ended", ev, err)
		}
	}
	time.Sleep(50 * time.Millisecond)
	if after := runtime.NumGoroutine(); after > before+2 {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
	// A deadline while all slots are taken.
	s, err := e.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	var last error
	for _, err := range e.Generate(ctx, endless) {
		last = err
	}
	if last != context.DeadlineExceeded {
		t.Error(last)
	}
	if _, err := e.NewSession(); !errors.Is(err, ErrBusy) {
		t.Error(err)
	}
	s.Close()
	answerTo(t, e, Request{Text: "a", MaxTokens: 1})
}

func TestClose(t *testing.T) {
	e, err := Open(sampleFile, Options{Context: 2048, Slots: 2})
	if err != nil {
		t.Fatal(err)
	}
	s, err := e.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	begun := make(chan struct{}, 1)
	go func() {
		var last error
		for ev, err := range e.Generate(context.Background(), Request{Text: "a", IgnoreEOS: true}) {
			if last = err; len(ev.Tokens) > 0 {
				select {
				case begun <- struct{}{}:
				default:
				}
			}
		}
		ended <- last
	}()
	<-begun
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := <-ended; !errors.Is(err, ErrClosed) {
		t.Errorf("an answer under way ends with %v", err)
	}
	if err := s.Feed([]int32{1}, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Feed gives %v", err)
	}
	s.Snapshot()
	s.Close()
	if s.Len() != 0 || s.Rewind(1) != 0 {
		t.Error("a closed session has tokens")
	}
	if _, err := e.NewSession(); !errors.Is(err, ErrClosed) {
		t.Errorf("NewSession gives %v", err)
	}
	if err := failure(e, Request{Text: "a"}); !errors.Is(err, ErrClosed) {
		t.Errorf("Generate gives %v", err)
	}
	e.Status()
	if text := e.Detokenize([]int32{5}); text == "" {
		t.Error("the tokenizer is gone")
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// Requests of all kinds at once, most of them odd: each ends with a result or an error, and the engine lives on.
func TestOddRequests(t *testing.T) {
	e := openSample(t, Options{Slots: 2, Context: 200, UBatch: 24})
	texts := []string{"", "a", "\x00", "\xff\xfe", "<|im_end|>", "<think>", "</think>", strings.Repeat("word ", 300), "🙂é\n\t", "{{ 7 * 7 }}", "{% for %}"}
	r := rand.New(rand.NewPCG(5, 6))
	text := func() string { return texts[r.IntN(len(texts))] }
	odd := func() float32 {
		return []float32{0, 0.5, 1, 2, -1, 1e30, float32(math.Inf(1)), float32(math.NaN())}[r.IntN(8)]
	}
	usual := func() float32 { return []float32{0, 0, 0, 0.7, 1}[r.IntN(5)] }
	results, failures := 0, 0
	ended := make(chan bool)
	const n = 150
	for range n {
		f := usual
		if r.IntN(4) == 0 {
			f = odd
		}
		q := Request{MaxTokens: r.IntN(12) - 1, Stop: []string{text(), text()}[:r.IntN(3)], Logprobs: r.IntN(6) - 2, Echo: r.IntN(2) == 0, IgnoreEOS: r.IntN(2) == 0,
			Sampling: sample.Params{Temperature: f(), TopK: r.IntN(50) - 1, TopP: f(), MinP: f(), RepeatPenalty: f(), PresencePenalty: f(), FrequencyPenalty: f(),
				PenaltyLastN: r.IntN(10) - 1, LogitBias: map[int32]float32{int32(r.IntN(1 << 12)): f()}}}
		switch r.IntN(4) {
		case 0:
			q.Text = text()
		case 1:
			for range r.IntN(30) {
				q.Tokens = append(q.Tokens, int32(r.IntN(e.Info().Vocab+1)))
			}
		default:
			for range r.IntN(5) {
				q.Messages = append(q.Messages, chat.Message{Role: []string{"user", "assistant", "system", "tool", "", "x"}[r.IntN(6)], Content: text(), Reasoning: text()})
			}
			q.Reasoning, q.Continue = []chat.Reasoning{"", "on", "off", "perhaps"}[r.IntN(4)], r.IntN(6) == 0
		}
		go func() {
			var done *Result
			var failed error
			for ev, err := range e.Generate(context.Background(), q) {
				if done != nil || failed != nil {
					t.Errorf("%+v %v after the end", ev, err)
				}
				done, failed = ev.Done, err
			}
			if (done == nil) == (failed == nil) {
				t.Errorf("%+v: result %+v, error %v", q, done, failed)
			}
			ended <- failed == nil
		}()
	}
	for range n {
		if <-ended {
			results++
		} else {
			failures++
		}
	}
	t.Logf("%d results, %d errors", results, failures)
	if results < n/10 || failures < n/10 {
		t.Error("the requests are not odd enough, or too odd")
	}
	idle(t, e)
	if tokens, _, _, _ := answerTo(t, e, Request{Text: "The capital of France is", MaxTokens: 5, IgnoreEOS: true}); len(tokens) != 5 {
		t.Error(tokens)
	}
}
