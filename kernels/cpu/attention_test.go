package cpu

import (
	"math"
	"testing"
	"unsafe"
)

// halfValue is the value of an f16.
func halfValue(h uint16) float64 {
	sign, e, m := 1-2*float64(h>>15), int(h>>10&31), float64(h&0x3ff)
	switch e {
	case 0:
		return sign * math.Ldexp(m, -24)
	case 31:
		return sign * math.Inf(1) / (1 - min(m, 1)) // infinity; with a mantissa NaN is near enough
	}
	return sign * math.Ldexp(1024+m, e-25)
}

// toHalf is the f16 nearest to a finite value, ties to the even one.
func toHalf(x float32) uint16 {
	sign, v := uint16(0), math.Abs(float64(x))
	if v == 0 {
		return uint16(math.Float32bits(x) >> 16)
	}
	if math.Signbit(float64(x)) {
		sign = 0x8000
	}
	if v >= 65520 {
		return sign | 0x7c00
	}
	_, e := math.Frexp(v)
	e = max(e, -13) // below 2^-14 the step stays 2^-24
	n := uint16(math.RoundToEven(math.Ldexp(v, 11-e)))
	return sign | (uint16(e+13)<<10 + n)
}

func toBF16(x float32) uint16 {
	u := math.Float32bits(x)
	low, high := u&0xffff, uint16(u>>16)
	if low > 0x8000 || (low == 0x8000 && high&1 == 1) {
		high++
	}
	return high
}

// cache is a region of rows (of a head's values of a cell) of a cache type.
type cache struct {
	region
	typ Type
	dim int
}

func (a *arena) cache(typ Type, rows, dim int) cache {
	if typ == F32 {
		return cache{a.empty(rows * dim), typ, dim}
	}
	return cache{a.take(int64(rows*rowWords(typ, dim)), 2, words), typ, dim}
}

// rowWords is how many values the region has for a row: floats, or words of 16 bits.
func rowWords(typ Type, dim int) int {
	if typ == F32 {
		return dim
	}
	block, bytes := typ.Block()
	return dim / block * bytes / 2
}

// row is the region of row i.
func (c cache) row(i int) region { return c.part(i*rowWords(c.typ, c.dim), rowWords(c.typ, c.dim)) }

// encode is what a row of a cache holds for some values: floats, or words.
func (c cache) encode(x []float32) []float64 {
	var out []float64
	bytes := func(b ...byte) {
		for i := 0; i < len(b); i += 2 {
			out = append(out, float64(uint16(b[i])|uint16(b[i+1])<<8))
		}
	}
	switch c.typ {
	case F32:
		for _, v := range x {
			out = append(out, float64(v))
		}
	case F16:
		for _, v := range x {
			out = append(out, float64(toHalf(v)))
		}
	case BF16:
		for _, v := range x {
			out = append(out, float64(toBF16(v)))
		}
	}
	for ; len(out) < rowWords(c.typ, c.dim); x = x[32:] {
		most := float32(0) // of the largest magnitude, the first
		for _, v := range x[:32] {
			if math.Abs(float64(v)) > math.Abs(float64(most)) {
				most = v
			}
		}
		whole := func(v float32, d uint16) int {
			if d&0x7fff == 0 {
				return 0
			}
			return int(math.RoundToEven(float64(v * (1 / float32(halfValue(d))))))
		}
		if c.typ == Q8_0 {
			max := float32(math.Abs(float64(most)))
			d := toHalf(max / 127)
			if float32(halfValue(d))*127.5 < max {
				d++
			}
			out = append(out, float64(d))
			for i := 0; i < 32; i += 2 {
				bytes(byte(int8(whole(x[i], d))), byte(int8(whole(x[i+1], d))))
			}
		} else {
			d := toHalf(most / -8)
			out = append(out, float64(d))
			nibble := func(v float32) byte { return byte(min(15, max(0, whole(v, d)+8))) }
			for i := 0; i < 16; i += 2 {
				bytes(nibble(x[i])|nibble(x[16+i])<<4, nibble(x[i+1])|nibble(x[17+i])<<4)
			}
		}
	}
	return out
}

