package sched

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ingot/engine/cache"
	"ingot/engine/device"
)

// end waits for a script's Done.
func (s *script) end() error {
	s.t.Helper()
	select {
	case err := <-s.done:
		return err
	case <-time.After(20 * time.Second):
		s.t.Fatal("the job does not end")
		return nil
	}
}

func TestManyJobsOnFewSlots(t *testing.T) {
	for _, c := range []struct{ slots, planes, rows, outs int }{
		{1, 0, 8, 8}, {3, 0, 8, 8}, {1, 2, 8, 8}, {3, 6, 3, 3}, {3, 10, 16, 16}, {4, 40, 64, 64},
	} {
		t.Run(fmt.Sprintf("%d slots %d planes %d rows", c.slots, c.planes, c.rows), func(t *testing.T) {
			l := newLane(c.slots, 300, c.planes, c.rows, c.outs)
			s := l.start(t)
			r := rand.New(rand.NewPCG(7, 7))
			var wait sync.WaitGroup
			for i := range 60 {
				// conversations that share beginnings, so that slots are reused, rewound and copied
				p := slices.Concat(tokens(70, int32(i%2)), tokens(r.IntN(100), int32(i%5)), tokens(1+r.IntN(40), int32(i)))
				j := newScript(t, p, 1+r.IntN(40), 70, len(p)-3)
				wait.Add(1)
				go func() {
					defer wait.Done()
					if err := j.submit(s).end(); err != nil {
						t.Error(err)
					}
					if len(j.written) != j.steps || j.stats.Steps != j.steps || j.stats.Cached+j.stats.Read != len(p) {
						t.Errorf("wrote %d of %d; %+v for a prompt of %d", len(j.written), j.steps, j.stats, len(p))
					}
				}()
			}
			wait.Wait()
			st := s.State()
			if st.Answered != 60 || st.Waiting != 0 {
				t.Errorf("%+v", st)
			}
			cached := 0
			for _, b := range l.batches {
				cached += len(b.Tokens)
			}
			t.Logf("%d batches, %d rows", len(l.batches), cached)
		})
	}
}

func TestWaitingJobGetsTheSlotOfTheLast(t *testing.T) {
	s := newLane(1, 100, 0, 8, 8).start(t)
	a, b := newScript(t, tokens(20, 1), 3).submit(s), newScript(t, tokens(20, 2), 3).submit(s)
	if err := errors.Join(a.end(), b.end()); err != nil {
		t.Error(err)
	}
}

func TestEqualPromptsGoOnFromEachOther(t *testing.T) {
	s := newLane(1, 200, 8, 64, 8).start(t)
	p := tokens(100, 1)
	for i, want := range []int{0, 90, 90} {
		j := newScript(t, p, 5, 40, 90).submit(s)
		if err := j.end(); err != nil || j.stats.Cached != want {
			t.Errorf("turn %d: %v, cached %d, expected %d", i, err, j.stats.Cached, want)
		}
	}
	j := newScript(t, slices.Concat(p[:95], tokens(50, 9)), 2, 40, 120).submit(s)
	if err := j.end(); err != nil || j.stats.Cached != 90 {
		t.Errorf("%v, cached %d", err, j.stats.Cached)
	}
	j = newScript(t, slices.Concat(p[:41], tokens(50, 8)), 2).submit(s)
	if err := j.end(); err != nil || j.stats.Cached != 40 {
		t.Errorf("%v, cached %d", err, j.stats.Cached)
	}
}

func TestContextEndsTheJob(t *testing.T) {
	s := newLane(1, 50, 4, 8, 8).start(t)
	for _, c := range []struct{ prompt, written int }{{10, 40}, {48, 2}, {49, 1}, {50, 0}, {200, 0}} {
		j := newScript(t, tokens(c.prompt, 1), 1000).submit(s)
		if err := j.end(); !errors.Is(err, cache.ErrFull) || len(j.written) != c.written {
			t.Errorf("prompt of %d: %v after %d tokens, expected %d", c.prompt, err, len(j.written), c.written)
		}
	}
	if err := newScript(t, tokens(10, 1), 3).submit(s).end(); err != nil {
		t.Error(err)
	}
}

