// Package cache keeps the books of what a lane's memory holds: which tokens the cells of each slot belong to, which
// planes hold a recurrent state and of which position, and how far a new prompt can go on from them.
//
// It never touches the memory itself. Invariants:
//   - a slot's cells 0..len(tokens)-1 hold exactly its tokens, in order
//   - of a model with recurrent state, plane `tip` holds the state after all of them (-1: there are none)
//   - a snapshot (pos, plane) holds the state after the first pos tokens, 0 < pos <= len(tokens), ascending
//   - a plane that a snapshot refers to is never written again: the next run writes to a fresh one, so keeping a
//     snapshot copies nothing
//
// An attention cache goes back by forgetting cells; a recurrent state goes back to a snapshot only.
package cache

import (
	"errors"
	"slices"
)

// ErrFull is returned when a slot has no cells left.
var ErrFull = errors.New("context full")

const none = -1

// Pool is all slots of an engine and the planes they share. It is not safe for concurrent use.
type Pool struct {
	slots     []*Slot
	refs      []int // by plane: the tip and the snapshots that use it
	cells     int
	recurrent bool
	clock     int64
}

// Slot is one sequence's place.
type Slot struct {
	ID     int
	pool   *Pool
	tokens []int32
	tip    int
	snaps  []snapshot
	busy   bool
	used   int64 // the pool's clock when it was last acquired
}

type snapshot struct{ pos, plane int }

