package sched

import (
	"slices"
	"sync"
	"time"

	"ingot/engine/cache"
	"ingot/engine/device"
)

// Session is a slot in the caller's own hands: tokens go in, logits come out, nothing is sampled. Its methods may be
// called from any goroutine, one after the other; not from a sink.
type Session struct {
	s      *Scheduler
	mu     sync.Mutex
	slot   *cache.Slot
	closed bool
}

// feed is one call of Feed, worked off chunk by chunk.
type feed struct {
	slot   *cache.Slot
	tokens []int32
	all    bool
	sink   func(logits []float32)
	err    chan error
}

// Session takes the least recently used free slot, emptied. It returns ErrBusy when there is none.
func (s *Scheduler) Session() (*Session, error) {
	var slot *cache.Slot
	if !s.do(func() { slot, _ = s.pool.Take() }) {
		return nil, ErrClosed
	}
	if slot == nil {
		return nil, ErrBusy
	}
	return &Session{s: s, slot: slot}, nil
}

// do runs f on the scheduler's goroutine; false where that has ended.
func (s *Scheduler) do(f func()) bool {
	done := make(chan struct{})
	if !s.send(func() { f(); close(done) }) {
		return false
	}
	<-done // what was received is done at once
	return true
}

// Feed appends tokens and calls sink with the logits after the last of them, or after each when all is set. The
// logits are valid during the call only.
func (ses *Session) Feed(tokens []int32, all bool, sink func(logits []float32)) error {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if ses.closed {
		return ErrClosed
	}
	if len(tokens) == 0 {
		return nil
	}
	f := &feed{slot: ses.slot, tokens: tokens, all: all, sink: sink, err: make(chan error, 1)}
	if !ses.s.send(f) {
		return ErrClosed
	}
	return <-f.err
}

// with runs f on the slot; it does nothing after Close.
func (ses *Session) with(f func(*cache.Slot)) {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if !ses.closed {
		ses.s.do(func() { f(ses.slot) })
	}
}

// Len is the number of tokens fed; 0 after Close.
func (ses *Session) Len() (n int) {
	ses.with(func(s *cache.Slot) { n = s.Len() })
	return n
}

// Rewind forgets tokens down to at most n and returns how many are left: fewer than n where the model's state can
// only go back to a snapshot.
func (ses *Session) Rewind(n int) (left int) {
	ses.with(func(s *cache.Slot) { left = s.Rewind(n) })
	return left
}

// Snapshot keeps the present position, so that Rewind can come back to it.
func (ses *Session) Snapshot() {
	ses.with(func(s *cache.Slot) { s.Snapshot(cache.MessageEnd) })
}

// Close gives the slot back.
func (ses *Session) Close() {
	ses.mu.Lock()
	defer ses.mu.Unlock()
	if !ses.closed {
		ses.closed = true
		ses.s.do(ses.slot.Release)
	}
}

// fed hands a feed's logits out and ends it when all its tokens are in.
func (s *Scheduler) fed(p *part, err error) {
	f := p.feed
	f.tokens = f.tokens[len(p.tokens):]
	if err == nil {
		err = guarded(func() {
			switch {
			case p.all:
				for i := range p.tokens {
					f.sink(s.run.Scores(p.logits + i).Logits)
				}
			case p.last:
				f.sink(s.run.Scores(p.logits).Logits)
			}
		})
	}
	if err != nil || len(f.tokens) == 0 {
		s.feeds = slices.DeleteFunc(s.feeds, func(o *feed) bool { return o == f })
		f.err <- err
	}
}

// Memory is what each lane takes.
func (s *Scheduler) Memory() []device.Memory { return s.run.Memory() }

// ReadWeights is exec.Runner's, between two runs; 0 after Close.
func (s *Scheduler) ReadWeights() (bytes int64, took time.Duration) {
	s.do(func() { bytes, took = s.run.ReadWeights() })
	return bytes, took
}

// Profile returns what each kind of step took since the last call, between two runs; nil after Close.
func (s *Scheduler) Profile() (list []device.Timing) {
	s.do(func() { list = s.run.Profile() })
	return list
}
