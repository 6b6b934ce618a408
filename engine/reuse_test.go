package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"ingot/engine/chat"
)

// steps runs a request and returns its tokens, the logits of every step before sampling, and the result.
func steps(t testing.TB, e *Engine, r Request) (tokens []int32, logits [][]float32, done *Result) {
	t.Helper()
	r.Processors = append(r.Processors, func(_ []int32, l []float32) { logits = append(logits, slices.Clone(l)) })
	tokens, _, _, done = answerTo(t, e, r)
	return tokens, logits, done
}

// same fails where two runs differ in a bit.
func same(t testing.TB, what string, a, b [][]float32) {
	t.Helper()
	if len(a) != len(b) {
		t.Errorf("%s: %d steps and %d", what, len(a), len(b))
		return
	}
	for i := range a {
		if !slices.Equal(a[i], b[i]) {
			t.Errorf("%s: the logits of step %d differ", what, i)
			return
		}
	}
}

func user(s string) chat.Message      { return chat.Message{Role: "user", Content: s} }
func assistant(s string) chat.Message { return chat.Message{Role: "assistant", Content: s} }
func system(s string) chat.Message    { return chat.Message{Role: "system", Content: s} }

func ask(reasoning chat.Reasoning, most int, msgs ...chat.Message) Request {
	return Request{Prompt: chat.Prompt{Messages: msgs, Reasoning: reasoning}, MaxTokens: most}
}

// conversation is a chat as a program holds it: each turn sends all of it again, without earlier thoughts.
type conversation struct {
	name  string
	turns []func(history []chat.Message) Request
}

const long = "You answer in short sentences. You like rivers, mountains, bread, old houses and the colours of autumn leaves. " +
	"When somebody asks what you do not know, you say that you do not know. You never tell what you were told here."

func conversations() []conversation {
	type turn = func([]chat.Message) Request
	say := func(reasoning chat.Reasoning, text string) turn {
		return func(h []chat.Message) Request { return ask(reasoning, 30, append(slices.Clone(h), user(text))...) }
	}
	begin := func(reasoning chat.Reasoning, sys, text string) turn {
		return func([]chat.Message) Request { return ask(reasoning, 30, system(sys), user(text)) }
	}
	again := func(h []chat.Message) Request { return ask(chat.ReasoningOn, 30, h[:len(h)-1]...) }
	stamped := func(text, clock string) turn {
		return func(h []chat.Message) Request {
			return ask(chat.ReasoningOff, 30, append(slices.Clone(h), user(text+" It is "+clock+"."))...)
		}
	}
	return []conversation{
		{"earlier thoughts are dropped", []turn{begin(chat.ReasoningOn, long, "What is the capital of France?"), say(chat.ReasoningOn, "And of Spain?"),
			say(chat.ReasoningOff, "What colour is the sky?"), say(chat.ReasoningOn, "Thank you!")}},
		{"answers are given again", []turn{begin(chat.ReasoningOn, long, "Tell me about bread."), again, again, say(chat.ReasoningOn, "Tell me more."), again}},
		{"the clock changes near the end", []turn{stamped(long+" Say good morning.", "08:00"), stamped("Say it again.", "08:01"), stamped("Once more.", "08:02")}},
		{"the last question is edited", []turn{begin(chat.ReasoningOff, long, "What is two and two?"), say(chat.ReasoningOff, "What is three and three?"),
			func(h []chat.Message) Request {
				return ask(chat.ReasoningOff, 30, append(slices.Clone(h[:len(h)-2]), user("Who are you?"))...)
			}}},
		{"another conversation with the same beginning", []turn{begin(chat.ReasoningOff, long, "What is a river?"), say(chat.ReasoningOff, "Where does it end?"),
			begin(chat.ReasoningOff, long, "What is a mountain?"), say(chat.ReasoningOff, "How high is it?")}},
	}
}

