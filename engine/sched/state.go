package sched

import (
	"slices"
	"time"
)

// State is a moment of the scheduler, for display.
type State struct {
	Slots            []SlotState
	Waiting          int
	Prefill, Decode  float64 // tokens a second over the last second; 0 when nothing was done
	Answered, Tokens int64   // jobs that got a slot and ended, and tokens picked, since start
}

// SlotState is what a slot does.
type SlotState struct {
	Busy bool
	Used int
}

// meter is the rate of the last second's work: tokens by the time spent on them.
type meter struct{ runs []metered }

type metered struct {
	at     time.Time
	took   time.Duration
	tokens int
}

func (m *meter) add(now time.Time, took time.Duration, tokens int) {
	m.runs = append(m.runs, metered{now, took, tokens})
	m.trim(now)
}

func (m *meter) trim(now time.Time) {
	old := 0
	for old < len(m.runs) && now.Sub(m.runs[old].at) > time.Second {
		old++
	}
	m.runs = slices.Delete(m.runs, 0, old)
}

func (m *meter) rate(now time.Time) float64 {
	m.trim(now)
	var took time.Duration
	tokens := 0
	for _, k := range m.runs {
		took += k.took
		tokens += k.tokens
	}
	if took == 0 {
		return 0
	}
	return float64(tokens) / took.Seconds()
}

// account books a batch's time: of one that reads and writes, both rates count all of it.
func (s *Scheduler) account(parts []part, took time.Duration) {
	read, wrote := 0, 0
	for _, p := range parts {
		if p.job != nil && p.job.writing() || p.feed != nil && len(p.tokens) == 1 {
			wrote += len(p.tokens)
		} else {
			read += len(p.tokens)
		}
	}
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if read > 0 {
		s.pre.add(now, took, read)
	}
	if wrote > 0 {
		s.dec.add(now, took, wrote)
	}
}

// publish makes the present state visible to State.
func (s *Scheduler) publish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Waiting = len(s.wait)
	s.state.Slots = s.state.Slots[:0]
	for _, slot := range s.pool.Slots() {
		s.state.Slots = append(s.state.Slots, SlotState{slot.Busy(), slot.Len()})
	}
}

// State returns the present state; it may be called from any goroutine.
func (s *Scheduler) State() State {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state
	st.Slots = slices.Clone(st.Slots)
	st.Prefill, st.Decode = s.pre.rate(now), s.dec.rate(now)
	return st
}
