package sched

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"ingot/engine/cache"
	"ingot/engine/device"
)

// shape writes a batch down: for each sequence slot@position+rows, and the outputs.
func shape(b *device.Batch) string {
	s := ""
	for _, q := range b.Seqs {
		s += fmt.Sprintf("%d@%d+%d ", q.Slot, q.Pos0, q.Rows)
	}
	return s + fmt.Sprint(b.Outs)
}

// turns takes a still scheduler's turns until nothing is left, and returns the batches' shapes.
func turns(s *Scheduler, l *lane, most int) []string {
	from := len(l.batches)
	for range most {
		s.sweep()
		s.admit()
		s.step()
	}
	var out []string
	for i := range l.batches[from:] {
		out = append(out, shape(&l.batches[from+i]))
	}
	return out
}

func expect(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("batches\n got %q\nwant %q", got, want)
	}
}

func TestPromptIsReadInChunks(t *testing.T) {
	l := newLane(1, 100, 0, 8, 8)
	s := l.still(t)
	newScript(t, tokens(19, 1), 2).place(s)
	expect(t, turns(s, l, 5), "0@0+8 []", "0@8+8 []", "0@16+3 [2]", "0@19+1 [0]")
}

func TestChunksEndWhereSnapshotsAreTaken(t *testing.T) {
	l := newLane(1, 100, 8, 64, 8)
	s := l.still(t)
	newScript(t, tokens(45, 1), 1, 10, 25, 43).place(s)
	// 10, 25 and 43 are ends of messages, 16 and 32 steps of the interval; 16 is too close to 10 for a batch of its own
	expect(t, turns(s, l, 8), "0@0+10 []", "0@10+15 []", "0@25+18 []", "0@43+2 [1]")
	if got := s.pool.Slots()[0].Snapshots(); !slices.Equal(got, []int{10, 25, 43}) {
		t.Errorf("snapshots at %v", got)
	}
	l = newLane(1, 100, 0, 64, 8)
	s = l.still(t)
	newScript(t, tokens(45, 1), 1, 10, 25, 43).place(s)
	expect(t, turns(s, l, 4), "0@0+45 [44]") // attention needs none
}

func TestWritersComeFirstAndReadersShare(t *testing.T) {
	l := newLane(4, 200, 0, 13, 8)
	s := l.still(t)
	newScript(t, tokens(5, 1), 100).place(s)
	expect(t, turns(s, l, 2), "0@0+5 [4]", "0@5+1 [0]")
	newScript(t, tokens(50, 2), 100).place(s)
	newScript(t, tokens(3, 3), 100).place(s)
	newScript(t, tokens(60, 4), 100).place(s)
	expect(t, turns(s, l, 3), "0@6+1 1@0+5 2@0+3 3@0+4 [0 8]", "0@7+1 2@3+1 1@5+6 3@4+5 [0 1]", "0@8+1 2@4+1 1@11+6 3@9+5 [0 1]")
}

func TestWritersDoNotWaitLongForReaders(t *testing.T) {
	l := newLane(2, 1000, 0, 200, 8)
	s := l.still(t)
	newScript(t, tokens(5, 1), 100).place(s)
	turns(s, l, 2)
	newScript(t, tokens(500, 2), 1).place(s)
	s.pre = meter{}
	expect(t, turns(s, l, 1), "0@6+1 1@0+32 [0]") // how fast reading is is not known
	s.pre = meter{}
	s.pre.add(time.Now(), time.Second, 160)
	expect(t, turns(s, l, 1), "0@7+1 1@32+80 [0]")
	s.finish(s.active[0], nil)
	s.pre = meter{}
	expect(t, turns(s, l, 1), "1@112+200 []") // nobody waits
}

func TestSingleTokensOfSessionsGoWithTheWriters(t *testing.T) {
	l := newLane(3, 200, 0, 8, 8)
	s := l.still(t)
	newScript(t, tokens(100, 1), 1).place(s)
	slot, _ := s.pool.Take()
	s.feeds = append(s.feeds, &feed{slot: slot, tokens: []int32{1}, sink: func([]float32) {}, err: make(chan error, 1)})
	expect(t, turns(s, l, 2), "0@0+1 1@0+7 [0]", "1@7+8 []")
}

