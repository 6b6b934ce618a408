package engine

import (
	"math"
	"slices"
	"strings"
	"testing"

	"ingot/engine/chat"
)

// lanesOf are ways to spread the sample model over parts of the processor.
func lanesOf() map[string]Options {
	one := 2
	return map[string]Options{
		"2 lanes: cpu:0 cpu:1":                           {TPS: 2},
		"4 lanes: cpu:0 cpu:1 cpu:2 cpu:3":               {Cards: []string{"4xcpu"}},
		"2 stages: cpu:0 | cpu:1":                        {Cards: []string{"cpu:0", "cpu:1"}, Split: "layer"},
		"2 stages of 2 lanes: cpu:0 cpu:1 | cpu:2 cpu:3": {Cards: []string{"4xcpu"}, TPS: 2},
		"2 stages of 2 lanes: cpu | cpu:0 cpu:1":         {Cards: []string{"2xcpu"}, Layers: &one},
	}
}

// On every topology the sample model's greedy answer is one lane's, each turn of a conversation equals a cold run bit for
// bit, and what earlier turns left is used.
func TestTopologiesAnswerAlike(t *testing.T) {
	ask := func(h []chat.Message) Request { return ask(chat.ReasoningOff, 12, h...) }
	first := []chat.Message{system(long), user("What is the capital of France?")}
	plain := openSample(t, Options{UBatch: 24})
	want, wantLogits, _ := steps(t, plain, ask(first))
	plain.Close()
	for name, o := range lanesOf() {
		t.Run(name, func(t *testing.T) {
			o.UBatch = 24 // the prompt is several pieces
			warm := openSample(t, o)
			defer warm.Close()
			if got := warm.Info().Topology; got != name {
				t.Errorf("the topology is %q", got)
			}
			cards := warm.Status().Cards
			if lanes := strings.Count(name, "cpu"); len(cards) != lanes {
				t.Errorf("%d cards for %d lanes", len(cards), lanes)
			}
			for _, c := range cards {
				if c.Used <= 0 || !strings.Contains(name, c.Name) {
					t.Errorf("%+v", c)
				}
			}
			tokens, logits, _ := steps(t, warm, ask(first))
			if !slices.Equal(tokens, want) {
				t.Errorf("%v, one lane %v", tokens, want)
			}
			for i := range logits {
				for j := range logits[i] {
					if d := math.Abs(float64(logits[i][j] - wantLogits[i][j])); !(d < 0.25) {
						t.Fatalf("step %d: logits differ by %g", i, d)
					}
				}
			}
			_, text, _, _ := answerTo(t, warm, ask(first)) // the same again, from the cache
			next := append(slices.Clone(first), assistant(text), user("And of Spain?"))
			tokens, logits, done := steps(t, warm, ask(next))
			cold := openSample(t, o)
			defer cold.Close()
			coldTokens, coldLogits, _ := steps(t, cold, ask(next))
			if !slices.Equal(tokens, coldTokens) || done.Usage.Cached == 0 {
				t.Errorf("%v with %d tokens held, cold %v", tokens, done.Usage.Cached, coldTokens)
			}
			same(t, "the second turn", logits, coldLogits)
		})
	}
}

// A hook sees whole values on every topology, whatever lanes have of them.
func TestHooksSeeWholeValues(t *testing.T) {
	watch := func(o Options) map[string][][]float32 {
		seen := map[string][][]float32{}
		o.Watch = func(layer int, name string) bool { return layer < 4 }
		o.Hook = func(a Activation) {
			for _, r := range a.Rows {
				key := a.Name + string(rune('0'+a.Layer))
				seen[key] = append(seen[key], slices.Clone(r))
			}
		}
		e := openSample(t, o)
		defer e.Close()
		steps(t, e, Request{Tokens: []int32{5, 6, 7, 8, 9}, MaxTokens: 1})
		return seen
	}
	want := watch(Options{})
	for name, o := range lanesOf() {
		got := watch(o)
		if len(got) != len(want) {
			t.Errorf("%s: %d values, one lane has %d", name, len(got), len(want))
		}
		for key, rows := range want {
			if len(got[key]) != len(rows) {
				t.Errorf("%s: %s has %d rows, one lane's %d", name, key, len(got[key]), len(rows))
				continue
			}
			for i, r := range rows {
				worst, size := 0.0, 0.0
				for j := range r {
					if j < len(got[key][i]) {
						worst = max(worst, math.Abs(float64(got[key][i][j]-r[j])))
					}
					size = max(size, math.Abs(float64(r[j])))
				}
				if len(got[key][i]) != len(r) || !(worst <= 0.05*size+1e-3) {
					t.Errorf("%s: %s row %d has %d columns and differs by %g of %g; one lane has %d", name, key, i, len(got[key][i]), worst, size, len(r))
				}
			}
		}
	}
}
