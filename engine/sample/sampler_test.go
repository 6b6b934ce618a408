package sample

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		p    Params
		want string // "" where the parameters are good
	}{
		{Params{}, ""},
		{Params{Temperature: 0.7, TopK: 40, TopP: 0.95, MinP: 0.05, RepeatPenalty: 1.1, PresencePenalty: -2, FrequencyPenalty: 2, PenaltyLastN: -1}, ""},
		{Params{TopP: 1, MinP: 1, RepeatPenalty: 0.5, LogitBias: map[int32]float32{0: -inf, 7: 100}}, ""},
		{Params{Temperature: nan}, "temperature is NaN, expected a finite number from 0"},
		{Params{Temperature: -0.1}, "temperature is -0.1, expected a finite number from 0"},
		{Params{Temperature: inf}, "temperature is +Inf, expected a finite number from 0"},
		{Params{TopK: -1}, "top_k is -1, expected a number from 0"},
		{Params{TopP: 1.5}, "top_p is 1.5, expected a number from 0 to 1"},
		{Params{TopP: -1}, "top_p is -1, expected a number from 0 to 1"},
		{Params{TopP: nan}, "top_p is NaN, expected a number from 0 to 1"},
		{Params{MinP: 1.01}, "min_p is 1.01, expected a number from 0 to 1"},
		{Params{MinP: nan}, "min_p is NaN, expected a number from 0 to 1"},
		{Params{RepeatPenalty: -1}, "repeat_penalty is -1, expected a finite number from 0"},
		{Params{RepeatPenalty: inf}, "repeat_penalty is +Inf, expected a finite number from 0"},
		{Params{PresencePenalty: nan}, "presence_penalty is NaN, expected a finite number"},
		{Params{FrequencyPenalty: -inf}, "frequency_penalty is -Inf, expected a finite number"},
		{Params{PenaltyLastN: -2}, "penalty_last_n is -2, expected a number from -1"},
		{Params{LogitBias: map[int32]float32{3: 1, -4: 1}}, "logit_bias is -4, expected token ids from 0"},
		{Params{LogitBias: map[int32]float32{3: nan}}, "logit_bias of token 3 is NaN, expected a number"},
	} {
		err := c.p.Check()
		var pe *ParamError
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &pe) || err.Error() != c.want) {
			t.Errorf("%v, expected %q", err, c.want)
		}
	}
}

func TestGreedy(t *testing.T) {
	for _, c := range []struct {
		name   string
		p      Params
		accept []int32
		logits []float32
		want   int32
	}{
		{"best", Params{}, nil, []float32{1, 3, 2}, 1},
		{"lowest id of equals", Params{}, nil, []float32{1, 3, 3, 3}, 1},
		{"filters leave the best", Params{TopK: 1, TopP: 0.01, MinP: 1}, nil, []float32{1, 3, 3}, 1},
		{"NaN is no number", Params{}, nil, []float32{nan, -5, nan, -4}, 3},
		{"all NaN", Params{}, nil, []float32{nan, nan}, -1},
		{"all banned", Params{}, nil, []float32{-inf, -inf}, -1},
		{"nothing", Params{}, nil, nil, -1},
		{"infinite", Params{}, nil, []float32{1, inf, inf}, 1},
		{"bias lifts", Params{LogitBias: map[int32]float32{0: 2.5}}, nil, []float32{1, 3, 2}, 0},
		{"bias bans", Params{LogitBias: map[int32]float32{1: -inf}}, nil, []float32{1, 3, 2}, 2},
		{"bias beyond the vocabulary", Params{LogitBias: map[int32]float32{4000: 100}}, nil, []float32{1, 3, 2}, 1},
		{"repeat divides", Params{RepeatPenalty: 2}, []int32{1}, []float32{1, 3, 2}, 2},
		{"repeat multiplies negatives", Params{RepeatPenalty: 2}, []int32{1}, []float32{-2.5, -2, -3}, 0},
		{"presence counts once", Params{PresencePenalty: 0.6}, []int32{1, 1, 1}, []float32{1, 3, 2}, 1},
		{"frequency counts each", Params{FrequencyPenalty: 0.6}, []int32{1, 1, 1}, []float32{1, 3, 2}, 2},
		{"window forgets", Params{PresencePenalty: 9, PenaltyLastN: 2}, []int32{1, 0, 2}, []float32{1, 3, 2}, 1},
		{"64 by default", Params{PresencePenalty: 9}, append([]int32{1}, make([]int32, 63)...), []float32{1, 3, 2}, 2},
		{"and not 65", Params{PresencePenalty: 9}, append([]int32{1}, make([]int32, 64)...), []float32{1, 3, 2}, 1},
		{"-1 is all", Params{PresencePenalty: 9, PenaltyLastN: -1}, append([]int32{1}, make([]int32, 5000)...), []float32{1, 3, 2}, 2},
		{"ids outside are ignored", Params{PresencePenalty: 9}, []int32{-1, 3, 1 << 30}, []float32{1, 3, 2}, 1},
		{"bias comes before penalties", Params{RepeatPenalty: 2, LogitBias: map[int32]float32{1: 3}}, []int32{1}, []float32{1, 3, 4}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New(c.p, 3)
			if len(c.logits) > 3 {
				s = New(c.p, len(c.logits))
			}
			for _, id := range c.accept {
				s.Accept(id)
			}
			if got := s.Next(c.logits); got != c.want {
				t.Errorf("token %d, expected %d", got, c.want)
			}
		})
	}
}

