package gpu

import (
	"math"
	"sort"
	"testing"

	"ingot/kernels/gpu"
)

func TestTopK(t *testing.T) {
	every(t, 6, randomBatch(3, 100), func(b *bench) {
		cols := pick(b, 5, 300, 4096, 4097, 20000)
		k, stride, outs := min(cols, pick(b, 1, 2, 20)), cols+b.rng.IntN(5), len(b.batch.Outs())
		x := b.floats(max(1, outs*stride), 4)
		for i, v := range b.f32(x) {
			switch b.rng.IntN(8) {
			case 0:
				b.f32(x)[i] = float32(math.Round(float64(v))) // ties
			case 1:
				b.f32(x)[i] = float32(math.Inf(-1)) // masked by a grammar
			}
		}
		b.start()
		most := b.most(outs)
		on := gpu.TopKArgs{Batch: b.on, X: b.at + gpu.Ptr(x.off), Stride: int64(stride), Cols: int32(cols), K: int32(k),
			Parts: b.c.alloc(b.t, 4*gpu.TopKParts(most, cols, k)), Values: b.c.alloc(b.t, 4*most*k), IDs: b.c.alloc(b.t, 4*most*k), LSE: b.c.alloc(b.t, 4*most)}
		list, err := on.Launch(b.c.info, most)
		must(b.t, err)
		b.c.run(b.t, list...)
		values, ids, lse := make([]float32, outs*k), make([]int32, outs*k), make([]float32, outs)
		b.c.download(b.t, on.Values, bytesOf(values))
		b.c.download(b.t, on.IDs, bytesOf(ids))
		b.c.download(b.t, on.LSE, bytesOf(lse))
		for o := range outs {
			row := b.f32(x)[o*stride:][:cols]
			order := make([]int, cols)
			for i := range order {
				order[i] = i
			}
			sort.SliceStable(order, func(i, j int) bool { return row[order[i]] > row[order[j]] })
			for s := range k {
				if got := ids[o*k+s]; int(got) != order[s] || values[o*k+s] != row[order[s]] {
					b.t.Fatalf("row %d of %d values: number %d is %v at %d, expected %v at %d", o, cols, s, values[o*k+s], got, row[order[s]], order[s])
				}
			}
			sum := 0.0
			for _, v := range row {
				sum += math.Exp(float64(v - row[order[0]]))
			}
			within(b.t, "log of the sum", lse[o:o+1], []float32{row[order[0]] + float32(math.Log(sum))}, 2e-6)
		}
	})
}
