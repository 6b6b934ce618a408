package sched

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"ingot/engine/cache"
)

func says(logits []float32) int32 { return int32(slices.Index(logits, 1)) }

func TestSessionFeeds(t *testing.T) {
	l := newLane(1, 100, 6, 8, 5)
	s := l.start(t)
	ses, err := s.Session()
	if err != nil {
		t.Fatal(err)
	}
	p := tokens(30, 1)
	calls := 0
	if err := ses.Feed(p[:20], false, func(logits []float32) {
		calls++
		if got, want := says(logits), follows(p[:20]); got != want {
			t.Errorf("says %d, expected %d", got, want)
		}
	}); err != nil || calls != 1 || ses.Len() != 20 {
		t.Errorf("%v, %d calls, length %d", err, calls, ses.Len())
	}
	n := 20
	if err := ses.Feed(p[20:], true, func(logits []float32) {
		n++
		if got, want := says(logits), follows(p[:n]); got != want {
			t.Errorf("after %d: says %d, expected %d", n, got, want)
		}
	}); err != nil || n != 30 {
		t.Errorf("%v, %d outputs", err, n)
	}
	if err := ses.Feed(nil, false, func([]float32) { t.Error("called for nothing") }); err != nil {
		t.Error(err)
	}
	if err := ses.Feed(tokens(71, 1), false, nil); err != cache.ErrFull || ses.Len() != 30 {
		t.Errorf("%v, length %d", err, ses.Len())
	}
	if err := ses.Feed(tokens(70, 1), false, nil); err != nil || ses.Len() != 100 {
		t.Errorf("%v, length %d", err, ses.Len())
	}
	if _, err := s.Session(); err != ErrBusy {
		t.Error(err)
	}
	ses.Close()
	if ses, err = s.Session(); err != nil || ses.Len() != 0 {
		t.Errorf("%v: a new session begins empty", err)
	}
}

func TestSessionRewinds(t *testing.T) {
	l := newLane(1, 100, 6, 8, 8)
	ses, _ := l.start(t).Session()
	p := tokens(30, 1)
	ses.Feed(p[:10], false, nil)
	ses.Snapshot()
	ses.Feed(p[10:20], false, nil)
	if got := ses.Rewind(15); got != 10 {
		t.Errorf("rewound to %d", got)
	}
	ses.Feed([]int32{3}, false, func(logits []float32) {
		if got, want := says(logits), follows(append(slices.Clone(p[:10]), 3)); got != want {
			t.Errorf("says %d, expected %d", got, want)
		}
	})
	if got := ses.Rewind(9); got != 0 {
		t.Errorf("rewound to %d", got)
	}
	if got := ses.Rewind(-5); got != 0 {
		t.Errorf("rewound to %d", got)
	}
}

func TestClosedSessionTouchesNothing(t *testing.T) {
	l := newLane(1, 200, 6, 8, 8)
	s := l.start(t)
	ses, _ := s.Session()
	ses.Feed(tokens(10, 1), false, nil)
	ses.Close()
	ses.Close()
	j := newScript(t, tokens(50, 2), 100).submit(s)
	if err := ses.Feed(tokens(5, 3), false, nil); err != ErrClosed {
		t.Error(err)
	}
	if ses.Len() != 0 || ses.Rewind(3) != 0 {
		t.Error("a closed session has tokens")
	}
	ses.Snapshot()
	ses.Close() // must not give the job's slot away
	k := newScript(t, tokens(50, 4), 100).submit(s)
	if err := errors.Join(j.end(), k.end()); err != nil {
		t.Error(err)
	}
}

func TestSessionsAndJobsAtOnce(t *testing.T) {
	l := newLane(4, 300, 12, 16, 10)
	s := l.start(t)
	var wait sync.WaitGroup
	for i := range 3 {
		ses, err := s.Session()
		if err != nil {
			t.Fatal(err)
		}
		wait.Add(1)
		go func() {
			defer wait.Done()
			defer ses.Close()
			p := tokens(40, int32(i))
			n := 0
			if err := ses.Feed(p, i == 1, func(logits []float32) { n++ }); err != nil || n != 1 && n != 40 {
				t.Errorf("%v, %d outputs", err, n)
			}
			for len(p) < 200 { // a decoding loop of its own
				var next int32
				if err := ses.Feed([]int32{7}, false, func(logits []float32) { next = says(logits) }); err != nil {
					t.Error(err)
					return
				}
				p = append(p, 7)
				if want := follows(p); next != want {
					t.Errorf("session %d after %d: says %d, expected %d", i, len(p), next, want)
				}
			}
		}()
	}
	for i := range 10 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			if err := newScript(t, tokens(60, int32(i)), 20).submit(s).end(); err != nil {
				t.Error(err)
			}
		}()
	}
	wait.Wait()
}

func TestTwoFeedsOfOneSessionFollowEachOther(t *testing.T) {
	ses, _ := newLane(1, 300, 6, 8, 8).start(t).Session()
	var wait sync.WaitGroup
	for range 8 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			if err := ses.Feed(tokens(20, 1), true, func([]float32) {}); err != nil {
				t.Error(err)
			}
		}()
	}
	wait.Wait()
	if ses.Len() != 160 {
		t.Errorf("%d tokens", ses.Len())
	}
}
