package cards

import (
	"fmt"
	"slices"
	"testing"

	"ingot/engine"
	"ingot/engine/arch/archtest"
	"ingot/engine/device"
	"ingot/engine/exec"
	"ingot/engine/plan"
	"ingot/engine/sample"
	"ingot/engine/tensor"
	"ingot/kernels/gpu"
)

// scores runs batches and returns what they say of every wanted row: prompts of one piece and of two, two sequences at once, tokens.
func scores(t *testing.T, r *exec.Runner, best int) (all []device.Scores) {
	t.Helper()
	long := make([]int32, rows+5)
	for i := range long {
		long[i] = int32(i*29+3) % archtest.Vocab
	}
	for _, b := range []device.Batch{
		{Tokens: long, Outs: []int32{2, 9, rows + 4}, Seqs: []device.Seq{{Rows: rows + 5, PlaneIn: -1}}},
		{Tokens: []int32{2, 4, 6, 3}, Outs: []int32{2, 3}, Seqs: []device.Seq{{Rows: 3, Slot: 1, PlaneIn: -1, PlaneOut: 2}, {Row0: 3, Rows: 1, Pos0: rows + 5, PlaneOut: 1}}},
		{Tokens: []int32{5}, Outs: []int32{0}, Seqs: []device.Seq{{Rows: 1, Pos0: rows + 6, PlaneIn: 1, PlaneOut: 1}}},
	} {
		b.Best = best
		if err := r.Run(&b); err != nil {
			t.Fatalf("%v %s", err, why())
		}
		for i := range b.Outs {
			s := r.Scores(i)
			all = append(all, device.Scores{Logits: slices.Clone(s.Logits), IDs: slices.Clone(s.IDs), Log: s.Log})
		}
	}
	return all
}

// The best logits that cards take are those of the whole rows, bit for bit, over any lanes and stages, and the same run after run; so
// the same tokens are chosen. Of a token little more than these comes to the host.
func TestTheBestAreTakenOnTheCards(t *testing.T) {
	emulatedOnly(t)
	m := tiny(t, "qwen35", tensor.Q8_0)
	const k = 3
	for _, c := range []struct {
		config string
		topology
		heads int // lanes that have a part of the head
	}{
		{"cards=1", topology{cards: 1, mode: plan.ModeNone}, 1},
		{"cards=4", topology{cards: 4, tps: 4, mode: plan.ModeTensor}, 4},
		{"cards=2 peers=0", topology{cards: 2, tps: 2, mode: plan.ModeTensor}, 2},
		{"cards=4", topology{cards: 4, tps: 2, mode: plan.ModeTensor}, 2},
	} {
		t.Run(c.String()+" "+c.config, func(t *testing.T) {
			emulate(t, c.config)
			c.repack = true
			r, top := m.open(t, some(t, "hip", c.cards), c.topology)
			down := func(f func()) (n int64) {
				for i := range c.cards {
					n -= count(t, i, bytesDown)
				}
				f()
				for i := range c.cards {
					n += count(t, i, bytesDown)
				}
				return n
			}
			whole := scores(t, r, 0)
			few := scores(t, r, k)
			for i, s := range few {
				ids := make([]int32, archtest.Vocab)
				for id := range ids {
					ids[id] = int32(id)
				}
				slices.SortStableFunc(ids, func(a, b int32) int {
					x, y := whole[i].Logits[a], whole[i].Logits[b]
					switch {
					case x > y:
						return -1
					case x < y:
						return 1
					}
					return 0
				})
				if whole[i].IDs != nil || !slices.Equal(s.IDs, ids[:k]) {
					t.Fatalf("row %d: the best are %v, of whole rows %v\n%v", i, s.IDs, ids[:k], top)
				}
				for j, id := range s.IDs {
					if s.Logits[j] != whole[i].Logits[id] {
						t.Errorf("row %d: token %d has %v, in the whole row %v", i, id, s.Logits[j], whole[i].Logits[id])
					}
				}
				of, _ := sample.LogprobsOf(s.Logits, s.IDs, s.Log, ids[1], 0)
				if want, _ := sample.Logprobs(whole[i].Logits, ids[1], 0); !(of-want < 1e-5 && want-of < 1e-5) {
					t.Errorf("row %d: the second token's log-probability is %v, of the whole row %v", i, of, want)
				}
				p := sample.Params{Temperature: 2, TopK: k, Seed: uint64(i), Seeded: true}
				if got, want := sample.New(p, archtest.Vocab).NextOf(s.Logits, s.IDs), sample.New(p, archtest.Vocab).Next(whole[i].Logits); got != want {
					t.Errorf("row %d: token %d is drawn, from the whole row %d", i, got, want)
				}
			}
			if again := scores(t, r, k); fmt.Sprint(again) != fmt.Sprint(few) {
				t.Error("the second time they differ")
			}
			token := func(best int) int64 {
				b := device.Batch{Tokens: []int32{1}, Outs: []int32{0}, Seqs: []device.Seq{{Rows: 1, Pos0: rows + 7, PlaneIn: 1, PlaneOut: 1}}, Best: best}
				return down(func() {
					if err := r.Run(&b); err != nil {
						t.Fatal(err)
					}
				})
			}
			all, some := token(0), token(k)
			if len(c.config) == len("cards=N") { // lanes meet on the cards: nothing else comes down
				if want := int64(4 * archtest.Vocab); all != want {
					t.Errorf("%d bytes come down of a whole row, expected %d", all, want)
				}
				if want := int64(c.heads * 4 * (1 + 2*k)); some != want {
					t.Errorf("%d bytes come down for the best %d, expected %d", some, k, want)
				}
			}
			if all-some < 2*archtest.Vocab { // where they meet on the host, the joining of the rows is saved too
				t.Errorf("%d bytes come down for the best %d, %d of whole rows", some, k, all)
			}
			if n := token(gpu.MaxTopK + 1); n != all {
				t.Errorf("%d bytes come down for more than a card takes, %d of whole rows", n, all)
			}
			t.Setenv("INGOT_CARD_TOP_K", "0")
			if n := token(k); n != all {
				t.Errorf("%d bytes come down with top-k turned off, %d of whole rows", n, all)
			}
		})
	}
}