func TestOutputsOfFeedsAreBounded(t *testing.T) {
	l := newLane(3, 200, 0, 32, 6)
	s := l.still(t)
	for i := range 2 {
		slot, _ := s.pool.Take()
		s.feeds = append(s.feeds, &feed{slot: slot, tokens: tokens(5, int32(i)), all: true, sink: func([]float32) {}, err: make(chan error, 1)})
	}
	newScript(t, tokens(4, 3), 2).place(s)
	// one output is left for the job; a feed without a sink needs none
	expect(t, turns(s, l, 3), "2@0+4 0@0+2 1@0+2 [3 4 5 6 7]", "2@4+1 0@2+2 1@2+2 [0 1 2 3 4]", "0@4+1 1@4+1 [0 1]")
	slot, _ := s.pool.Take()
	s.feeds = append(s.feeds, &feed{slot: slot, tokens: tokens(20, 1), all: true, err: make(chan error, 1)})
	expect(t, turns(s, l, 1), fmt.Sprintf("%d@0+20 []", slot.ID))
}

func TestShare(t *testing.T) {
	for _, c := range []struct {
		room  int
		asked []int
		want  []int
	}{
		{10, nil, []int{}},
		{10, []int{4}, []int{4}},
		{10, []int{40}, []int{10}},
		{10, []int{40, 40}, []int{5, 5}},
		{11, []int{40, 40}, []int{6, 5}},
		{10, []int{2, 40}, []int{2, 8}},
		{10, []int{40, 2, 40}, []int{4, 2, 4}},
		{2, []int{5, 5, 5}, []int{1, 1, 0}},
		{0, []int{5}, []int{0}},
		{10, []int{0, 5}, []int{0, 5}},
	} {
		if got := share(c.room, c.asked); !slices.Equal(got, c.want) {
			t.Errorf("share(%d, %v) = %v, expected %v", c.room, c.asked, got, c.want)
		}
	}
}

func TestMarks(t *testing.T) {
	const e, o = cache.MessageEnd, cache.OnTheWay
	for _, c := range []struct {
		ends               []int
		from, to, interval int
		want               []mark
	}{
		{nil, 0, 100, 512, nil},
		{nil, 0, 1200, 512, []mark{{512, o}, {1024, o}}},
		{nil, 512, 1024, 512, nil},
		{[]int{20, 60, 95}, 0, 100, 512, []mark{{20, e}, {60, e}, {95, e}}},
		{[]int{20, 60, 95}, 60, 100, 512, []mark{{95, e}}},
		{[]int{20, 60, 95, 100, 120}, 0, 100, 512, []mark{{20, e}, {60, e}, {95, e}}},
		{[]int{10, 20, 30, 40, 50, 60}, 0, 100, 512, []mark{{30, e}, {40, e}, {50, e}, {60, e}}},
		{[]int{3, 20}, 0, 100, 512, []mark{{20, e}}},   // 3 tokens are not worth a batch
		{[]int{63, 80}, 60, 100, 512, []mark{{80, e}}}, // 60 is kept already
		{[]int{515}, 0, 1000, 512, []mark{{512, e}}},   // one for both
		{[]int{505}, 0, 1000, 512, []mark{{505, e}}},
	} {
		if got := marks(c.ends, c.from, c.to, c.interval); !slices.Equal(got, c.want) {
			t.Errorf("marks(%v, %d, %d, %d) = %v, expected %v", c.ends, c.from, c.to, c.interval, got, c.want)
		}
	}
}

// As many of the best logits are asked for as some job of the batch needs, and all where somebody needs whole rows; what a job gets
// serves it either way.
func TestBatchesSayHowManyLogitsAreEnough(t *testing.T) {
	for _, most := range []int{0, 4, 100} { // of the best that the card gives
		l := newLane(4, 200, 0, 32, 8)
		l.best = most
		s := l.still(t)
		job := func(n, best, steps int) {
			j := newScript(t, tokens(n, int32(n)), steps)
			j.Best = best
			j.place(s)
		}
		job(5, 1, 3)
		job(7, 9, 2)
		bests := func() (all []int) {
			from := len(l.batches)
			turns(s, l, 1)
			for _, b := range l.batches[from:] {
				all = append(all, b.Best)
			}
			return all
		}
		want := func(n int) {
			t.Helper()
			if got := bests(); !slices.Equal(got, []int{n}) {
				t.Errorf("batches say that %v are enough, expected %d", got, n)
			}
		}
		want(9) // both read and pick their first tokens
		job(40, 0, 2)
		want(9) // the third reads a part and wants none yet
		want(0) // it wants all, the first still writes
		job(3, 2, 9)
		want(0)
		want(2)
		slot, _ := s.pool.Take()
		s.feeds = append(s.feeds, &feed{slot: slot, tokens: []int32{1}, sink: func([]float32) {}, err: make(chan error, 1)})
		want(0)
		s.feeds = append(s.feeds, &feed{slot: slot, tokens: []int32{1}, err: make(chan error, 1)})
		want(2) // a feed without a sink wants none
	}
}
