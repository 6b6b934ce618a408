package gpu

import (
	"math"
	"testing"

	"ingot/kernels/cpu"
	"ingot/kernels/gpu"
)

// launch runs what a Launch method returned.
func (b *bench) launch(l gpu.Launch, err error) {
	b.t.Helper()
	must(b.t, err)
	b.c.run(b.t, l)
}

func TestNorm(t *testing.T) {
	every(t, 12, randomBatch(4, 100), func(b *bench) {
		heads, cols := 1+b.rng.IntN(9), pick(b, 1, 3, 32, 64, 100, 128, 333, 515)
		gap, dgap := cols+b.rng.IntN(9), cols+b.rng.IntN(9)
		stride, dstride, gstride := heads*gap+b.rng.IntN(9), heads*dgap+b.rng.IntN(9), heads*dgap+b.rng.IntN(9)
		rows := pick(b, cpu.AllRows, cpu.OutRows)
		n := b.rowsOf(rows)
		x, w, dst := b.floats(n*stride+1, 2), b.floats(cols, 1), region{}
		if b.rng.IntN(2) == 0 { // in place
			dgap, dstride, gstride, dst = gap, stride, stride, x
		} else {
			dst = b.empty(n*dstride + 1)
		}
		gate := b.floats(n*gstride+1, 3)
		a := &cpu.Norm{X: b.ptr(x), Dst: b.ptr(dst), Stride: int64(stride), Gap: int64(gap), DStride: int64(dstride), DGap: int64(dgap), GStride: int64(gstride),
			Heads: int32(heads), Cols: int32(cols), Rows: rows, Eps: pick(b, float32(1e-6), 0.5)}
		if b.rng.IntN(2) == 0 {
			a.W = b.ptr(w)
		}
		if b.rng.IntN(2) == 0 {
			a.Gate = b.ptr(gate)
		}
		b.out(dst, 3e-6)
		b.start()
		var on gpu.NormArgs
		b.onCard(a, &on)
		b.launch(on.Launch(b.c.info, b.most(n)))
		b.compare(a)
	})
}

func TestRope(t *testing.T) {
	every(t, 8, randomBatch(4, 200000), func(b *bench) {
		dim := pick(b, 2, 6, 64, 80, 128, 600)
		rot := dim
		if dim > 2 && b.rng.IntN(2) == 0 {
			rot = dim / 4 * 2
		}
		heads, gap := 1+b.rng.IntN(4), dim+b.rng.IntN(9)
		stride := heads*gap + b.rng.IntN(9)
		n := b.batch.Rows()
		x, freq := b.floats(n*stride+1, 2), b.take(int64(rot/2)*8)
		f := b.mem.Float64s()[freq.off/8:][:rot/2]
		for i := range f {
			f[i] = math.Pow(1e4, -2*float64(i)/float64(rot))
		}
		a := &cpu.Rope{X: b.ptr(x), Freq: b.ptr(freq), Stride: int64(stride), Gap: int64(gap), Heads: int32(heads), Rot: int32(rot),
			Neox: int32(b.rng.IntN(2)), Mag: pick(b, float32(1), 1.3)}
		b.out(x, 1e-6)
		b.start()
		var on gpu.RopeArgs
		b.onCard(a, &on)
		b.launch(on.Launch(b.c.info, b.most(n)))
		b.compare(a)
	})
}

var cacheTypes = []cpu.Type{cpu.F16, cpu.BF16, cpu.Q8_0, cpu.Q4_0, cpu.F32}

func cacheRow(t cpu.Type, dim int) int64 {
	block, bytes := t.Block()
	return int64(dim / block * bytes)
}

const slots = 4

