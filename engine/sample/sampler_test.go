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
