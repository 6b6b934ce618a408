package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestLogprobs(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for name, logits := range shapes(r, 500) {
		if name == "banned" || name == "extreme" {
			continue // below
		}
		top := float64(slices.Max(logits))
		sum := 0.0
		for _, l := range logits {
			sum += math.Exp(float64(l) - top)
		}
		want := func(id int32) float64 { return float64(logits[id]) - top - math.Log(sum) }
		chosen := int32(r.IntN(len(logits)))
		lp, best := Logprobs(logits, chosen, 20)
		if d := math.Abs(float64(lp) - want(chosen)); d > 1e-5*(1+math.Abs(want(chosen))) {
			t.Errorf("%s: %v, expected %v", name, lp, want(chosen))
		}
		sorted := plain(logits, Params{})
		if len(best) != 20 {
			t.Fatalf("%s: %d best", name, len(best))
		}
		for i, b := range best {
			if b.ID != sorted[i].id || math.Abs(float64(b.Logprob)-want(b.ID)) > 1e-5*(1+math.Abs(want(b.ID))) {
				t.Errorf("%s: best %d is %v, expected %v with %v", name, i, b, sorted[i].id, want(sorted[i].id))
			}
		}
		_, everyone := Logprobs(logits, 0, len(logits)+1)
		p := 0.0
		for _, b := range everyone {
			p += math.Exp(float64(b.Logprob))
		}
		if len(everyone) != len(logits) || math.Abs(p-1) > 1e-4 {
			t.Errorf("%s: %d tokens hold %v of the probability", name, len(everyone), p)
		}
	}
}

func TestLogprobsOnAnything(t *testing.T) {
	half := float32(-math.Ln2)
	for _, c := range []struct {
		logits []float32
		chosen int32
		n      int
		lp     float32
		best   string
	}{
		{[]float32{0, 0}, 1, 1, half, fmt.Sprint([]IDLogprob{{0, half}})},
		{[]float32{0, 0}, 1, 0, half, "[]"},
		{[]float32{0, 0}, 1, -1, half, "[]"},
		{[]float32{0, nan, -inf, 0}, 1, 9, -inf, fmt.Sprint([]IDLogprob{{0, half}, {3, half}})},
		{[]float32{0, nan, -inf, 0}, 2, 1, -inf, fmt.Sprint([]IDLogprob{{0, half}})},
		{[]float32{inf, 5, inf}, 0, 3, half, fmt.Sprint([]IDLogprob{{0, half}, {2, half}})},
		{[]float32{inf, 5, inf}, 1, 1, -inf, fmt.Sprint([]IDLogprob{{0, half}})},
		{[]float32{math.MaxFloat32, -math.MaxFloat32}, 0, 2, 0, "[{0 0}]"},
		{[]float32{nan, -inf}, 0, 2, -inf, "[]"},
		{[]float32{1}, 5, 1, -inf, "[{0 0}]"},
		{[]float32{1}, -1, 1, -inf, "[{0 0}]"},
		{nil, 0, 4, -inf, "[]"},
	} {
		lp, best := Logprobs(c.logits, c.chosen, c.n)
		if lp != c.lp || fmt.Sprint(best) != c.best {
			t.Errorf("Logprobs(%v, %d, %d): %v %v, expected %v %s", c.logits, c.chosen, c.n, lp, best, c.lp, c.best)
		}
	}
}
