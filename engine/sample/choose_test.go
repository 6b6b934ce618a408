package sample

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// shapes are logits of the kinds that selection must cope with.
func shapes(r *rand.Rand, n int) map[string][]float32 {
	out := map[string][]float32{}
	fill := func(name string, f func(i int) float32) {
		l := make([]float32, n)
		for i := range l {
			l[i] = f(i)
		}
		out[name] = l
	}
	fill("normal", func(int) float32 { return float32(3 * r.NormFloat64()) })
	fill("nearly flat", func(int) float32 { return 5 + float32(1e-5*r.NormFloat64()) })
	fill("equal", func(int) float32 { return -2 })
	fill("few values", func(int) float32 { return float32(r.IntN(4)) })
	fill("rising", func(i int) float32 { return float32(i) / 100 })
	fill("falling", func(i int) float32 { return -float32(i) })
	fill("heavy tail", func(int) float32 { return float32(r.ExpFloat64() * 8) })
	fill("outlier above", func(i int) float32 { return float32(r.NormFloat64()) + 60*float32((i/7)&1&(i%7)) })
	fill("extreme", func(i int) float32 { return []float32{math.MaxFloat32, -math.MaxFloat32, 0}[r.IntN(3)] })
	fill("banned", func(int) float32 {
		return []float32{-inf, nan, float32(r.NormFloat64())}[r.IntN(3)]
	})
	out["banned"][n/2] = 1 // one at least can be chosen
	return out
}

// plain is the chain over a full sort: the candidates that are left, best first.
func plain(logits []float32, p Params) []cand {
	var c []cand
	for id, l := range logits {
		if l > -inf {
			c = append(c, cand{l, int32(id)})
		}
	}
	slices.SortStableFunc(c, func(a, b cand) int {
		switch {
		case a.logit > b.logit:
			return -1
		case a.logit < b.logit:
			return 1
		}
		return 0
	})
	if p.TopK > 0 {
		c = c[:min(p.TopK, len(c))]
	}
	weight := func(i int) float64 { return math.Exp(float64(c[i].logit) - float64(c[0].logit)) }
	if p.TopP > 0 && p.TopP < 1 {
		total, sum := 0.0, 0.0
		for i := range c {
			total += weight(i)
		}
		for i := range c {
			if sum += weight(i); sum >= float64(p.TopP)*total {
				c = c[:i+1]
				break
			}
		}
	}
	if p.MinP > 0 {
		n := 1
		for n < len(c) && float64(c[n].logit) >= float64(c[0].logit)+math.Log(float64(p.MinP)) {
			n++
		}
		c = c[:n]
	}
	return c
}

func TestCandidatesAgainstFullSort(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for _, n := range []int{1, 2, 30, 3000} {
		for name, logits := range shapes(r, n) {
			for _, k := range []int{0, 1, 2, 40, heapMost, heapMost + 1, n - 1, n, n + 1} {
				for _, topP := range []float32{0, 1e-30, 0.1, 0.5, 0.95, 0.9999999, 1} {
					for _, minP := range []float32{0, 1e-6, 0.05, 1} {
						p := Params{Temperature: 1, TopK: k, TopP: topP, MinP: minP}
						s := New(p, n)
						top := logits[argmax(logits)]
						got := slices.Clone(s.probable(s.largest(logits, top), top))
						slices.SortFunc(got, before)
						want := plain(logits, p)
						// Sums in another order round differently: where many candidates are nearly equal, the run may end one apart.
						if d := len(got) - len(want); d < -1 || d > 1 || len(got) == 0 {
							t.Fatalf("%s, %d logits, %+v: %d candidates, expected %d", name, n, p, len(got), len(want))
						} else if d != 0 && (topP == 0 || topP == 1) {
							t.Fatalf("%s, %d logits, %+v: %d candidates, expected %d", name, n, p, len(got), len(want))
						}
						m := min(len(got), len(want))
						if !slices.Equal(got[:m], want[:m]) {
							t.Fatalf("%s, %d logits, %+v:\n%v\nexpected\n%v", name, n, p, got[:min(m, 20)], want[:min(m, 20)])
						}
					}
				}
			}
		}
	}
}
