package cpu

import (
	"math"
	"slices"
	"testing"
)

func TestConv(t *testing.T) {
	every(t, func(t *testing.T, a *arena) {
		b := a.randomBatch(t, 6, 100)
		cols, width := pick(a, 1, 7, 64, 65, 200, 1500), 1+a.rng.IntN(5)
		stride, dstride, past := cols+a.rng.IntN(9), cols+a.rng.IntN(9), width-1
		x, w, dst := a.f(b.Rows()*stride, 1), a.f(cols*width, 1), a.empty(b.Rows()*dstride+1)
		state := a.f(4*past*cols+1, 1)
		args := &Conv{X: a.ptr(x), W: a.ptr(w), State: a.ptr(state), Dst: a.ptr(dst), Stride: int64(stride), DStride: int64(dstride),
			Cols: int32(cols), Width: int32(width)}
		k := &kase{args: args, batch: b, tol: 2e-6, rows: map[string]int64{"X": 4 * int64(stride), "Dst": 4 * int64(dstride)}}
		for _, s := range b.Seqs() {
			in := make([]float64, past*cols) // the past rows, then the sequence's own
			if s.PlaneIn >= 0 {
				in = toFloat64(a.f32(state.part(int(s.PlaneIn)*past*cols, past*cols)))
			}
			for r := int(s.Row0); r < int(s.Row0+s.Rows); r++ {
				in = append(in, toFloat64(a.f32(x.part(r*stride, cols)))...)
				want := make([]float64, cols)
				for c := range want {
					for j := range width {
						want[c] += float64(a.f32(w)[j*cols+c]) * in[len(in)-(width-j)*cols+c]
					}
					want[c] = silu(want[c])
				}
				k.expect(dst.part(r*dstride, cols), want)
			}
			if past > 0 {
				k.expect(state.part(int(s.PlaneOut)*past*cols, past*cols), in[len(in)-past*cols:])
			}
		}
		a.check(t, k)
	})
}

func toFloat64(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

func TestDelta(t *testing.T) {
	every(t, func(t *testing.T, a *arena) {
		b := a.randomBatch(t, pick(a, 1, 4, 40), 100)
		kheads, dim := 1+a.rng.IntN(2), pick(a, 1, 6, 16, 20, 32, 52, 64, 128)
		vheads := kheads * (1 + a.rng.IntN(2))
		width := (2*kheads + vheads) * dim
		stride, hstride, dstride := width+a.rng.IntN(9), vheads+a.rng.IntN(3), vheads*dim+a.rng.IntN(9)
		qkv, alpha, beta := a.f(b.Rows()*stride, 1), a.f(b.Rows()*hstride, 3), a.f(b.Rows()*hstride, 1)
		dt, decay := a.f(vheads, 1), a.f(vheads, 1)
		for i, v := range a.f32(decay) {
			a.f32(decay)[i] = -float32(math.Abs(float64(v)))
		}
		size := vheads * dim * dim
		state, dst := a.f(4*size, 0.3), a.empty(b.Rows()*dstride+1)
		args := &Delta{QKV: a.ptr(qkv), Alpha: a.ptr(alpha), Beta: a.ptr(beta), DT: a.ptr(dt), A: a.ptr(decay), State: a.ptr(state),
			Dst: a.ptr(dst), Stride: int64(stride), AStride: int64(hstride), BStride: int64(hstride), DStride: int64(dstride),
			KHeads: int32(kheads), VHeads: int32(vheads), Dim: int32(dim), Eps: 1e-6}
		k := &kase{args: args, batch: b, tol: 2e-5, rows: map[string]int64{"QKV": 4 * int64(stride), "Alpha": 4 * int64(hstride),
			"Beta": 4 * int64(hstride), "Dst": 4 * int64(dstride)}}
		for _, s := range b.Seqs() {
			for h := range vheads {
				S := make([]float64, dim*dim) // [value][key]
				if s.PlaneIn >= 0 {
					S = fromBlocks(toFloat64(a.f32(state.part(int(s.PlaneIn)*size+h*dim*dim, dim*dim))), dim)
				}
				for r := int(s.Row0); r < int(s.Row0+s.Rows); r++ {
					row := toFloat64(a.f32(qkv.part(r*stride, width)))
					kh := h % kheads
					q, key, v := row[kh*dim:][:dim], row[(kheads+kh)*dim:][:dim], row[(2*kheads+h)*dim:][:dim]
					al, be := float64(a.f32(alpha)[r*hstride+h]), float64(a.f32(beta)[r*hstride+h])
					g := math.Exp(float64(a.f32(decay)[h]) * math.Log1p(math.Exp(al+float64(a.f32(dt)[h]))))
					k.expect(dst.part(r*dstride+h*dim, dim), deltaStep(S, q, key, v, g, sigmoid(be), float64(args.Eps)))
				}
				k.expect(state.part(int(s.PlaneOut)*size+h*dim*dim, dim*dim), toBlocks(S, dim))
			}
		}
		a.check(t, k)
	})
}

// blocks visits the state in the order of the kernels' memory: blocks of 32 values, in each a row a key.
func blocks(dim int, f func(key, value int)) {
	for from := 0; from < dim; from += 32 {
		for key := range dim {
			for value := from; value < min(from+32, dim); value++ {
				f(key, value)
			}
		}
	}
}

// fromBlocks is [value][key] of what the kernels' memory holds.
func fromBlocks(x []float64, dim int) []float64 {
	y := make([]float64, len(x))
	blocks(dim, func(key, value int) { y[value*dim+key], x = x[0], x[1:] })
	return y
}

func toBlocks(x []float64, dim int) []float64 {
	var y []float64
	blocks(dim, func(key, value int) { y = append(y, x[value*dim+key]) })
	return y
}

// deltaStep advances S[v][k] by one token and returns its output, in the order of the paper's formula.
func deltaStep(S, q, k, v []float64, g, beta, eps float64) []float64 {
	n := len(q)
	unit := func(x []float64) []float64 {
		sum := 0.0
		for _, v := range x {
			sum += v * v
		}
		y := slices.Clone(x)
		for i := range y {
			y[i] /= max(math.Sqrt(sum), eps)
		}
		return y
	}
	q, k = unit(q), unit(k)
	out := make([]float64, n)
	for i := range n {
		seen := 0.0
		for j := range n {
			S[i*n+j] *= g
			seen += S[i*n+j] * k[j]
		}
		for j := range n {
			S[i*n+j] += k[j] * beta * (v[i] - seen)
			out[i] += S[i*n+j] * q[j] / math.Sqrt(float64(n))
		}
	}
	return out
}
