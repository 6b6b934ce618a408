package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// Attention by itself on the shapes of two models, at the start and at depth: prefill is bounded by multiply-adds
// (GFMA/s), decode by the memory that keys and values stream from (GB/s; several layers' caches in turn, so that no cache
// of the processor holds them).
func BenchmarkAttention(b *testing.B) {
	const cells, layers, maxRows = 8192 + 512, 4, 512
	for _, shape := range []struct {
		name                string
		heads, kvHeads, dim int
	}{{"qwen35-4b", 16, 4, 256}, {"qwen3-0.6b", 16, 8, 128}} {
		heads, kvHeads, dim := shape.heads, shape.kvHeads, shape.dim
		for _, typ := range []Type{F16, Q8_0, Q4_0} {
			size := kvHeads * cells * rowWords(typ, dim) * 2
			mem, err := Alloc(int64(2*layers*size + 3*4*maxRows*heads*dim + 4*Cores()*AttentionScratch(heads, kvHeads, dim) + 1<<20))
			if err != nil {
				b.Fatal(err)
			}
			m := &bench{mem: mem}
			cache := make([]unsafe.Pointer, 2*layers)
			for i := range cache {
				cache[i] = m.zeros(size)
				fillCache(typ, unsafe.Slice((*uint16)(cache[i]), size/2))
			}
			q, dst := m.f(maxRows*heads*dim), m.f(maxRows*heads*dim)
			scratch, done := m.zeros(4*Cores()*AttentionScratch(heads, kvHeads, dim)), m.zeros(4*Cores()*AttentionShared)
			for _, run := range []struct {
				name        string
				rows, depth int
			}{{"decode", 1, 8191}, {"verify", 8, 8184}, {"prefill", 512, 0}, {"prefill", 512, 8192}} {
				for _, level := range Levels()[1:] {
					b.Run(fmt.Sprintf("%s/%v/%s/%d/%v", shape.name, typ, run.name, run.depth, level), func(b *testing.B) {
						p := NewProgram(level)
						defer p.Free()
						steps := layers
						if run.rows > 100 {
							steps = 1
						}
						for l := range steps {
							if err := p.Add(&Attention{Q: q, KC: cache[2*l], VC: cache[2*l+1], Dst: dst, Scratch: scratch, Done: done, QStride: int64(heads * dim),
								QGap: int64(dim), DStride: int64(heads * dim), Type: typ, VType: typ, Heads: int32(heads), KVHeads: int32(kvHeads), Dim: int32(dim),
								Cells: cells, Scale: 0.06}); err != nil {
								b.Fatal(err)
							}
						}
						batch := sequence(b, run.rows, run.depth)
						team := NewTeam(Cores())
						defer team.Close()
						for b.Loop() {
							team.Run(p, batch)
						}
						seconds := b.Elapsed().Seconds() / float64(b.N) / float64(steps)
						seen := run.rows*run.depth + run.rows*(run.rows+1)/2
						b.ReportMetric(float64(2*seen*heads*dim)/seconds/1e9, "GFMA/s")
						b.ReportMetric(float64((run.depth+run.rows)*kvHeads*rowWords(typ, dim)*2*2)/seconds/1e9, "GB/s")
					})
				}
			}
			mem.Free()
		}
	}
}

// fillCache fills a cache with rows of the same few blocks.
func fillCache(typ Type, v []uint16) {
	block, x := cache{typ: typ, dim: 4096}, make([]float32, 4096)
	for i := range x {
		x[i] = float32(rand.NormFloat64())
	}
	some := block.encode(x)
	for i := range v {
		v[i] = uint16(some[i%len(some)])
	}
}
