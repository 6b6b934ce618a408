package gpu

import (
	"math"
	"slices"
	"testing"
	"unsafe"

	"ingot/kernels/cpu"
	"ingot/kernels/gpu"
)

// experts is one case of a product with each token's experts: by one matrix, or by two with an activation between.
func (b *bench) experts(s shape) {
	values, _ := s.typ.Block()
	k := max(values, 32) * (1 + b.rng.IntN(max(1, 300/max(values, 32))))
	m := pick(b, 16, 48, 144)
	n, experts, used, perSlot, residual := b.batch.Rows(), 1+b.rng.IntN(20), 0, int32(b.rng.IntN(2)), int32(b.rng.IntN(2))
	used = 1 + b.rng.IntN(min(experts, 5))
	rows := n
	if perSlot == 1 {
		rows *= used
	}
	stride, dstride := k+b.rng.IntN(9), m+b.rng.IntN(9)
	both, biased := b.rng.IntN(2) == 0, b.rng.IntN(2) == 0
	halves := both && !biased && b.rng.IntN(2) == 0 // of one matrix
	of := m
	if halves {
		of = 2 * m
	}
	x, w, up := b.floats(rows*stride+1, 1), b.matrix(s.typ, experts, of, k), b.matrix(s.typ, experts, m, k)
	ids := b.take(int64(4 * n * used))
	for r := range n {
		e := b.rng.Perm(experts)[:used]
		copy(unsafe.Slice((*int32)(b.ptr(ids)), n*used)[r*used:], toInt32(e))
	}
	dst, second, bias, upBias := b.empty(n*used*dstride+1), b.empty(n*used*dstride+1), b.floats(experts*m, 1), b.floats(experts*m, 1)
	wide := b.empty(n * used * of)
	a := &cpu.Experts{W: b.ptr(w), X: b.ptr(x), Dst: b.ptr(dst), IDs: b.ptr(ids), XStride: int64(stride), DstStride: int64(dstride), Type: s.typ,
		M: int32(m), K: int32(k), Experts: int32(experts), Used: int32(used), PerSlot: perSlot, Residual: residual}
	var on gpu.Ptr
	run := func() {}
	if values > 1 {
		var q region
		times := int32(1)
		if perSlot == 1 {
			times = int32(used)
		}
		q, on, run = b.quantized(x, stride, k, rows, cpu.AllRows, times, residual)
		a.X = b.ptr(q)
	}
	b.start()
	run()
	c := gpu.Experts{Type: gpu.Type(s.typ), Repacked: s.repacked}
	b.onCard(a, &c.ExpertsArgs)
	c.DStride = a.DstStride
	if values > 1 {
		c.X = on
	} else {
		c.XStride *= 4
	}
	if both {
		c.Up, c.Act = gpu.Ptr(b.place(b.ptr(up))), int32(b.rng.IntN(3))
	}
	if biased {
		c.Bias, c.UpBias = gpu.Ptr(b.place(b.ptr(bias))), gpu.Ptr(b.place(b.ptr(upBias)))
	}
	if s.repacked {
		c.W = b.repacked(c.W, s.typ, experts, of, k)
		if both {
			c.Up = b.repacked(c.Up, s.typ, experts, m, k)
		}
	}
	if halves {
		c.Up, c.Of = c.W, int32(of)
	}
	most := b.most(n)
	c.Order = b.c.alloc(b.t, int(gpu.OrderBytes(most, used, experts)))
	if both && b.rng.IntN(3) == 0 { // one by one
		first := c
		first.Up = 0
		list, err := first.Launch(b.card(s), most)
		must(b.t, err)
		b.c.run(b.t, list...)
		c.W = 0
	}
	list, err := c.Launch(b.card(s), most)
	must(b.t, err)
	b.c.run(b.t, list...)

	if halves {
		a.M, a.Dst, a.DstStride = int32(of), b.ptr(wide), int64(of)
	}
	b.plain(a)
	if halves {
		for slot := range n * used {
			copy(b.f32(dst)[slot*dstride:], b.f32(wide)[slot*of:slot*of+m])
			copy(b.f32(second)[slot*dstride:], b.f32(wide)[slot*of+m:(slot+1)*of])
		}
	} else if both {
		a.W, a.Dst = b.ptr(up), b.ptr(second)
		b.plain(a)
	}
	want := slices.Clone(b.f32(dst))
	tol := 2e-5 * math.Sqrt(float64(k))
	for slot := range n * used {
		e := unsafe.Slice((*int32)(b.ptr(ids)), n*used)[slot]
		for j := range m {
			y, u := &want[slot*dstride+j], b.f32(second)[slot*dstride+j]
			if biased {
				*y += b.f32(bias)[int(e)*m+j]
				u += b.f32(upBias)[int(e)*m+j]
			}
			if both {
				*y = float32(gated(c.Act, float64(*y), float64(u)))
			}
		}
	}
	if both {
		tol *= 10 // an error of one factor counts as often as the other is large
	}
	got := make([]float32, len(want))
	b.c.download(b.t, gpu.Ptr(b.place(b.ptr(dst))), bytesOf(got))
	within(b.t, "experts", got, want, tol)
}

// gated is 0 silu, 1 gelu in its tanh form, 2 that of gpt-oss.
func gated(act int32, gate, up float64) float64 {
	switch act {
	case 0:
		return gate / (1 + math.Exp(-gate)) * up
	case 1:
		return 0.5 * gate * (1 + math.Tanh(0.7978845608*(gate+0.044715*gate*gate*gate))) * up
	}
	gate, up = min(gate, 7), max(-7, min(up, 7))
	return gate / (1 + math.Exp(-1.702*gate)) * (up + 1)
}

func toInt32(v []int) []int32 {
	out := make([]int32, len(v))
	for i := range v {
		out[i] = int32(v[i])
	}
	return out
}

func TestExpertsOfFewRows(t *testing.T) {
	for _, s := range shapes() {
		t.Run(s.String(), func(t *testing.T) { s.on(t, 4, 8, func(b *bench) { b.experts(s) }) })
	}
}

func TestExpertsOfPrompts(t *testing.T) {
	for _, s := range shapes() {
		t.Run(s.String(), func(t *testing.T) {
			s.on(t, 3, 150, func(b *bench) { b.experts(s) })
			switch s.typ { // TestProductsOfPrompts has all of them
			case cpu.Q4_K, cpu.Q6_K, cpu.MXFP4, cpu.F16, cpu.BF16:
				s.onArch(t, archs[2], 2, 150, func(b *bench) { b.experts(s) })
			}
		})
	}
}
