package gpu

import (
	"math"
	"testing"

	"ingot/kernels/cpu"
	"ingot/kernels/gpu"
)

func TestConv(t *testing.T) {
	every(t, 8, randomBatch(70, 300), func(b *bench) {
		cols, width := pick(b, 1, 7, 64, 300), 1+b.rng.IntN(8)
		stride, dstride := cols+b.rng.IntN(9), cols+b.rng.IntN(9)
		n := b.batch.Rows()
		x, w, dst := b.floats(n*stride, 1), b.floats(width*cols, 1), b.empty(n*dstride+1)
		state := b.floats(4*max(1, (width-1)*cols), 1)
		a := &cpu.Conv{X: b.ptr(x), W: b.ptr(w), State: b.ptr(state), Dst: b.ptr(dst), Stride: int64(stride), DStride: int64(dstride),
			Cols: int32(cols), Width: int32(width)}
		b.out(dst, 3e-6)
		b.out(state, 0)
		b.start()
		var on gpu.ConvArgs
		b.onCard(a, &on)
		b.launch(on.Launch(b.c.info, b.most(n), 3))
		b.compare(a)
	})
}

// turned copies the states of kernels/cpu's order to the card's, or back.
func turned(cpuState, card []float32, dim int, back bool) {
	const block = 32 // values side by side in kernels/cpu
	for m := 0; m < len(card); m += dim * dim {
		for key := range dim {
			for value := range dim {
				first := value / block * block
				from, to := &cpuState[m+first*dim+key*min(dim-first, block)+value%block], &card[m+value*dim+key]
				if back {
					from, to = to, from
				}
				*to = *from
			}
		}
	}
}

func TestDelta(t *testing.T) {
	for _, dim := range []int{16, 64, 100, 128} {
		every(t, 3, randomBatch(9, 300), func(b *bench) {
			kheads := 1 + b.rng.IntN(2)
			vheads := kheads * (1 + b.rng.IntN(2))
			n, cols := b.batch.Rows(), (2*kheads+vheads)*dim
			stride, dstride, bstride := cols+b.rng.IntN(9), vheads*dim+b.rng.IntN(9), vheads+b.rng.IntN(3)
			qkv, alpha, beta := b.floats(n*stride, 1), b.floats(n*vheads, 1), b.floats(n*bstride, 1)
			dt, decay, dst := b.floats(vheads, 1), b.floats(vheads, 1), b.empty(n*dstride+1)
			for i, v := range b.f32(decay) {
				b.f32(decay)[i] = min(v, -v) // -exp(a_log)
			}
			state := b.floats(4*vheads*dim*dim, 0.3)
			a := &cpu.Delta{QKV: b.ptr(qkv), Alpha: b.ptr(alpha), Beta: b.ptr(beta), DT: b.ptr(dt), A: b.ptr(decay), State: b.ptr(state), Dst: b.ptr(dst),
				Stride: int64(stride), AStride: int64(vheads), BStride: int64(bstride), DStride: int64(dstride), KHeads: int32(kheads), VHeads: int32(vheads),
				Dim: int32(dim), Eps: 1e-6}
			b.out(dst, 1e-5)
			b.out(state, math.Inf(1)) // compared below, in its own order
			b.start()
			on := gpu.Delta{Dim: dim}
			b.onCard(a, &on.DeltaArgs)
			card := make([]float32, len(b.f32(state)))
			turned(b.f32(state), card, dim, false)
			on.State = b.c.alloc(b.t, 4*len(card))
			b.c.upload(b.t, on.State, bytesOf(card))
			b.launch(on.Launch(b.c.info, 3))
			b.compare(a)
			b.c.download(b.t, on.State, bytesOf(card))
			got := make([]float32, len(card))
			turned(got, card, dim, true)
			within(b.t, "state", got, b.f32(state), 1e-5)
		})
	}
}
