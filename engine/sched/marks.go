package sched

import (
	"cmp"
	"slices"

	"ingot/engine/cache"
)

// mark is a prompt position where a snapshot is taken.
type mark struct {
	pos   int
	worth cache.Worth
}

const (
	recent    = 4 // ends of messages that are marked, the last ones
	leastStep = 8 // tokens that are worth a batch of their own, which a mark costs
)

// marks are the positions in (from, to) where snapshots are taken: the last few ends of messages, and steps of the
// interval on the way. from is kept already.
func marks(ends []int, from, to, interval int) []mark {
	var ms []mark
	for _, e := range slices.Backward(ends) {
		if e > from && e < to && len(ms) < recent {
			ms = append(ms, mark{e, cache.MessageEnd})
		}
	}
	for p := (from/interval + 1) * interval; p < to; p += interval {
		ms = append(ms, mark{p, cache.OnTheWay})
	}
	slices.SortFunc(ms, func(a, b mark) int { return cmp.Compare(a.pos, b.pos) })
	kept := ms[:0]
	for _, m := range ms {
		switch last := len(kept) - 1; {
		case last >= 0 && m.pos-kept[last].pos < leastStep:
			kept[last].worth = max(kept[last].worth, m.worth) // stands in for m
		case last >= 0 || m.pos-from >= leastStep:
			kept = append(kept, m)
		}
	}
	return kept
}
