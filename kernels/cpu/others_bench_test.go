package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// The timed side of the checks: the kernels that are not products, on the shapes of a model of a few billion weights,
// one token (decode) and 64 (prefill), at every level of this machine. -bench 'Kernels/attention' picks one.

// bench is memory and a batch of one sequence at position pos0.
type bench struct {
	mem *Memory
	top int64
}

func (m *bench) f(n int) unsafe.Pointer {
	at := m.top
	m.top += int64(n*4+63) &^ 63
	for i := range n {
		m.mem.Float32s()[at/4+int64(i)] = rand.Float32() - 0.5
	}
	return m.mem.At(at)
}

// zeros takes n bytes as they are.
func (m *bench) zeros(n int) unsafe.Pointer {
	at := m.top
	m.top += int64(n+63) &^ 63
	return m.mem.At(at)
}

func sequence(b testing.TB, rows, pos0 int) *Batch {
	batch := NewBatch(rows, 1)
	batch.Resize(rows, 1, 1)
	batch.Seqs()[0] = Seq{Rows: int32(rows), Pos0: int32(pos0)}
	for i := range rows {
		batch.Pos()[i] = int32(pos0 + i)
	}
	b.Cleanup(batch.Free)
	return batch
}

func BenchmarkKernels(b *testing.B) {
	const (
		cols, ff, heads, kvHeads, dim = 2560, 9216, 16, 4, 128
		cells, depth, maxRows         = 4224, 4096, 64
	)
	mem, err := Alloc(256 << 20)
	if err != nil {
		b.Fatal(err)
	}
	defer mem.Free()
	m := &bench{mem: mem}
	x, y, z, w := m.f(maxRows*ff), m.f(maxRows*ff), m.f(maxRows*ff), m.f(4*ff)
	kc, vc := m.zeros(kvHeads*cells*dim*2), m.zeros(kvHeads*cells*dim*2)
	scratch := m.f(8 * AttentionScratch(heads, kvHeads, dim))
	freq := m.zeros(8 * dim / 2)
	state := m.zeros(4 * 32 * dim * dim)
	ids, weights := m.zeros(maxRows*8*4), m.f(maxRows*8)
	kernels := []struct {
		name string
		args Args
	}{
		{"norm", &Norm{X: x, W: w, Dst: y, Stride: cols, Gap: cols, DStride: cols, DGap: cols, Heads: 1, Cols: cols, Eps: 1e-6}},
		{"rope", &Rope{X: x, Freq: freq, Stride: heads * dim, Gap: dim, Heads: heads, Rot: dim, Neox: 1, Mag: 1}},
		{"store", &KVStore{K: x, V: y, KC: kc, VC: vc, KStride: kvHeads * dim, VStride: kvHeads * dim, Type: F16, Heads: kvHeads, Dim: dim, Cells: cells}},
		{"attention", &Attention{Q: x, KC: kc, VC: vc, Dst: y, Scratch: scratch, QStride: heads * dim, QGap: dim, DStride: heads * dim,
			Type: F16, Heads: heads, KVHeads: kvHeads, Dim: dim, Cells: cells, Scale: 0.1}},
		{"conv", &Conv{X: x, W: w, State: state, Dst: y, Stride: 8192, DStride: 8192, Cols: 8192, Width: 4}},
		{"delta", &Delta{QKV: x, Alpha: z, Beta: z, DT: w, A: w, State: state, Dst: y, Stride: 8192, AStride: 32, BStride: 32, DStride: 4096, KHeads: 16, VHeads: 32, Dim: dim, Eps: 1e-6}},
		{"glu", &GLU{Gate: x, Up: y, Dst: z, GStride: ff, UStride: ff, DStride: ff, Cols: ff, Times: 1}},
		{"route", &Route{Logits: x, IDs: ids, Weights: weights, Stride: 128, Experts: 128, Used: 8, Normalize: 1, Scale: 1}},
		{"add", &Add{X: x, Y: y, Dst: z, XStride: cols, YStride: cols, DStride: cols, Cols: cols, Scale: 1}},
	}
	team := NewTeam(1)
	defer team.Close()
	for _, level := range Levels() {
		for _, k := range kernels {
			for _, rows := range []int{1, maxRows} {
				b.Run(fmt.Sprintf("%s/%v/%d", k.name, level, rows), func(b *testing.B) {
					p := NewProgram(level)
					defer p.Free()
					if err := p.Add(k.args); err != nil {
						b.Fatal(err)
					}
					batch := sequence(b, rows, depth)
					for b.Loop() {
						team.Run(p, batch)
					}
				})
			}
		}
	}
}

// What a step costs that does next to nothing: the call of its kernel and the barrier.
func BenchmarkStep(b *testing.B) {
	const steps = 100
	for threads := 1; threads <= Cores(); threads++ {
		b.Run(fmt.Sprint(threads), func(b *testing.B) {
			p, _ := addition(b, steps, 1)
			batch, team := oneRow(b), NewTeam(threads)
			defer team.Close()
			for b.Loop() {
				team.Run(p, batch)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/steps, "ns/step")
		})
	}
}
