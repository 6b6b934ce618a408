// Package sched decides what each batch computes: first one row for every sequence that is writing, then chunks of
// the prompts that are being read, as many rows as the plan takes, shared fairly.
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

// ErrClosed is returned by work that was given to a scheduler or a session after Close, or was under way then.
var ErrClosed = errors.New("scheduler closed")

// ErrBusy is returned when a session finds no free slot.
var ErrBusy = errors.New("all slots are busy")

// Job is one sequence: a prompt to read and the choice of what follows.
type Job struct {
	Ctx    context.Context
	Prompt []int32 // at least one token
	// Keep lists prompt positions, ascending, where a later prompt is likely to branch off: ends of messages.
	Keep []int
	// Progress is called as the prompt is read: cached tokens were still held, read are in the cache now.
	Progress func(cached, read int)
	// Best is how many of the largest logits Next can do with, 0: it needs all. It may be given all or more of the best nevertheless.
	Best int
	// Next picks the token that follows from the logits, which it may change; ok is false to end the sequence.
	Next func(device.Scores) (token int32, ok bool)
	// Done is called once, after the last Next: err is nil when Next ended the sequence, cache.ErrFull when the context
	// did. Prompt and answer together never exceed the context.
	Done func(Stats, error)

	queued time.Time
	unwake func() bool // stops the wake-up at the end of Ctx
	slot   *cache.Slot
	stats  Stats
	tokens []int32 // of the prompt that are still to be read, then the one token that was picked
	picked [1]int32
	marks  []mark
	begun  time.Time // when it got a slot
	read   time.Time // when the prompt was read
}

// writing tells whether the prompt is read.
func (j *Job) writing() bool { return j.stats.Steps > 0 }

// Stats are the times and counts of a job.
type Stats struct {
	Queue, Prefill, Decode time.Duration
	Cached, Read, Steps    int // prompt tokens held and read; tokens picked
}

// Options are the scheduler's bounds.
type Options struct {
	Rows int // of a batch, at least as many as there are slots
	Outs int // wanted rows of a batch, likewise
	// Interval is the distance of snapshots in a long prompt or answer, in tokens; 0: 512.
	Interval int
	// Ran is called after each run, before anything else is computed; nil: nothing is.
	Ran func(*device.Batch)
}

// Scheduler batches jobs and sessions.
type Scheduler struct {
	run    *exec.Runner
	pool   *cache.Pool
	opt    Options
	inbox  chan any      // *Job, *feed, func()
	wake   chan struct{} // a context ended
	quit   chan struct{}
	ended  chan struct{}
	once   sync.Once
	wait   []*Job // not yet in a slot, in order of arrival
	active []*Job
	feeds  []*feed
	batch  device.Batch
	parts  []part // of the batch, kept for its memory as are the next two
	read   []part
	asked  []int

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
	s := &Scheduler{run: run, pool: pool, opt: o, inbox: make(chan any), wake: make(chan struct{}, 1),
		quit: make(chan struct{}), ended: make(chan struct{})}
	s.publish()
	go s.loop()
	return s
}

// Submit hands a job over. Done is called in any case.
func (s *Scheduler) Submit(j *Job) {
	j.queued = time.Now()
	j.unwake = context.AfterFunc(j.Ctx, func() {
		select {
		case s.wake <- struct{}{}:
		default: // it will look anyway
		}
	})
	if !s.send(j) {
		j.unwake()
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
	for s.receive() {
		s.sweep()
		s.admit()
		s.step()
	}
	for _, j := range slices.Concat(s.active, s.wait) {
		j.unwake()
		j.Done(j.stats, ErrClosed)
	}
	for _, f := range s.feeds {
		f.err <- ErrClosed
	}
}

// receive takes what has arrived; where there is nothing to do it waits. It returns false once the scheduler is closed.
func (s *Scheduler) receive() bool {
	if s.idle() {
		s.publish()
		select {
		case m := <-s.inbox:
			s.accept(m)
		case <-s.wake:
		case <-s.quit:
			return false
		}
	}
	for {
		select {
		case m := <-s.inbox:
			s.accept(m)
		case <-s.quit:
			return false
		default:
			return true
		}
	}
}

// idle tells whether nothing can be done before something arrives: waiting jobs need a free slot.
func (s *Scheduler) idle() bool {
	if len(s.active) > 0 || len(s.feeds) > 0 {
		return false
	}
	return len(s.wait) == 0 || !slices.ContainsFunc(s.pool.Slots(), func(c *cache.Slot) bool { return !c.Busy() })
}

func (s *Scheduler) accept(m any) {
	switch m := m.(type) {
	case *Job:
		s.wait = append(s.wait, m)
	case *feed:
		if len(m.tokens) > m.slot.Room() {
			m.err <- cache.ErrFull
			return
		}
		s.feeds = append(s.feeds, m)
	case func():
		m()
	}
}

// sweep ends the jobs whose context is done, in a slot or waiting for one.
func (s *Scheduler) sweep() {
	for i := len(s.active) - 1; i >= 0; i-- { // backwards, for finish takes them out
		if j := s.active[i]; j.Ctx.Err() != nil {
			s.finish(j, j.Ctx.Err())
		}
	}
	for i := len(s.wait) - 1; i >= 0; i-- {
		if j := s.wait[i]; j.Ctx.Err() != nil {
			s.finish(j, j.Ctx.Err())
		}
	}
}

// admit gives waiting jobs slots, first come first served.
func (s *Scheduler) admit() {
	for len(s.wait) > 0 {
		j := s.wait[0]
		if len(j.Prompt) >= s.pool.Cells() { // none would be left for the answer
			s.finish(j, cache.ErrFull)
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
		j.slot, j.tokens, j.begun = slot, j.Prompt[reuse:], time.Now()
		j.stats.Queue, j.stats.Cached = j.begun.Sub(j.queued), reuse
		if s.pool.Recurrent() {
			slot.Snapshot(cache.MessageEnd)
			j.marks = marks(j.Keep, reuse, len(j.Prompt), s.opt.Interval)
		}
		s.active = append(s.active, j)
		if j.Progress != nil {
			j.Progress(reuse, reuse)
		}
	}
}

// finish ends a job, wherever it is.
func (s *Scheduler) finish(j *Job, err error) {
	is := func(o *Job) bool { return o == j }
	s.active, s.wait = slices.DeleteFunc(s.active, is), slices.DeleteFunc(s.wait, is)
	if j.slot != nil {
		j.slot.Release()
		s.mu.Lock()
		s.state.Answered++
		s.mu.Unlock()
	}
	j.unwake()
	j.Done(j.stats, err)
}
