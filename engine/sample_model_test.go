package engine

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ingot/engine/chat"
	"ingot/kernels/cpu"
)

// recorded is assets/sample/expected.json: the greedy answers of llama.cpp to 21 chats, thinking on and off.
type recorded struct {
	Cases []struct {
		Messages     []struct{ Role, Content string }
		Thinking     bool
		Text         string
		PromptTokens []int32 `json:"prompt_tokens"`
		F16          recordedAnswer
		Q8_0         recordedAnswer
	}
}

type recordedAnswer struct {
	Tokens []int32
	Text   string
}

const (
	sampleDir  = "../assets/sample"
	sampleFile = sampleDir + "/sample-Q8_0.gguf"
)

func readRecorded(t testing.TB) recorded {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(sampleDir, "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r recorded
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// openSample opens the sample model at a level where a row's bits depend on its text alone: with AMX tiles, which only
// prompts are taken to, they also depend on how the text is cut into batches.
func openSample(t testing.TB, o Options) *Engine {
	t.Helper()
	if o.Level == "" && os.Getenv("INGOT_CPU") == "" && cpu.Detect() == cpu.AMX {
		o.Level = cpu.AVX512.String()
	}
	e, err := Open(sampleFile, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// answerTo collects one greedy answer.
func answerTo(t testing.TB, e *Engine, r Request) (tokens []int32, text, thought string, done *Result) {
	t.Helper()
	for ev, err := range e.Generate(context.Background(), r) {
		if err != nil {
			t.Fatal(err)
		}
		for _, tok := range ev.Tokens {
			tokens = append(tokens, tok.ID)
		}
		text, thought = text+ev.Text, thought+ev.Reasoning
		if ev.Done != nil {
			done = ev.Done
		}
	}
	if done == nil {
		t.Fatal("no result")
	}
	return tokens, text, thought, done
}

func TestGreedyAnswersEqualRecorded(t *testing.T) {
	f16 := filepath.Join("..", "..", "shared", "reference", "sample", "sample-F16.gguf")
	for _, m := range []struct {
		path   string
		answer func(i int, r *recorded) []int32
	}{
		{sampleFile, func(i int, r *recorded) []int32 { return r.Cases[i].Q8_0.Tokens }},
		{f16, func(i int, r *recorded) []int32 { return r.Cases[i].F16.Tokens }},
	} {
		t.Run(filepath.Base(m.path), func(t *testing.T) {
			if _, err := os.Stat(m.path); err != nil {
				t.Skip("the reference file is not here")
			}
			e, err := Open(m.path, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			r := readRecorded(t)
			equal := 0
			for i, c := range r.Cases {
				var msgs []chat.Message
				for _, m := range c.Messages {
					msgs = append(msgs, chat.Message{Role: m.Role, Content: m.Content})
				}
				reasoning := chat.ReasoningOff
				if c.Thinking {
					reasoning = chat.ReasoningOn
				}
				req := Request{Prompt: chat.Prompt{Messages: msgs, Reasoning: reasoning}, MaxTokens: 200}
				p, err := e.prepare(t.Context(), &req)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(p.tokens, c.PromptTokens) {
					t.Errorf("case %d: prompt tokens %v, recorded %v", i, p.tokens, c.PromptTokens)
				}
				got, text, _, _ := answerTo(t, e, req)
				if slices.Equal(got, m.answer(i, &r)) {
					equal++
				} else {
					t.Logf("case %d (thinking %v): %q\n got %v\nwant %v", i, c.Thinking, text, got, m.answer(i, &r))
				}
			}
			t.Logf("%d of %d answers equal", equal, len(r.Cases))
			if equal < 40 {
				t.Errorf("%d of %d answers equal the recorded ones, expected at least 40", equal, len(r.Cases))
			}
		})
	}
}
