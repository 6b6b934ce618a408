package gpu

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"ingot/kernels/cpu"
	"ingot/kernels/gpu"
	"ingot/kernels/quant"
)

// packedTypes are the types that products read with quantized activations.
var packedTypes = []cpu.Type{cpu.Q8_0, cpu.Q4_K, cpu.Q5_K, cpu.Q6_K, cpu.Q5_1, cpu.Q4_0, cpu.IQ4_NL, cpu.MXFP4, cpu.Q4_1, cpu.Q5_0, cpu.Q2_K, cpu.Q3_K, cpu.IQ4_XS}

// matrix takes n matrices of m rows of k values of a type.
func (b *bench) matrix(t cpu.Type, n, m, k int) region {
	values, bytes := t.Block()
	x := make([]float32, n*m*k)
	for i := range x {
		x[i] = float32(b.rng.NormFloat64())
	}
	r := b.take(int64(n) * int64(m) * int64(k/values*bytes))
	must(b.t, quant.Encode(cpu.Generic, t, x, unsafe.Slice((*byte)(b.ptr(r)), r.size)))
	return r
}

// quantized is rows of activations in both formats: kernels/cpu's in the memory, the card's in a place of its own.
func (b *bench) quantized(x region, stride, cols, n int, rows cpu.Rows, times, residual int32) (plain region, on gpu.Ptr, run func()) {
	parts := int64(1 + residual)
	plain = b.take(parts * int64(n) * cpu.QuantizedRow(cols))
	clear(unsafe.Slice((*byte)(b.ptr(plain)), plain.size)) // rows have gaps
	a := &cpu.Quantize{X: b.ptr(x), Q8: b.ptr(plain), Stride: int64(stride), Cols: int32(cols), Rows: rows, Times: times, Residual: residual}
	b.plain(a)
	bytes := parts * int64(n) * gpu.QuantizedRow(cols)
	on = b.c.alloc(b.t, int(bytes))
	return plain, on, func() {
		var q gpu.QuantizeArgs
		b.onCard(a, &q)
		q.Q8 = on
		l, err := q.Launch(b.c.info, b.most(n/int(times)))
		must(b.t, err)
		b.c.upload(b.t, on, make([]byte, bytes))
		b.c.run(b.t, l)
		b.sameQuants(on, plain, cols, int(parts)*n)
	}
}

// sameQuants fails where quantized rows of the card say something else than those of kernels/cpu.
func (b *bench) sameQuants(on gpu.Ptr, plain region, cols, n int) {
	b.t.Helper()
	size, most, chunks := int(gpu.QuantizedRow(cols)), int(cpu.QuantizedRow(cols)), cols/32
	got, want := make([]byte, n*size), unsafe.Slice((*byte)(b.ptr(plain)), plain.size)
	b.c.download(b.t, on, got)
	pad := func(n int) int { return (n + 63) / 64 * 64 }
	for r := range n {
		g, w := got[r*size:], want[r*most:]
		for i := range cols {
			if at := (i/16%2*chunks+i/32)*16 + i%16; g[at] != w[i] {
				b.t.Fatalf("row %d of %d: value %d is quantized to %d, expected %d", r, n, i, int8(g[at]), int8(w[i]))
			}
		}
		for c := range chunks {
			d, s := w[pad(cols)+4*c:], w[pad(cols)+pad(chunks*4)+4*c:]
			at := g[cols+8*c:]
			if binary.LittleEndian.Uint32(at) != binary.LittleEndian.Uint32(d) || binary.LittleEndian.Uint32(at[4:]) != binary.LittleEndian.Uint32(s) {
				b.t.Fatalf("row %d: chunk %d has scale and sums %x, expected %x %x", r, c, at[:8], d[:4], s[:4])
			}
		}
	}
}

func TestQuantize(t *testing.T) {
	every(t, 8, randomBatch(4, 100), func(b *bench) {
		cols, times, rows := 32*(1+b.rng.IntN(40)), 1+int32(b.rng.IntN(3)), pick(b, cpu.AllRows, cpu.OutRows)
		n, stride := b.rowsOf(rows)*int(times), cols+b.rng.IntN(9)
		x := b.floats(n*stride+1, 3)
		f := b.f32(x)
		for range n { // values that need care
			f[b.rng.IntN(len(f))] = pick(b, 0, float32(math.Inf(1)), float32(math.NaN()), 1e-37, 1e30, -5)
		}
		_, _, run := b.quantized(x, stride, cols, n, rows, times, int32(b.rng.IntN(2)))
		b.start()
		run()
	})
}