func TestKVStore(t *testing.T) {
	every(t, 14, randomBatch(5, 30), func(b *bench) {
		keys, values := pick(b, cacheTypes...), pick(b, cacheTypes...)
		const cells = 30
		heads, dim := 1+b.rng.IntN(3), pick(b, 32, 64, 96, 128)
		kstride, vstride := heads*dim+b.rng.IntN(9), heads*dim+b.rng.IntN(9)
		n := b.batch.Rows()
		k, v := b.floats(n*kstride, pick(b, 1, 1e-7, 1e-4, 3e4)), b.floats(n*vstride, 1)
		clear(b.f32(v)[:dim])
		kc, vc := b.take(slots*int64(heads)*cells*cacheRow(keys, dim)), b.take(slots*int64(heads)*cells*cacheRow(values, dim))
		a := &cpu.KVStore{K: b.ptr(k), V: b.ptr(v), KC: b.ptr(kc), VC: b.ptr(vc), KStride: int64(kstride), VStride: int64(vstride), Type: keys, VType: values,
			Heads: int32(heads), Dim: int32(dim), Cells: cells}
		b.out(kc, 0)
		b.out(vc, 0)
		b.start()
		var on gpu.KVStoreArgs
		b.onCard(a, &on)
		b.launch(on.Launch(b.c.info, b.most(n)))
		b.compare(a)
	})
}

func TestGLU(t *testing.T) {
	every(t, 8, randomBatch(3, 100), func(b *bench) {
		cols, times := pick(b, 1, 7, 64, 65, 300), 1+b.rng.IntN(3)
		stride, dstride := cols+b.rng.IntN(9), cols+b.rng.IntN(9)
		rows := pick(b, cpu.AllRows, cpu.OutRows)
		n := b.rowsOf(rows) * times
		gate, up := b.floats(n*stride+1, 6), b.floats(n*max(stride, dstride)+1, 1)
		dst := b.empty(n*dstride + 1)
		if b.rng.IntN(2) == 0 {
			dst, dstride = gate, stride
		}
		a := &cpu.GLU{Gate: b.ptr(gate), Up: b.ptr(up), Dst: b.ptr(dst), GStride: int64(stride), UStride: int64(dstride), DStride: int64(dstride),
			Cols: int32(cols), Act: pick(b, cpu.SiLU, cpu.GELU, cpu.SwiGLUOAI), Rows: rows, Times: int32(times)}
		b.out(dst, 2e-6)
		b.start()
		var on gpu.GLUArgs
		b.onCard(a, &on)
		b.launch(on.Launch(b.c.info, b.most(b.rowsOf(rows))))
		b.compare(a)
	})
}

func TestAdd(t *testing.T) {
	every(t, 8, randomBatch(4, 100), func(b *bench) {
		cols := pick(b, 1, 7, 64, 65, 200, 515)
		stride := cols + b.rng.IntN(9)
		rows := pick(b, cpu.AllRows, cpu.OutRows)
		n := b.rowsOf(rows)
		x, y := b.floats(n*stride+1, 2), b.floats(n*stride+1, 2)
		dst := pick(b, x, y, b.empty(n*stride+1))
		a := &cpu.Add{X: b.ptr(x), Y: b.ptr(y), Dst: b.ptr(dst), XStride: int64(stride), YStride: int64(stride), DStride: int64(stride),
			Cols: int32(cols), Rows: rows, Scale: pick(b, float32(1), 0.25), Cap: pick(b, float32(0), 1.5)}
		if b.rng.IntN(3) == 0 {
			a.Y = nil
		}
		if factor := b.floats(1, 1); b.rng.IntN(3) == 0 {
			a.Factor = b.ptr(factor)
		}
		b.out(dst, 1e-6)
		b.start()
		var on gpu.AddArgs
		b.onCard(a, &on)
		b.launch(on.Launch(b.c.info, b.most(n)))
		b.compare(a)
	})
}

func TestGather(t *testing.T) {
	every(t, 4, randomBatch(6, 100), func(b *bench) {
		cols := pick(b, 1, 7, 64, 300)
		stride, dstride := cols+b.rng.IntN(9), cols+b.rng.IntN(9)
		x, dst := b.floats(b.batch.Rows()*stride, 1), b.empty(len(b.batch.Outs())*dstride+1)
		a := &cpu.Gather{X: b.ptr(x), Dst: b.ptr(dst), Stride: int64(stride), DStride: int64(dstride), Cols: int32(cols)}
		b.out(dst, 0)
		b.start()
		var on gpu.GatherArgs
		b.onCard(a, &on)
		b.launch(on.Launch(b.c.info, b.most(len(b.batch.Outs()))))
		b.compare(a)
	})
}