// New returns a pool of slots with that many cells each. planes counts the recurrent states there is memory for, at
// least 2 a slot; 0 for a model without any.
func New(slots, cells, planes int) *Pool {
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

// Copy is an order to copy the first Cells cells of one slot to another.
type Copy struct{ From, To, Cells int }

// Acquire finds the free slot that can go on with the prompt from furthest and rewinds it there: the first `reuse`
// tokens need not be read again. At least the prompt's last token is always left to read. Where that slot holds a
// longer conversation that would be lost, another slot takes a copy of the common part, which the caller carries out.
// ok is false when all slots are busy.
func (p *Pool) Acquire(prompt []int32) (s *Slot, reuse int, copied *Copy, ok bool) {
	best, reach := (*Slot)(nil), -1
	oldest := (*Slot)(nil)
	for _, c := range p.slots {
		if c.busy {
			continue
		}
		r := c.reach(prompt)
		if r > reach || r == reach && c.used < best.used {
			best, reach = c, r
		}
		if oldest == nil || c.used < oldest.used || len(c.tokens) == 0 && len(oldest.tokens) > 0 {
			oldest = c
		}
	}
	if best == nil {
		return nil, 0, nil, false
	}
	s = best
	if lost := len(best.tokens) - reach; oldest != best && lost > reach && lost > 64 {
		s = oldest
		s.Reset()
		if reach >= 64 {
			s.follow(best, reach)
			copied = &Copy{From: best.ID, To: s.ID, Cells: reach}
		} else {
			reach = 0
		}
	}
	s.rewind(reach)
	p.clock++
	s.busy, s.used = true, p.clock
	return s, reach, copied, true
}

// Take acquires the least recently used free slot, emptied.
func (p *Pool) Take() (*Slot, bool) {
	var s *Slot
	for _, c := range p.slots {
		if !c.busy && (s == nil || c.used < s.used) {
			s = c
		}
	}
	if s == nil {
		return nil, false
	}
	s.Reset()
	p.clock++
	s.busy, s.used = true, p.clock
	return s, true
}

// Release frees a slot; what it holds stays for a later prompt.
func (s *Slot) Release() { s.busy = false }

// Busy tells whether a sequence holds the slot.
func (s *Slot) Busy() bool { return s.busy }

// Len is how many cells are used: the next token's position.
func (s *Slot) Len() int { return len(s.tokens) }

// Room is how many cells are left.
func (s *Slot) Room() int { return s.pool.cells - len(s.tokens) }

// reach is how many tokens of the prompt the slot could go on from.
func (s *Slot) reach(prompt []int32) int {
	n := 0
	for limit := min(len(s.tokens), len(prompt)-1); n < limit && s.tokens[n] == prompt[n]; n++ {
	}
	return s.backTo(n)
}

// backTo is the furthest position up to n that the slot can go back to.
func (s *Slot) backTo(n int) int {
	if !s.pool.recurrent || n == len(s.tokens) {
		return n
	}
	for i := len(s.snaps) - 1; i >= 0; i-- {
		if s.snaps[i].pos <= n {
			return s.snaps[i].pos
		}
	}
	return 0
}

// Rewind goes back to at most n tokens and returns how many are kept.
func (s *Slot) Rewind(n int) int {
	n = s.backTo(min(n, len(s.tokens)))
	s.rewind(n)
	return n
}

// rewind goes back to exactly n, which backTo gave.
func (s *Slot) rewind(n int) {
	if n == len(s.tokens) {
		return
	}
	s.tokens = s.tokens[:n]
	if !s.pool.recurrent {
		return
	}
	for len(s.snaps) > 0 && s.snaps[len(s.snaps)-1].pos > n {
		s.dropSnap(len(s.snaps) - 1)
	}
	s.setTip(none)
	if n > 0 {
		s.setTip(s.snaps[len(s.snaps)-1].plane)
	}
}

// Reset empties the slot.
func (s *Slot) Reset() { s.rewind(0) }

// follow makes an empty slot share the first n tokens of another, which backTo gave.
func (s *Slot) follow(from *Slot, n int) {
	s.tokens = append(s.tokens[:0], from.tokens[:n]...)
	if !s.pool.recurrent {
		return
	}
	for _, sn := range from.snaps {
		if sn.pos <= n {
			s.snaps = append(s.snaps, sn)
			s.pool.refs[sn.plane]++
		}
	}
	if n == len(from.tokens) {
		// the tip is shared: a snapshot keeps both from writing over it
		from.Snapshot()
		if len(s.snaps) == 0 || s.snaps[len(s.snaps)-1].pos < n {
			s.snaps = append(s.snaps, snapshot{n, from.tip})
			s.pool.refs[from.tip]++
		}
	}
	s.setTip(s.snaps[len(s.snaps)-1].plane)
}

func (s *Slot) setTip(plane int) {
	if plane != none {
		s.pool.refs[plane]++
	}
	if s.tip != none {
		s.pool.refs[s.tip]--
	}
	s.tip = plane
}

func (s *Slot) dropSnap(i int) {
	s.pool.refs[s.snaps[i].plane]--
	s.snaps = slices.Delete(s.snaps, i, i+1)
}

// Next says where the recurrent state of the next run is read from and written to; -1, 0 for a model without one.
// Advance or Fail must follow.
func (s *Slot) Next() (in, out int) {
	if !s.pool.recurrent {
		return none, 0
	}
	in = s.tip
	if in != none && s.pool.refs[in] == 1 {
		return in, in // nobody else needs it: overwrite
	}
	out = s.pool.plane()
	s.pool.refs[out]++ // held until Advance or Fail
	return in, out
}

// Advance records that the tokens were read and that the state is now in plane out.
func (s *Slot) Advance(tokens []int32, out int) {
	s.tokens = append(s.tokens, tokens...)
	if s.pool.recurrent && out != s.tip {
		s.setTip(out)
		s.pool.refs[out]--
	}
}

// Fail records that the run with that output plane went wrong: what the slot holds is unknown, so it is emptied.
func (s *Slot) Fail(out int) {
	if s.pool.recurrent && out != s.tip {
		s.pool.refs[out]--
	}
	s.Reset()
}

// Snapshot keeps the state of the present position, so that the slot can come back to it.
func (s *Slot) Snapshot() {
	n := len(s.tokens)
	if !s.pool.recurrent || n == 0 || len(s.snaps) > 0 && s.snaps[len(s.snaps)-1].pos == n {
		return
	}
	s.snaps = append(s.snaps, snapshot{n, s.tip})
	s.pool.refs[s.tip]++
}

// Snapshots lists the positions that can be gone back to.
func (s *Slot) Snapshots() []int {
	var at []int
	for _, sn := range s.snaps {
		at = append(at, sn.pos)
	}
	return at
}

// plane returns a plane that nothing uses, giving up the least useful snapshots until there is one.
func (p *Pool) plane() int {
	for {
		for i, n := range p.refs {
			if n == 0 {
				return i
			}
		}
		s, i := p.leastUseful()
		if s == nil {
			panic("cache: fewer planes than two a slot")
		}
		s.dropSnap(i)
	}
}

// leastUseful is the snapshot whose loss costs least: of the slot that has most, the one that lies closest between its
// neighbours, never the newest while others remain; among equals the earliest.
func (p *Pool) leastUseful() (slot *Slot, at int) {
	for _, s := range p.slots {
		if len(s.snaps) > 0 && (slot == nil || len(s.snaps) > len(slot.snaps) || len(s.snaps) == len(slot.snaps) && s.used < slot.used) {
			slot = s
		}
	}
	if slot == nil {
		return nil, 0
	}
	gap := -1
	for i := range max(len(slot.snaps)-1, 1) {
		before, after := 0, len(slot.tokens)
		if i > 0 {
			before = slot.snaps[i-1].pos
		}
		if i+1 < len(slot.snaps) {
			after = slot.snaps[i+1].pos
		}
		if g := after - before; gap < 0 || g < gap {
			gap, at = g, i
		}
	}
	return slot, at
}
