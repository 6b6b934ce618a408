package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// The package used by itself on all cores, as ExampleMatmul shows it: rows of floats are quantized and multiplied with a
// packed matrix larger than caches.
func BenchmarkPlainTensors(b *testing.B) {
	const k, bytes = 4096, 128 << 20
	rng := rand.New(rand.NewPCG(1, 2))
	w, err := Alloc(bytes)
	if err != nil {
		b.Fatal(err)
	}
	defer w.Free()
	for _, typ := range []Type{Q4_K, Q6_K, Q8_0} {
		values, size := typ.Block()
		row := k / values * size
		m := bytes / row / 16 * 16
		randomRow(rng, typ, w.Bytes()[:16*row])
		for at := 16 * row; at < m*row; at += copy(w.Bytes()[at:m*row], w.Bytes()[:16*row]) {
		}
		for _, rows := range []int{1, 64} {
			b.Run(fmt.Sprintf("%v/%d", typ, rows), func(b *testing.B) {
				mem, err := Alloc(int64(rows) * (4*k + QuantizedRow(k) + 4*int64(m)))
				if err != nil {
					b.Fatal(err)
				}
				defer mem.Free()
				for i := range mem.Float32s()[:rows*k] {
					mem.Float32s()[i] = rng.Float32() - 0.5
				}
				x, q8, dst := mem.At(0), mem.At(int64(4*rows*k)), mem.At(int64(rows)*(4*k+QuantizedRow(k)))
				p := NewProgram(Detect())
				defer p.Free()
				for _, a := range []Args{
					&Quantize{X: x, Q8: q8, Stride: k, Cols: k, Times: 1},
					&Matmul{W: w.Pointer(), X: q8, Dst: dst, DstStride: int64(m), Type: typ, M: int32(m), K: k},
				} {
					if err := p.Add(a); err != nil {
						b.Fatal(err)
					}
				}
				batch, team := sequence(b, rows, 0), NewTeam(0)
				defer team.Close()
				for b.Loop() {
					team.Run(p, batch)
				}
				bytes, macs := p.Work(rows, 0)
				reportWork(b, p.Level(), typ, team.Threads(), bytes, macs)
			})
		}
	}
}
