package cpu

import (
	"math"
	"testing"
	"unsafe"
)

func TestEmbed(t *testing.T) {
	for _, typ := range productTypes {
		p := newProduct(t, 11, typ, 37, 768, 1)
		repacked := p.repack(t, 1)
		tokens := []int32{8, 0, 31, 3, 3, -1, 36, 37}
		dst := floatsOf(guarded(t, 4*len(tokens)*p.k))
		b := NewBatch(len(tokens), 1)
		b.Resize(len(tokens), 0, 1)
		b.Seqs()[0] = Seq{Rows: int32(len(tokens))}
		for i, tok := range tokens {
			b.Tokens()[i], b.Pos()[i] = tok, int32(i)
		}
		for threads := 1; threads <= 4; threads++ {
			from := p
			if threads%2 == 0 {
				from = repacked
			}
			clear(dst)
			runBatch(t, Generic, threads, b, &Embed{W: unsafe.Pointer(&from.w[0]), Dst: unsafe.Pointer(&dst[0]), Stride: int64(p.k), Type: typ,
				Cols: int32(p.k), Vocab: int32(p.m), Repacked: from.repacked, Scale: 0.75})
			for i, v := range dst {
				tok, col := int(tokens[i/p.k]), i%p.k
				if tok < 0 || tok >= p.m {
					if v == v {
						t.Fatalf("%v: token %d of %d gives %v, not NaN", typ, tok, p.m, v)
					}
				} else if want := p.plain[tok*p.k+col] * 0.75; v != want {
					t.Fatalf("%v: token %d column %d is %v, expected %v", typ, tok, col, v, want)
				}
			}
		}
		b.Free()
	}
}

// quantizedOf quantizes rows of k values at a level.
func quantizedOf(t *testing.T, level Level, threads int, x []float32, k int) []byte {
	rows := len(x) / k
	q8 := guarded(t, rows*int(QuantizedRow(k)))
	run(t, level, threads, rows, &Quantize{X: unsafe.Pointer(&x[0]), Q8: unsafe.Pointer(&q8[0]), Stride: int64(k), Cols: int32(k), Times: 1})
	return q8
}

func TestQuantize(t *testing.T) {
	const k, rows = 2080, 6
	p := newProduct(t, 5, F32, 1, k, rows)
	copy(p.x[32:64], make([]float32, 32))
	for i := range 32 {
		p.x[64+i] = float32(i-16) / 2 // with a scale of 1, half of them are ties
		p.x[96+i] = float32(i) * 1e-38
		p.x[128+i] = float32(i) * 1e37
	}
	p.x[64] = 127
	for _, level := range Levels() {
		first := quantizedOf(t, level, 1, p.x, k)
		size := int(QuantizedRow(k))
		for r := range rows {
			q, d, sums := quantized(first[r*size:], k)
			for c := range k / 32 {
				top := float32(0)
				for _, v := range p.x[r*k+32*c:][:32] {
					top = max(top, float32(math.Abs(float64(v))))
				}
				if top > 1e-36 && d[c] != top/127 || top <= 1e-36 && d[c] != 0 {
					t.Fatalf("%v: scale %d of row %d is %v, the largest magnitude %v", level, c, r, d[c], top)
				}
				sum := [2]int{}
				for i := range 32 {
					v, x := int(q[32*c+i]), float64(p.x[r*k+32*c+i])
					sum[i/16] += v
					if want := x / float64(d[c]); d[c] != 0 && math.Abs(float64(v)-want) > 0.50002 || d[c] == 0 && v != 0 {
						t.Fatalf("%v: %v with scale %v is %d", level, x, d[c], v)
					}
				}
				if int(sums[2*c]) != sum[0] || int(sums[2*c+1]) != sum[1] {
					t.Fatalf("%v: sums %v, expected %v", level, sums[2*c:2*c+2], sum)
				}
			}
			if q, _, _ := quantized(first, k); q[64+15] != 0 || q[64+17] != 0 || q[64+19] != 2 || q[64+13] != -2 || q[64] != 127 {
				t.Fatalf("%v: ties are rounded to %v", level, q[64:96])
			}
		}
		if plain := quantizedOf(t, Generic, 1, p.x, k); string(plain) != string(first) {
			t.Fatalf("%v quantizes differently from the plain level", level)
		}
		for threads := 2; threads <= 3; threads++ {
			if string(quantizedOf(t, level, threads, p.x, k)) != string(first) {
				t.Fatalf("%v: %d threads change the result", level, threads)
			}
		}
	}
}

// A value that is not finite must not vanish in 8 bits: the product it reaches is not finite either.
func TestProductsOfNonFinite(t *testing.T) {
	p := newProduct(t, 8, Q4_K, 20, 256, 3)
	p.x[256+70], p.x[512+255] = float32(math.NaN()), float32(math.Inf(-1))
	for _, level := range Levels() {
		copy(p.q8, quantizedOf(t, level, 1, p.x, p.k))
		got := p.matmul(t, level, 1, 0, 3, false, false)
		for i, v := range got {
			if finite := v-v == 0; finite != (i < p.m) {
				t.Fatalf("%v: value %d is %v", level, i, v)
			}
		}
	}
}
