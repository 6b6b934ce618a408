package graph

import "math"

// Rope is a rotary position embedding (Su et al. 2021, arXiv 2104.09864) with the scalings that files name.
type Rope struct {
	Dims    int     // values of a head that turn
	Base    float64 // theta
	Neox    bool    // pairs (i, i+Dims/2); otherwise (2i, 2i+1)
	Scaling Scaling
	Factor  float64 // context extension; 1: none
	// YaRN (Peng et al. 2023, arXiv 2309.00071)
	OrigContext        int
	BetaFast, BetaSlow float64
	AttnFactor         float64 // further factor on the magnitude; 0: 1
	Factors            *Weight // per-pair divisors (the llama3 scaling), [Dims/2], or nil
}

// Scaling is how a rope reaches beyond its training context.
type Scaling string

const (
	ScalingNone   Scaling = "none"
	ScalingLinear Scaling = "linear"
	ScalingYarn   Scaling = "yarn"
)

// Freqs returns each pair's angle per position in radians, and the magnitude of the rotated pairs.
// factors divides the frequencies pair by pair; nil: none.
func (r *Rope) Freqs(factors []float32) (freqs []float64, mag float64) {
	n := r.Dims / 2
	freqs = make([]float64, n)
	mag = 1
	if r.AttnFactor > 0 {
		mag = r.AttnFactor
	}
	scale := 1.0
	if r.Scaling != ScalingNone && r.Factor > 0 {
		scale = 1 / r.Factor
	}
	yarn := r.Scaling == ScalingYarn
	var low, high float64
	if yarn {
		// the pair that makes `turns` full turns over the original context
		pair := func(turns float64) float64 {
			return float64(r.Dims) * math.Log(float64(r.OrigContext)/(turns*2*math.Pi)) / (2 * math.Log(r.Base))
		}
		low = math.Max(0, math.Floor(pair(r.BetaFast)))
		high = math.Min(float64(r.Dims-1), math.Ceil(pair(r.BetaSlow)))
		mag *= 1 + 0.1*math.Log(1/scale)
	}
	for i := range freqs {
		f := math.Pow(r.Base, -2*float64(i)/float64(r.Dims))
		if factors != nil {
			f /= float64(factors[i])
		}
		s := scale
		if yarn {
			keep := 1 - math.Min(1, math.Max(0, (float64(i)-low)/math.Max(0.001, high-low)))
			s = scale*(1-keep) + keep
		}
		freqs[i] = f * s
	}
	return freqs, mag
}
