package quant

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"ingot/kernels/cpu"
)

// Values as weights have them: of a Gaussian, of a distribution with heavy tails (Student's t of 4 degrees), and
// Gaussian with one value in a hundred eight times as large.
var sources = []struct {
	name string
	next func(r *rand.Rand) float64
}{
	{"gaussian", func(r *rand.Rand) float64 { return r.NormFloat64() }},
	{"heavy tails", func(r *rand.Rand) float64 {
		w := 0.0
		for range 4 {
			t := r.NormFloat64()
			w += t * t
		}
		return r.NormFloat64() / math.Sqrt(w/4)
	}},
	{"outliers", func(r *rand.Rand) float64 {
		if r.IntN(100) == 0 {
			return 8 * r.NormFloat64()
		}
		return r.NormFloat64()
	}},
}

func values(source, n int, scale float64) []float32 {
	r := rand.New(rand.NewPCG(7, uint64(source)))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(scale * sources[source].next(r))
	}
	return x
}

// The mean squared error that a type leaves, as a share of the values' mean square, by source. ours is what the
// encoders reach, rounded up; theirs is what llama.cpp's of August 2026 leave on the same values without an importance
// matrix.
var bounds = map[cpu.Type]struct{ ours, theirs [3]float64 }{
	cpu.F16:    {[3]float64{5e-8, 5e-8, 5e-8}, [3]float64{1, 1, 1}},
	cpu.BF16:   {[3]float64{3e-6, 3e-6, 3e-6}, [3]float64{1, 1, 1}},
	cpu.Q4_0:   {[3]float64{6.520e-3, 1.264e-2, 1.737e-2}, [3]float64{7.345e-3, 1.366e-2, 1.843e-2}},
	cpu.Q4_1:   {[3]float64{5.209e-3, 7.496e-3, 7.603e-3}, [3]float64{6.091e-3, 8.828e-3, 9.207e-3}},
	cpu.Q5_0:   {[3]float64{1.600e-3, 3.228e-3, 4.484e-3}, [3]float64{1.809e-3, 3.459e-3, 4.675e-3}},
	cpu.Q5_1:   {[3]float64{1.207e-3, 1.757e-3, 1.777e-3}, [3]float64{1.421e-3, 2.076e-3, 2.142e-3}},
	cpu.Q8_0:   {[3]float64{2.321e-5, 4.743e-5, 6.658e-5}, [3]float64{2.836e-5, 5.488e-5, 7.315e-5}},
	cpu.Q2_K:   {[3]float64{6.758e-2, 8.311e-2, 7.569e-2}, [3]float64{8.750e-2, 1.169e-1, 1.106e-1}},
	cpu.Q3_K:   {[3]float64{2.061e-2, 3.078e-2, 3.445e-2}, [3]float64{2.272e-2, 3.364e-2, 3.665e-2}},
	cpu.Q4_K:   {[3]float64{4.966e-3, 7.282e-3, 7.593e-3}, [3]float64{5.066e-3, 7.595e-3, 8.004e-3}},
	cpu.Q5_K:   {[3]float64{1.201e-3, 1.771e-3, 1.843e-3}, [3]float64{1.298e-3, 1.944e-3, 2.016e-3}},
	cpu.Q6_K:   {[3]float64{2.752e-4, 4.754e-4, 6.044e-4}, [3]float64{3.130e-4, 5.288e-4, 6.545e-4}},
	cpu.IQ4_NL: {[3]float64{5.365e-3, 8.268e-3, 1.041e-2}, [3]float64{5.761e-3, 8.861e-3, 1.105e-2}},
	cpu.IQ4_XS: {[3]float64{5.448e-3, 8.448e-3, 1.075e-2}, [3]float64{5.849e-3, 9.062e-3, 1.140e-2}},
	cpu.MXFP4:  {[3]float64{1.246e-2, 1.642e-2, 2.031e-2}, [3]float64{1.299e-2, 1.745e-2, 2.106e-2}},
}

func encoded(t *testing.T, level cpu.Level, typ cpu.Type, x []float32) []byte {
	t.Helper()
	n, size := typ.Block()
	b := make([]byte, len(x)/n*size)
	if err := Encode(level, typ, x, b); err != nil {
		t.Fatal(err)
	}
	return b
}

