package sample

import "math"

// IDLogprob is a token and the natural log of its probability.
type IDLogprob struct {
	ID      int32
	Logprob float32
}

// Logprobs returns the natural log probability of chosen over the whole vocabulary, and the n best tokens,
// best first, equal ones by id. It wants logits as the model gives them: call it before Next, which changes
// them. A token that cannot be chosen (-Inf, NaN, outside the vocabulary) has -Inf and is not among the best.
// Logits of +Inf share all the probability.
func Logprobs(logits []float32, chosen int32, n int) (float32, []IDLogprob) {
	norm := newNorm(logits)
	lp := negInf
	if chosen >= 0 && int(chosen) < len(logits) {
		lp = norm.logprob(logits[chosen])
	}
	if n = min(n, len(logits)); n <= 0 {
		return lp, nil
	}
	cands := largest(make([]cand, 0, n), logits, n)
	top := make([]IDLogprob, 0, n)
	for _, c := range cands {
		if v := norm.logprob(c.logit); v > negInf {
			top = append(top, IDLogprob{c.id, v})
		}
	}
	return lp, top
}

// LogprobsOf is Logprobs where only a row's largest logits are at hand, n of them or more and the chosen one's: best first, equal
// ones by id, with the tokens they are of. log is the natural log of the sum of exp(logit - largest) over the whole row.
func LogprobsOf(logits []float32, ids []int32, log float64, chosen int32, n int) (float32, []IDLogprob) {
	if len(logits) == 0 {
		return negInf, nil
	}
	norm := norm{logits[0], log}
	lp := negInf
	var top []IDLogprob
	for i, l := range logits {
		v := norm.logprob(l)
		if ids[i] == chosen {
			lp = v
		}
		if i < n && v > negInf {
			top = append(top, IDLogprob{ids[i], v})
		}
	}
	return lp, top
}

// norm turns logits into log probabilities.
type norm struct {
	top float32
	log float64 // of the sum of exp(logit - top)
}

func newNorm(logits []float32) norm {
	z := norm{top: negInf}
	for _, l := range logits {
		if l > z.top {
			z.top = l
		}
	}
	sum := 0.0
	for _, l := range logits {
		switch {
		case l == z.top:
			sum++ // also where both are infinite, whose difference is NaN
		case l > negInf:
			sum += weight(l, z.top)
		}
	}
	z.log = math.Log(sum)
	return z
}

func (z norm) logprob(l float32) float32 {
	switch {
	case !(l > negInf):
		return negInf
	case l == z.top:
		return float32(0 - z.log) // not -z.log: that is -0 where one token has all
	}
	return float32(float64(l) - float64(z.top) - z.log)
}
