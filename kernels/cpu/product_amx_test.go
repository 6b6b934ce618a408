package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// tileRows is the number of rows from which the AMX level takes packed weights to tiles (LEAST_ROWS).
const tileRows = 32

// tiled tells whether a level multiplies so many rows by tiles.
func tiled(level Level, t Type, rows int) bool {
	values, _ := t.Block()
	return level == AMX && values > 1 && rows >= tileRows
}

// withTiles runs a test with emulated tiles and, on a machine that has them, with real ones.
func withTiles(t *testing.T, test func(t *testing.T)) {
	was := emulateTiles(false)
	defer emulateTiles(was)
	real := slices.Contains(Levels(), AMX)
	if emulateTiles(true); !slices.Contains(Levels(), AMX) {
		t.Skip("no AVX-512 with BF16 here")
	}
	t.Run("emulated", test)
	if real {
		emulateTiles(false)
		t.Run("real", test)
	}
}

// A machine without tiles does not offer the level, by name neither.
func TestTilesAreNotOfferedWhereMissing(t *testing.T) {
	defer emulateTiles(emulateTiles(false))
	_, err := ParseLevel("amx")
	if offered := slices.Contains(Levels(), AMX); offered != (err == nil) {
		t.Errorf("offered: %v, by name: %v", offered, err)
	} else {
		t.Logf("tiles here: %v", offered)
	}
}

// tileError is what rounding both factors to bf16, which has 8 bits, may add to a product: at most 2^-8 of each, so 2^-7
// of each term; and its variance where each rounding is spread evenly over that: 2^-16/3 of a term's square a factor.
func (p *product) tileError(j, r int) (most, variance float64) {
	w, x := p.plain[j*p.k:(j+1)*p.k], p.seen[r*p.k:(r+1)*p.k]
	for i := range w {
		term := math.Abs(float64(w[i]) * x[i])
		most += term * (0x1p-7 + 0x1p-16)
		variance += term * term * 0x1p-16 * 2 / 3
	}
	return most, variance
}

// Products by tiles are exact but for the rounding of the factors; a row's bits depend neither on threads, nor on the
// layout of the weights, nor on the rows beside it. Fewer rows have the bits of the AVX-512 level.
func TestTileProducts(t *testing.T) {
	shapes := []struct{ m, k, rows int }{
		{5, 256, 32}, {16, 512, 33}, {37, 768, 150}, {70, 256, 64}, {48, 1280, 513}, {600, 512, 481}, {35, 512, 17}, {33, 256, 31},
	}
	withTiles(t, func(t *testing.T) {
		for _, typ := range productTypes {
			values, _ := typ.Block()
			if values == 1 {
				continue
			}
			t.Run(typ.String(), func(t *testing.T) {
				cases := shapes
				if values == 32 {
					cases = append(slices.Clone(shapes), struct{ m, k, rows int }{49, 32 * 11, 40}, struct{ m, k, rows int }{16, 32, 49})
				}
				var square, allowed float64
				for i, s := range cases {
					p := newProduct(t, uint64(i), typ, s.m, s.k, s.rows)
					a, b := p.checkTiles(t, s.rows)
					square, allowed = square+a, allowed+b
				}
				t.Logf("error %.2f of what even rounding gives", math.Sqrt(square/allowed))
				if square > allowed {
					t.Errorf("the squared error is %g, evenly rounded factors give %g", square, allowed)
				}
			})
		}
	})
}

// checkTiles returns the sum of the squared errors of results by tiles, and what rounding leads to expect at most.
func (p *product) checkTiles(t *testing.T, rows int) (square, allowed float64) {
	name := fmt.Sprintf("%d rows of %d, %d activations", p.m, p.k, rows)
	got := p.matmul(t, AMX, 1, 0, rows, false, false)
	if rows < tileRows {
		if i := sameBits(got, p.matmul(t, AVX512, 1, 0, rows, false, false)); i >= 0 {
			t.Fatalf("%s: value %d is not that of the AVX-512 level", name, i)
		}
	}
	step := max(1, p.m*rows/20000) // a sample of large ones
	for at := 0; at < p.m*rows; at += step {
		r, j := at/p.m, at%p.m
		want, slack := p.exact(j, r)
		most, variance := p.tileError(j, r)
		off := math.Abs(float64(got[at]) - want)
		if !(off <= slack+most) {
			t.Fatalf("%s: [%d][%d] is %v, exactly %v, tolerance %v", name, r, j, got[at], want, slack+most)
		}
		if rows >= tileRows && j < p.m/Group*Group { // the rows of no group are not multiplied by tiles
			square, allowed = square+off*off, allowed+variance
		}
	}
	repacked := p.repack(t, 1)
	for _, c := range []struct {
		what              string
		p                 *product
		threads, row, end int
	}{{"2 threads", p, 2, 0, rows}, {"3 threads", p, 3, 0, rows}, {"repacked", repacked, 1, 0, rows}, {"repacked, 3 threads", repacked, 3, 0, rows},
		{"the last rows", p, 2, rows - min(rows, tileRows), rows}, {"rows between", repacked, 1, 1, rows}} {
		if (c.end-c.row < tileRows) != (rows < tileRows) {
			continue
		}
		part := c.p.matmul(t, AMX, c.threads, c.row, c.end-c.row, false, false)
		if i := sameBits(part, got[c.row*p.m:]); i >= 0 {
			t.Fatalf("%s: %s: value %d differs", name, c.what, i)
		}
	}
	sum := repacked.matmul(t, AMX, 2, 0, rows, true, true)
	for i, v := range sum {
		if want := got[i] + p.bias[i%p.m] + p.add[i]; v != want {
			t.Fatalf("%s: with bias and addend value %d is %v, not %v", name, i, v, want)
		}
	}
	return square, allowed
}

