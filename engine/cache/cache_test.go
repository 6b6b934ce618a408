package cache

import (
	"slices"
	"testing"
)

// text is n tokens that begin with a and are b from position at on.
func text(n int, a, b int32, at int) []int32 {
	out := make([]int32, n)
	for i := range out {
		if i < at {
			out[i] = a
		} else {
			out[i] = b
		}
	}
	return out
}

// read acquires a slot for a prompt and reads it in one run, with a snapshot at each of ends.
func (m *memory) read(p []int32, ends ...int) (s *Slot, reuse int, cp *Copy) {
	m.t.Helper()
	s, reuse, cp, ok := m.pool.Acquire(p)
	if !ok {
		m.t.Fatal("no slot")
	}
	m.copied(cp)
	for _, e := range append(ends, len(p)) {
		if e > s.Len() {
			m.run([]write{{s: s, tokens: p[s.Len():e]}}, false)
			if e < len(p) {
				s.Snapshot(MessageEnd)
			}
		}
	}
	s.Release()
	m.check()
	return s, reuse, cp
}

func TestAcquire(t *testing.T) {
	type turn struct {
		prompt []int32
		ends   []int
		slot   int
		reuse  int
		copied int
	}
	for _, c := range []struct {
		name   string
		slots  int
		planes int
		turns  []turn
	}{
		{"the same prompt again leaves its last token to read", 1, 0, []turn{
			{text(100, 1, 2, 50), nil, 0, 0, 0},
			{text(100, 1, 2, 50), nil, 0, 99, 0},
		}},
		{"a longer prompt goes on from the end", 1, 0, []turn{
			{text(100, 1, 1, 0), nil, 0, 0, 0},
			{text(130, 1, 1, 0), nil, 0, 100, 0},
		}},
		{"attention goes back to any position", 1, 0, []turn{
			{text(100, 1, 2, 70), nil, 0, 0, 0},
			{text(100, 1, 3, 70), nil, 0, 70, 0},
		}},
		{"a recurrent state goes back to a snapshot only", 1, 8, []turn{
			{text(100, 1, 2, 70), []int{30, 60}, 0, 0, 0},
			{text(100, 1, 3, 70), nil, 0, 60, 0},
			{text(100, 1, 4, 20), nil, 0, 0, 0},
		}},
		{"a recurrent state goes on from its end without a snapshot", 1, 8, []turn{
			{text(100, 1, 1, 0), nil, 0, 0, 0},
			{text(101, 1, 1, 0), nil, 0, 100, 0},
		}},
		{"another conversation takes the empty slot", 2, 0, []turn{
			{text(100, 1, 1, 0), nil, 0, 0, 0},
			{text(100, 2, 2, 0), nil, 1, 0, 0},
			{text(110, 1, 1, 0), nil, 0, 100, 0},
			{text(110, 2, 2, 0), nil, 1, 100, 0},
		}},
		{"a branch copies the common part when a slot is empty", 2, 0, []turn{
			{text(300, 1, 2, 100), nil, 0, 0, 0},
			{text(300, 1, 3, 100), nil, 1, 100, 100},
			{text(310, 1, 2, 100), nil, 0, 300, 0},
		}},
		{"a branch copies, with recurrent state", 2, 10, []turn{
			{text(300, 1, 2, 100), []int{90}, 0, 0, 0},
			{text(300, 1, 3, 100), nil, 1, 90, 90},
			{text(310, 1, 2, 100), nil, 0, 300, 0},
		}},
		{"an answer given again stays in its slot rather than push out a long conversation", 2, 0, []turn{
			{text(400, 9, 9, 0), nil, 0, 0, 0},
			{text(300, 1, 2, 200), nil, 1, 0, 0},
			{text(300, 1, 3, 200), nil, 1, 200, 0},
			{text(401, 9, 9, 0), nil, 0, 400, 0},
		}},
		{"an unrelated prompt takes the least recently used slot", 2, 0, []turn{
			{text(300, 1, 1, 0), nil, 0, 0, 0},
			{text(300, 2, 2, 0), nil, 1, 0, 0},
			{text(300, 3, 3, 0), nil, 0, 0, 0},
			{text(300, 4, 4, 0), nil, 1, 0, 0},
		}},
		{"a few tokens in common are not worth a conversation", 2, 0, []turn{
			{text(300, 5, 1, 10), nil, 0, 0, 0},
			{text(300, 2, 2, 0), nil, 1, 0, 0},
			{text(310, 5, 1, 10), nil, 0, 300, 0},
			{text(300, 5, 3, 10), nil, 1, 0, 0},
			{text(320, 5, 1, 10), nil, 0, 310, 0},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemory(t, c.slots, 500, c.planes)
			for i, turn := range c.turns {
				s, reuse, cp := m.read(turn.prompt, turn.ends...)
				copied := 0
				if cp != nil {
					copied = cp.Cells
				}
				if s.ID != turn.slot || reuse != turn.reuse || copied != turn.copied {
					t.Errorf("turn %d: slot %d, reuse %d, copied %d; expected %d, %d, %d", i, s.ID, reuse, copied, turn.slot, turn.reuse, turn.copied)
				}
			}
		})
	}
}

