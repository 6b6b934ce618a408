package cpu

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"unsafe"
)

// pairsOf are the rows of k values of x, quantized to 16 bits.
func pairsOf(t *testing.T, level Level, threads int, x []float32, k int) []byte {
	rows := len(x) / k
	q8 := guarded(t, rows*2*int(QuantizedRow(k)))
	run(t, level, threads, rows, &Quantize{X: unsafe.Pointer(&x[0]), Q8: unsafe.Pointer(&q8[0]), Stride: int64(k), Cols: int32(k), Times: 1, Residual: 1})
	return q8
}

// ofPairs is the product with rows row to row+rows-1 of what pairsOf returned.
func (p *product) ofPairs(t *testing.T, level Level, threads int, pairs []byte, row, rows int) []float32 {
	mem, free := guard(t, 4*rows*p.m)
	defer free()
	run(t, level, threads, rows, &Matmul{W: unsafe.Pointer(&p.w[0]), X: unsafe.Pointer(&pairs[row*2*int(QuantizedRow(p.k))]), Dst: unsafe.Pointer(&mem[0]),
		Type: p.t, M: int32(p.m), K: int32(p.k), DstStride: int64(p.m), Residual: 1, Repacked: p.repacked})
	return slices.Clone(floatsOf(mem))
}

// TestResidual holds products over activations of 16 bits to the exact product of the floats themselves: what two
// rows of 8 bits leave over is 1/254 of what one leaves, and a row's bits depend neither on the others nor on the layout of the weights.
func TestResidual(t *testing.T) {
	for _, typ := range productTypes {
		values, _ := typ.Block()
		if values == 1 {
			continue
		}
		for _, level := range Levels() {
			if level == AMX { // by tiles rows have other bits: TestTileResiduals
				continue
			}
			t.Run(fmt.Sprint(typ, "/", level), func(t *testing.T) {
				checkResidual(t, level, typ, 37, 512, 9)
				if values == 32 {
					checkResidual(t, level, typ, 48, 11*32, 70)
				}
			})
		}
	}
}

func checkResidual(t *testing.T, level Level, typ Type, m, k, rows int) {
	p := newProduct(t, 5, typ, m, k, rows)
	for i := range k {
		p.x[i] = 3 // the most that a chunk's sums can reach
	}
	repacked := p.repack(t, 1)
	pairs := pairsOf(t, level, 1, p.x, k)
	got := p.ofPairs(t, level, 2, pairs, 0, rows)
	for r := range rows {
		for n := 1; n <= 2 && r+n <= rows; n++ {
			few := repacked.ofPairs(t, level, 1, pairs, r, n)
			if i := sameBits(few, got[r*m:(r+n)*m]); i >= 0 {
				t.Fatalf("row %d, weight row %d: %v among %d, %v among %d", r+i/m, i%m, few[i], n, got[r*m+i], rows)
			}
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
				mag += math.Abs(w)*top/(2*127*254) + p.bound[(j*k+i)/32]*top*4e-7
			}
			if diff := math.Abs(float64(got[r*m+j]) - want); diff > mag {
				t.Fatalf("row %d, weight row %d: %v, exact %v: off by %g, at most %g", r, j, got[r*m+j], want, diff, mag)
			}
		}
	}
}

// TestEveryNumberOfRows compares the products of 1, 2, 3 rows and so on, some of which are multiplied while weights are unpacked and some
// from panels, with those of the same rows among many: no bit may differ.
func TestEveryNumberOfRows(t *testing.T) {
	const m, k, most = 35, 512, 37
	for _, typ := range productTypes {
		if values, _ := typ.Block(); values == 1 {
			continue
		}
		for _, level := range Levels() {
			if level == AMX {
				continue
			}
			t.Run(fmt.Sprint(typ, "/", level), func(t *testing.T) {
				p := newProduct(t, 3, typ, m, k, most)
				repacked, pairs := p.repack(t, 1), pairsOf(t, level, 1, p.x, k)
				all := p.matmul(t, level, 1, 0, most, false, false)
				fine := p.ofPairs(t, level, 1, pairs, 0, most)
				for n := 1; n < most; n++ {
					w := p
					if n%5 != 0 {
						w = repacked
					}
					if i := sameBits(w.matmul(t, level, 1, most-n, n, false, false), all[(most-n)*m:]); i >= 0 {
						t.Errorf("%d rows have another value %d than among %d", n, i, most)
					}
					if i := sameBits(w.ofPairs(t, level, 1, pairs, most-n, n), fine[(most-n)*m:]); i >= 0 {
						t.Errorf("%d rows of 16 bits have another value %d than among %d", n, i, most)
					}
				}
			})
		}
	}
}

