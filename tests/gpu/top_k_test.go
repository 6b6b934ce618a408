package gpu

import (
	"math"
	"sort"
	"testing"
	"unsafe"

	"ingot/kernels/gpu"
)

func TestTopK(t *testing.T) {
	every(t, 6, randomBatch(3, 100), func(b *bench) {
		cols := pick(b, 5, 300, 4096, 4097, 20000)
		k, stride, outs := pick(b, 1, 2, 20, gpu.MaxTopK), cols+b.rng.IntN(5), len(b.batch.Outs())
		x := b.floats(max(1, outs*stride), 4)
		none := b.rng.IntN(3) * 8 // of 16 values that many cannot be taken
		for i, v := range b.f32(x) {
			switch n := b.rng.IntN(16); {
			case n < none: // masked by a grammar, or no number
				b.f32(x)[i] = float32(pick(b, math.Inf(-1), math.NaN()))
			case n < none+4:
				b.f32(x)[i] = float32(math.Round(float64(v))) // ties
			case n == 15 && b.rng.IntN(cols) == 0:
				b.f32(x)[i] = float32(math.Inf(1))
			}
		}
		b.start()
		b.c.upload(b.t, b.on+12, bytesOf([]int32{int32(k)})) // batch.best
		most := b.most(outs)
		on := gpu.TopKArgs{Batch: b.on, X: b.at + gpu.Ptr(x.off), Stride: int64(stride), Cols: int32(cols), K: gpu.MaxTopK,
			Parts: b.c.alloc(b.t, 4*gpu.TopKParts(most, cols, gpu.MaxTopK)), Dst: b.c.alloc(b.t, 4*gpu.TopKResult(most, gpu.MaxTopK))}
		list, err := on.Launch(b.c.info, most)
		must(b.t, err)
		b.c.run(b.t, list...)
		got := make([]float32, gpu.TopKResult(outs, k))
		b.c.download(b.t, on.Dst, bytesOf(got))
		for o := range outs {
			row := b.f32(x)[o*stride:][:cols]
			var order []int
			for i, v := range row {
				if v > float32(math.Inf(-1)) {
					order = append(order, i)
				}
			}
			sort.SliceStable(order, func(i, j int) bool { return row[order[i]] > row[order[j]] })
			each := gpu.TopKResult(1, k)
			ids := unsafe.Slice((*int32)(unsafe.Pointer(&got[o*each])), each)
			for s := range k {
				if s >= len(order) {
					if ids[2+2*s] != -1 {
						b.t.Fatalf("row %d of %d values: number %d is at %d, where no more are", o, cols, s, ids[2+2*s])
					}
					break
				}
				if v, id := got[o*each+1+2*s], ids[2+2*s]; int(id) != order[s] || v != row[order[s]] {
					b.t.Fatalf("row %d of %d values: number %d is %v at %d, expected %v at %d", o, cols, s, v, id, row[order[s]], order[s])
				}
			}
			sum := 0.0
			for _, i := range order {
				if v := row[i]; v == row[order[0]] {
					sum++
				} else {
					sum += math.Exp(float64(v - row[order[0]]))
				}
			}
			if log := float64(got[o*each]); log != math.Log(sum) && !(math.Abs(log-math.Log(sum)) < 2e-6*(1+math.Abs(log))) {
				b.t.Errorf("row %d of %d values: log of the sum %v, expected %v", o, cols, log, math.Log(sum))
			}
		}
	})
}
