// Package sched decides what each batch computes: first one row for every sequence that is writing, then chunks of
// the prompts that are being read, as many rows as the plan takes.
//
// One goroutine owns the cache's books, the runner and the samplers, so none of them needs a lock. Jobs are called
// back on that goroutine and must be quick.
package sched

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"ingot/engine/cache"
	"ingot/engine/device"
	"ingot/engine/exec"
)

// ErrClosed is returned by work that was given to a scheduler after Close, or was under way then.
var ErrClosed = errors.New("scheduler closed")

// Job is one sequence: a prompt to read and the choice of what follows.
type Job struct {
	Ctx    context.Context
	Prompt []int32
	// Keep lists prompt positions, ascending, where a later prompt is likely to branch off: ends of messages.
	Keep []int
	// Progress is called as the prompt is read: cached tokens were still held, read are in the cache now.
	Progress func(cached, read int)
	// Next picks the token that follows from the logits, which it may change; ok is false to end the sequence.
	Next func(logits []float32) (token int32, ok bool)
	// Done is called once, after the last Next: err is nil when Next ended the sequence, cache.ErrFull when the context did.
	Done func(Stats, error)

	queued time.Time
	slot   *cache.Slot
	stats  Stats
	tokens []int32 // of the prompt that are still to be read, then the one token that was picked
	keep   []int
	first  time.Time // when the prompt was read
	picked time.Time
}

// Stats are the times and counts of a job.
type Stats struct {
	Queue, Prefill, Decode time.Duration
	Cached, Read, Steps    int // prompt tokens held and read; steps after the prompt
}

// Options are the scheduler's bounds.
type Options struct {
	Rows int // of a batch
	Outs int // wanted rows of a batch
	// Interval is the distance of snapshots in a long prompt or answer, in tokens; 0: 512.
	Interval int
}

// Scheduler batches jobs and sessions.
type Scheduler struct {
	run    *exec.Runner
	pool   *cache.Pool
	opt    Options
	inbox  chan any // *Job, *feed, func()
	quit   chan struct{}
	ended  chan struct{}
	once   sync.Once
	wait   []*Job // not yet in a slot, in order of arrival
	active []*Job
	feeds  []*feed
	batch  device.Batch

	mu    sync.Mutex
	state State
	pre   meter
	dec   meter
}

// New starts a scheduler, which owns the runner.
func New(run *exec.Runner, pool *cache.Pool, o Options) *Scheduler {
	if o.Interval == 0 {
		o.Interval = 512
	}
	s := &Scheduler{run: run, pool: pool, opt: o, inbox: make(chan any), quit: make(chan struct{}), ended: make(chan struct{})}
	s.publish()
	go s.loop()
	return s
}

// Submit hands a job over. Done is called in any case.
func (s *Scheduler) Submit(j *Job) {
	j.queued = time.Now()
	if !s.send(j) {
		j.Done(Stats{}, ErrClosed)
	}
}

func (s *Scheduler) send(m any) bool {
	select {
	case s.inbox <- m:
		return true
	case <-s.quit:
		return false
	}
}

// Close ends all work and frees the runner.
func (s *Scheduler) Close() {
	s.once.Do(func() { close(s.quit) })
	<-s.ended
}

func (s *Scheduler) loop() {
	defer close(s.ended)
	defer s.run.Close()
	for {
		idle := len(s.active) == 0 && len(s.feeds) == 0
		if idle {
			s.publish()
		}
		if !s.receive(idle) {
			for _, j := range slices.Concat(s.active, s.wait) {
				j.Done(j.stats, ErrClosed)
			}
			for _, f := range s.feeds {
				f.err <- ErrClosed
			}
			return
		}
		s.admit()
		s.drop()
		s.step()
	}
}

// receive takes what has arrived; when idle it waits. It returns false once the scheduler is closed.
func (s *Scheduler) receive(wait bool) bool {
	for {
		var m any
		if wait {
			select {
			case m = <-s.inbox:
			case <-s.quit:
				return false
			}
		} else {
			select {
			case m = <-s.inbox:
			case <-s.quit:
				return false
			default:
				return true
			}
		}
		wait = false
		switch m := m.(type) {
		case *Job:
			s.wait = append(s.wait, m)
		case *feed:
			if len(m.tokens) > m.slot.Room() {
				m.err <- cache.ErrFull
				continue
			}
			s.feeds = append(s.feeds, m)
		case func():
			m()
		}
	}
}

// admit gives waiting jobs slots, first come first served.
func (s *Scheduler) admit() {
	for len(s.wait) > 0 {
		j := s.wait[0]
		if err := j.Ctx.Err(); err != nil {
			s.wait = s.wait[1:]
			j.Done(j.stats, err)
			continue
		}
		slot, reuse, cp, ok := s.pool.Acquire(j.Prompt)
		if !ok {
			return
		}
		s.wait = s.wait[1:]
		if cp != nil {
			s.run.Copy(cp.From, cp.To, cp.Cells)
		}
		j.slot, j.tokens, j.first = slot, j.Prompt[reuse:], time.Now()
		j.stats.Queue, j.stats.Cached = j.first.Sub(j.queued), reuse
		j.keep = keepers(j.Keep, reuse, len(j.Prompt), s.opt.Interval)
		s.active = append(s.active, j)
		if j.Progress != nil {
			j.Progress(reuse, reuse)
		}
	}
}