// TestQuantizePairs: with a residual a value is 254*high + low times the low row's scale, the nearest of those numbers; highs have 254
// times that scale; bytes stay within 127; and all levels and threads leave the same bits.
func TestQuantizePairs(t *testing.T) {
	const k, rows = 2080, 5
	p := newProduct(t, 6, F32, 1, k, rows)
	copy(p.x[32:64], make([]float32, 32))
	for i := range 32 {
		p.x[64+i] = float32(i-16)*254 + 127 // with a scale of 1, halfway between two highs
		p.x[96+i] = float32(i) * 1e-35
		p.x[128+i] = float32(i) * 1e37
	}
	p.x[64] = 127 * 254
	first := pairsOf(t, Generic, 1, p.x, k)
	for r := range rows {
		size := int(QuantizedRow(k))
		high, dHigh, highSums := quantized(first[2*r*size:], k)
		low, d, lowSums := quantized(first[(2*r+1)*size:], k)
		for c := range k / 32 {
			top := 0.0
			for _, v := range p.x[r*k+32*c:][:32] {
				top = max(top, math.Abs(float64(v)))
			}
			if want := float32(top) / (127 * 254); top > 1e-33 && d[c] != want || top <= 1e-33 && d[c] != 0 || dHigh[c] != 254*d[c] {
				t.Fatalf("scales of chunk %d of row %d are %v and %v, the largest magnitude %v", c, r, dHigh[c], d[c], top)
			}
			var sums [4]int
			for i := 32 * c; i < 32*c+32; i++ {
				h, l := int(high[i]), int(low[i])
				sums[i/16%2] += h
				sums[2+i/16%2] += l
				if want := float64(p.x[r*k+i]) / float64(d[c]); d[c] == 0 && (h != 0 || l != 0) || d[c] != 0 && math.Abs(float64(254*h+l)-want) > 0.505 || min(h, l) < -127 {
					t.Fatalf("%v with scale %v is %d and %d", p.x[r*k+i], d[c], h, l)
				}
			}
			if got := [4]int{int(highSums[2*c]), int(highSums[2*c+1]), int(lowSums[2*c]), int(lowSums[2*c+1])}; got != sums {
				t.Fatalf("sums %v, expected %v", got, sums)
			}
		}
	}
	for _, level := range Levels() {
		for threads := 1; threads <= 3; threads++ {
			if string(pairsOf(t, level, threads, p.x, k)) != string(first) {
				t.Fatalf("%v on %d threads quantizes differently from the plain level", level, threads)
			}
		}
	}
}

// A value that is not finite does not vanish in 16 bits either, for few rows and for many.
func TestResidualOfNonFinite(t *testing.T) {
	const m, k, rows = 20, 256, 7
	p := newProduct(t, 8, Q4_K, m, k, rows)
	p.x[1*k+70], p.x[6*k+255] = float32(math.NaN()), float32(math.Inf(-1))
	for _, level := range Levels() {
		pairs := pairsOf(t, level, 1, p.x, k)
		for first, n := range []int{rows, 1, 2} { // the row of NaN is the first of one, and of two
			for i, v := range p.ofPairs(t, level, 1, pairs, min(first, 1), n) {
				row := min(first, 1) + i/m
				if finite := v-v == 0; finite == (row == 1 || row == 6) {
					t.Fatalf("%v: value %d of row %d among %d is %v", level, i%m, row, n, v)
				}
			}
		}
	}
}