// fill writes row i and returns the values that it has then.
func (a *arena) fill(c cache, i int, x []float32) []float64 {
	r, enc := c.row(i), c.encode(x)
	values := make([]float64, c.dim)
	if c.typ == F32 {
		for j := range enc {
			a.f32(r)[j] = float32(enc[j])
			values[j] = enc[j]
		}
		return values
	}
	w := a.u16(r)
	for j := range enc {
		w[j] = uint16(enc[j])
	}
	for j := range values {
		switch c.typ {
		case F16:
			values[j] = halfValue(w[j])
		case BF16:
			values[j] = float64(math.Float32frombits(uint32(w[j]) << 16))
		case Q8_0:
			block := w[j/32*17:]
			values[j] = halfValue(block[0]) * float64(int8(block[1+j%32/2]>>(8*(j%2))))
		case Q4_0:
			block := w[j/32*9:]
			b := block[1+j%16/2] >> (8 * (j % 2)) & 0xff
			values[j] = halfValue(block[0]) * float64(int(b>>(j%32/16*4)&15)-8)
		}
	}
	return values
}

const slots = 4

var cacheTypes = []Type{F16, F16, BF16, Q8_0, Q4_0, F32}

// cacheDim is one of the dims, of whole blocks.
func cacheDim(a *arena, keys, values Type, dims ...int) int {
	dim := pick(a, dims...)
	if block, _ := keys.Block(); dim%block != 0 {
		return 64
	}
	if block, _ := values.Block(); dim%block != 0 {
		return 96
	}
	return dim
}

func TestKVStore(t *testing.T) {
	every(t, func(t *testing.T, a *arena) {
		cells := 8 + a.rng.IntN(30)
		b := a.randomBatch(t, 5, cells)
		types := [2]Type{pick(a, cacheTypes...), pick(a, cacheTypes...)}
		heads, dim := 1+a.rng.IntN(3), cacheDim(a, types[0], types[1], 1, 4, 24, 64, 80, 128)
		kstride, vstride := heads*dim+a.rng.IntN(9), heads*dim+a.rng.IntN(9)
		in := [2]region{a.f(b.Rows()*kstride, pick(a, 1, 1e-7, 1e-4, 3e4)), a.f(b.Rows()*vstride, 1)}
		clear(a.f32(in[1])[:dim])
		out := [2]cache{a.cache(types[0], slots*heads*cells, dim), a.cache(types[1], slots*heads*cells, dim)}
		args := &KVStore{K: a.ptr(in[0]), V: a.ptr(in[1]), KC: a.ptr(out[0].region), VC: a.ptr(out[1].region), KStride: int64(kstride),
			VStride: int64(vstride), Type: types[0], VType: types[1], Heads: int32(heads), Dim: int32(dim), Cells: int32(cells)}
		k := &kase{args: args, batch: b, rows: map[string]int64{"K": 4 * int64(kstride), "V": 4 * int64(vstride)}}
		for _, s := range b.Seqs() {
			for r := int(s.Row0); r < int(s.Row0+s.Rows); r++ {
				for h := range heads {
					for i, stride := range []int{kstride, vstride} {
						cell := (int(s.Slot)*heads+h)*cells + int(b.Pos()[r])
						k.expect(out[i].row(cell), out[i].encode(a.f32(in[i])[r*stride+h*dim:][:dim]))
					}
				}
			}
		}
		a.check(t, k)
	})
}

