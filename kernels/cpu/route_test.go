package cpu

import (
	"math"
	"slices"
	"sort"
	"testing"
	"unsafe"
)

func TestRoute(t *testing.T) {
	every(t, func(t *testing.T, a *arena) {
		b := a.randomBatch(t, 5, 100)
		experts := pick(a, 1, 5, 8, 60, 64, 130)
		used := 1 + a.rng.IntN(min(experts, 10))
		stride := experts + a.rng.IntN(9)
		logits := a.f(b.Rows()*stride, pick(a, 1.0, 30))
		for i, v := range a.f32(logits) {
			if a.rng.IntN(4) == 0 {
				a.f32(logits)[i] = float32(math.Round(float64(v))) // ties
			}
		}
		ids, weights := a.take(int64(b.Rows()*used), 4, integers), a.empty(b.Rows()*used)
		args := &Route{Logits: a.ptr(logits), IDs: a.ptr(ids), Weights: a.ptr(weights), Stride: int64(stride), Experts: int32(experts),
			Used: int32(used), Normalize: int32(a.rng.IntN(2)), Scale: pick(a, float32(1), 2.5)}
		k := &kase{args: args, batch: b, tol: 2e-6, rows: map[string]int64{"Logits": 4 * int64(stride), "IDs": 4 * int64(used), "Weights": 4 * int64(used)}}
		bias, factors := a.f(experts, 0.3), a.f(experts, 1)
		args.Sigmoid = int32(a.rng.IntN(2))
		args.Bias, args.Factors = pick(a, nil, a.ptr(bias)), pick(a, nil, a.ptr(factors))
		for r := range b.Rows() {
			x := toFloat64(a.f32(logits.part(r*stride, experts)))
			top, total, kept := slices.Max(x), 0.0, 0.0
			for _, v := range x {
				total += math.Exp(v - top)
			}
			order, score := make([]int, experts), slices.Clone(x)
			probability := func(e int) float64 {
				if args.Sigmoid == 1 {
					return sigmoid(x[e])
				}
				return math.Exp(x[e]-top) / total
			}
			for i := range order {
				order[i] = i
				if args.Bias != nil {
					score[i] = probability(i) + float64(a.f32(bias)[i])
				}
			}
			sort.SliceStable(order, func(i, j int) bool { return score[order[i]] > score[order[j]] })
			wantIDs, want := make([]float64, used), make([]float64, used)
			for s, e := range order[:used] {
				wantIDs[s], want[s] = float64(e), probability(e)
				kept += want[s]
			}
			for s, e := range order[:used] {
				if args.Normalize == 1 {
					want[s] /= max(kept, 1.0/(1<<14))
				}
				want[s] *= float64(args.Scale)
				if args.Factors != nil {
					want[s] *= float64(a.f32(factors)[e])
				}
			}
			k.expect(ids.part(r*used, used), wantIDs)
			k.expect(weights.part(r*used, used), want)
		}
		a.check(t, k)
	})
}

// Logits that are not numbers must still choose experts that exist.
func TestRouteNaN(t *testing.T) {
	nan := float32(math.NaN())
	for _, level := range Levels() {
		a := newArena(t, 1)
		b := a.randomBatch(t, 1, 10)
		logits, ids, weights := a.f(40, 1), a.take(12, 4, integers), a.empty(12)
		for i := range a.f32(logits) {
			if i != 7 {
				a.f32(logits)[i] = nan
			}
		}
		p := NewProgram(level)
		if err := p.Add(&Route{Logits: a.ptr(logits), IDs: a.ptr(ids), Weights: a.ptr(weights), Stride: 0, Experts: 40, Used: 4, Normalize: 1, Scale: 1}); err != nil {
			t.Fatal(err)
		}
		teams[1].Run(p, b)
		p.Free()
		for s, e := range a.i32(ids)[:4] {
			if e < 0 || e >= 40 {
				t.Errorf("%v: choice %d is expert %d of 40", level, s, e)
			}
		}
	}
}

func TestCombine(t *testing.T) {
	every(t, func(t *testing.T, a *arena) {
		b := a.randomBatch(t, 4, 100)
		cols, used := pick(a, 1, 7, 64, 65, 200), 1+a.rng.IntN(9)
		ystride, sstride, stride := cols+a.rng.IntN(9), cols+a.rng.IntN(9), cols+a.rng.IntN(9)
		n := b.Rows()
		y, weights := a.f(n*used*ystride, 1), a.f(n*used, 1)
		shared, sgate, add := a.f(n*sstride, 1), a.f(n, 2), a.f(n*stride+1, 1)
		dst := pick(a, add, a.empty(n*stride+1))
		args := &Combine{Y: a.ptr(y), Weights: a.ptr(weights), Dst: a.ptr(dst), YStride: int64(ystride), SStride: int64(sstride),
			AddStride: int64(stride), DStride: int64(stride), Cols: int32(cols), Used: int32(used),
			Shared: pick(a, nil, a.ptr(shared)), SGate: pick(a, nil, a.ptr(sgate)), Add: pick(a, nil, a.ptr(add))}
		k := &kase{args: args, batch: b, tol: 4e-6, rows: map[string]int64{"Y": 4 * int64(used*ystride), "Weights": 4 * int64(used),
			"Shared": 4 * int64(sstride), "SGate": 4, "Add": 4 * int64(stride), "Dst": 4 * int64(stride)}}
		for r := range n {
			want := make([]float64, cols)
			for c := range want {
				if args.Add != nil {
					want[c] = float64(a.f32(add)[r*stride+c])
				}
				for s := range used {
					want[c] += float64(a.f32(weights)[r*used+s]) * float64(a.f32(y)[(r*used+s)*ystride+c])
				}
				factor := 1.0
				if args.SGate != unsafe.Pointer(nil) {
					factor = sigmoid(float64(a.f32(sgate)[r]))
				}
				if args.Shared != nil {
					want[c] += factor * float64(a.f32(shared)[r*sstride+c])
				}
			}
			k.expect(dst.part(r*stride, cols), want)
		}
		a.check(t, k)
	})
}