// keepers are the positions in (from, to) where a snapshot is taken: the last few ends of messages, and steps of the interval.
func keepers(ends []int, from, to, interval int) []int {
	const recent = 4
	var at []int
	for _, e := range ends {
		if e > from && e < to {
			at = append(at, e)
		}
	}
	if len(at) > recent {
		at = at[len(at)-recent:]
	}
	for p := (from/interval + 1) * interval; p < to; p += interval {
		at = append(at, p)
	}
	slices.Sort(at)
	return slices.Compact(at)
}

// drop ends the jobs whose context is done.
func (s *Scheduler) drop() {
	for _, j := range slices.Clone(s.active) {
		if err := j.Ctx.Err(); err != nil {
			s.finish(j, err)
		}
	}
}

func (s *Scheduler) finish(j *Job, err error) {
	j.slot.Release()
	s.active = slices.DeleteFunc(s.active, func(o *Job) bool { return o == j })
	s.mu.Lock()
	s.state.Answered++
	s.mu.Unlock()
	j.Done(j.stats, err)
}

// part is one sequence's share of a batch.
type part struct {
	job    *Job
	feed   *feed
	slot   *cache.Slot
	tokens []int32
	out    int // plane
	logits int // index of its first wanted row; -1: none
}

// step composes a batch, runs it and hands out the results.
func (s *Scheduler) step() {
	parts := s.compose()
	if len(parts) == 0 {
		return
	}
	start := time.Now()
	err := s.run.Run(&s.batch)
	took := time.Since(start)
	s.account(parts, took)
	for i := range parts {
		p := &parts[i]
		if err != nil {
			p.slot.Fail(p.out)
		} else {
			p.slot.Advance(p.tokens, p.out)
		}
		switch {
		case p.feed != nil:
			s.fed(p, err)
		case err != nil:
			s.finish(p.job, err)
		default:
			s.advance(p, took)
		}
	}
	s.publish()
}

// compose fills the batch: writers first, then readers, at most one run of rows a sequence.
func (s *Scheduler) compose() []part {
	b := &s.batch
	b.Tokens, b.Outs, b.Seqs = b.Tokens[:0], b.Outs[:0], b.Seqs[:0]
	var parts []part
	add := func(p part, n int, all bool) {
		in, out := p.slot.Next()
		p.out, p.tokens, p.logits = out, p.tokens[:n], -1
		row0 := len(b.Tokens)
		b.Tokens = append(b.Tokens, p.tokens...)
		b.Seqs = append(b.Seqs, device.Seq{Row0: int32(row0), Rows: int32(n), Slot: int32(p.slot.ID), Pos0: int32(p.slot.Len()),
			PlaneIn: int32(in), PlaneOut: int32(out)})
		if last := p.job != nil && n == len(p.job.tokens); last || p.feed != nil {
			p.logits = len(b.Outs)
			for r := range n {
				if all || r == n-1 {
					b.Outs = append(b.Outs, int32(row0+r))
				}
			}
		}
		parts = append(parts, p)
	}
	room := func() int { return s.opt.Rows - len(b.Tokens) }
	for _, writing := range []bool{true, false} {
		for _, j := range s.active {
			if j.first.IsZero() || (j.stats.Steps > 0) != writing || room() == 0 || len(b.Outs) == s.opt.Outs {
				continue
			}
			add(part{job: j, slot: j.slot, tokens: j.tokens}, j.chunk(room()), false)
		}
	}
	for _, f := range s.feeds {
		n := min(len(f.tokens), room())
		if f.all {
			n = min(n, s.opt.Outs-len(b.Outs))
		}
		if n > 0 && len(b.Outs) < s.opt.Outs {
			add(part{feed: f, slot: f.slot, tokens: f.tokens}, n, f.all)
		}
	}
	return parts
}

// chunk is how many rows a job takes next: up to the room there is, not past the next snapshot.
func (j *Job) chunk(room int) int {
	n := min(len(j.tokens), room)
	if len(j.keep) > 0 {
		n = min(n, j.keep[0]-j.slot.Len())
	}
	return n
}

// advance records a job's rows and, where its prompt is read, lets it pick the next token.
func (s *Scheduler) advance(p *part, took time.Duration) {
	j := p.job
	j.tokens = j.tokens[len(p.tokens):]
	if len(j.keep) > 0 && j.keep[0] == j.slot.Len() {
		j.slot.Snapshot()
		j.keep = j.keep[1:]
	}
	now := time.Now()
	if j.stats.Steps == 0 {
		j.stats.Read += len(p.tokens)
		j.stats.Prefill = now.Sub(j.first)
		if j.Progress != nil {
			j.Progress(j.stats.Cached, j.stats.Cached+j.stats.Read)
		}
		if len(j.tokens) > 0 {
			return
		}
		j.picked = now
	} else if j.slot.Len()%s.opt.Interval == 0 {
		j.slot.Snapshot()
	}
	token, ok := j.Next(s.run.Logits(p.logits))
	j.stats.Steps++
	j.stats.Decode = time.Since(j.picked)
	switch {
	case !ok:
		s.finish(j, nil)
	case j.slot.Room() == 0:
		s.finish(j, cache.ErrFull)
	default:
		j.tokens = append(j.tokens[:0:0], token)
	}
}