// attention is a case with random caches, queries and options.
func (a *arena) attention(b *Batch, cells, kvHeads, group, dim int, keys, values Type, window int) *kase {
	heads := kvHeads * group
	kc, vc := a.cache(keys, slots*kvHeads*cells, dim), a.cache(values, slots*kvHeads*cells, dim)
	ks, vs := map[int][]float64{}, map[int][]float64{}
	x := make([]float32, dim)
	draw := func(c cache, i int) []float64 {
		for d := range x {
			x[d] = float32(a.rng.NormFloat64())
		}
		return a.fill(c, i, x)
	}
	for _, s := range b.Seqs() { // cells past the last row stay NaN
		for h := range kvHeads {
			for i := range int(s.Pos0 + s.Rows) {
				at := (int(s.Slot)*kvHeads+h)*cells + i
				ks[at], vs[at] = draw(kc, at), draw(vc, at)
			}
		}
	}
	qgap, ggap := dim+a.rng.IntN(9), dim+a.rng.IntN(9)
	qstride, gstride, dstride := heads*qgap+a.rng.IntN(9), heads*ggap+a.rng.IntN(9), heads*dim+a.rng.IntN(9)
	q, gate, dst := a.f(b.Rows()*qstride, pick(a, 1.0, 5)), a.f(b.Rows()*gstride, 2), a.empty(b.Rows()*dstride+1)
	scratch, done := a.empty(3*AttentionScratch(heads, kvHeads, dim)), a.empty(3*AttentionShared)
	clear(a.f32(done))
	args := &Attention{Q: a.ptr(q), KC: a.ptr(kc.region), VC: a.ptr(vc.region), Dst: a.ptr(dst), Scratch: a.ptr(scratch), Done: a.ptr(done),
		QStride: int64(qstride), QGap: int64(qgap), GStride: int64(gstride), GGap: int64(ggap), DStride: int64(dstride), Type: keys, VType: values,
		Heads: int32(heads), KVHeads: int32(kvHeads), Dim: int32(dim), Cells: int32(cells), Window: int32(window),
		Scale: float32(1 / math.Sqrt(float64(dim))), Cap: pick(a, float32(0), 0, 2)}
	if a.rng.IntN(2) == 0 {
		args.Gate = a.ptr(gate)
	}
	if a.rng.IntN(2) == 0 {
		args.Sinks = a.ptr(a.f(heads, pick(a, 1.0, 6)))
	}
	k := &kase{args: args, batch: b, tol: 1e-5, scratch: []region{scratch},
		rows: map[string]int64{"Q": 4 * int64(qstride), "Gate": 4 * int64(gstride), "Dst": 4 * int64(dstride)}}
	for _, s := range b.Seqs() {
		for r := int(s.Row0); r < int(s.Row0+s.Rows); r++ {
			for h := range heads {
				base := (int(s.Slot)*kvHeads + h/group) * cells
				want := attend(args, h, a.f32(q)[r*qstride+h*qgap:][:dim], ks, vs, base, int(b.Pos()[r])+1)
				for d := range want {
					if args.Gate != nil {
						want[d] *= sigmoid(float64(a.f32(gate)[r*gstride+h*ggap+d]))
					}
				}
				k.expect(dst.part(r*dstride+h*dim, dim), want)
			}
		}
	}
	return k
}

// attend is softmax attention of one query of head h over the first n cells from base on.
func attend(args *Attention, h int, q []float32, ks, vs map[int][]float64, base, n int) []float64 {
	start := 0
	if w := int(args.Window); w > 0 {
		start = max(0, n-w)
	}
	scores := make([]float64, n)
	top := math.Inf(-1)
	for c := start; c < n; c++ {
		for d, k := range ks[base+c] {
			scores[c] += float64(args.Scale) * float64(q[d]) * k
		}
		if softcap := float64(args.Cap); softcap > 0 {
			scores[c] = softcap * math.Tanh(scores[c]/softcap)
		}
		top = max(top, scores[c])
	}
	out, total := make([]float64, len(q)), 0.0
	if args.Sinks != nil {
		sink := float64(unsafe.Slice((*float32)(args.Sinks), args.Heads)[h])
		total = math.Exp(sink - top)
	}
	for c := start; c < n; c++ {
		p := math.Exp(scores[c] - top)
		total += p
		for d, v := range vs[base+c] {
			out[d] += p * v
		}
	}
	for d := range out {
		out[d] /= total
	}
	return out
}

func TestAttention(t *testing.T) {
	every(t, func(t *testing.T, a *arena) {
		keys, values := pick(a, cacheTypes...), pick(a, cacheTypes...)
		cells, dim := 20+a.rng.IntN(500), cacheDim(a, keys, values, 1, 6, 32, 40, 64, 72, 128, 256)
		if dim > 100 {
			cells = 20 + a.rng.IntN(80)
		}
		b := a.randomBatch(t, pick(a, 1, 3, 19), cells)
		a.check(t, a.attention(b, cells, 1+a.rng.IntN(2), pick(a, 1, 2, 3, 4, 6, 8, 17), dim, keys, values, pick(a, 0, 0, 1, 9, 70, 300)))
	})
}

