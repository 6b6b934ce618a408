package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"unsafe"
)

var productTypes = []Type{F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, IQ4_NL, IQ4_XS, MXFP4}

// halfFields are the offsets of the F16 scales and minima in a block.
var halfFields = map[Type][]int{
	Q4_0: {0}, Q4_1: {0, 2}, Q5_0: {0}, Q5_1: {0, 2}, Q8_0: {0}, Q2_K: {80, 82}, Q3_K: {108}, Q4_K: {0, 2},
	Q5_K: {0, 2}, Q6_K: {208}, IQ4_NL: {0}, IQ4_XS: {0},
}

// randomRow fills a packed row with blocks whose bits are random, but whose scales are of a size that weights have.
// Some blocks are extreme: all bits set, all clear, a scale of zero, a subnormal or a negative one.
func randomRow(rng *rand.Rand, t Type, row []byte) {
	_, size := t.Block()
	for at := 0; at < len(row); at += size {
		b := row[at : at+size]
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		extreme := rng.IntN(12)
		switch t {
		case F32:
			*(*float32)(unsafe.Pointer(&b[0])) = float32(rng.NormFloat64())
			continue
		case BF16:
			b[0], b[1] = byte(rng.Uint32()), 0x3c|byte(rng.Uint32()&0x82)
			continue
		case F16:
			b[0], b[1] = byte(rng.Uint32()), byte(rng.Uint32()&0xbf)
			continue
		}
		switch extreme {
		case 0, 1:
			for i := range b {
				b[i] = byte(-extreme)
			}
		}
		for _, at := range halfFields[t] {
			h := uint16(0x1000 + rng.UintN(0x1800))
			switch extreme {
			case 2:
				h = 0
			case 3:
				h = uint16(rng.UintN(0x400))
			case 4, 5:
				h |= 0x8000
			}
			b[at], b[at+1] = byte(h), byte(h>>8)
		}
		if t == MXFP4 {
			b[0] = byte(110 + rng.UintN(16))
			if extreme < 2 {
				b[0] = byte(extreme)
			}
		}
	}
}

// guarded returns n bytes that end where an inaccessible page begins, so that reading on faults.
func guarded(t testing.TB, n int) []byte {
	b, free := guard(t, n)
	t.Cleanup(free)
	return b
}

