package cpu

import (
	"fmt"
	"math"
	"testing"
	"unsafe"
)

const rounds = 40 // random shapes an operation

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

func silu(x float64) float64 { return x * sigmoid(x) }

func gelu(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

// every runs a test of random shapes, each round in an arena of its own.
func every(t *testing.T, f func(t *testing.T, a *arena)) {
	for i := range rounds {
		t.Run(fmt.Sprint(i), func(t *testing.T) { f(t, newArena(t, uint64(i))) })
	}
}

// pick returns one of the values.
func pick[T any](a *arena, of ...T) T { return of[a.rng.IntN(len(of))] }

func TestNorm(t *testing.T) {
	every(t, func(t *testing.T, a *arena) {
		b := a.randomBatch(t, 4, 100)
		heads, cols := 1+a.rng.IntN(4), pick(a, 1, 3, 8, 17, 64, 100, 128, 333)
		gap, dgap := cols+a.rng.IntN(9), cols+a.rng.IntN(9)
		stride, dstride, gstride := heads*gap+a.rng.IntN(9), heads*dgap+a.rng.IntN(9), heads*dgap+a.rng.IntN(9)
		rows := pick(a, AllRows, OutRows)
		n := rowsOf(b, rows)
		x, w, gate := a.f(n*stride+1, 2), a.f(cols, 1), a.f(n*gstride+1, 3)
		args := &Norm{X: a.ptr(x), Stride: int64(stride), Gap: int64(gap), Heads: int32(heads), Cols: int32(cols), Rows: rows,
			Eps: pick(a, float32(1e-6), 0.5)}
		dst := x
		if a.rng.IntN(2) == 0 { // in place
			dgap, dstride = gap, stride
			gate, gstride = a.f(n*stride+1, 3), stride
		} else {
			dst = a.empty(n*dstride + 1)
		}
		args.Dst, args.DStride, args.DGap, args.GStride = a.ptr(dst), int64(dstride), int64(dgap), int64(gstride)
		if a.rng.IntN(2) == 0 {
			args.W = a.ptr(w)
		}
		if a.rng.IntN(2) == 0 {
			args.Gate = a.ptr(gate)
		}
		k := &kase{args: args, batch: b, tol: 2e-6, rows: map[string]int64{"X": 4 * int64(stride), "Dst": 4 * int64(dstride), "Gate": 4 * int64(gstride)}}
		for r := range n {
			for h := range heads {
				in := a.f32(x)[r*stride+h*gap:][:cols]
				sum := 0.0
				for _, v := range in {
					sum += float64(v) * float64(v)
				}
				want := make([]float64, cols)
				for i := range want {
					want[i] = float64(in[i]) / math.Sqrt(sum/float64(cols)+float64(args.Eps))
					if args.W != nil {
						want[i] *= float64(a.f32(w)[i])
					}
					if args.Gate != nil {
						want[i] *= silu(float64(a.f32(gate)[r*gstride+h*dgap+i]))
					}
				}
				k.expect(dst.part(r*dstride+h*dgap, cols), want)
			}
		}
		a.check(t, k)
	})
}

func TestAdd(t *testing.T) {
	every(t, func(t *testing.T, a *arena) {
		b := a.randomBatch(t, 4, 100)
		cols := pick(a, 1, 7, 64, 65, 200, 515)
		stride := cols + a.rng.IntN(9)
		rows := pick(a, AllRows, OutRows)
		n := rowsOf(b, rows)
		x, y := a.f(n*stride+1, 2), a.f(n*stride+1, 2)
		dst := pick(a, x, y, a.empty(n*stride+1))
		args := &Add{X: a.ptr(x), Y: a.ptr(y), Dst: a.ptr(dst), XStride: int64(stride), YStride: int64(stride), DStride: int64(stride),
			Cols: int32(cols), Rows: rows, Scale: pick(a, float32(1), 0.25), Cap: pick(a, float32(0), 1.5)}
		if a.rng.IntN(3) == 0 {
			args.Y = nil
		}
		factor := a.f(1, 1)
		args.Factor = pick(a, nil, a.ptr(factor))
		size := 4 * int64(stride)
		k := &kase{args: args, batch: b, tol: 1e-6, rows: map[string]int64{"X": size, "Y": size, "Dst": size}}
		for r := range n {
			want := make([]float64, cols)
			for i := range want {
				want[i] = float64(args.Scale) * float64(a.f32(x)[r*stride+i])
				if args.Factor != nil {
					want[i] *= float64(a.f32(factor)[0])
				}
				if args.Y != nil {
					want[i] += float64(a.f32(y)[r*stride+i])
				}
				if c := float64(args.Cap); c > 0 {
					want[i] = c * math.Tanh(want[i]/c)
				}
			}
			k.expect(dst.part(r*stride, cols), want)
		}
		a.check(t, k)
	})
}

func TestGather(t *testing.T) {
	every(t, func(t *testing.T, a *arena) {
		b := a.randomBatch(t, 6, 100)
		cols := pick(a, 1, 7, 64, 200)
		stride, dstride := cols+a.rng.IntN(9), cols+a.rng.IntN(9)
		x, dst := a.f(b.Rows()*stride, 1), a.empty(len(b.Outs())*dstride+1)
		k := &kase{batch: b, args: &Gather{X: a.ptr(x), Dst: a.ptr(dst), Stride: int64(stride), DStride: int64(dstride), Cols: int32(cols)}}
		for o, r := range b.Outs() {
			want := make([]float64, cols)
			for i := range want {
				want[i] = float64(a.f32(x)[int(r)*stride+i])
			}
			k.expect(dst.part(o*dstride, cols), want)
		}
		a.check(t, k)
	})
}

// gated is a gated linear unit.
func gated(act Act, gate, up float64) float64 {
	switch act {
	case GELU:
		return gelu(gate) * up
	case SwiGLUOAI:
		g, u := min(gate, 7), max(-7, min(up, 7))
		return g * sigmoid(1.702*g) * (u + 1)
	}
	return silu(gate) * up
}

func TestGLU(t *testing.T) {
	every(t, func(t *testing.T, a *arena) {
		b := a.randomBatch(t, 3, 100)
		cols, times := pick(a, 1, 7, 64, 65, 300), 1+a.rng.IntN(3)
		stride, dstride := cols+a.rng.IntN(9), cols+a.rng.IntN(9)
		rows := pick(a, AllRows, OutRows)
		n := rowsOf(b, rows) * times
		gate, up := a.f(n*stride+1, 6), a.f(n*dstride+1, 1)
		dst := a.empty(n*dstride + 1)
		if a.rng.IntN(2) == 0 {
			dst, dstride = gate, stride
			up = a.f(n*dstride+1, 1)
		}
		args := &GLU{Gate: a.ptr(gate), Up: a.ptr(up), Dst: a.ptr(dst), GStride: int64(stride), UStride: int64(dstride), DStride: int64(dstride),
			Cols: int32(cols), Act: pick(a, SiLU, GELU, SwiGLUOAI), Rows: rows, Times: int32(times)}
		k := &kase{args: args, batch: b, tol: 2e-6, rows: map[string]int64{"Gate": 4 * int64(times*stride), "Up": 4 * int64(times*dstride), "Dst": 4 * int64(times*dstride)}}
		for r := range n {
			want := make([]float64, cols)
			for i := range want {
				g, u := float64(a.f32(gate)[r*stride+i]), float64(a.f32(up)[r*dstride+i])
				want[i] = gated(args.Act, g, u)
			}
			k.expect(dst.part(r*dstride, cols), want)
		}
		a.check(t, k)
	})
}

// The activations at the ends of their range: no overflow, no NaN, exact limits.
func TestGLUExtremes(t *testing.T) {
	in := []float32{0, float32(math.Copysign(0, -1)), 1e-30, -1e-30, 20, -20, 88, -88, 89, -89, 104, -104, 1e4, -1e4, 3e38, -3e38}
	for _, act := range []Act{SiLU, GELU, SwiGLUOAI} {
		a := newArena(t, 1)
		b := a.randomBatch(t, 1, 10)
		b.Resize(1, 0, 1)
		gate, up, dst := a.f(len(in), 1), a.f(len(in), 1), a.empty(len(in))
		copy(a.f32(gate), in)
		want := make([]float64, len(in))
		for i, g := range in {
			a.f32(up)[i] = 1
			want[i] = gated(act, float64(g), 1)
		}
		k := &kase{batch: b, tol: 1e-6, args: &GLU{Gate: a.ptr(gate), Up: a.ptr(up), Dst: a.ptr(dst), Cols: int32(len(in)), Act: act, Times: 1}}
		k.expect(dst, want)
		a.check(t, k)
	}
}

// sweep is n values, evenly spaced over the range, both ends included.
func sweep(n int, from, to float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(from + (to-from)*float64(i)/float64(n-1))
	}
	return x
}

