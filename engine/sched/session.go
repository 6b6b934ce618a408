package sched

import (
	"ingot/engine/cache"
	"ingot/engine/device"
)

// Session is a slot in the caller's own hands: tokens go in, logits come out, nothing is sampled.
type Session struct {
	s    *Scheduler
	slot *cache.Slot
}

// feed is one call of Feed, worked off chunk by chunk.
type feed struct {
	slot   *cache.Slot
	tokens []int32
	all    bool
	sink   func(logits []float32)
	err    chan error
}

// Session takes a free slot, emptied; ok is false when all are busy.
func (s *Scheduler) Session() (ses *Session, ok bool) {
	done := make(chan *cache.Slot, 1)
	if !s.send(func() {
		slot, _ := s.pool.Take()
		done <- slot
	}) {
		return nil, false
	}
	select {
	case slot := <-done:
		return &Session{s, slot}, slot != nil
	case <-s.ended:
		return nil, false
	}
}

// Feed appends tokens and calls sink with the logits after the last of them, or after each when all is set. The
// logits are valid during the call only. It must not be called twice at once on one session.
func (ses *Session) Feed(tokens []int32, all bool, sink func(logits []float32)) error {
	if len(tokens) == 0 {
		return nil
	}
	f := &feed{slot: ses.slot, tokens: tokens, all: all, sink: sink, err: make(chan error, 1)}
	if !ses.s.send(f) {
		return ErrClosed
	}
	return <-f.err
}

// Len is the number of tokens fed.
func (ses *Session) Len() int {
	var n int
	ses.do(func() { n = ses.slot.Len() })
	return n
}

// Rewind forgets tokens down to at most n and returns how many are left: fewer than n where the model's state can
// only go back to a snapshot.
func (ses *Session) Rewind(n int) int {
	ses.do(func() { n = ses.slot.Rewind(n) })
	return n
}

// Snapshot keeps the present position, so that Rewind can come back to it.
func (ses *Session) Snapshot() { ses.do(ses.slot.Snapshot) }

// Close gives the slot back.
func (ses *Session) Close() { ses.do(ses.slot.Release) }

// do runs f on the scheduler's goroutine.
func (ses *Session) do(f func()) {
	done := make(chan struct{})
	if ses.s.send(func() { f(); close(done) }) {
		select {
		case <-done:
		case <-ses.s.ended:
		}
	}
}

// fed hands a feed's logits out and ends it when all its tokens are in.
func (s *Scheduler) fed(p *part, err error) {
	f := p.feed
	f.tokens = f.tokens[len(p.tokens):]
	if err == nil && f.sink != nil {
		if f.all {
			for i := range p.tokens {
				f.sink(s.run.Logits(p.logits + i))
			}
		} else if len(f.tokens) == 0 {
			f.sink(s.run.Logits(p.logits))
		}
	}
	if err == nil && len(f.tokens) > 0 {
		return
	}
	for i, o := range s.feeds {
		if o == f {
			s.feeds = append(s.feeds[:i], s.feeds[i+1:]...)
			break
		}
	}
	f.err <- err
}

// Memory is what each lane takes.
func (s *Scheduler) Memory() []device.Memory { return s.run.Memory() }
