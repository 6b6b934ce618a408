package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// bitField is a run of bits in a block: Width bits from bit Shift of byte At on, worth 1<<Up in the number.
type bitField struct{ at, shift, width, up int }

// format describes a packed type by where the bits of each number lie, written down from GGUF's definition of the
// blocks and independent of the code under test.
type format struct {
	value    func(i int) []bitField // value i
	scale    func(g int) []bitField // scale of the 16 values g, nil: there is only d
	min      func(g int) []bitField // minimum of the 16 values g, nil: none
	d, m     int                    // offset of the F16 d and m; m -1: none
	values   []float64              // what the bits of a value stand for; nil: themselves less off
	off      float64
	scaleOff float64
	signed   bool    // scales are signed bytes
	plusMin  float64 // sign of the minimum's part
}

func nibble32(at int) func(i int) []bitField {
	return func(i int) []bitField { return []bitField{{at + i%16, i / 16 * 4, 4, 0}} }
}

func with(first, second func(i int) []bitField) func(i int) []bitField {
	return func(i int) []bitField { return append(first(i), second(i)...) }
}

// twoBits: four runs of 32 values share 32 bytes.
func twoBits(at, up int) func(i int) []bitField {
	return func(i int) []bitField { return []bitField{{at + i/128*32 + i%32, i % 128 / 32 * 2, 2, up}} }
}

func oneBit(at, up int) func(i int) []bitField {
	return func(i int) []bitField { return []bitField{{at + i%32, i / 32, 1, up}} }
}

func nibbles64(at int) func(i int) []bitField {
	return func(i int) []bitField { return []bitField{{at + i/64*32 + i%32, i % 64 / 32 * 4, 4, 0}} }
}

func fifth(at int) func(i int) []bitField {
	return func(i int) []bitField { return []bitField{{at + i/8, i % 8, 1, 4}} }
}

// The 6-bit scales and minima of Q4_K and Q5_K, from byte 4 on.
func scaleK(g int) []bitField {
	if c := g / 2; c >= 4 {
		return []bitField{{8 + c, 0, 4, 0}, {c, 6, 2, 4}}
	}
	return []bitField{{4 + g/2, 0, 6, 0}}
}

func minK(g int) []bitField {
	if c := g / 2; c >= 4 {
		return []bitField{{8 + c, 4, 4, 0}, {4 + c, 6, 2, 4}}
	}
	return []bitField{{8 + g/2, 0, 6, 0}}
}

var (
	iq4Values = []float64{-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}
	fp4Values = []float64{0, .5, 1, 1.5, 2, 3, 4, 6, -0, -.5, -1, -1.5, -2, -3, -4, -6}
)

var formats = map[Type]format{
	Q4_0:   {value: nibble32(2), off: 8, m: -1},
	Q4_1:   {value: nibble32(4), m: 2, plusMin: 1},
	Q5_0:   {value: with(nibble32(6), fifth(2)), off: 16, m: -1},
	Q5_1:   {value: with(nibble32(8), fifth(4)), m: 2, plusMin: 1},
	Q8_0:   {value: func(i int) []bitField { return []bitField{{2 + i, 0, 8, 0}} }, values: signedBytes(), m: -1},
	IQ4_NL: {value: nibble32(2), values: iq4Values, m: -1},
	MXFP4:  {value: nibble32(1), values: fp4Values, d: -1, m: -1},
	Q2_K: {value: twoBits(16, 0), d: 80, m: 82, plusMin: -1,
		scale: func(g int) []bitField { return []bitField{{g, 0, 4, 0}} },
		min:   func(g int) []bitField { return []bitField{{g, 4, 4, 0}} }},
	Q3_K: {value: with(twoBits(32, 0), oneBit(0, 2)), off: 4, d: 108, m: -1, scaleOff: 32,
		scale: func(g int) []bitField {
			return []bitField{{96 + g%8, g / 8 * 4, 4, 0}, {104 + g%4, g / 4 * 2, 2, 4}}
		}},
	Q4_K: {value: nibbles64(16), d: 0, m: 2, plusMin: -1, scale: scaleK, min: minK},
	Q5_K: {value: with(nibbles64(48), oneBit(16, 4)), d: 0, m: 2, plusMin: -1, scale: scaleK, min: minK},
	Q6_K: {value: with(func(i int) []bitField { return []bitField{{i/128*64 + i%64, i % 128 / 64 * 4, 4, 0}} }, twoBits(128, 4)),
		off: 32, d: 208, m: -1, signed: true, scale: func(g int) []bitField { return []bitField{{192 + g, 0, 8, 0}} }},
	IQ4_XS: {value: func(i int) []bitField { return []bitField{{8 + i/32*16 + i%16, i % 32 / 16 * 4, 4, 0}} },
		values: iq4Values, d: 0, m: -1, scaleOff: 32,
		scale: func(g int) []bitField {
			c := g / 2
			return []bitField{{4 + c/2, c % 2 * 4, 4, 0}, {2 + c/4, c % 4 * 2, 2, 4}}
		}},
}

