package graph

import (
	"math"
	"testing"
)

// near compares to the nine digits that the expected values are given with.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }

// The expected numbers were computed apart, by the published reference code's formulas: YaRN's linear ramp between the
// pairs that make beta_fast and beta_slow turns, Llama 3's by wavelength.
func TestFreqs(t *testing.T) {
	llama3 := make([]float32, 64)
	for i := range llama3 {
		wave := 2 * math.Pi * math.Pow(500000, 2*float64(i)/128)
		switch {
		case wave < 8192/4:
			llama3[i] = 1
		case wave > 8192:
			llama3[i] = 8
		default:
			s := (8192/wave - 1) / (4 - 1)
			llama3[i] = float32(1 / ((1-s)/8 + s))
		}
	}
	for _, c := range []struct {
		name    string
		r       Rope
		factors []float32
		mag     float64
		want    map[int]float64
	}{
		{"plain", Rope{Dims: 8, Base: 10000, Scaling: ScalingNone}, nil, 1, map[int]float64{0: 1, 1: 0.1, 2: 0.01, 3: 0.001}},
		{"none has no factor", Rope{Dims: 8, Base: 10000, Scaling: ScalingNone, Factor: 4}, nil, 1, map[int]float64{0: 1, 3: 0.001}},
		{"linear", Rope{Dims: 8, Base: 10000, Scaling: ScalingLinear, Factor: 4}, nil, 1, map[int]float64{0: 0.25, 1: 0.025, 3: 0.00025}},
		{"linear by nothing", Rope{Dims: 8, Base: 10000, Scaling: ScalingLinear}, nil, 1, map[int]float64{0: 1}},
		{"a magnitude of its own", Rope{Dims: 8, Base: 10000, Scaling: ScalingNone, AttnFactor: 0.5}, nil, 0.5, map[int]float64{0: 1}},
		{"yarn, 128 wide", Rope{Dims: 128, Base: 1e6, Scaling: ScalingYarn, Factor: 4, OrigContext: 32768, BetaFast: 32, BetaSlow: 1}, nil, 1.138629436111989,
			map[int]float64{0: 1, 10: 0.1154781984689458, 20: 0.01333521432163324, 25: 0.004131738022518394, 30: 0.0010643609812470017,
				35: 0.0002462584069089387, 40: 4.445698525097307e-05, 63: 3.102344401879299e-07}},
		{"yarn, 16 wide", Rope{Dims: 16, Base: 10000, Scaling: ScalingYarn, Factor: 8, OrigContext: 2048, BetaFast: 32, BetaSlow: 1}, nil, 1.2079441541679836,
			map[int]float64{0: 1, 2: 0.1, 3: 0.02470529422006546, 4: 0.005625, 5: 0.0010870329456828802, 6: 0.000125, 7: 3.952847075210474e-05}},
		{"yarn with a magnitude", Rope{Dims: 16, Base: 10000, Scaling: ScalingYarn, Factor: 8, OrigContext: 2048, BetaFast: 32, BetaSlow: 1, AttnFactor: 2}, nil,
			2 * 1.2079441541679836, map[int]float64{4: 0.005625}},
	} {
		freqs, mag := c.r.Freqs(c.factors)
		if len(freqs) != c.r.Dims/2 || !near(mag, c.mag) {
			t.Errorf("%s: %d pairs, magnitude %v; expected %v", c.name, len(freqs), mag, c.mag)
		}
		for i, want := range c.want {
			if !near(freqs[i], want) {
				t.Errorf("%s: pair %d turns by %v, expected %v", c.name, i, freqs[i], want)
			}
		}
	}
	freqs, _ := (&Rope{Dims: 128, Base: 500000, Scaling: ScalingNone}).Freqs(llama3)
	for i, want := range map[int]float64{0: 1, 20: 0.016560440080994446, 28: 0.003211445994752591, 30: 0.0013718935677611381, 32: 0.0005248461609929547,
		34: 0.0001785078127679964, 36: 7.78465527393245e-05, 63: 3.068925988914511e-07} {
		if math.Abs(freqs[i]-want) > 1e-7*want { // the divisors are stored as floats
			t.Errorf("llama 3: pair %d turns by %v, expected %v", i, freqs[i], want)
		}
	}
}

func TestBuilderRefusesWhatDoesNotFit(t *testing.T) {
	w := func(shape ...int64) *Weight { return &Weight{Name: "w", Shape: shape} }
	for name, f := range map[string]func(b *Builder, x *Value){
		"a product of the wrong width": func(b *Builder, x *Value) { b.Linear(x, w(63, 8), nil) },
		"a product of a view with gaps": func(b *Builder, x *Value) {
			b.Linear(b.Heads(x, 0, 2, 16, 32), w(32, 8), nil)
		},
		"a view beyond the end":          func(b *Builder, x *Value) { b.Heads(x, 40, 1, 32, 32) },
		"a view of heads of heads":       func(b *Builder, x *Value) { b.Heads(b.Heads(x, 0, 4, 16, 16), 0, 2, 16, 16) },
		"a norm of the wrong width":      func(b *Builder, x *Value) { b.Norm(x, w(63), 1e-6) },
		"a gate of another width":        func(b *Builder, x *Value) { b.NormGated(x, nil, b.Linear(x, w(64, 32), nil), 1e-6) },
		"a gate with gaps":               func(b *Builder, x *Value) { b.NormGated(b.Heads(x, 0, 2, 16, 16), nil, b.Heads(x, 0, 2, 16, 32), 1e-6) },
		"a rotation wider than the head": func(b *Builder, x *Value) { b.Rotate(b.Heads(x, 0, 4, 16, 16), &Rope{Dims: 32}) },
		"a sum of two widths":            func(b *Builder, x *Value) { b.Add(x, b.Linear(x, w(64, 32), nil)) },
		"heads that do not divide": func(b *Builder, x *Value) {
			k := b.Linear(x, w(64, 48), nil)
			b.Attention(x, k, k, nil, nil, &State{}, Attention{Heads: 4, KVHeads: 3, Dim: 16})
		},
		"a sum of experts by other shares": func(b *Builder, x *Value) {
			_, shares := b.Route(b.Linear(x, w(64, 4), nil), nil, nil, Route{Experts: 4, Used: 2})
			b.Combine(x, shares, nil, nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			b := NewBuilder()
			f(b, b.Embed(w(64, 10), 1))
		})
	}
}
