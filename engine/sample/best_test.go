package sample

import (
	"math"
	"math/rand/v2"
	"testing"
)

// best are the k largest of a row as a card gives them.
func best(logits []float32, k int) (values []float32, ids []int32, log float64) {
	for _, c := range plain(logits, Params{TopK: k}) {
		values, ids = append(values, c.logit), append(ids, c.id)
	}
	return values, ids, newNorm(logits).log
}

// From the largest logits alone the same tokens are chosen as from whole rows, draw by draw.
func TestTheBestChooseWhatWholeRowsDo(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	odd := func(n int) []float32 { // ties, and numbers that are none
		l := make([]float32, n)
		for i := range l {
			l[i] = []float32{nan, -inf, inf, 0, float32(math.Copysign(0, -1)), 1, float32(r.IntN(3)), float32(r.NormFloat64())}[r.IntN(3+r.IntN(6))]
		}
		return l
	}
	f := func(of ...float32) float32 { return of[r.IntN(len(of))] }
	drawn := 0
	for range 3000 {
		n := []int{1, 2, 5, 40, 700}[r.IntN(5)]
		p := Params{Temperature: f(0, 0.5, 1, 3), TopK: []int{0, 1, 2, 5, 40, 512, 513}[r.IntN(7)], TopP: f(0, 0.3, 0.95, 1), MinP: f(0, 0, 0.05, 1), Seed: r.Uint64(), Seeded: true}
		if r.IntN(3) == 0 {
			p.LogitBias = map[int32]float32{}
			for range 1 + r.IntN(4) {
				p.LogitBias[int32(r.IntN(n+2))] = f(-inf, -1, -0.5, 0)
			}
		}
		whole, few := New(p, n), New(p, n)
		k := few.Enough()
		if k == 0 {
			if p.Temperature == 0 || p.TopK > 0 && p.TopK <= heapMost && p.TopK < n {
				t.Fatalf("%+v of %d needs whole rows", p, n)
			}
			continue
		}
		rows := [][]float32{odd(n), odd(n), odd(n)}
		for _, l := range shapes(r, n) {
			rows = append(rows, l)
		}
		for _, l := range rows {
			values, ids, _ := best(l, k+r.IntN(2)*r.IntN(9)) // more are as good
			want, got := whole.Next(append([]float32(nil), l...)), few.NextOf(values, ids)
			if got != want {
				t.Fatalf("%+v: token %d from the %d best, %d from all of\n%v", p, got, len(ids), want, l)
			}
			drawn++
		}
	}
	if drawn < 10000 {
		t.Errorf("%d tokens chosen", drawn)
	}
}

// What lifts tokens from below needs whole rows.
func TestEnough(t *testing.T) {
	for _, c := range []struct {
		p    Params
		want int
	}{
		{Params{}, 1}, {Params{TopK: 40}, 1}, {Params{Temperature: 1}, 0}, {Params{Temperature: 1, TopK: 40, TopP: 0.9}, 40}, {Params{Temperature: 1, TopK: 100}, 0},
		{Params{RepeatPenalty: 1.1}, 0}, {Params{RepeatPenalty: 1}, 1}, {Params{PresencePenalty: 1}, 0}, {Params{FrequencyPenalty: 1}, 0},
		{Params{LogitBias: map[int32]float32{3: 0.1}}, 0}, {Params{LogitBias: map[int32]float32{3: -1, 4: -inf}, TopK: 40, Temperature: 1}, 42},
		{Params{LogitBias: map[int32]float32{300: 0.1}}, 1},
	} {
		if got := New(c.p, 100).Enough(); got != c.want {
			t.Errorf("%+v: %d are enough, expected %d", c.p, got, c.want)
		}
	}
}

func TestLogprobsOfTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	rows := shapes(r, 300)
	rows["infinite"] = []float32{0, inf, 3, inf}
	rows["none"] = []float32{nan, -inf}
	for name, l := range rows {
		for _, k := range []int{1, 5, 20} {
			values, ids, log := best(l, k)
			chosen := int32(-1)
			if len(ids) > 0 {
				chosen = ids[r.IntN(len(ids))]
			}
			for _, n := range []int{0, 1, k} {
				lp, top := LogprobsOf(values, ids, log, chosen, n)
				want, wantTop := Logprobs(l, chosen, n)
				if lp != want || len(top) != len(wantTop) {
					t.Fatalf("%s: %v and %d best, from whole rows %v and %d", name, lp, len(top), want, len(wantTop))
				}
				for i := range top {
					if top[i] != wantTop[i] {
						t.Errorf("%s: best %d is %v, from whole rows %v", name, i, top[i], wantTop[i])
					}
				}
			}
		}
	}
}
