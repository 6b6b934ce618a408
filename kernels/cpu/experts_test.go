package cpu

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"
)

// The rows of an expert product equal, bit for bit, those of a plain product with that expert's matrix, its bias added.
func TestExperts(t *testing.T) {
	cases := []struct{ experts, used, rows, m, k int }{
		{8, 2, 1, 48, 256}, {8, 3, 40, 21, 256}, {2000, 8, 5, 16, 256}, {5, 5, 1000, 16, 256},
	}
	if testing.Short() { // as under emulation
		cases = cases[:2]
	}
	for _, typ := range []Type{F16, Q4_K, Q6_K, MXFP4, Q8_0} {
		for i, c := range cases {
			for perSlot := range int32(2) {
				inputs := c.rows
				if perSlot == 1 {
					inputs *= c.used
				}
				p := newProduct(t, uint64(i), typ, c.m*min(c.experts, 8), c.k, inputs)
				if c.experts > 8 { // many experts share eight matrices' worth of bits
					w := guarded(t, len(p.w)/8*c.experts)
					for at := 0; at < len(w); at += len(p.w) {
						copy(w[at:], p.w)
					}
					p.w = w
				}
				ids := idsOf(t, rand.New(rand.NewPCG(1, uint64(i))), c.rows, c.used, c.experts)
				repacked := p.repack(t, c.experts)
				for _, level := range Levels() {
					p.checkExperts(t, level, c.experts, c.used, c.m, c.rows, ids, perSlot)
					repacked.checkExperts(t, level, c.experts, c.used, c.m, c.rows, ids, perSlot)
				}
			}
		}
	}
}

func idsOf(t *testing.T, rng *rand.Rand, rows, used, experts int) []int32 {
	mem := guarded(t, 4*rows*used)
	ids := unsafe.Slice((*int32)(unsafe.Pointer(&mem[0])), rows*used)
	for r := range rows {
		for s, e := range rng.Perm(experts)[:used] {
			ids[r*used+s] = int32(e)
		}
	}
	return ids
}

func (p *product) checkExperts(t *testing.T, level Level, experts, used, m, rows int, ids []int32, perSlot int32) {
	mem, free := guard(t, 4*rows*used*m)
	defer free()
	dst := floatsOf(mem)
	a := &Experts{W: unsafe.Pointer(&p.w[0]), X: p.input(0), Dst: unsafe.Pointer(&dst[0]), IDs: unsafe.Pointer(&ids[0]),
		XStride: int64(p.k), DstStride: int64(m), Type: p.t, M: int32(m), K: int32(p.k), Experts: int32(experts), Used: int32(used),
		PerSlot: perSlot, Repacked: p.repacked}
	bias := floatsOf(guarded(t, 4*experts*m))
	for i := range bias {
		bias[i] = float32(i%97) - 48
	}
	if perSlot == 0 {
		a.Bias = unsafe.Pointer(&bias[0])
	}
	inputs := rows
	if perSlot == 1 {
		inputs *= used
	}
	byTiles := map[int32][]float32{} // an expert's products with all rows, for tiles take no row alone
	for threads := 1; threads <= 2; threads++ {
		clear(dst)
		run(t, level, threads, rows, a)
		for slot, e := range ids {
			if slot%37 != 0 && slot > 12 && slot < len(ids)-2 { // a sample is enough
				continue
			}
			in := slot / used
			if perSlot == 1 {
				in = slot
			}
			one := *p
			one.m, one.w = m, p.w[int(e)*len(p.w)/experts:]
			var want []float32
			if tiled(level, p.t, rows) {
				if byTiles[e] == nil {
					byTiles[e] = one.matmul(t, level, 1, 0, inputs, false, false)
				}
				want = byTiles[e][in*m : (in+1)*m]
			} else {
				want = one.matmul(t, level, 1, in, 1, false, false)
			}
			if a.Bias != nil {
				want = slices.Clone(want)
				for i := range want {
					want[i] += bias[int(e)*m+i]
				}
			}
			if i := sameBits(want, dst[slot*m:]); i >= 0 {
				t.Fatalf("%v/%v: slot %d, expert %d: value %d is %v, alone %v", p.t, level, slot, e, i, dst[slot*m+i], want[i])
			}
		}
	}
}

// With IG_OUTS a product works on as many rows as there are outputs.
func TestMatmulOfOutputs(t *testing.T) {
	p := newProduct(t, 2, Q4_K, 16, 256, 5)
	dst := floatsOf(guarded(t, 4*5*p.m))
	b := NewBatch(5, 1)
	defer b.Free()
	b.Resize(5, 2, 1)
	b.Seqs()[0] = Seq{Rows: 5}
	for i := range 5 {
		b.Pos()[i] = int32(i)
	}
	b.Outs()[0], b.Outs()[1] = 1, 4
	want := p.matmul(t, Generic, 1, 0, 2, false, false)
	runBatch(t, Generic, 1, b, &Matmul{W: unsafe.Pointer(&p.w[0]), X: p.input(0), Dst: unsafe.Pointer(&dst[0]), Type: p.t, M: int32(p.m),
		K: int32(p.k), DstStride: int64(p.m), Rows: OutRows})
	if i := sameBits(want, dst); i >= 0 {
		t.Fatalf("value %d is %v, expected %v", i, dst[i], want[i])
	}
	for i, v := range dst[2*p.m:] {
		if v != 0 {
			t.Fatalf("value %d, of a row that is no output, was written: %v", i, v)
		}
	}
}