// The history equals a recount of the last tokens, whatever comes in.
func TestPenaltiesAgainstRecount(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, last := range []int{-1, 1, 2, 7, 64, 1000} {
		const vocab = 20
		p := Params{RepeatPenalty: 1.3, PresencePenalty: 0.2, FrequencyPenalty: 0.1, PenaltyLastN: last}
		s := New(p, vocab)
		var tokens []int32
		for step := range 400 {
			id := int32(r.IntN(1 + r.IntN(vocab)))
			s.Accept(id)
			tokens = append(tokens, id)
			logits, want := make([]float32, vocab), make([]float32, vocab)
			for i := range logits {
				logits[i] = float32(r.NormFloat64())
			}
			window := tokens
			if last > 0 {
				window = tokens[max(0, len(tokens)-last):]
			}
			for i, l := range logits {
				n := 0
				for _, w := range window {
					if w == int32(i) {
						n++
					}
				}
				if n > 0 && l > 0 {
					l /= 1.3
				} else if n > 0 {
					l *= 1.3
				}
				if n > 0 {
					l -= float32(n)*0.1 + 0.2
				}
				want[i] = l
			}
			s.past.apply(logits, &s.p)
			if !slices.Equal(logits, want) {
				t.Fatalf("last %d, step %d:\n%v\nexpected\n%v", last, step, logits, want)
			}
		}
	}
}

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
						got := slices.Clone(s.candidates(logits, top))
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

// What is drawn follows the softmax at the temperature, over what the filters leave.
func TestDrawsFollowProbabilities(t *testing.T) {
	logits := []float32{2, 1.5, -1, 0, 3, 2.5, -inf, 0.3, nan, 1, -3, 2.9}
	for i, p := range []Params{
		{Temperature: 1}, {Temperature: 0.5}, {Temperature: 2.5}, {Temperature: 1, TopK: 5}, {Temperature: 1.5, TopP: 0.8}, {Temperature: 1, MinP: 0.2},
		{Temperature: 0.8, TopK: 6, TopP: 0.9, MinP: 0.1}, {Temperature: 1, TopK: 1}, {Temperature: 1e-30},
	} {
		p.Seed, p.Seeded = uint64(i), true
		s := New(p, len(logits))
		left := plain(logits, p)
		share, total := map[int32]float64{}, 0.0
		for _, c := range left {
			w := math.Exp((float64(c.logit) - float64(left[0].logit)) / float64(p.Temperature))
			share[c.id] = w
			total += w
		}
		const draws = 100_000
		counts, buf := map[int32]int{}, make([]float32, len(logits))
		for range draws {
			copy(buf, logits)
			counts[s.Next(buf)]++
		}
		chi, cells := 0.0, 0
		for id, n := range counts {
			if share[id] == 0 {
				t.Fatalf("%+v: token %d drawn %d times, it has no share", p, id, n)
			}
		}
		for id, w := range share {
			if want := draws * w / total; want >= 5 {
				d := float64(counts[id]) - want
				chi += d * d / want
				cells++
			}
		}
		// Mean df, variance 2 df: five standard deviations above. The seeds are fixed, so this cannot flake.
		if df := float64(cells - 1); chi > df+5*math.Sqrt(2*df)+1e-9 {
			t.Errorf("%+v: chi-square %.1f over %d cells, counts %v", p, chi, cells, counts)
		}
	}
}

func TestSeeds(t *testing.T) {
	run := func(s *Sampler, n int) []int32 {
		r := rand.New(rand.NewPCG(3, 3))
		var out []int32
		for range n {
			logits := make([]float32, 1000)
			for i := range logits {
				logits[i] = float32(r.NormFloat64())
			}
			id := s.Next(logits)
			s.Accept(id)
			out = append(out, id)
		}
		return out
	}
	p := Params{Temperature: 1, TopP: 0.9, FrequencyPenalty: 0.1, LogitBias: map[int32]float32{1: 1, 2: -1, 3: 2}, Seed: 7, Seeded: true}
	first := run(New(p, 1000), 50)
	if again := run(New(p, 1000), 50); !slices.Equal(first, again) {
		t.Error("the same seed gives other tokens")
	}
	p.Seed = 8
	if other := run(New(p, 1000), 50); slices.Equal(first, other) {
		t.Error("another seed gives the same tokens")
	}
	p.Seeded = false
	a, b := New(p, 1000), New(p, 1000)
	if a.Seed() == b.Seed() || a.Seed() == 8 {
		t.Error("unseeded samplers share a seed")
	}
	drawn := run(a, 50)
	p.Seed, p.Seeded = a.Seed(), true
	if again := run(New(p, 1000), 50); !slices.Equal(drawn, again) {
		t.Error("Seed does not give the same tokens again")
	}
}