func guard(t testing.TB, n int) (b []byte, free func()) {
	page := syscall.Getpagesize()
	body := (n + page - 1) / page * page
	m, err := Alloc(int64(body + page))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mprotect(m.Bytes()[body:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return m.Bytes()[body-n : body], m.Free
}

func floatsOf(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// product is one matrix with its activations and everything a product of them may need.
type product struct {
	t         Type
	m, k      int
	w         []byte    // m rows
	plain     []float32 // w dequantized
	x         []float32 // rows of k
	q8        []byte    // the same, quantized; nil for plain types
	seen      []float64 // the activations as the product sees them: x, or what q8 means
	bound     []float64 // for each weight row and 32 values, the largest magnitude, scaled part and minimum counted apart
	bias, add []float32
	repacked  int32 // 1: w is repacked
}

func newProduct(t testing.TB, seed uint64, typ Type, m, k, rows int) *product {
	rng := rand.New(rand.NewPCG(seed, uint64(typ)))
	values, size := typ.Block()
	p := &product{t: typ, m: m, k: k, w: guarded(t, m*k/values*size), plain: make([]float32, m*k)}
	for j := range m {
		randomRow(rng, typ, p.w[len(p.w)/m*j:len(p.w)/m*(j+1)])
	}
	if err := Dequantize(typ, p.w, p.plain); err != nil {
		t.Fatal(err)
	}
	p.x = floatsOf(guarded(t, 4*rows*k))
	for i := range p.x {
		p.x[i] = float32(rng.NormFloat64() * math.Exp2(float64(rng.IntN(6))-3))
	}
	p.seen = make([]float64, rows*k)
	for i, v := range p.x {
		p.seen[i] = float64(v)
	}
	if values > 1 {
		p.quantize(t, rows)
	}
	p.bias, p.add = floatsOf(guarded(t, 4*m)), floatsOf(guarded(t, 4*rows*m))
	for i := range p.bias {
		p.bias[i] = rng.Float32()
	}
	for i := range p.add {
		p.add[i] = rng.Float32()
	}
	p.bound = make([]float64, len(p.plain)/32+1)
	for _, part := range p.parts(t) {
		largest := make([]float64, len(p.bound))
		for i, v := range part {
			largest[i/32] = max(largest[i/32], math.Abs(float64(v)))
		}
		for i, v := range largest {
			p.bound[i] += v
		}
	}
	return p
}

// parts returns what the weights are sums of: where blocks have a scale and a minimum, the values without the one and
// without the other. A sum may be small where they are not, and kernels add them up apart.
func (p *product) parts(t testing.TB) [][]float32 {
	fields := halfFields[p.t]
	if len(fields) < 2 {
		return [][]float32{p.plain}
	}
	_, size := p.t.Block()
	out := make([][]float32, len(fields))
	for i, field := range fields {
		w := slices.Clone(p.w)
		for at := field; at < len(w); at += size {
			w[at], w[at+1] = 0, 0
		}
		out[i] = make([]float32, len(p.plain))
		if err := Dequantize(p.t, w, out[i]); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func (p *product) quantize(t testing.TB, rows int) {
	size := int(QuantizedRow(p.k))
	p.q8 = guarded(t, rows*size)
	run(t, Generic, 1, rows, &Quantize{X: unsafe.Pointer(&p.x[0]), Q8: unsafe.Pointer(&p.q8[0]), Stride: int64(p.k), Cols: int32(p.k), Times: 1})
	for r := range rows {
		q, d, _ := quantized(p.q8[r*size:(r+1)*size], p.k)
		for i, v := range q {
			p.seen[r*p.k+i] = float64(v) * float64(d[i/32])
		}
	}
}

// repack returns p with each of its `matrices` matrices repacked.
func (p *product) repack(t testing.TB, matrices int) *product {
	r := *p
	r.w, r.repacked = guarded(t, len(p.w)), 1
	values, size := p.t.Block()
	m, one := len(p.w)/(p.k/values*size)/matrices, len(p.w)/matrices
	for i := range matrices {
		run(t, Generic, 1+i%3, 1, &Repack{Src: unsafe.Pointer(&p.w[i*one]), Dst: unsafe.Pointer(&r.w[i*one]), M: int64(m), Type: p.t, K: int32(p.k)})
	}
	return &r
}

// quantized returns the three parts of a quantized row.
func quantized(row []byte, k int) (q []int8, d []float32, sums []int16) {
	pad := func(n int) int { return (n + 63) &^ 63 }
	q = unsafe.Slice((*int8)(unsafe.Pointer(&row[0])), k)
	d = unsafe.Slice((*float32)(unsafe.Pointer(&row[pad(k)])), k/32)
	sums = unsafe.Slice((*int16)(unsafe.Pointer(&row[pad(k)+pad(k/8)])), k/16)
	return q, d, sums
}

// input returns the activations from a row on, as the kernels read them.
func (p *product) input(row int) unsafe.Pointer {
	if p.q8 != nil {
		return unsafe.Pointer(&p.q8[row*int(QuantizedRow(p.k))])
	}
	return unsafe.Pointer(&p.x[row*p.k])
}

// exact returns the product of weight row j and activation row r in float64, and how far an f32 sum of it may lie
// from that: every rounding, of sums and of the terms with a minimum, is a part of the sum of magnitudes.
func (p *product) exact(j, r int) (want, slack float64) {
	w, x := p.plain[j*p.k:(j+1)*p.k], p.seen[r*p.k:(r+1)*p.k]
	mag := 0.0
	for i := range w {
		want += float64(w[i]) * x[i]
		mag += p.bound[(j*p.k+i)/32] * math.Abs(x[i])
	}
	return want, mag*4e-7 + 1e-30
}

// run runs one step on a batch of that many rows.
func run(t testing.TB, level Level, threads, rows int, args ...Args) {
	b := NewBatch(max(rows, 1), 1)
	defer b.Free()
	b.Resize(rows, rows, 1)
	b.Seqs()[0] = Seq{Rows: int32(rows)}
	for i := range rows {
		b.Outs()[i], b.Pos()[i] = int32(i), int32(i)
	}
	runBatch(t, level, threads, b, args...)
}

func runBatch(t testing.TB, level Level, threads int, b *Batch, args ...Args) {
	p := NewProgram(level)
	defer p.Free()
	for _, a := range args {
		if err := p.Add(a); err != nil {
			t.Fatal(err)
		}
	}
	team := NewTeam(threads)
	defer team.Close()
	team.Run(p, b)
}

func (p *product) matmul(t testing.TB, level Level, threads, row, rows int, bias, add bool) []float32 {
	mem, free := guard(t, 4*rows*p.m)
	defer free()
	dst := floatsOf(mem)
	a := &Matmul{W: unsafe.Pointer(&p.w[0]), X: p.input(row), Dst: unsafe.Pointer(&dst[0]), Type: p.t, M: int32(p.m), K: int32(p.k),
		XStride: int64(p.k), DstStride: int64(p.m), Repacked: p.repacked}
	if bias {
		a.Bias = unsafe.Pointer(&p.bias[0])
	}
	if add { // in place
		copy(dst, p.add[row*p.m:])
		a.Add, a.AddStride = a.Dst, a.DstStride
	}
	run(t, level, threads, rows, a)
	return slices.Clone(dst)
}

func sameBits(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
			return i
		}
	}
	return -1
}

func TestMatmul(t *testing.T) {
	shapes := []struct{ m, k, rows int }{
		{1, 256, 3}, {5, 256, 1}, {16, 512, 8}, {37, 768, 17}, {70, 256, 64}, {19, 2048, 5}, {33, 1280, 150},
	}
	for _, typ := range productTypes {
		values, _ := typ.Block()
		cases := shapes
		switch values {
		case 32:
			cases = append(cases, struct{ m, k, rows int }{16, 32, 2}, struct{ m, k, rows int }{23, 32 * 11, 9})
		case 1:
			cases = append(cases, struct{ m, k, rows int }{6, 1, 2}, struct{ m, k, rows int }{9, 75, 7})
		}
		for _, level := range Levels() {
			t.Run(fmt.Sprint(typ, "/", level), func(t *testing.T) {
				for i, s := range cases {
					p := newProduct(t, uint64(i), typ, s.m, s.k, s.rows)
					p.check(t, level, s.rows)
				}
			})
		}
	}
}

// check compares a product of all rows with exact arithmetic, and with itself on other numbers of threads and rows.
func (p *product) check(t *testing.T, level Level, rows int) {
	name := fmt.Sprintf("%d rows of %d, %d activations", p.m, p.k, rows)
	got := p.matmul(t, level, 1, 0, rows, false, false)
	for r := range rows {
		for j := range p.m {
			want, slack := p.exact(j, r)
			if tiled(level, p.t, rows) {
				most, _ := p.tileError(j, r)
				slack += most
			}
			if v := float64(got[r*p.m+j]); !(math.Abs(v-want) <= slack) {
				t.Fatalf("%s: [%d][%d] is %v, exactly %v, tolerance %v", name, r, j, v, want, slack)
			}
		}
	}
	for threads := 2; threads <= 3; threads++ {
		if i := sameBits(got, p.matmul(t, level, threads, 0, rows, false, false)); i >= 0 {
			t.Fatalf("%s: %d threads change value %d", name, threads, i)
		}
	}
	for _, part := range []struct{ row, rows int }{{0, 1}, {rows - 1, 1}, {rows / 2, min(2, rows-rows/2)}, {rows / 3, min(7, rows-rows/3)}} {
		if tiled(level, p.t, rows) && !tiled(level, p.t, part.rows) {
			continue // TestTileProducts compares rows by tiles
		}
		alone := p.matmul(t, level, 1, part.row, part.rows, false, false)
		if i := sameBits(alone, got[part.row*p.m:]); i >= 0 {
			t.Fatalf("%s: rows %d.. in a batch of %d change value %d", name, part.row, part.rows, i)
		}
	}
	repacked := p.repack(t, 1)
	for _, part := range []struct{ threads, row, rows int }{{1, 0, rows}, {3, 0, rows}, {2, rows - 1, 1}, {1, rows / 2, min(2, rows-rows/2)}} {
		if tiled(level, p.t, rows) && !tiled(level, p.t, part.rows) {
			continue
		}
		if i := sameBits(repacked.matmul(t, level, part.threads, part.row, part.rows, false, false), got[part.row*p.m:]); i >= 0 {
			t.Fatalf("%s: repacked weights change value %d of %v", name, i, part)
		}
	}
	sum := p.matmul(t, level, 2, 0, rows, true, true)
	for i, v := range sum {
		if want := got[i] + p.bias[i%p.m] + p.add[i]; v != want {
			t.Fatalf("%s: with bias and addend value %d is %v, not %v", name, i, v, want)
		}
	}
}

// The order of a repacked matrix is that of repack.h, and nothing but the order changes.
func TestRepack(t *testing.T) {
	for _, typ := range productTypes {
		p := newProduct(t, 21, typ, 37, 512, 1)
		r := p.repack(t, 1)
		sorted := func(b []byte) []byte { b = slices.Clone(b); slices.Sort(b); return b }
		if string(sorted(p.w)) != string(sorted(r.w)) {
			t.Errorf("%v: repacking changes bits", typ)
		}
		if same := string(p.w) == string(r.w); same == typ.Repacks() {
			t.Errorf("%v: order kept: %v", typ, same)
		}
		if row := len(p.w) / p.m; string(p.w[32*row:]) != string(r.w[32*row:]) {
			t.Errorf("%v: rows after the last whole group are moved", typ)
		}
	}
	p := newProduct(t, 3, Q6_K, 16, 512, 1) // word 3 of block 1 of row 5, and its scale
	r, row := p.repack(t, 1), 2*210
	if string(r.w[((52+3)*16+5)*4:][:4]) != string(p.w[5*row+210+12:][:4]) || string(r.w[2*52*64+(16+5)*2:][:2]) != string(p.w[5*row+210+208:][:2]) {
		t.Error("Q6_K does not lie as documented")
	}
}

// BenchmarkMatmul reports how fast weights pass by for one activation row (GB/s) and how fast products are for more
// (GMAC/s), on one thread, for each level and type, with weights repacked and as they are in a file. The matrix of a
// single row is larger than most caches.
func BenchmarkMatmul(b *testing.B) {
	const k = 2560
	for _, level := range Levels() {
		for _, typ := range productTypes {
			for _, layout := range []string{"file", "repacked"} {
				if layout == "repacked" && !typ.Repacks() {
					continue
				}
				for _, rows := range []int{1, 2, 4, 8, 16, 64, 512} {
					b.Run(fmt.Sprintf("%v/%v/%s/%d", level, typ, layout, rows), func(b *testing.B) {
						values, size := typ.Block()
						row := k / values * size
						m := (64 << 20) / row / 64 * 64
						if rows > 16 {
							m = 512
						}
						benchmarkMatmul(b, level, typ, m, k, rows, row, layout == "repacked")
					})
				}
			}
		}
	}
}

func benchmarkMatmul(b *testing.B, level Level, typ Type, m, k, rows, rowBytes int, repacked bool) {
	p := newProduct(b, 1, typ, 16, k, rows)
	if _, size := typ.Block(); typ == MXFP4 {
		for i := 0; i < len(p.w); i += size {
			p.w[i] = max(p.w[i], 110) // tests want subnormal scales too, which some processors are slow with
		}
	}
	w, dst := guarded(b, m*rowBytes), guarded(b, 4*rows*m)
	for at := 0; at < len(w); at += copy(w[at:], p.w) {
	}
	p.w = w
	if repacked {
		p = p.repack(b, 1)
	}
	batch := NewBatch(rows, 1)
	defer batch.Free()
	batch.Resize(rows, 0, 1)
	batch.Seqs()[0] = Seq{Rows: int32(rows)}
	for i := range rows {
		batch.Pos()[i] = int32(i)
	}
	prog := NewProgram(level)
	defer prog.Free()
	if err := prog.Add(&Matmul{W: unsafe.Pointer(&p.w[0]), X: p.input(0), Dst: unsafe.Pointer(&dst[0]), Type: typ, M: int32(m), K: int32(k),
		XStride: int64(k), DstStride: int64(m), Repacked: p.repacked}); err != nil {
		b.Fatal(err)
	}
	team := NewTeam(1)
	defer team.Close()
	for b.Loop() {
		team.Run(prog, batch)
	}
	reportWork(b, level, typ, team.Threads(), int64(len(w)), int64(m)*int64(k)*int64(rows))
}