func TestEmptySlotsComeFirst(t *testing.T) {
	m := newMemory(t, 2, 500, 0)
	m.read(text(100, 1, 1, 0)) // slot 0
	m.read(text(100, 2, 2, 0)) // slot 1
	m.pool.slots[1].Reset()    // empty, though used later than slot 0
	s, _ := m.pool.Take()
	if s.ID != 1 {
		t.Errorf("took slot %d, which held a conversation", s.ID)
	}
}

func TestFailedRunEmptiesOnlyItsSlot(t *testing.T) {
	m := newMemory(t, 2, 100, 6)
	a, _, _, _ := m.pool.Acquire(text(50, 1, 1, 0))
	m.run([]write{{s: a, tokens: text(20, 1, 1, 0)}}, false)
	a.Snapshot(MessageEnd)
	b, _, _, _ := m.pool.Acquire(text(50, 2, 2, 0))
	m.run([]write{{s: b, tokens: text(20, 2, 2, 0)}}, true)
	if a.Len() != 20 || b.Len() != 0 {
		t.Errorf("lengths %d and %d, expected 20 and 0", a.Len(), b.Len())
	}
	m.run([]write{{s: a, tokens: text(5, 1, 1, 0)}, {s: b, tokens: text(5, 3, 3, 0)}}, false)
}

// A long conversation with few planes: what is left must be the ends of the latest messages, and something of the past.
func TestSnapshotsThinOutTowardsTheBeginning(t *testing.T) {
	const planes = 2 + 6
	m := newMemory(t, 1, 20000, planes)
	var p []int32
	var ends []int
	for turn := range 20 {
		for _, length := range []int{30, 400} { // a question, its answer
			if length == 30 {
				p = append(p, text(length, int32(turn), int32(turn), 0)...)
				m.read(append(slices.Clone(p), 7), len(p))
				ends = append(ends, len(p))
			} else {
				// the answer is written in the slot, with a snapshot on the way
				s, _, _, _ := m.pool.Acquire(append(slices.Clone(p), 7))
				for s.Len() < len(p)+length {
					m.run([]write{{s: s, tokens: text(min(16, len(p)+length-s.Len()), 7, 7, 0)}}, false)
					if s.Len()%160 < 16 {
						s.Snapshot(OnTheWay)
					}
				}
				p = slices.Clone(s.tokens)
				s.Release()
			}
		}
	}
	got := m.pool.slots[0].Snapshots()
	t.Logf("ends of questions %v, kept %v of %d tokens", ends, got, len(p))
	if last := ends[len(ends)-1]; !slices.Contains(got, last) {
		t.Errorf("the end of the last question, %d, is not kept: %v", last, got)
	}
	for _, at := range got[:len(got)-1] {
		if !slices.Contains(ends, at) {
			t.Errorf("a position on the way, %d, is kept and the end of a message is not: %v", at, got)
		}
	}
	if got[0] > len(p)/2 {
		t.Errorf("nothing of the first half is kept: %v of %d", got, len(p))
	}
	for i := 2; i < len(got); i++ {
		if got[i]-got[i-1] > 2*(got[i-1]-got[i-2]) {
			t.Errorf("the distances grow towards the end: %v", got)
		}
	}
}

func TestFewerPlanesThanTwoASlotAreRefused(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	New(3, 10, 5)
}
