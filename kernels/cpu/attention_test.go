package cpu

import (
	"math"
	"testing"
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

// cache is a region of cells of a cache type with its decoded values.
type cache struct {
	region
	typ Type
}

func (a *arena) cache(typ Type, n int) cache {
	if typ == F32 {
		return cache{a.empty(n), typ}
	}
	return cache{a.take(int64(n), 2, words), typ}
}

func (a *arena) cell(c cache, i int) float64 {
	switch c.typ {
	case F16:
		return halfValue(a.u16(c.region)[i])
	case BF16:
		return float64(math.Float32frombits(uint32(a.u16(c.region)[i]) << 16))
	}
	return float64(a.f32(c.region)[i])
}

func (a *arena) setCell(c cache, i int, v float32) {
	switch c.typ {
	case F16:
		a.u16(c.region)[i] = toHalf(v)
	case BF16:
		a.u16(c.region)[i] = toBF16(v)
	default:
		a.f32(c.region)[i] = v
	}
}

const slots = 4

func TestKVStore(t *testing.T) {
	every(t, func(t *testing.T, a *arena) {
		cells := 8 + a.rng.IntN(30)
		b := a.randomBatch(t, 5, cells)
		heads, dim := 1+a.rng.IntN(3), pick(a, 1, 4, 24, 64, 80, 128)
		kstride, vstride := heads*dim+a.rng.IntN(9), heads*dim+a.rng.IntN(9)
		in := [2]region{a.f(b.Rows()*kstride, pick(a, 1, 1e-7, 3e4)), a.f(b.Rows()*vstride, 1)}
		typ := pick(a, F32, F16, BF16)
		out := [2]cache{a.cache(typ, slots*heads*cells*dim), a.cache(typ, slots*heads*cells*dim)}
		args := &KVStore{K: a.ptr(in[0]), V: a.ptr(in[1]), KC: a.ptr(out[0].region), VC: a.ptr(out[1].region), KStride: int64(kstride),
			VStride: int64(vstride), Type: typ, Heads: int32(heads), Dim: int32(dim), Cells: int32(cells)}
		k := &kase{args: args, batch: b, rows: map[string]int64{"K": 4 * int64(kstride), "V": 4 * int64(vstride)}}
		for _, s := range b.Seqs() {
			for r := int(s.Row0); r < int(s.Row0+s.Rows); r++ {
				for h := range heads {
					for i, stride := range []int{kstride, vstride} {
						want := make([]float64, dim)
						for d := range want {
							v := a.f32(in[i])[r*stride+h*dim+d]
							switch typ {
							case F16:
								want[d] = float64(toHalf(v))
							case BF16:
								want[d] = float64(toBF16(v))
							default:
								want[d] = float64(v)
							}
						}
						cell := int(b.Pos()[r])
						k.expect(out[i].part(((int(s.Slot)*heads+h)*cells+cell)*dim, dim), want)
					}
				}
			}
		}
		a.check(t, k)
	})
}

func TestAttention(t *testing.T) {
	every(t, func(t *testing.T, a *arena) {
		cells, dim := 20+a.rng.IntN(240), pick(a, 1, 6, 32, 40, 64, 72, 128, 256)
		if dim > 100 {
			cells = 20 + a.rng.IntN(80)
		}
		b := a.randomBatch(t, pick(a, 1, 3, 19), cells)
		kvHeads, group := 1+a.rng.IntN(2), pick(a, 1, 2, 3, 4, 6, 8, 17)
		heads := kvHeads * group
		typ := pick(a, F16, F16, F32, BF16)
		kc, vc := a.cache(typ, slots*kvHeads*cells*dim), a.cache(typ, slots*kvHeads*cells*dim)
		for _, s := range b.Seqs() { // cells past the last row stay NaN
			for h := range kvHeads {
				for i := range int(s.Pos0+s.Rows) * dim {
					at := (int(s.Slot)*kvHeads+h)*cells*dim + i
					a.setCell(kc, at, float32(a.rng.NormFloat64()))
					a.setCell(vc, at, float32(a.rng.NormFloat64()))
				}
			}
		}
		qgap, ggap := dim+a.rng.IntN(9), dim+a.rng.IntN(9)
		qstride, gstride, dstride := heads*qgap+a.rng.IntN(9), heads*ggap+a.rng.IntN(9), heads*dim+a.rng.IntN(9)
		q, gate, dst := a.f(b.Rows()*qstride, pick(a, 1.0, 5)), a.f(b.Rows()*gstride, 2), a.empty(b.Rows()*dstride+1)
		scratch := a.empty(3 * AttentionScratch(heads, kvHeads, dim))
		args := &Attention{Q: a.ptr(q), KC: a.ptr(kc.region), VC: a.ptr(vc.region), Dst: a.ptr(dst), Scratch: a.ptr(scratch),
			QStride: int64(qstride), QGap: int64(qgap), GStride: int64(gstride), GGap: int64(ggap), DStride: int64(dstride), Type: typ,
			Heads: int32(heads), KVHeads: int32(kvHeads), Dim: int32(dim), Cells: int32(cells), Window: pick(a, int32(0), 0, 1, 9, 70),
			Scale: float32(1 / math.Sqrt(float64(dim))), Cap: pick(a, float32(0), 0, 2)}
		if a.rng.IntN(2) == 0 {
			args.Gate = a.ptr(gate)
		}
		k := &kase{args: args, batch: b, tol: 1e-5, scratch: []region{scratch},
			rows: map[string]int64{"Q": 4 * int64(qstride), "Gate": 4 * int64(gstride), "Dst": 4 * int64(dstride)}}
		for _, s := range b.Seqs() {
			for r := int(s.Row0); r < int(s.Row0+s.Rows); r++ {
				for h := range heads {
					base := (int(s.Slot)*kvHeads + h/group) * cells * dim
					want := a.attend(args, a.f32(q)[r*qstride+h*qgap:][:dim], kc, vc, base, int(b.Pos()[r])+1)
					for d := range want {
						if args.Gate != nil {
							want[d] *= sigmoid(float64(a.f32(gate)[r*gstride+h*ggap+d]))
						}
					}
					k.expect(dst.part(r*dstride+h*dim, dim), want)
				}
			}
		}
		a.check(t, k)
	})
}

// attend is softmax attention of one query over the first n cells from base on.
func (a *arena) attend(args *Attention, q []float32, kc, vc cache, base, n int) []float64 {
	start, dim := 0, len(q)
	if w := int(args.Window); w > 0 {
		start = max(0, n-w)
	}
	scores := make([]float64, n)
	top := math.Inf(-1)
	for c := start; c < n; c++ {
		for d := range q {
			scores[c] += float64(args.Scale) * float64(q[d]) * a.cell(kc, base+c*dim+d)
		}
		if softcap := float64(args.Cap); softcap > 0 {
			scores[c] = softcap * math.Tanh(scores[c]/softcap)
		}
		top = max(top, scores[c])
	}
	out, total := make([]float64, dim), 0.0
	for c := start; c < n; c++ {
		p := math.Exp(scores[c] - top)
		total += p
		for d := range out {
			out[d] += p * a.cell(vc, base+c*dim+d)
		}
	}
	for d := range out {
		out[d] /= total
	}
	return out
}