// shape is what a product's case is drawn from.
type shape struct {
	typ      cpu.Type
	repacked bool
}

func (s shape) String() string {
	if s.repacked {
		return fmt.Sprintf("%v repacked", s.typ)
	}
	return s.typ.String()
}

// product is one case of a matrix product.
func (b *bench) product(s shape) {
	values, _ := s.typ.Block()
	k := max(values, 32) * (1 + b.rng.IntN(max(1, 640/max(values, 32))))
	if values == 1 && b.rng.IntN(3) == 0 {
		k += 1 + b.rng.IntN(31)
	}
	unit := b.rng.IntN(3) == 0 // a gated one, of two matrices
	m := pick(b, 1, 7, 16, 33, 130, 200)
	if s.repacked {
		m = (m + 15) / 16 * 16
	}
	rows, residual := pick(b, cpu.AllRows, cpu.OutRows), int32(b.rng.IntN(2))
	n := b.rowsOf(rows)
	stride, dstride, addstride := k+b.rng.IntN(9), m+b.rng.IntN(9), m+b.rng.IntN(9)
	x, w, up := b.floats(n*stride+1, 1), b.matrix(s.typ, 1, m, k), b.matrix(s.typ, 1, m, k)
	dst, add, bias, upBias, second := b.empty(n*dstride+1), b.floats(n*addstride+1, 1), b.floats(m, 1), b.floats(m, 1), b.empty(n*dstride+1)
	a := &cpu.Matmul{W: b.ptr(w), X: b.ptr(x), Dst: b.ptr(dst), XStride: int64(stride), DstStride: int64(dstride), AddStride: int64(addstride), Type: s.typ,
		M: int32(m), K: int32(k), Rows: rows, Residual: residual}
	if b.rng.IntN(2) == 0 {
		a.Bias = b.ptr(bias)
	}
	if b.rng.IntN(2) == 0 && !unit {
		a.Add = b.ptr(add)
	}
	var on gpu.Ptr
	run := func() {}
	if values > 1 {
		var q region
		q, on, run = b.quantized(x, stride, k, n, rows, 1, residual)
		a.X = b.ptr(q)
	}
	tol := 2e-5 * math.Sqrt(float64(k))
	if !unit {
		b.out(dst, tol)
	}
	b.start()
	run()
	c := gpu.Matmul{Type: gpu.Type(s.typ), Repacked: s.repacked}
	b.onCard(a, &c.MatmulArgs)
	c.DStride = a.DstStride
	if values > 1 {
		c.X = on
	} else {
		c.XStride *= 4
	}
	if s.repacked {
		c.W = b.repacked(c.W, s.typ, 1, m, k)
	}
	launch := func() {
		l, err := c.Launch(b.card(s), b.most(n))
		must(b.t, err)
		b.c.run(b.t, l...)
	}
	if !unit {
		launch()
		b.compare(a)
		return
	}
	b.plain(a)
	upOnCard := gpu.Ptr(b.place(b.ptr(up)))
	if s.repacked {
		upOnCard = b.repacked(upOnCard, s.typ, 1, m, k)
	}
	if b.rng.IntN(3) == 0 { // one by one
		launch()
		c.W = 0
	}
	c.Up, c.Act = upOnCard, int32(b.rng.IntN(3))
	a.W, a.Dst = b.ptr(up), b.ptr(second)
	if a.Bias != nil {
		a.Bias, c.UpBias = b.ptr(upBias), gpu.Ptr(b.place(b.ptr(upBias)))
	}
	b.plain(a)
	launch()
	want, got := slices.Clone(b.f32(dst)), make([]float32, n*dstride+1)
	for r := range n {
		for j := range m {
			y := &want[r*dstride+j]
			*y = float32(gated(c.Act, float64(*y), float64(b.f32(second)[r*dstride+j])))
		}
	}
	b.c.download(b.t, gpu.Ptr(b.place(b.ptr(dst))), bytesOf(got))
	within(b.t, "a gated unit", got, want, 10*tol)
}

// card is the card as launches see it: larger or smaller, for the kernels chosen depend on that. Of most types one choice is tested.
func (b *bench) card(s shape) gpu.Card {
	c := b.c.info
	c.Units = 60
	if s.repacked && (s.typ == cpu.Q4_K || s.typ == cpu.Q6_K) {
		c.Units = pick(b, 1, 4, 60)
	}
	return c
}

