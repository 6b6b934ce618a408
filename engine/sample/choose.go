package sample

import (
	"cmp"
	"math"
	"slices"
)

// cand is a token that can still be chosen; its logit is above -Inf.
type cand struct {
	logit float32
	id    int32
}

// before orders candidates best first: by logit, equal ones by id.
func before(a, b cand) int {
	if c := cmp.Compare(b.logit, a.logit); c != 0 {
		return c
	}
	return cmp.Compare(a.id, b.id)
}

// all appends every candidate, by id.
func all(out []cand, logits []float32) []cand {
	for id, l := range logits {
		if l > negInf {
			out = append(out, cand{l, int32(id)})
		}
	}
	return out
}

// heapMost is the largest k that largest is quicker for than cut; it passes over the logits once.
const heapMost = 512

// largest appends the k best candidates, best first. k is at least 1.
func largest(out []cand, logits []float32, k int) []cand {
	// A heap whose root is the worst kept: most logits are turned away by one comparison.
	heap, worst := out, negInf
	for id, l := range logits {
		if l <= worst || l != l {
			continue
		}
		c := cand{l, int32(id)}
		if len(heap) < k {
			heap = append(heap, c)
			up(heap)
			if len(heap) < k {
				continue
			}
		} else {
			heap[0] = c
			down(heap)
		}
		worst = heap[0].logit // an equal one later has a higher id: it is not better
	}
	slices.SortFunc(heap, before)
	return heap
}

// up restores the heap after a candidate was appended.
func up(h []cand) {
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if before(h[parent], h[i]) > 0 {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

// down restores the heap after its root was replaced.
func down(h []cand) {
	for i := 0; ; {
		worst := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(h); child++ {
			if before(h[child], h[worst]) > 0 {
				worst = child
			}
		}
		if worst == i {
			return
		}
		h[i], h[worst] = h[worst], h[i]
		i = worst
	}
}

const (
	buckets = 1024
	// spread is how far below the best, in natural log, buckets reach; the last takes all that is lower.
	// At 32 a vocabulary of a million holds 1e-8 of the probability there, less than 1-top_p can be.
	spread = 32.0
)

// nucleus keeps the shortest best-first run of cands that holds a share p of their probability.
func (s *Sampler) nucleus(cands []cand, top float32, p float64) []cand {
	weights := slices.Grow(s.weights[:0], len(cands))
	total := 0.0
	for _, c := range cands {
		w := weight(c.logit, top)
		weights = append(weights, w)
		total += w
	}
	s.weights = weights
	return s.cut(cands, weights, top, p*total)
}

// weight is the probability of a logit in units of that of the best.
func weight(logit, top float32) float64 { return math.Exp(float64(logit) - float64(top)) }

// cut keeps the shortest best-first run of cands whose weights add up to target, in place and in no order.
// weights goes with cands; nil means 1 each. top is the highest logit. Only the bucket of logits where the
// run ends is sorted.
func (s *Sampler) cut(cands []cand, weights []float64, top float32, target float64) []cand {
	low := top
	for _, c := range cands {
		if c.logit < low {
			low = c.logit
		}
	}
	scale := 0.0
	if low < top {
		scale = buckets / min(float64(top)-float64(low), spread)
	}
	bucket := func(l float32) int { // never less for a lower logit
		if b := (float64(top) - float64(l)) * scale; b < buckets-1 {
			return int(b)
		}
		return buckets - 1
	}
	clear(s.sums[:])
	for i, c := range cands {
		w := 1.0
		if weights != nil {
			w = weights[i]
		}
		s.sums[bucket(c.logit)] += w
	}
	sum, last := 0.0, 0
	for last < buckets-1 && sum+s.sums[last] < target {
		sum += s.sums[last]
		last++
	}
	kept, edge := cands[:0], s.edge[:0]
	for _, c := range cands {
		switch b := bucket(c.logit); {
		case b < last:
			kept = append(kept, c)
		case b == last:
			edge = append(edge, c)
		}
	}
	s.edge = edge
	slices.SortFunc(edge, before)
	for _, c := range edge {
		kept = append(kept, c)
		if weights == nil {
			sum++
		} else {
			sum += weight(c.logit, top)
		}
		if sum >= target {
			break
		}
	}
	return kept
}