// A request is answered with the same tokens whether its logits stay on the cards or not, and where log-probabilities are asked for with
// those, but for their last digits.
func TestAnswersOfTheBest(t *testing.T) {
	emulatedOnly(t)
	emulate(t, "cards=1")
	e, err := engine.Open("../../assets/sample/sample-Q8_0.gguf", engine.Options{Cards: []string{"hip:0"}, Context: 256, UBatch: 16})
	if err != nil {
		t.Fatalf("%v %s", err, why())
	}
	defer e.Close()
	r := engine.Request{Text: "The capital of", MaxTokens: 3, IgnoreEOS: true}
	ask := func() (tokens []engine.TokenInfo, down int64) {
		down = -count(t, 0, bytesDown)
		for ev, err := range e.Generate(t.Context(), r) {
			if err != nil {
				t.Fatalf("%v %s", err, why())
			}
			tokens = append(tokens, ev.Tokens...)
		}
		return tokens, down + count(t, 0, bytesDown)
	}
	for _, c := range []struct {
		sampling sample.Params
		logprobs int
		own      []func([]int32, []float32)
		whole    bool
	}{
		{logprobs: 3},
		{sampling: sample.Params{Temperature: 2, TopK: 40, TopP: 0.95, Seeded: true}, logprobs: 2},
		{sampling: sample.Params{RepeatPenalty: 1.1}, whole: true},
		{own: []func([]int32, []float32){func(_ []int32, logits []float32) { logits[len(logits)-1] = 100 }}, whole: true},
	} {
		r.Sampling, r.Logprobs, r.Processors = c.sampling, c.logprobs, c.own
		t.Setenv("INGOT_CARD_TOP_K", "1")
		got, few := ask()
		t.Setenv("INGOT_CARD_TOP_K", "0")
		want, all := ask()
		if (few == all) != c.whole || few > all {
			t.Errorf("%+v: %d bytes come down, %d of whole rows", c, few, all)
		}
		for i := range want {
			if i >= len(got) || got[i].ID != want[i].ID || len(got[i].Top) != len(want[i].Top) || !(max(got[i].Logprob-want[i].Logprob, want[i].Logprob-got[i].Logprob) < 1e-5) {
				t.Fatalf("%+v:\n%v, from whole rows\n%v", c, got, want)
			}
			for j, top := range want[i].Top {
				if got[i].Top[j].ID != top.ID {
					t.Errorf("%+v: candidate %d is %v, from whole rows %v", c, j, got[i].Top[j], top)
				}
			}
		}
	}
}
