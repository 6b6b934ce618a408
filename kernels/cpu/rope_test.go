package cpu

import (
	"math"
	"testing"
)

func TestRope(t *testing.T) {
	every(t, func(t *testing.T, a *arena) {
		b := a.randomBatch(t, 4, pick(a, 100, 200000))
		dim := pick(a, 2, 6, 64, 80, 128, 600)
		rot := dim
		if dim > 2 && a.rng.IntN(2) == 0 {
			rot = dim / 4 * 2
		}
		heads, gap := 1+a.rng.IntN(4), dim+a.rng.IntN(9)
		stride := heads*gap + a.rng.IntN(9)
		x := a.f(b.Rows()*stride+1, 2)
		freq := a.take(int64(rot/2), 8, floats)
		f := a.mem.Float64s()[freq.off/8:][:rot/2]
		for i := range f {
			f[i] = math.Pow(1e4, -2*float64(i)/float64(rot))
		}
		args := &Rope{X: a.ptr(x), Freq: a.ptr(freq), Stride: int64(stride), Gap: int64(gap), Heads: int32(heads), Rot: int32(rot),
			Neox: int32(a.rng.IntN(2)), Mag: pick(a, float32(1), 1.3)}
		k := &kase{args: args, batch: b, tol: 1e-6, rows: map[string]int64{"X": 4 * int64(stride)}}
		for r := range b.Rows() {
			for h := range heads {
				head := a.f32(x)[r*stride+h*gap:][:rot]
				want := make([]float64, rot)
				for i := range rot / 2 {
					i0, i1 := 2*i, 2*i+1
					if args.Neox == 1 {
						i0, i1 = i, i+rot/2
					}
					sin, cos := math.Sincos(float64(b.Pos()[r]) * f[i])
					x0, x1 := float64(head[i0]), float64(head[i1])
					want[i0] = (x0*cos - x1*sin) * float64(args.Mag)
					want[i1] = (x0*sin + x1*cos) * float64(args.Mag)
				}
				k.expect(x.part(r*stride+h*gap, rot), want)
			}
		}
		a.check(t, k)
	})
}