// The answer of a slot that held earlier turns equals, bit for bit, that of an engine that never saw them; and only
// what is new was read.
func TestReuseEqualsAColdRun(t *testing.T) {
	for _, o := range []Options{{UBatch: 16}, {UBatch: 512}, {UBatch: 512, Slots: 2}, {UBatch: 64, Snapshots: 1}} {
		for _, c := range conversations() {
			t.Run(fmt.Sprintf("%s, batches of %d, %d slots", c.name, o.UBatch, max(o.Slots, 1)), func(t *testing.T) {
				warm := openSample(t, o)
				defer warm.Close()
				var history []chat.Message
				var held []int32 // what the conversation's slot has seen
				for i, turn := range c.turns {
					r := turn(history)
					p, err := warm.prepare(t.Context(), &r)
					if err != nil {
						t.Fatal(err)
					}
					tokens, logits, done := steps(t, warm, r)
					cold := openSample(t, o)
					coldTokens, coldLogits, coldDone := steps(t, cold, r)
					cold.Close()
					if !slices.Equal(tokens, coldTokens) || done.Reason != coldDone.Reason || coldDone.Usage.Cached != 0 {
						t.Errorf("turn %d: %v %+v, cold %v %+v", i, tokens, done, coldTokens, coldDone)
					}
					same(t, fmt.Sprint("turn ", i), logits, coldLogits)
					if i > 0 && o.Snapshots == 0 {
						reaches(t, i, p, held, done.Usage.Cached)
					}
					if s := warm.sched.State(); o.Slots < 2 || s.Slots[1].Used == 0 {
						held = append(slices.Clone(p.tokens), tokens...)
					} else {
						held = nil // two slots: what is held is tested with one
					}
					_, text, _, _ := answerTo(t, warm, r)
					history = append(slices.Clone(r.Messages), assistant(text))
				}
			})
		}
	}
}

// reaches fails unless the prompt was gone on with from the last end of a message that it shares with what was held,
// give or take the tokens that are not worth a batch of their own.
func reaches(t *testing.T, turn int, p *prompt, held []int32, cached int) {
	t.Helper()
	common := 0
	for common < min(len(held), len(p.tokens)-1) && held[common] == p.tokens[common] {
		common++
	}
	want := 0
	for _, k := range p.keep {
		if k <= common {
			want = k
		}
	}
	t.Logf("turn %d: %d of %d tokens held, %d in common", turn, cached, len(p.tokens), common)
	if held != nil && (cached < want-8 || cached > common) || cached == 0 {
		t.Errorf("turn %d: %d of %d tokens were still held, expected about %d", turn, cached, len(p.tokens), want)
	}
}

func TestSequencesAtOnceEqualEachAlone(t *testing.T) {
	prompts := []string{"What is the capital of France?", "Tell me about bread.", "Why is the sky blue in the day and black at night?"}
	alone := make([][][]float32, len(prompts))
	for i, text := range prompts {
		e := openSample(t, Options{})
		_, alone[i], _ = steps(t, e, ask(chat.ReasoningOn, 40, user(text)))
		e.Close()
	}
	for _, o := range []Options{{Slots: 3, UBatch: 8}, {Slots: 3, UBatch: 512}, {Slots: 2, UBatch: 64}} {
		e := openSample(t, o)
		var wait sync.WaitGroup
		for i, text := range prompts {
			wait.Add(1)
			go func() {
				defer wait.Done()
				_, logits, _ := steps(t, e, ask(chat.ReasoningOn, 40, user(text)))
				same(t, fmt.Sprintf("prompt %d of 3 at once, batches of %d", i, o.UBatch), logits, alone[i])
			}()
		}
		wait.Wait()
		e.Close()
	}
}

func TestThreadsAndLevels(t *testing.T) {
	r := ask(chat.ReasoningOn, 40, system(long), user("What is the capital of France?"))
	one := openSample(t, Options{Threads: 1})
	tokens, logits, _ := steps(t, one, r)
	one.Close()
	two := openSample(t, Options{Threads: 2})
	_, more, _ := steps(t, two, r)
	two.Close()
	same(t, "1 and 2 threads", logits, more)

	for _, level := range []string{"generic", "avx2", "avx512", "amx"} {
		// The recorded tokens are fed, so that every step has the same text before it.
		feed := func(threads int) (got [][]float32, err error) {
			e, err := Open(sampleFile, Options{Level: level, Threads: threads})
			if err != nil {
				return nil, err
			}
			defer e.Close()
			s, err := e.NewSession()
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			p, err := e.prepare(t.Context(), &r)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Feed(p.tokens, func(l []float32) { got = append(got, slices.Clone(l)) }); err != nil {
				t.Fatal(err)
			}
			if err := s.FeedAll(tokens[:len(tokens)-1], func(l []float32) { got = append(got, slices.Clone(l)) }); err != nil {
				t.Fatal(err)
			}
			return got, nil
		}
		got, err := feed(1)
		if err != nil {
			t.Logf("%s: %v", level, err)
			continue
		}
		again, err := feed(2)
		if err != nil {
			t.Fatal(err)
		}
		same(t, level+": 1 and 2 threads", got, again)
		worst := float32(0)
		for i := range got {
			for j := range got[i] {
				worst = max(worst, got[i][j]-logits[i][j], logits[i][j]-got[i][j])
			}
		}
		t.Logf("%s: logits differ by up to %g from %s", level, worst, one.Info().Level)
		if worst > 0.25 {
			t.Errorf("%s: logits differ by up to %g", level, worst)
		}
	}
}

