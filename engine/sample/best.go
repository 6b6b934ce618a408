package sample

import "slices"

// Enough is how many of a row's largest logits NextOf needs; 0: Next must have all of them. Penalties and biases above zero may lift
// any token among the best; a bias below zero takes away no more than its own token, so that one more is enough.
func (s *Sampler) Enough() int {
	k := 1
	if s.p.Temperature > 0 {
		if k = s.p.TopK; k < 1 || k > heapMost || k >= s.vocab {
			return 0
		}
	}
	if s.past != nil || slices.ContainsFunc(s.bias, func(b cand) bool { return b.logit > 0 }) {
		return 0
	}
	return k + len(s.bias)
}

// NextOf is Next where only a row's largest logits are at hand, at least as many as Enough says or all that are above -Inf: best
// first, equal ones by id, with the tokens they are of. It chooses what Next would choose from the whole row.
func (s *Sampler) NextOf(logits []float32, ids []int32) int32 {
	cands := s.cands[:0]
	for i, l := range logits {
		for _, b := range s.bias {
			if b.id == ids[i] {
				l += b.logit
			}
		}
		if l > negInf && int(ids[i]) < s.vocab {
			cands = append(cands, cand{l, ids[i]})
		}
	}
	s.cands = cands
	if len(cands) == 0 {
		return -1
	}
	if len(s.bias) > 0 {
		slices.SortFunc(cands, before)
	}
	if k := s.p.TopK; k > 0 {
		cands = cands[:min(k, len(cands))]
	}
	return s.choose(cands[0], func() []cand { return cands })
}
