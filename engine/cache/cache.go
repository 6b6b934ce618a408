// Package cache keeps the books of what a lane's memory holds: which tokens the cells of each slot belong to, which
// planes hold a recurrent state and of which position, and how far a new prompt can go on from them.
//
// It never touches the memory itself. Invariants:
//   - a slot's cells 0..len(tokens)-1 hold exactly its tokens, in order
//   - of a model with recurrent state, plane `tip` holds the state after all of them (-1: there are none)
//   - a snapshot (pos, plane) holds the state after the first pos tokens, 0 < pos <= len(tokens), ascending
//   - a plane's reference count is the number of tips and snapshots that use it, over all slots, plus one while a run
//     writes to it
//   - a plane that a snapshot refers to is never written again: the next run writes to a fresh one, so keeping a
//     snapshot copies nothing
//
// An attention cache goes back by forgetting cells; a recurrent state goes back to a snapshot only.
package cache

import "errors"

// ErrFull is returned when a slot has no cells left.
var ErrFull = errors.New("context full")

const none = -1

// few is so little that reading it again costs less than looking after it.
const few = 64

// Pool is all slots of an engine and the planes they share. It is not safe for concurrent use.
type Pool struct {
	slots     []*Slot
	refs      []int // by plane
	cells     int
	recurrent bool
	clock     int64
}

// New returns a pool of slots with that many cells each. planes counts the recurrent states there is memory for, at
// least 2 a slot; 0 for a model without any.
func New(slots, cells, planes int) *Pool {
	if planes > 0 && planes < 2*slots {
		panic("cache: fewer planes than two a slot")
	}
	p := &Pool{cells: cells, recurrent: planes > 0, refs: make([]int, planes)}
	for i := range slots {
		p.slots = append(p.slots, &Slot{ID: i, pool: p, tip: none})
	}
	return p
}

// Slots lists the slots.
func (p *Pool) Slots() []*Slot { return p.slots }

// Cells is how many positions a slot holds.
func (p *Pool) Cells() int { return p.cells }

// Recurrent tells whether going back needs snapshots.
func (p *Pool) Recurrent() bool { return p.recurrent }

// Copy is an order to copy the first Cells cells of one slot to another.
type Copy struct{ From, To, Cells int }

// Acquire finds the free slot that can go on with the prompt from furthest and rewinds it there: the first `reuse`
// tokens need not be read again. At least the prompt's last token is always left to read. Where that would lose much
// of another conversation, the least recently used slot takes a copy of the common part, which the caller carries
// out. ok is false when all slots are busy.
func (p *Pool) Acquire(prompt []int32) (s *Slot, reuse int, copied *Copy, ok bool) {
	best, reach := (*Slot)(nil), none
	for _, c := range p.slots {
		if c.busy {
			continue
		}
		if r := c.reach(prompt); r > reach || r == reach && c.older(best) {
			best, reach = c, r
		}
	}
	if best == nil {
		return nil, 0, nil, false
	}
	s = best
	if oldest := p.oldest(); oldest != best {
		lost, instead := len(best.tokens)-reach, len(oldest.tokens)-oldest.reach(prompt)
		// Most of the slot is another conversation, or a copy costs less of one.
		if lost > few && (lost > reach || instead < lost) {
			s = oldest
			if reach >= few {
				s.Reset()
				s.follow(best, reach)
				copied = &Copy{From: best.ID, To: s.ID, Cells: reach}
			} else {
				reach = s.reach(prompt)
			}
		}
	}
	s.rewind(reach)
	s.take()
	return s, reach, copied, true
}

// Take acquires the least recently used free slot, emptied.
func (p *Pool) Take() (*Slot, bool) {
	s := p.oldest()
	if s == nil {
		return nil, false
	}
	s.Reset()
	s.take()
	return s, true
}

// oldest is the free slot whose loss costs least: an empty one, else the least recently used; nil: all are busy.
func (p *Pool) oldest() *Slot {
	var s *Slot
	for _, c := range p.slots {
		if !c.busy && (s == nil || c.older(s)) {
			s = c
		}
	}
	return s
}

// older tells whether s comes before o in the order of oldest.
func (s *Slot) older(o *Slot) bool {
	if empty := len(s.tokens) == 0; empty != (len(o.tokens) == 0) {
		return empty
	}
	return s.used < o.used
}

func (s *Slot) take() {
	s.pool.clock++
	s.busy, s.used = true, s.pool.clock
}