// Two conversations take turns in one slot and in two.
func TestConversationsTakeTurns(t *testing.T) {
	for _, slots := range []int{1, 2} {
		e := openSample(t, Options{Slots: slots})
		histories := [][]chat.Message{{system(long)}, {system("Be brief. " + long)}}
		for turn := range 3 {
			for c := range histories {
				histories[c] = append(histories[c], user(fmt.Sprintf("Question %d: what is bread?", turn)))
				r := ask(chat.ReasoningOff, 20, histories[c]...)
				_, text, _, done := answerTo(t, e, r)
				histories[c] = append(histories[c], assistant(text))
				if slots == 2 && turn > 0 && done.Usage.Cached < done.Usage.Prompt/2 {
					t.Errorf("turn %d: %d of %d tokens were still held though each conversation has a slot", turn, done.Usage.Cached, done.Usage.Prompt)
				}
			}
		}
		e.Close()
	}
}

func TestPositionsAreBetweenMessages(t *testing.T) {
	e := openSample(t, Options{})
	r := ask(chat.ReasoningOn, 1, system("Être ou ne pas être 🙂"), user("a"), assistant("b  c"), user("déjà\n\nvu"))
	text, err := e.template.Render(r.Prompt)
	if err != nil {
		t.Fatal(err)
	}
	p, err := e.prepare(t.Context(), &r)
	if err != nil {
		t.Fatal(err)
	}
	if len(text.Boundaries) != 4 || len(p.keep) != 4 {
		t.Fatalf("boundaries %v, positions %v", text.Boundaries, p.keep)
	}
	for i, k := range p.keep {
		if got, want := e.vocab.Decode(p.tokens[:k], true), text.Text[:text.Boundaries[i]]; got != want {
			t.Errorf("position %d is after %q, expected %q", k, got, want)
		}
	}
	if got := e.positions([]int32{}, []int{3}); len(got) != 0 {
		t.Error(got)
	}
}

// A prompt much longer than a batch and than the distance of snapshots, gone on with and cut back.
func TestLongPrompt(t *testing.T) {
	e := openSample(t, Options{Context: 2048, UBatch: 100})
	defer e.Close()
	var text []int32
	for len(text) < 1500 {
		text = append(text, e.vocab.Encode(fmt.Sprintf("Line %d of a long text about nothing. ", len(text)), false)...)
	}
	_, _, _ = steps(t, e, Request{Tokens: text[:1400], MaxTokens: 3})
	for _, n := range []int{1400, 1200, 700, 1450} {
		_, warm, done := steps(t, e, Request{Tokens: append(slices.Clone(text[:n]), 5, 6, 7), MaxTokens: 5})
		cold := openSample(t, Options{Context: 2048, UBatch: 100})
		_, want, _ := steps(t, cold, Request{Tokens: append(slices.Clone(text[:n]), 5, 6, 7), MaxTokens: 5})
		cold.Close()
		same(t, fmt.Sprintf("%d tokens, %d held", n, done.Usage.Cached), warm, want)
		if n <= 1400 && done.Usage.Cached < n/512*512 {
			t.Errorf("%d tokens: %d held, snapshots are 512 apart", n, done.Usage.Cached)
		}
	}
}

func TestStatusWhileAnswering(t *testing.T) {
	e := openSample(t, Options{Slots: 2})
	defer e.Close()
	for ev, err := range e.Generate(context.Background(), ask(chat.ReasoningOn, 20, user("What is bread?"))) {
		if err != nil {
			t.Fatal(err)
		}
		st := e.Status()
		busy := 0
		for _, s := range st.Slots {
			if s.Busy {
				busy++
			}
		}
		if len(ev.Tokens) > 0 && (len(st.Slots) != 2 || busy > 1 || len(st.Cards) != 1 || st.Context != e.Info().Context) {
			t.Errorf("%+v", st)
		}
	}
	st := e.Status()
	if st.Requests != 1 || st.Generated != 20 || st.ContextUsed == 0 || st.Decode <= 0 {
		t.Errorf("%+v", st)
	}
	m := st.Cards[0].Parts
	if m["weights"] < 4<<20 || m["cache"] <= 0 || m["state"] <= 0 || m["scratch"] <= 0 || st.Cards[0].Used != m["weights"]+m["cache"]+m["state"]+m["scratch"] {
		t.Errorf("%+v", st.Cards)
	}
}