// repacked puts n matrices that lie on the card in order, in a place of their own.
func (b *bench) repacked(w gpu.Ptr, t cpu.Type, n, m, k int) gpu.Ptr {
	values, bytes := t.Block()
	size := m * k / values * bytes
	to := b.c.alloc(b.t, n*size)
	for i := range n {
		r := gpu.Repack{RepackArgs: gpu.RepackArgs{Src: w + gpu.Ptr(i*size), Dst: to + gpu.Ptr(i*size), M: int64(m), K: int32(k)}, Type: gpu.Type(t)}
		l, err := r.Launch(b.c.info)
		must(b.t, err)
		b.c.run(b.t, l)
	}
	return to
}

// shapes are all types, as packed and as repacked.
func shapes() []shape {
	var all []shape
	for _, t := range append([]cpu.Type{cpu.F32, cpu.F16, cpu.BF16}, packedTypes...) {
		all = append(all, shape{t, false})
		if gpu.Type(t).Repacks(16, 256) {
			all = append(all, shape{t, true})
		}
	}
	return all
}

// batchOf returns batches whose rows are at most n in all.
func batchOf(n int) func(*rand.Rand) *cpu.Batch { return randomBatch(max(1, n/3), 100) }

// on runs random cases of a shape on emulated cards: of each wave for some types, of the widest for the others, whose kernels differ
// in how a chunk is unpacked.
func (s shape) on(t *testing.T, rounds, rows int, f func(b *bench)) {
	s.onArch(t, archs[0], rounds, rows, f)
	if s.typ == cpu.Q4_K || s.typ == cpu.Q6_K || s.typ == cpu.F16 {
		s.onArch(t, archs[1], rounds, rows, f)
	}
}

func (s shape) onArch(t *testing.T, arch string, rounds, rows int, f func(b *bench)) {
	t.Run(arch, func(t *testing.T) {
		c := newLoaded(open(t, arch))
		for i := range rounds {
			t.Run(fmt.Sprint(i), func(t *testing.T) { f(newBench(t, c, i, batchOf(rows))) })
		}
	})
}

func TestProductsOfFewRows(t *testing.T) {
	for _, s := range shapes() {
		t.Run(s.String(), func(t *testing.T) { s.on(t, 4, 8, func(b *bench) { b.product(s) }) })
	}
}

func TestProductsOfPrompts(t *testing.T) {
	for _, s := range shapes() {
		t.Run(s.String(), func(t *testing.T) {
			s.on(t, 3, 200, func(b *bench) { b.product(s) })
			s.onArch(t, archs[2], 2, 200, func(b *bench) { b.product(s) })
		})
	}
}

// Matrix units give the bits of the dot instruction: whole numbers are summed exactly, and scaled in the same order.
func TestMatrixUnitsGiveTheSameBits(t *testing.T) {
	for _, s := range []shape{{cpu.Q4_K, true}, {cpu.Q2_K, false}} {
		t.Run(s.String(), func(t *testing.T) {
			c := newLoaded(open(t, archs[2]))
			if !c.info.MMA {
				t.Skip("the card has no matrix units")
			}
			const m, k, residual = 144, 768, 1
			b := newBench(t, c, 1, batchOf(90))
			n := b.batch.Rows()
			x, w := b.floats(n*k, 1), b.matrix(s.typ, 1, m, k)
			_, on, run := b.quantized(x, k, k, n, cpu.AllRows, 1, residual)
			b.start()
			run()
			at := gpu.Ptr(b.place(b.ptr(w)))
			if s.repacked {
				at = b.repacked(at, s.typ, 1, m, k)
			}
			var got [2][]byte
			var entries [2]string
			for i, mma := range []bool{false, true} {
				card := c.info
				card.MMA = mma
				p := gpu.Matmul{Type: gpu.Type(s.typ), Repacked: s.repacked, MatmulArgs: gpu.MatmulArgs{Batch: b.on, W: at, X: on, Dst: c.alloc(t, 4*n*m), DStride: m, M: m, K: k,
					Residual: residual}}
				l, err := p.Launch(card, n)
				must(t, err)
				c.run(t, l...)
				entries[i], got[i] = l[0].Entry, make([]byte, 4*n*m)
				c.download(t, p.Dst, got[i])
			}
			if entries[0] == entries[1] {
				t.Fatalf("both are %s", entries[0])
			}
			if !bytes.Equal(got[0], got[1]) {
				t.Errorf("%s and %s give different bits", entries[0], entries[1])
			}
		})
	}
}