func decoded(t *testing.T, typ cpu.Type, b []byte) []float32 {
	t.Helper()
	n, size := typ.Block()
	x := make([]float32, len(b)/size*n)
	if err := cpu.Dequantize(typ, b, x); err != nil {
		t.Fatal(err)
	}
	return x
}

// lost is the mean squared error as a share of the mean square.
func lost(x, y []float32) float64 {
	e, v := 0.0, 0.0
	for i := range x {
		d := float64(x[i]) - float64(y[i])
		e += d * d
		v += float64(x[i]) * float64(x[i])
	}
	return e / v
}

func TestError(t *testing.T) {
	for typ, b := range bounds {
		for s := range sources {
			x := values(s, 1<<17, 0.02)
			got := lost(x, decoded(t, typ, encoded(t, cpu.Detect(), typ, x)))
			if got > b.ours[s] {
				t.Errorf("%v, %s: %.4e of the variance is lost, at most %.4e is allowed", typ, sources[s].name, got, b.ours[s])
			}
			if got > b.theirs[s] {
				t.Errorf("%v, %s: %.4e of the variance is lost, llama.cpp loses %.4e", typ, sources[s].name, got, b.theirs[s])
			}
		}
	}
}

var allTypes = []cpu.Type{cpu.F32, cpu.F16, cpu.BF16, cpu.Q4_0, cpu.Q4_1, cpu.Q5_0, cpu.Q5_1, cpu.Q8_0, cpu.Q2_K, cpu.Q3_K, cpu.Q4_K,
	cpu.Q5_K, cpu.Q6_K, cpu.IQ4_NL, cpu.IQ4_XS, cpu.MXFP4}

// rough returns blocks of every size and kind: ordinary, tiny, huge, zero, constant, of one sign, with one value.
func rough(n int) []float32 {
	r := rand.New(rand.NewPCG(11, 12))
	x := make([]float32, n)
	for at := 0; at < n; at += 32 {
		kind, scale := r.IntN(9), math.Exp(r.Float64()*20-14)
		for i := at; i < min(at+32, n); i++ {
			v := r.NormFloat64() * scale
			switch kind {
			case 0:
				v = 0
			case 1:
				v = scale
			case 2:
				v = math.Abs(v)
			case 3:
				v = -math.Abs(v)
			case 4:
				v *= 1e-30
			case 5:
				if i != at+5 {
					v = 0
				}
			case 6:
				v = math.Round(v*4/scale) * scale / 4 // ties
			}
			x[i] = float32(v)
		}
	}
	return x
}

// Every level gives the bits of the plain one, for any number of blocks.
func TestLevels(t *testing.T) {
	for _, typ := range allTypes {
		n, _ := typ.Block()
		for _, blocks := range []int{1, 2, 3, 7, 15, 16, 17, 100} {
			for _, x := range [][]float32{rough(n * blocks), values(1, n*blocks, 1)} {
				want := encoded(t, cpu.Generic, typ, x)
				for _, l := range cpu.Levels() {
					if got := encoded(t, l, typ, x); !bytes.Equal(got, want) {
						t.Errorf("%v at %v: %d blocks differ from the plain encoder's", typ, l, blocks)
					}
				}
			}
		}
	}
}

// A block's bits do not depend on those around it.
func TestBlocksStandAlone(t *testing.T) {
	for _, typ := range allTypes {
		n, size := typ.Block()
		x := rough(n * 40)
		all := encoded(t, cpu.Detect(), typ, x)
		for i := range 40 {
			if one := encoded(t, cpu.Detect(), typ, x[n*i:][:n]); !bytes.Equal(one, all[size*i:][:size]) {
				t.Fatalf("%v: block %d alone has other bits", typ, i)
			}
		}
	}
}

// No block is farther from its values than all zeros would be.
func TestNeverWorseThanNothing(t *testing.T) {
	for _, typ := range allTypes {
		n, _ := typ.Block()
		x := rough(n * 200)
		y := decoded(t, typ, encoded(t, cpu.Detect(), typ, x))
		for at := 0; at < len(x); at += n {
			e, v := 0.0, 0.0
			for i := at; i < at+n; i++ {
				d := float64(x[i]) - float64(y[i])
				e += d * d
				v += float64(x[i]) * float64(x[i])
			}
			if e > v*(1+1e-6)+1e-12 || math.IsNaN(e) {
				t.Errorf("%v: block at %d has squared error %g of %g", typ, at, e, v)
			}
		}
	}
}