// The functions inside the kernels are good to a few units in the last place wherever the result is a normal float.
func TestFunctionPrecision(t *testing.T) {
	const n = 60000
	cases := map[string]struct {
		from, to, ulps float64
		args           func(x, one, dst unsafe.Pointer) Args
		f              func(float64) float64
	}{
		"silu": {-87, 87, 4, func(x, one, dst unsafe.Pointer) Args {
			return &GLU{Gate: x, Up: one, Dst: dst, Cols: n, Act: SiLU, Times: 1}
		}, silu},
		"gelu": {-2, 12, 8, func(x, one, dst unsafe.Pointer) Args {
			return &GLU{Gate: x, Up: one, Dst: dst, Cols: n, Act: GELU, Times: 1}
		}, gelu},
		"tanh": {-12, 12, 4, func(x, one, dst unsafe.Pointer) Args {
			return &Add{X: x, Dst: dst, Cols: n, Scale: 1, Cap: 1}
		}, math.Tanh},
	}
	for name, c := range cases {
		a := newArena(t, 1)
		b := a.randomBatch(t, 1, 10)
		b.Resize(1, 0, 1)
		x, one, dst := a.empty(n), a.empty(n), a.empty(n)
		copy(a.f32(x), sweep(n, c.from, c.to))
		for i := range a.f32(one) {
			a.f32(one)[i] = 1
		}
		for _, level := range Levels() {
			p := NewProgram(level)
			if err := p.Add(c.args(a.ptr(x), a.ptr(one), a.ptr(dst))); err != nil {
				t.Fatal(err)
			}
			teams[1].Run(p, b)
			p.Free()
			worst, where := 0.0, float32(0)
			for i, v := range a.f32(x) {
				want := c.f(float64(v))
				ulp := math.Abs(float64(math.Nextafter32(float32(want), float32(math.Inf(1)))) - float64(float32(want)))
				if e := math.Abs(float64(a.f32(dst)[i])-want) / ulp; e > worst {
					worst, where = e, v
				}
			}
			t.Logf("%s at %v: %.2f ulp, at %v", name, level, worst, where)
			if worst > c.ulps && level != Generic {
				t.Errorf("%s at %v: %.2f ulp off at %v, expected at most %v", name, level, worst, where, c.ulps)
			}
		}
	}
}
