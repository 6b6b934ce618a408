package cache

import "slices"

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

type snapshot struct {
	pos, plane int
	worth      Worth
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
	n = s.backTo(min(max(n, 0), len(s.tokens)))
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
	tip := none
	if n > 0 {
		tip = s.snaps[len(s.snaps)-1].plane
	}
	s.setTip(tip)
}

// Reset empties the slot.
func (s *Slot) Reset() { s.rewind(0) }

// follow makes an empty slot share the first n tokens of another, fewer than it holds, which backTo gave.
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

// Next says where the recurrent state of the next run is read from (-1: it is zero) and written to; -1, 0 for a model
// without one. Advance or Fail must follow.
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
func (s *Slot) Snapshot(w Worth) {
	n := len(s.tokens)
	if !s.pool.recurrent || n == 0 {
		return
	}
	if i := len(s.snaps) - 1; i >= 0 && s.snaps[i].pos == n {
		s.snaps[i].worth = max(s.snaps[i].worth, w)
		return
	}
	s.snaps = append(s.snaps, snapshot{n, s.tip, w})
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