func signedBytes() []float64 {
	v := make([]float64, 256)
	for i := range v {
		v[i] = float64(int8(i))
	}
	return v
}

func bitsAt(block []byte, fields []bitField) (n int) {
	for _, f := range fields {
		n |= int(block[f.at]) >> f.shift & (1<<f.width - 1) << f.up
	}
	return n
}

// half returns the value of an F16.
func half(h uint16) float64 {
	sign, exp, frac := 1-2*float64(h>>15), int(h>>10&31), float64(h&0x3ff)
	switch exp {
	case 0:
		return sign * math.Ldexp(frac, -24)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}

func halfAt(b []byte, at int) float64 { return half(uint16(b[at]) | uint16(b[at+1])<<8) }

// meaning returns value i of a block, and the largest part that it is made of.
func (f format) meaning(block []byte, i int) (value, size float64) {
	d := 0.0
	if f.d >= 0 {
		d = halfAt(block, f.d)
	} else {
		d = math.Ldexp(1, int(block[0])-127)
	}
	if f.scale != nil {
		s := bitsAt(block, f.scale(i/16))
		if f.signed {
			s = int(int8(s))
		}
		d *= float64(s) - f.scaleOff
	}
	q := bitsAt(block, f.value(i))
	v := float64(q) - f.off
	if f.values != nil {
		v = f.values[q]
	}
	m := 0.0
	if f.m >= 0 {
		m = f.plusMin * halfAt(block, f.m)
		if f.min != nil {
			m *= float64(bitsAt(block, f.min(i/16)))
		}
	}
	return d*v + m, max(math.Abs(d*v), math.Abs(m))
}

func TestDequantize(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for typ, f := range formats {
		values, size := typ.Block()
		const blocks = 64
		row, got := make([]byte, blocks*size), make([]float32, blocks*values)
		randomRow(rng, typ, row)
		if err := Dequantize(typ, row, got); err != nil {
			t.Fatal(err)
		}
		for i, v := range got {
			want, part := f.meaning(row[i/values*size:], i%values)
			if math.Abs(float64(v)-want) > part*1.5e-7 {
				t.Errorf("%v: value %d is %v, expected %v", typ, i, v, want)
				break
			}
		}
	}
}

// Every F16 and BF16 number, infinities and NaNs too.
func TestDequantizeHalves(t *testing.T) {
	row, got := make([]byte, 1<<17), make([]float32, 1<<16)
	for i := range got {
		row[2*i], row[2*i+1] = byte(i), byte(i>>8)
	}
	if err := Dequantize(F16, row, got); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if want := half(uint16(i)); float64(v) != want && !(math.IsNaN(want) && v != v) {
			t.Fatalf("F16 %#04x is %v, expected %v", i, v, want)
		}
	}
	if err := Dequantize(BF16, row, got); err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if math.Float32bits(v) != uint32(i)<<16 {
			t.Fatalf("BF16 %#04x is %v", i, v)
		}
	}
}

// A block worked out by hand: d = 0.5, the nibbles 0 and 15 first.
func ExampleDequantize() {
	block := make([]byte, 18)
	block[1] = 0x38 // 0.5
	block[2] = 0xf0
	values := make([]float32, 32)
	if err := Dequantize(Q4_0, block, values); err != nil {
		fmt.Println(err)
	}
	fmt.Println(values[0], values[16], values[1])
	// Output: -4 3.5 -4
}
