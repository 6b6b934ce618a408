package cache

import "math"

// Worth says how likely it is that a later prompt parts at a position, against others.
type Worth float64

const (
	OnTheWay   Worth = 1  // a position like any other
	MessageEnd Worth = 16 // between two messages, where nearly all prompts part
)

// plane returns a plane that nothing uses, giving up the least useful snapshots until there is one. With two planes a
// slot there always is: one is the tip, the other what the run under way writes.
func (p *Pool) plane() int {
	for {
		for i, n := range p.refs {
			if n == 0 {
				return i
			}
		}
		s, i := p.leastUseful(true)
		if s == nil {
			s, i = p.leastUseful(false)
		}
		s.dropSnap(i)
	}
}

// leastUseful is the snapshot whose loss costs least, of the slot that has most, among equals the least recently
// used. With freeing, only those count whose plane nothing else uses.
func (p *Pool) leastUseful(freeing bool) (slot *Slot, at int) {
	for _, s := range p.slots {
		if slot != nil && (len(s.snaps) < len(slot.snaps) || len(s.snaps) == len(slot.snaps) && s.used > slot.used) {
			continue
		}
		if i := s.cheapest(freeing); i >= 0 {
			slot, at = s, i
		}
	}
	return slot, at
}

// cheapest is the snapshot with the lowest price, never the newest while others remain; -1: none.
func (s *Slot) cheapest(freeing bool) int {
	at, least := none, math.Inf(1)
	for i := range max(len(s.snaps)-1, min(len(s.snaps), 1)) {
		if freeing && s.pool.refs[s.snaps[i].plane] > 1 {
			continue
		}
		if price := s.price(i); price < least {
			at, least = i, price
		}
	}
	return at
}

// price is what losing a snapshot is expected to cost: the tokens to be read again, back to the snapshot before it,
// times the share of prompts that part between it and the one after it. That share falls with the distance from the
// end, so what is kept gets sparser towards the beginning.
func (s *Slot) price(i int) float64 {
	pos, before, after, end := s.snaps[i].pos, 0, len(s.tokens), len(s.tokens)
	if i > 0 {
		before = s.snaps[i-1].pos
	}
	if i+1 < len(s.snaps) {
		after = s.snaps[i+1].pos
	}
	parting := math.Log(float64(end-pos+few) / float64(end-after+few))
	return float64(s.snaps[i].worth) * float64(pos-before) * parting
}
