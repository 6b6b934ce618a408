package sample

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Sampler chooses the tokens of one sequence. It is not safe for use by several goroutines.
//
// The steps and their order are those of llama.cpp's default chain: logit bias, penalties, top-k, top-p,
// min-p, temperature, draw. So top-p sees the distribution before temperature. A NaN counts as -Inf.
type Sampler struct {
	p     Params
	vocab int
	seed  uint64
	pcg   *rand.PCG
	bias  []cand   // of tokens in the vocabulary, in no order
	past  *history // nil without penalties

	// Scratch, grown once to the size of the vocabulary.
	cands   []cand
	edge    []cand
	weights []float64
	sums    [buckets]float64
}

var negInf = float32(math.Inf(-1))

// New returns a sampler for vocab tokens. p has passed Check; biases of tokens from vocab on have no effect.
func New(p Params, vocab int) *Sampler {
	s := &Sampler{p: p, vocab: vocab, seed: p.Seed}
	if !p.Seeded {
		s.seed = rand.Uint64()
	}
	for id, b := range p.LogitBias {
		if id >= 0 && int(id) < vocab {
			s.bias = append(s.bias, cand{b, id})
		}
	}
	s.pcg = rand.NewPCG(s.seed, 0x9e3779b97f4a7c15) // the second half only has to be fixed
	if p.penalized() {
		s.past = newHistory(p.PenaltyLastN, vocab)
	}
	return s
}

// Seed returns the seed in use, given or drawn: with it the same logits give the same tokens.
func (s *Sampler) Seed() uint64 { return s.seed }

// Accept adds a token, of the prompt or chosen, to what the penalties look at. Ids outside the vocabulary
// are ignored.
func (s *Sampler) Accept(token int32) {
	if s.past != nil && token >= 0 && int(token) < s.vocab {
		s.past.add(token)
	}
}

// Next returns the token chosen from logits, one value a token of the vocabulary; it changes them. At
// temperature 0 that is the best, the lowest id among equals. Logits of +Inf are chosen the same way at any
// temperature. It returns -1 where no logit is above -Inf: then nothing can be chosen.
//
// A draw takes exactly one number of the seeded sequence, however many tokens are left to choose from.
func (s *Sampler) Next(logits []float32) int32 {
	logits = logits[:min(len(logits), s.vocab)]
	for _, b := range s.bias {
		if int(b.id) < len(logits) {
			logits[b.id] += b.logit
		}
	}
	if s.past != nil {
		s.past.apply(logits, &s.p)
	}
	best := argmax(logits)
	if best < 0 {
		return -1
	}
	top := logits[best]
	return s.choose(cand{top, best}, func() []cand { return s.largest(logits, top) })
}

// choose takes the best where nothing is to be drawn, otherwise one of the candidates that top-k leaves, of which best is the best.
func (s *Sampler) choose(best cand, candidates func() []cand) int32 {
	if s.p.Temperature <= 0 {
		return best.id
	}
	u := float64(s.pcg.Uint64()>>11) / (1 << 53) // in [0, 1)
	if math.IsInf(float64(best.logit), 1) {
		return best.id
	}
	return s.draw(s.probable(candidates(), best.logit), best.logit, u)
}

// argmax returns the lowest id with the highest logit; -1 where none is above -Inf.
func argmax(logits []float32) int32 {
	best, at := negInf, int32(-1)
	for id, l := range logits {
		if l > best {
			best, at = l, int32(id)
		}
	}
	return at
}

// largest returns what top-k leaves; top is the highest logit.
func (s *Sampler) largest(logits []float32, top float32) []cand {
	switch k := s.p.TopK; {
	case k > 0 && k <= heapMost && k < len(logits):
		s.cands = largest(s.cands[:0], logits, k)
	default:
		s.cands = all(slices.Grow(s.cands[:0], len(logits)), logits)
		if k > 0 && k < len(s.cands) {
			s.cands = s.cut(s.cands, nil, top, float64(k))
		}
	}
	return s.cands
}

// probable returns what top-p and min-p leave of candidates; never nothing, top is the highest logit.
func (s *Sampler) probable(cands []cand, top float32) []cand {
	if p := s.p.TopP; p > 0 && p < 1 {
		cands = s.nucleus(cands, top, float64(p))
	}
	if p := s.p.MinP; p > 0 {
		least := float64(top) + math.Log(float64(p))
		kept := cands[:0]
		for _, c := range cands {
			if float64(c.logit) >= least {
				kept = append(kept, c)
			}
		}
		cands = kept
	}
	return cands
}

// draw picks a candidate with the share of exp(logit/temperature) that u falls into.
func (s *Sampler) draw(cands []cand, top float32, u float64) int32 {
	inverse := 1 / float64(s.p.Temperature)
	total := 0.0
	weights := slices.Grow(s.weights[:0], len(cands))
	for _, c := range cands {
		w := math.Exp((float64(c.logit) - float64(top)) * inverse)
		weights = append(weights, w)
		total += w
	}
	s.weights = weights
	rest := u * total
	last := int32(-1) // where rounding leaves something over: the last that has any weight
	for i, w := range weights {
		if w == 0 {
			continue
		}
		last = cands[i].id
		if rest -= w; rest < 0 {
			break
		}
	}
	return last
}