func TestCancelledWhileItWaitsForASlot(t *testing.T) {
	l := newLane(1, 100000, 0, 8, 8).gated()
	s := l.start(t)
	long := newScript(t, tokens(20, 1), 90000).submit(s) // outlasts whatever the goroutines below take to start
	<-l.enter
	waiting, last := newScript(t, tokens(20, 2), 3), newScript(t, tokens(20, 3), 1)
	go waiting.submit(s)
	go last.submit(s)
	for l.leave <- struct{}{}; ; l.leave <- struct{}{} {
		<-l.enter
		if s.State().Waiting == 2 {
			break
		}
	}
	waiting.cancel()
	l.leave <- struct{}{}
	<-l.enter
	if err := waiting.end(); err != context.Canceled || len(waiting.written) > 0 {
		t.Errorf("%v, wrote %d", err, len(waiting.written))
	}
	if len(long.done) > 0 {
		t.Error("the long one ended")
	}
	long.cancel()
	go func() {
		for range 10 {
			l.leave <- struct{}{}
			<-l.enter
		}
	}()
	if err := long.end(); err != context.Canceled {
		t.Error(err)
	}
	if err := last.end(); err != nil {
		t.Error(err)
	}
}

func TestCancelledWhileSessionsHoldAllSlots(t *testing.T) {
	s := newLane(1, 100, 0, 8, 8).start(t)
	ses, err := s.Session()
	if err != nil {
		t.Fatal(err)
	}
	j := newScript(t, tokens(20, 1), 3).submit(s) // nothing runs: only the context can wake the loop
	j.cancel()
	if err := j.end(); err != context.Canceled {
		t.Error(err)
	}
	k := newScript(t, tokens(20, 1), 3).submit(s)
	ses.Close()
	if err := k.end(); err != nil {
		t.Error(err)
	}
}

func TestFailedRun(t *testing.T) {
	l := newLane(2, 100, 8, 16, 8)
	s := l.start(t)
	broken := errors.New("broken")
	n := 0
	l.fail = func(*device.Batch) error {
		if n++; n == 3 {
			return broken
		}
		return nil
	}
	j := newScript(t, tokens(10, 1), 20).submit(s)
	if err := j.end(); !errors.Is(err, broken) || len(j.written) != 2 {
		t.Errorf("%v after %d", err, len(j.written))
	}
	j = newScript(t, tokens(10, 1), 5).submit(s)
	if err := j.end(); err != nil || j.stats.Cached != 0 {
		t.Errorf("%v, %+v: a slot whose run failed holds nothing", err, j.stats)
	}
	l.mu.Lock()
	l.fail = func(*device.Batch) error { panic("in the lane") }
	l.mu.Unlock()
	if err := newScript(t, tokens(10, 1), 5).submit(s).end(); err == nil || !strings.Contains(err.Error(), "in the lane") {
		t.Error(err)
	}
}

func TestPanickingCallbacks(t *testing.T) {
	l := newLane(2, 100, 0, 16, 8)
	o := l.options()
	bad := false
	o.Ran = func(*device.Batch) {
		if bad {
			panic("in the hook")
		}
	}
	s := l.startWith(t, o)
	j := newScript(t, tokens(10, 1), 5)
	j.Job.Next = func(device.Scores) (int32, bool) { panic("in the processor") }
	if err := j.submit(s).end(); err == nil || !strings.Contains(err.Error(), "in the processor") {
		t.Error(err)
	}
	ses, _ := s.Session()
	defer ses.Close()
	if err := ses.Feed(tokens(3, 1), false, func([]float32) { panic("in the sink") }); err == nil || !strings.Contains(err.Error(), "in the sink") {
		t.Error(err)
	}
	ses.Snapshot() // ordered after the run
	bad = true
	if err := newScript(t, tokens(10, 1), 5).submit(s).end(); err == nil || !strings.Contains(err.Error(), "in the hook") {
		t.Error(err)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	l := newLane(2, 1000, 8, 16, 8).gated()
	s := l.start(t)
	var js []*script
	for i := range 4 { // two run, two wait
		js = append(js, newScript(t, tokens(20, int32(i)), 900))
	}
	go func() {
		for _, j := range js {
			j.submit(s)
		}
	}()
	for {
		<-l.enter
		if st := s.State(); st.Waiting == 2 {
			break
		}
		l.leave <- struct{}{}
	}
	closed := make(chan struct{})
	go func() { s.Close(); close(closed) }()
	time.Sleep(10 * time.Millisecond)
	select {
	case <-closed:
		t.Error("Close returned in the middle of a run")
	default:
	}
	l.leave <- struct{}{}
	<-closed
	for _, j := range js {
		if err := j.end(); err != ErrClosed {
			t.Error(err)
		}
	}
	if l.closed != 1 {
		t.Errorf("the lane was closed %d times", l.closed)
	}
	if err := newScript(t, tokens(5, 1), 1).submit(s).end(); err != ErrClosed {
		t.Error(err)
	}
	if _, err := s.Session(); err != ErrClosed {
		t.Error(err)
	}
	s.Close()
}