// Where blocks begin, and where sections become longer (at 30 blocks), one row and several, with and without a window.
func TestAttentionAtDepth(t *testing.T) {
	for i, c := range []struct {
		end, rows, group, dim int
		keys, values          Type
		window                int
	}{
		{255, 1, 4, 32, F16, F16, 0}, {256, 1, 4, 32, F16, F16, 0}, {257, 1, 2, 32, F16, F16, 0},
		{511, 1, 4, 64, BF16, F16, 0}, {512, 1, 1, 32, Q8_0, Q8_0, 0}, {513, 1, 3, 32, Q4_0, F16, 0},
		{513, 3, 4, 32, F16, Q8_0, 0}, {600, 100, 4, 32, F16, F16, 0}, {640, 33, 8, 48, F32, BF16, 0},
		{1023, 1, 4, 32, F16, F16, 0}, {1024, 2, 4, 32, F16, F16, 0}, {1025, 1, 8, 32, F16, F16, 0},
		{1025, 5, 2, 24, F16, F16, 600}, {1025, 70, 1, 32, Q8_0, Q4_0, 257}, {1030, 1, 4, 32, F16, F16, 513},
		{7679, 1, 4, 16, F16, F16, 0}, {7680, 1, 4, 16, F16, F16, 0}, {7681, 1, 4, 16, F16, F16, 0},
		{7690, 20, 4, 16, F16, F16, 0}, {8100, 2, 2, 32, Q8_0, Q8_0, 0}, {8100, 9, 1, 16, F16, F16, 7683},
	} {
		a := newArena(t, uint64(i))
		b := NewBatch(c.rows+1, 2)
		t.Cleanup(b.Free)
		b.Resize(c.rows+1, 0, 2) // and a second sequence of one row
		b.Seqs()[0] = Seq{Rows: int32(c.rows), Slot: 0, Pos0: int32(c.end - c.rows)}
		b.Seqs()[1] = Seq{Row0: int32(c.rows), Rows: 1, Slot: 2, Pos0: int32(a.rng.IntN(300))}
		for r := range c.rows {
			b.Pos()[r] = int32(c.end - c.rows + r)
		}
		b.Pos()[c.rows] = b.Seqs()[1].Pos0
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
		k := a.attention(b, c.end, 1, c.group, c.dim, c.keys, c.values, c.window)
		k.tol = 2e-5
		a.check(t, k)
	}
}

// What a cache type costs in accuracy: the error against the same keys and values in f32, relative to what comes out.
func TestCacheTypesCostAccuracy(t *testing.T) {
	const dim, cells, heads = 128, 700, 4
	a := newArena(t, 5)
	k, v, q := make([]float32, cells*dim), make([]float32, cells*dim), a.f(heads*dim, 2)
	for i := range k {
		k[i], v[i] = float32(a.rng.NormFloat64()), float32(a.rng.NormFloat64())
	}
	b := NewBatch(1, 1)
	defer b.Free()
	b.Resize(1, 0, 1)
	b.Seqs()[0], b.Pos()[0] = Seq{Rows: 1, Pos0: cells - 1}, cells-1
	scratch, done := a.empty(AttentionScratch(heads, 1, dim)), a.empty(AttentionShared)
	clear(a.f32(done))
	for _, level := range Levels() {
		var exact []float32
		for _, c := range []struct {
			keys, values Type
			most         float64
		}{{F32, F32, 0}, {F16, F16, 5e-4}, {BF16, BF16, 6e-3}, {Q8_0, Q8_0, 1.2e-2}, {Q8_0, F16, 1e-2}, {F16, Q4_0, 1.2e-1}, {Q4_0, Q4_0, 2e-1}} {
			kc, vc, dst := a.cache(c.keys, cells, dim), a.cache(c.values, cells, dim), a.empty(heads*dim)
			for i := range cells {
				a.fill(kc, i, k[i*dim:][:dim])
				a.fill(vc, i, v[i*dim:][:dim])
			}
			p := NewProgram(level)
			if err := p.Add(&Attention{Q: a.ptr(q), KC: a.ptr(kc.region), VC: a.ptr(vc.region), Dst: a.ptr(dst), Scratch: a.ptr(scratch), Done: a.ptr(done),
				QStride: heads * dim, QGap: dim, DStride: heads * dim, Type: c.keys, VType: c.values, Heads: heads, KVHeads: 1, Dim: dim, Cells: cells,
				Scale: 1 / 11.3}); err != nil {
				t.Fatal(err)
			}
			teams[1].Run(p, b)
			p.Free()
			got := a.f32(dst)
			if exact == nil {
				exact = got
			}
			var diff, size float64
			for i := range got {
				diff += math.Pow(float64(got[i]-exact[i]), 2)
				size += math.Pow(float64(exact[i]), 2)
			}
			if rel := math.Sqrt(diff / size); !(rel <= c.most) {
				t.Errorf("%v: keys %v, values %v: off by %.2g of the result, at most %.2g is expected", level, c.keys, c.values, rel, c.most)
			} else {
				t.Logf("%v: keys %v, values %v: off by %.2g", level, c.keys, c.values, rel)
			}
		}
	}
}
