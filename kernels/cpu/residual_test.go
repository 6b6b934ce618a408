package cpu

import (
	"fmt"
	"math"
	"testing"
	"unsafe"
)

// TestResidual holds products over activations of 16 bits to the exact product of the floats themselves: what two
// rows of 8 bits leave over is 1/127 of what one leaves, and a row's bits do not depend on the others.
func TestResidual(t *testing.T) {
	const m, k, rows = 37, 512, 9
	for _, typ := range []Type{Q4_0, Q4_K, Q6_K, Q8_0, MXFP4, IQ4_NL} {
		for _, level := range Levels() {
			t.Run(fmt.Sprint(typ, "/", level), func(t *testing.T) {
				p := newProduct(t, 5, typ, m, k, rows)
				size := 2 * int(QuantizedRow(k))
				q8 := guarded(t, rows*size)
				run(t, level, 1, rows, &Quantize{X: unsafe.Pointer(&p.x[0]), Q8: unsafe.Pointer(&q8[0]), Stride: k, Cols: k, Times: 1, Residual: 1})
				product := func(threads, row, rows int) []float32 {
					dst := make([]float32, rows*m)
					mem, free := guard(t, 4*rows*m)
					defer free()
					run(t, level, threads, rows, &Matmul{W: unsafe.Pointer(&p.w[0]), X: unsafe.Pointer(&q8[row*size]), Dst: unsafe.Pointer(&mem[0]),
						Type: typ, M: m, K: k, DstStride: m, Residual: 1})
					copy(dst, floatsOf(mem))
					return dst
				}
				got := product(2, 0, rows)
				for r := range rows {
					alone := product(1, r, 1)
					if i := sameBits(alone, got[r*m:(r+1)*m]); i >= 0 {
						t.Fatalf("row %d, weight row %d: %v alone, %v among %d", r, i, alone[i], got[r*m+i], rows)
					}
					for j := range m {
						want, mag := 0.0, 0.0
						for i := range k {
							top := 0.0 // of the 32 values that share a scale
							for _, v := range p.x[r*k+i/32*32 : r*k+i/32*32+32] {
								top = max(top, math.Abs(float64(v)))
							}
							w := float64(p.plain[j*k+i])
							want += w * float64(p.x[r*k+i])
							mag += math.Abs(w)*top/(2*127*2*127) + p.bound[(j*k+i)/32]*top*4e-7
						}
						if diff := math.Abs(float64(got[r*m+j]) - want); diff > mag {
							t.Fatalf("row %d, weight row %d: %v, exact %v: off by %g, at most %g", r, j, got[r*m+j], want, diff, mag)
						}
					}
				}
			})
		}
	}
}