// With a residual nothing is lost that counts: the tolerance is that of TestResidual, and 2^-16 of
// each term for the fourth product and for each factor's 16 bits.
func TestTileResiduals(t *testing.T) {
	const k = 512
	withTiles(t, func(t *testing.T) {
		for _, typ := range productTypes {
			if values, _ := typ.Block(); values == 1 {
				continue
			}
			for _, c := range []struct{ m, rows int }{{37, 33}, {64, 300}} {
				p := newProduct(t, 5, typ, c.m, k, c.rows)
				pairs := pairsOf(t, AMX, 2, p.x, k)
				got := p.ofPairs(t, AMX, 1, pairs, 0, c.rows)
				for at := 0; at < len(got); at += 1 + len(got)/4000 {
					r, j := at/c.m, at%c.m
					want, most := 0.0, 0.0
					for i := range k {
						top := 0.0 // of the 32 values that share a scale
						for _, v := range p.x[r*k+i/32*32 : r*k+i/32*32+32] {
							top = max(top, math.Abs(float64(v)))
						}
						w, x := float64(p.plain[j*k+i]), float64(p.x[r*k+i])
						want += w * x
						most += math.Abs(w)*top/(2*127*2*127) + p.bound[(j*k+i)/32]*top*4e-7 + math.Abs(w*x)*3*0x1p-16
					}
					if off := math.Abs(float64(got[at]) - want); !(off <= most) {
						t.Fatalf("%v: row %d, weight row %d: %v, exact %v: off by %g, at most %g", typ, r, j, got[at], want, off, most)
					}
				}
				repacked := p.repack(t, 1)
				for threads := 1; threads <= 3; threads++ {
					if i := sameBits(repacked.ofPairs(t, AMX, threads, pairs, 1, c.rows-1), got[c.m:]); i >= 0 {
						t.Fatalf("%v: %d threads, without the first row: value %d differs", typ, threads, i)
					}
				}
			}
		}
	})
}

// The rows of an expert product equal, bit for bit, those of a plain product with that expert's matrix, also by tiles.
func TestTileExperts(t *testing.T) {
	cases := []struct{ experts, used, rows, m, k int }{{8, 2, 31, 48, 256}, {8, 3, 40, 21, 256}, {4, 4, 600, 16, 256}, {8, 2, 150, 80, 512}}
	withTiles(t, func(t *testing.T) {
		for _, typ := range []Type{Q4_K, Q6_K, MXFP4, Q8_0, F16} {
			for i, c := range cases {
				for perSlot := range int32(2) {
					inputs := c.rows
					if perSlot == 1 {
						inputs *= c.used
					}
					p := newProduct(t, uint64(i), typ, c.m*c.experts, c.k, inputs)
					ids := idsOf(t, rand.New(rand.NewPCG(1, uint64(i))), c.rows, c.used, c.experts)
					p.checkExperts(t, AMX, c.experts, c.used, c.m, c.rows, ids, perSlot)
					p.repack(t, c.experts).checkExperts(t, AMX, c.experts, c.used, c.m, c.rows, ids, perSlot)
				}
			}
		}
	})
}

// What the emulation means is what the processor does, bit for bit.
func TestTilesEqualTheirMeaning(t *testing.T) {
	was := emulateTiles(false)
	defer emulateTiles(was)
	if !slices.Contains(Levels(), AMX) {
		t.Skip("no tiles here")
	}
	for _, typ := range []Type{Q4_K, Q6_K, Q8_0} {
		p := newProduct(t, 8, typ, 96, 1024, 100)
		emulateTiles(false)
		real := p.matmul(t, AMX, 1, 0, 100, false, false)
		emulateTiles(true)
		if i := sameBits(real, p.matmul(t, AMX, 1, 0, 100, false, false)); i >= 0 {
			t.Errorf("%v: value %d differs", typ, i)
		}
	}
}