func TestZero(t *testing.T) {
	every(t, 2, randomBatch(4, 100), func(b *bench) {
		n, cols, stride := 2*b.batch.Rows(), 300, 307
		x := b.floats(n*stride+9, 1)
		b.start()
		on := gpu.ZeroArgs{Batch: b.on, Dst: b.at + gpu.Ptr(x.off), DStride: int64(stride), Cols: int32(cols), Times: 2}
		b.launch(on.Launch(b.c.info, b.most(b.batch.Rows())))
		got := make([]float32, n*stride+9)
		b.c.download(b.t, b.at+gpu.Ptr(x.off), bytesOf(got))
		for i, v := range got {
			want := b.f32(x)[i]
			if i < n*stride && i%stride < cols {
				want = 0
			}
			if v != want {
				b.t.Fatalf("value %d is %v, expected %v", i, v, want)
			}
		}
	})
}

func TestRoute(t *testing.T) {
	every(t, 16, randomBatch(5, 100), func(b *bench) {
		experts := pick(b, 1, 5, 8, 60, 64, 130, 512)
		used := 1 + b.rng.IntN(min(experts, 10))
		stride := experts + b.rng.IntN(9)
		n := b.batch.Rows()
		logits := b.floats(n*stride, pick(b, 1.0, 30))
		for i, v := range b.f32(logits) {
			if b.rng.IntN(4) == 0 {
				b.f32(logits)[i] = float32(math.Round(float64(v))) // ties
			}
		}
		if b.rng.IntN(4) == 0 && experts > used {
			b.f32(logits)[b.rng.IntN(experts)] = float32(math.NaN())
		}
		ids, weights := b.empty(n*used), b.empty(n*used)
		a := &cpu.Route{Logits: b.ptr(logits), IDs: b.ptr(ids), Weights: b.ptr(weights), Stride: int64(stride), Experts: int32(experts),
			Used: int32(used), Normalize: int32(b.rng.IntN(2)), Scale: pick(b, float32(1), 2.5)}
		bias, factors := b.floats(experts, 0.3), b.floats(experts, 1)
		if a.Sigmoid = int32(b.rng.IntN(2)); b.rng.IntN(2) == 0 {
			a.Bias = b.ptr(bias)
		}
		if b.rng.IntN(2) == 0 {
			a.Factors = b.ptr(factors)
		}
		b.out(ids, 0)
		b.out(weights, 3e-6)
		b.start()
		var on gpu.RouteArgs
		b.onCard(a, &on)
		b.launch(on.Launch(b.c.info, b.most(n)))
		b.compare(a)
	})
}

func TestCombine(t *testing.T) {
	every(t, 8, randomBatch(4, 100), func(b *bench) {
		cols, used := pick(b, 1, 7, 64, 65, 300), 1+b.rng.IntN(9)
		ystride, sstride, stride := cols+b.rng.IntN(9), cols+b.rng.IntN(9), cols+b.rng.IntN(9)
		n := b.batch.Rows()
		y, weights := b.floats(n*used*ystride, 1), b.floats(n*used, 1)
		shared, sgate, add := b.floats(n*sstride, 1), b.floats(n, 2), b.floats(n*stride+1, 1)
		dst := pick(b, add, b.empty(n*stride+1))
		a := &cpu.Combine{Y: b.ptr(y), Weights: b.ptr(weights), Dst: b.ptr(dst), YStride: int64(ystride), SStride: int64(sstride),
			AddStride: int64(stride), DStride: int64(stride), Cols: int32(cols), Used: int32(used),
			Shared: pick(b, nil, b.ptr(shared)), SGate: pick(b, nil, b.ptr(sgate)), Add: pick(b, nil, b.ptr(add))}
		b.out(dst, 2e-6)
		b.start()
		var on gpu.CombineArgs
		b.onCard(a, &on)
		b.launch(on.Launch(b.c.info, b.most(n)))
		b.compare(a)
	})
}