// A draw takes one number of the sequence whether one or all tokens are left, so what follows stays in step.
func TestOneNumberADraw(t *testing.T) {
	p := Params{Temperature: 1, Seed: 5, Seeded: true}
	a, b := New(p, 100), New(p, 100)
	only := make([]float32, 100)
	for i := range only {
		only[i] = -inf
	}
	only[7] = 0
	if id := a.Next(only); id != 7 {
		t.Errorf("token %d", id)
	}
	b.Next(make([]float32, 100))
	for range 20 {
		if x, y := a.Next(make([]float32, 100)), b.Next(make([]float32, 100)); x != y {
			t.Fatalf("tokens %d and %d", x, y)
		}
	}
}

// Whatever the logits and good parameters, Next gives a token that can be chosen, or -1 where there is none.
func TestNextOnAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	odd := []float32{nan, inf, -inf, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, 0, 1, -1, 30}
	pick := func(v ...float32) float32 { return v[r.IntN(len(v))] }
	for range 20000 {
		p := Params{
			Temperature: pick(0, 1e-45, 1e-3, 1, 100, math.MaxFloat32), TopK: r.IntN(5), TopP: pick(0, 1e-45, 0.5, 0.99999994, 1), MinP: pick(0, 1e-45, 0.3, 1),
			RepeatPenalty: pick(0, 1e-45, 0.5, 1, 2, math.MaxFloat32), PresencePenalty: pick(0, -2, 2, math.MaxFloat32), FrequencyPenalty: pick(0, -2, 2, -math.MaxFloat32),
			PenaltyLastN: r.IntN(4) - 1, LogitBias: map[int32]float32{int32(r.IntN(8)): pick(-inf, inf, -100, 100)},
		}
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		n := r.IntN(7)
		s := New(p, max(1, n))
		for range 3 {
			logits := make([]float32, n)
			for i := range logits {
				logits[i] = odd[r.IntN(len(odd))]
			}
			before := slices.Clone(logits)
			id := s.Next(logits) // logits are what the draw saw, after bias and penalties
			s.Accept(id)
			open := slices.ContainsFunc(logits, func(l float32) bool { return l > -inf })
			if open != (id >= 0) || int(id) >= n || id >= 0 && !(logits[id] > -inf) {
				t.Fatalf("%+v: token %d of %v, before %v", p, id, logits, before)
			}
		}
	}
}

func TestNextDoesNotAllocate(t *testing.T) {
	const vocab = 20000
	r := rand.New(rand.NewPCG(5, 5))
	logits, buf := make([]float32, vocab), make([]float32, vocab)
	for i := range logits {
		logits[i] = float32(4 * r.NormFloat64())
	}
	for _, p := range []Params{
		{}, {Temperature: 1}, {Temperature: 1, TopK: 40, TopP: 0.95, MinP: 0.05}, {Temperature: 1, TopK: 5000}, {Temperature: 1, TopP: 0.9}, {Temperature: 1, MinP: 0.1},
		{Temperature: 0.7, TopP: 0.95, RepeatPenalty: 1.1, FrequencyPenalty: 0.1, LogitBias: map[int32]float32{1: 1}},
	} {
		s := New(p, vocab)
		step := func() {
			copy(buf, logits)
			s.Accept(s.Next(buf))
		}
		for range 100 {
			step()
		}
		if n := testing.AllocsPerRun(50, step); n != 0 {
			t.Errorf("%+v: %v allocations a token", p, n)
		}
	}
}

// The parameters are the caller's to change after New.
func TestNewCopiesBias(t *testing.T) {
	bias := map[int32]float32{2: 100}
	s := New(Params{LogitBias: bias}, 3)
	maps.Copy(bias, map[int32]float32{2: 0, 0: 100})
	if id := s.Next([]float32{0, 1, 0}); id != 2 {
		t.Errorf("token %d", id)
	}
}

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

func BenchmarkNext(b *testing.B) {
	const vocab = 250_000
	r := rand.New(rand.NewPCG(7, 7))
	logits, buf := make([]float32, vocab), make([]float32, vocab)
	for i := range logits {
		logits[i] = float32(3 * r.NormFloat64())
	}
	for _, p := range []Params{{}, {Temperature: 1}, {Temperature: 1, TopK: 40, TopP: 0.95}, {Temperature: 1, TopK: 5000}, {Temperature: 1, TopP: 0.95}, {Temperature: 1, MinP: 0.05}} {
		b.Run(fmt.Sprintf("t%vk%dp%vm%v", p.Temperature, p.TopK, p.TopP, p.MinP), func(b *testing.B) {
			s := New(p, vocab)
			for b.Loop() {
				copy(buf, logits)
				s.Next(buf)
			}
		})
	}
	b.Run("logprobs", func(b *testing.B) {
		for b.Loop() {
			Logprobs(logits, 1, 20)
		}
	})
}
