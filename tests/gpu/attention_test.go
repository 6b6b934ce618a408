package gpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"ingot/kernels/cpu"
	"ingot/kernels/gpu"
)

// attention is one case: caches filled by the plain writer, then attention of a whole batch.
func (b *bench) attention(kvHeads, group, dim int, keys, values cpu.Type, window, cells int, sections int32) {
	heads, n := kvHeads*group, b.batch.Rows()
	qgap, ggap := dim+b.rng.IntN(9), dim+b.rng.IntN(9)
	qstride, gstride, dstride := heads*qgap+b.rng.IntN(9), heads*ggap+b.rng.IntN(9), heads*dim+b.rng.IntN(9)
	q, gate, dst := b.floats(n*qstride, pick(b, 1.0, 5)), b.floats(n*gstride, 2), b.empty(n*dstride+1)
	kc, vc := b.take(slots*int64(kvHeads*cells)*cacheRow(keys, dim)), b.take(slots*int64(kvHeads*cells)*cacheRow(values, dim))
	b.fill(kc, vc, kvHeads, dim, cells, keys, values)
	scratch, done := b.empty(cpu.AttentionScratch(heads, kvHeads, dim)), b.floats(cpu.AttentionShared, 0)
	a := &cpu.Attention{Q: b.ptr(q), KC: b.ptr(kc), VC: b.ptr(vc), Dst: b.ptr(dst), Scratch: b.ptr(scratch), Done: b.ptr(done),
		QStride: int64(qstride), QGap: int64(qgap), GStride: int64(gstride), GGap: int64(ggap), DStride: int64(dstride), Type: keys, VType: values,
		Heads: int32(heads), KVHeads: int32(kvHeads), Dim: int32(dim), Cells: int32(cells), Window: int32(window),
		Scale: float32(1 / math.Sqrt(float64(dim))), Cap: pick(b, float32(0), 0, 2)}
	if b.rng.IntN(2) == 0 {
		a.Gate = b.ptr(gate)
	}
	if sinks := b.floats(heads, 2); b.rng.IntN(2) == 0 {
		a.Sinks = b.ptr(sinks)
	}
	b.out(dst, 2e-5)
	b.out(scratch, math.Inf(1)) // the card has its own
	b.start()
	rows := b.most(n)
	on := gpu.Attention{Type: gpu.Type(keys), VType: gpu.Type(values), Dim: dim}
	b.onCard(a, &on.AttentionArgs)
	on.Sections = sections
	on.Part = b.c.alloc(b.t, 4*gpu.AttentionPart(rows, heads, dim, sections))
	list, err := on.Launch(b.c.info, rows, 3)
	must(b.t, err)
	b.c.run(b.t, list...)
	b.compare(a)
}

// fill writes the cells that the batch's rows see; others stay NaN.
func (b *bench) fill(kc, vc region, heads, dim, cells int, keys, values cpu.Type) {
	p := cpu.NewProgram(cpu.Generic)
	defer p.Free()
	row, err := cpu.Alloc(int64(8 * heads * dim))
	must(b.t, err)
	defer row.Free()
	must(b.t, p.Add(&cpu.KVStore{K: row.Pointer(), V: row.At(int64(4 * heads * dim)), KC: b.ptr(kc), VC: b.ptr(vc), KStride: int64(heads * dim), VStride: int64(heads * dim),
		Type: keys, VType: values, Heads: int32(heads), Dim: int32(dim), Cells: int32(cells)}))
	one := cpu.NewBatch(1, 1)
	defer one.Free()
	one.Resize(1, 0, 1)
	for _, s := range b.batch.Seqs() {
		for pos := range s.Pos0 + s.Rows {
			for i := range row.Float32s() {
				row.Float32s()[i] = float32(b.rng.NormFloat64())
			}
			one.Pos()[0], one.Seqs()[0] = pos, cpu.Seq{Rows: 1, Slot: s.Slot, Pos0: pos}
			team().Run(p, one)
		}
	}
}

func TestAttention(t *testing.T) {
	for i, c := range []struct {
		group, dim   int
		keys, values cpu.Type
		sections     int32
	}{
		{4, 128, cpu.F16, cpu.F16, 1}, {4, 128, cpu.F16, cpu.F16, 32}, {1, 64, cpu.Q8_0, cpu.Q4_0, 1}, {7, 64, cpu.Q8_0, cpu.Q8_0, 8},
		{3, 80, cpu.BF16, cpu.F16, 1}, {2, 32, cpu.F32, cpu.BF16, 4}, {16, 256, cpu.F16, cpu.F16, 1}, {8, 256, cpu.F16, cpu.Q8_0, 32},
		{16, 64, cpu.Q4_0, cpu.F32, 4}, {5, 128, cpu.BF16, cpu.Q4_0, 32}, {1, 256, cpu.F32, cpu.F16, 2}, {12, 128, cpu.Q8_0, cpu.BF16, 3}, {8, 512, cpu.F16, cpu.F16, 1}, {3, 96, cpu.F16, cpu.F16, 32},
	} {
		t.Run(fmt.Sprintf("%d heads of %d, %v %v, %d sections", c.group, c.dim, c.keys, c.values, c.sections), func(t *testing.T) {
			onEach(t, func(t *testing.T, card *card) {
				on := newLoaded(card)
				for round := range 3 {
					cells, kvHeads := 200, 2
					if c.dim > 256 { // what the case's memory holds
						cells, kvHeads = 60, 1
					}
					b := newBench(t, on, 10*i+round, randomBatch([]int{1, 3, 19}[round], cells))
					b.attention(1+b.rng.IntN(kvHeads), c.group, c.dim, c.keys, c.values, pick(b, 0, 0, 1, 9, 70), cells, c.sections)
				}
			})
		})
	}
}

// At the ends of tiles and sections, with and without a window.
func TestAttentionAtDepth(t *testing.T) {
	onEach(t, func(t *testing.T, card *card) {
		on := newLoaded(card)
		for i, c := range []struct {
			end, rows, window int
			sections          int32
		}{
			{63, 1, 0, 32}, {64, 1, 0, 32}, {65, 1, 0, 32}, {2047, 1, 0, 32}, {2048, 1, 0, 32}, {2049, 2, 0, 32}, {3000, 1, 0, 32}, {3000, 1, 129, 32},
			{64, 20, 0, 1}, {321, 33, 64, 1},
		} {
			b := newBench(t, on, i, func(rng *rand.Rand) *cpu.Batch {
				b := cpu.NewBatch(c.rows+1, 2)
				b.Resize(c.rows+1, 0, 2) // and a second sequence of one row
				b.Seqs()[0] = cpu.Seq{Rows: int32(c.rows), Pos0: int32(c.end - c.rows)}
				b.Seqs()[1] = cpu.Seq{Row0: int32(c.rows), Rows: 1, Slot: 2, Pos0: int32(rng.IntN(60))}
				for r := range c.rows {
					b.Pos()[r] = int32(c.end - c.rows + r)
				}
				b.Pos()[c.rows] = b.Seqs()[1].Pos0
				return b
			})
			b.attention(1, 4, pick(b, 32, 64), cpu.F16, cpu.F16, c.window, c.end, c.sections)
		}
	})
}
