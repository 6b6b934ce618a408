package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// The timed side of the checks: the kernels that are neither products nor attention, on the shapes of a model of a few billion weights,
// for one token (decode) and 512 (prefill), at every level of this machine. -bench 'Kernels/norm/avx2' picks some.

// bench is memory that arguments point into.
type bench struct {
	mem *Memory
	top int64
}

// f takes n random floats of -0.5 to 0.5.
func (m *bench) f(n int) unsafe.Pointer {
	at := m.top
	p := m.zeros(4 * n)
	for i := range n {
		m.mem.Float32s()[at/4+int64(i)] = rand.Float32() - 0.5
	}
	return p
}

// zeros takes n bytes as they are.
func (m *bench) zeros(n int) unsafe.Pointer {
	at := m.top
	m.top += int64(n+63) &^ 63
	return m.mem.At(at)
}

func sequence(b testing.TB, rows, pos0 int) *Batch {
	batch := NewBatch(rows, 1)
	batch.Resize(rows, rows, 1)
	batch.Seqs()[0] = Seq{Rows: int32(rows), Pos0: int32(pos0)}
	for i := range rows {
		batch.Pos()[i] = int32(pos0 + i)
		batch.Outs()[i] = int32(i)
	}
	b.Cleanup(batch.Free)
	return batch
}

// timed is a kernel on some shape with what it must move or compute for a row: floats read and written, or
// multiply-adds, and once a step, whatever the rows, floats of state.
type timed struct {
	name               string
	args               []Args // a step each, alike but for the state, so that states come from memory as in a model
	floats, state, mas int
}

func BenchmarkKernels(b *testing.B) {
	const (
		cols, ff, heads, dim = 2560, 9216, 16, 128
		maxRows, layers      = 512, 24
		moe, used            = 2048, 8
		kHeads, vHeads       = 16, 32
		channels             = (2*kHeads + vHeads) * dim
	)
	mem, err := Alloc(512 << 20)
	if err != nil {
		b.Fatal(err)
	}
	defer mem.Free()
	m := &bench{mem: mem}
	x, y, z, w := m.f(maxRows*moe*used), m.f(maxRows*ff), m.f(maxRows*ff), m.f(4*ff)
	freq := m.zeros(8 * dim / 2)
	a := m.f(vHeads)
	for i, v := range unsafe.Slice((*float32)(a), vHeads) {
		unsafe.Slice((*float32)(a), vHeads)[i] = v - 0.5
	}
	ids, weights := m.zeros(maxRows*used*4), m.f(maxRows*used)
	var convs, deltas []Args
	for range layers {
		convs = append(convs, &Conv{X: x, W: w, State: m.zeros(4 * 3 * channels), Dst: y, Stride: channels, DStride: channels, Cols: channels, Width: 4})
		deltas = append(deltas, &Delta{QKV: x, Alpha: z, Beta: z, DT: w, A: a, State: m.f(vHeads * dim * dim), Dst: y, Stride: channels,
			AStride: vHeads, BStride: vHeads, DStride: vHeads * dim, KHeads: kHeads, VHeads: vHeads, Dim: dim, Eps: 1e-6})
	}
	kernels := []timed{
		{"norm", []Args{&Norm{X: x, W: w, Dst: y, Stride: cols, Gap: cols, DStride: cols, DGap: cols, Heads: 1, Cols: cols, Eps: 1e-6}}, 2 * cols, 0, 0},
		{"head norm", []Args{&Norm{X: x, W: w, Dst: y, Stride: heads * dim, Gap: dim, DStride: heads * dim, DGap: dim, Heads: heads, Cols: dim, Eps: 1e-6}}, 2 * heads * dim, 0, 0},
		{"gated norm", []Args{&Norm{X: x, W: w, Gate: z, Dst: y, Stride: vHeads * dim, Gap: dim, DStride: vHeads * dim, DGap: dim, GStride: vHeads * dim,
			Heads: vHeads, Cols: dim, Eps: 1e-6}}, 3 * vHeads * dim, 0, 0},
		{"quantize", []Args{&Quantize{X: x, Q8: y, Stride: ff, Cols: ff, Times: 1}}, ff + ff/4, 0, 0},
		{"rope", []Args{&Rope{X: x, Freq: freq, Stride: heads * dim, Gap: dim, Heads: heads, Rot: dim, Neox: 1, Mag: 1}}, 2 * heads * dim, 0, 0},
		{"conv", convs, 2 * channels, 2 * 3 * channels, 0},
		{"delta", deltas, 0, 0, 4 * vHeads * dim * dim},
		{"delta state", deltas, channels + vHeads*dim, 2 * vHeads * dim * dim, 0},
		{"glu", []Args{&GLU{Gate: x, Up: y, Dst: z, GStride: ff, UStride: ff, DStride: ff, Cols: ff, Times: 1}}, 3 * ff, 0, 0},
		{"route", []Args{&Route{Logits: x, IDs: ids, Weights: weights, Stride: 128, Experts: 128, Used: used, Normalize: 1, Scale: 1}}, 128 + 2*used, 0, 0},
		{"combine", []Args{&Combine{Y: x, Weights: weights, Shared: y, SGate: w, Add: z, Dst: z, YStride: moe, SStride: moe, AddStride: moe, DStride: moe,
			Cols: moe, Used: used}}, (used + 3) * moe, 0, 0},
		{"gather", []Args{&Gather{X: x, Dst: y, Stride: cols, DStride: cols, Cols: cols}}, 2 * cols, 0, 0},
		{"add", []Args{&Add{X: x, Y: y, Dst: z, XStride: cols, YStride: cols, DStride: cols, Cols: cols, Scale: 1}}, 3 * cols, 0, 0},
	}
	team := NewTeam(0)
	defer team.Close()
	for _, k := range kernels {
		for _, level := range Levels() {
			for _, rows := range []int{1, maxRows} {
				b.Run(fmt.Sprintf("%s/%v/%d", k.name, level, rows), func(b *testing.B) { k.run(b, team, level, sequence(b, rows, 4096)) })
			}
		}
	}
}

func (k *timed) run(b *testing.B, team *Team, level Level, batch *Batch) {
	p := NewProgram(level)
	defer p.Free()
	for _, a := range k.args {
		if err := p.Add(a); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		team.Run(p, batch)
	}
	ns := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / float64(len(k.args))
	b.ReportMetric(0, "ns/op") // a step's time stands for it
	b.ReportMetric(ns/1000, "µs/step")
	if k.mas > 0 {
		b.ReportMetric(float64(batch.Rows()*k.mas)/ns, "GFMA/s")
	} else {
		b.ReportMetric(float64(batch.Rows()*k.floats+k.state)*4/ns, "GB/s")
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