// What a type holds exactly is nearly all found again.
func TestTwice(t *testing.T) {
	for _, typ := range []cpu.Type{cpu.Q4_0, cpu.Q4_1, cpu.Q5_0, cpu.Q5_1, cpu.Q8_0, cpu.IQ4_NL, cpu.MXFP4} {
		x := values(0, 32*500, 1)
		once := decoded(t, typ, encoded(t, cpu.Detect(), typ, x))
		if again := lost(once, decoded(t, typ, encoded(t, cpu.Detect(), typ, once))); again > 2e-5 {
			t.Errorf("%v: %g of what the type holds exactly is lost the second time", typ, again)
		}
	}
}

// F16 and BF16 are the nearest, ties to even; F32 is copied.
func TestPlain(t *testing.T) {
	x := []float32{0, 1, -1, 1 + 0x1p-11, 1 + 3*0x1p-11, 65504, 0x1p-24, 0x1p-25, 3 * 0x1p-25, -0x1.8p-15, 1 + 0x1p-8, 1 + 3*0x1p-8, 1e-40}
	for typ, want := range map[cpu.Type][]float32{
		cpu.F32:  x,
		cpu.F16:  {0, 1, -1, 1, 1 + 0x1p-9, 65504, 0x1p-24, 0, 0x1p-23, -0x1.8p-15, 1 + 0x1p-8, 1 + 3*0x1p-8, 0},
		cpu.BF16: {0, 1, -1, 1, 1, 65536, 0x1p-24, 0x1p-25, 3 * 0x1p-25, -0x1.8p-15, 1, 1 + 0x1p-6, 0x1p-133},
	} {
		for _, l := range cpu.Levels() {
			for i, v := range decoded(t, typ, encoded(t, l, typ, x)) {
				if v != want[i] {
					t.Errorf("%v at %v of %g is %g, expected %g", typ, l, x[i], v, want[i])
				}
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	for _, typ := range allTypes {
		n, size := typ.Block()
		x, b := make([]float32, 512), make([]byte, 512/n*size)
		for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
			x[300] = bad
			if err := Encode(cpu.Detect(), typ, x, b); !errors.Is(err, ErrNotFinite) {
				t.Errorf("%v of %v: %v", typ, bad, err)
			}
		}
		// The largest number that a type can hold, or that rounds to it; those that are not listed have scales in F16.
		top := map[cpu.Type]float32{cpu.F32: math.MaxFloat32, cpu.BF16: math.Float32frombits(0x7f7f7fff), cpu.MXFP4: math.Float32frombits(0x7f3fffff)}[typ]
		for _, sign := range []float32{1, -1} {
			if x[300] = sign * top; top > 0 {
				if err := Encode(cpu.Detect(), typ, x, b); err != nil {
					t.Errorf("%v of %g: %v", typ, x[300], err)
				}
				if v := decoded(t, typ, b)[300]; math.IsInf(float64(v), 0) || v != v {
					t.Errorf("%v of %g: %g", typ, x[300], v)
				}
			}
			if x[300] = sign * max(3e38, math.Nextafter32(top, math.MaxFloat32)); typ == cpu.F32 {
				continue
			}
			if err := Encode(cpu.Detect(), typ, x, b); !errors.Is(err, ErrRange) {
				t.Errorf("%v of %g: %v", typ, x[300], err)
			}
		}
		if err := Encode(cpu.Detect(), typ, x, b[1:]); err == nil {
			t.Errorf("%v: one byte less is accepted", typ)
		}
		if err := Encode(cpu.Detect(), typ, nil, nil); err != nil {
			t.Errorf("%v of nothing: %v", typ, err)
		}
	}
	if err := Encode(cpu.Detect(), 77, make([]float32, 256), make([]byte, 256)); !errors.Is(err, cpu.ErrType) {
		t.Errorf("type 77: %v", err)
	}
}

func BenchmarkEncode(b *testing.B) {
	x := values(0, 1<<18, 0.02)
	for _, typ := range allTypes {
		n, size := typ.Block()
		out := make([]byte, len(x)/n*size)
		for _, l := range cpu.Levels() {
			b.Run(typ.String()+"/"+l.String(), func(b *testing.B) {
				for b.Loop() {
					if err := Encode(l, typ, x, out); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(x))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
			})
		}
	}
}
