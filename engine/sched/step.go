package sched

import (
	"fmt"
	"runtime/debug"
	"time"

	"ingot/engine/cache"
	"ingot/engine/device"
)

// part is one sequence's share of a batch.
type part struct {
	job    *Job // or feed
	feed   *feed
	slot   *cache.Slot
	tokens []int32
	all    bool // every row's logits are wanted, else the last row's where last is set
	last   bool
	plane  int // its state is written to
	logits int // index of its first wanted row
}

// step composes a batch, runs it and hands out the results.
func (s *Scheduler) step() {
	parts := s.compose()
	if len(parts) == 0 {
		return
	}
	s.fill(parts)
	start := time.Now()
	err := s.run.Run(&s.batch)
	if err == nil && s.opt.Ran != nil {
		err = guarded(func() { s.opt.Ran(&s.batch) })
	}
	s.account(parts, time.Since(start))
	for i := range parts {
		p := &parts[i]
		if err != nil {
			p.slot.Fail(p.plane)
		} else {
			p.slot.Advance(p.tokens, p.plane)
		}
		switch {
		case p.feed != nil:
			s.fed(p, err)
		case err != nil:
			s.finish(p.job, err)
		default:
			s.advance(p)
		}
	}
	s.publish()
}

// compose chooses the rows of a batch: one for each sequence that writes, the rest shared among those that read.
func (s *Scheduler) compose() []part {
	parts, readers, asked := s.parts[:0], s.read[:0], s.asked[:0]
	for _, j := range s.active {
		p := part{job: j, slot: j.slot, tokens: j.tokens}
		if j.writing() {
			p.last = true
			parts = append(parts, p)
			continue
		}
		n := len(j.tokens)
		if len(j.marks) > 0 {
			n = min(n, j.marks[0].pos-j.slot.Len()) // a snapshot is of the state after a batch
		}
		readers, asked = append(readers, p), append(asked, n)
	}
	alls := 0 // feeds that want the logits of all their rows
	for _, f := range s.feeds {
		p := part{feed: f, slot: f.slot, tokens: f.tokens, all: f.all && f.sink != nil}
		if len(f.tokens) == 1 {
			p.last = f.sink != nil
			parts = append(parts, p)
			continue
		}
		if p.all {
			alls++
		}
		readers, asked = append(readers, p), append(asked, len(f.tokens))
	}
	for i := range readers {
		if readers[i].all {
			asked[i] = min(asked[i], (s.opt.Outs-len(parts)-len(readers)+alls)/alls)
		}
	}
	room := s.opt.Rows - len(parts)
	if len(parts) > 0 {
		room = min(room, s.patience())
	}
	for i, n := range share(room, asked) {
		if n > 0 {
			p := readers[i]
			p.last = n == len(p.tokens) && (p.job != nil || p.feed.sink != nil)
			p.tokens = p.tokens[:n]
			parts = append(parts, p)
		}
	}
	s.parts, s.read, s.asked = parts, readers, asked
	return parts
}

// patience is how many rows of prompts those that write wait for: what half a second reads, by the last second's rate.
func (s *Scheduler) patience() int {
	const least = 32 // fewer would read the weights for too little
	s.mu.Lock()
	defer s.mu.Unlock()
	return max(int(s.pre.rate(time.Now())/2), least)
}

// share divides room among those that ask: nobody gets more than it asked for, and nobody less than another that
// asked for as much, but for the odd row that does not divide.
func share(room int, asked []int) []int {
	got := make([]int, len(asked))
	for left := len(asked); left > 0 && room > 0; {
		// The smallest that is still without gets what it asks for, or an equal share.
		at := -1
		for i, n := range asked {
			if got[i] == 0 && n > 0 && (at < 0 || n < asked[at]) {
				at = i
			}
		}
		if at < 0 {
			break
		}
		got[at] = min(asked[at], (room+left-1)/left)
		room -= got[at]
		left--
	}
	return got
}

// fill writes the parts into the batch.
func (s *Scheduler) fill(parts []part) {
	b := &s.batch
	b.Tokens, b.Outs, b.Seqs = b.Tokens[:0], b.Outs[:0], b.Seqs[:0]
	for i := range parts {
		p := &parts[i]
		in, out := p.slot.Next()
		p.plane, p.logits = out, len(b.Outs)
		row0, n := len(b.Tokens), len(p.tokens)
		b.Tokens = append(b.Tokens, p.tokens...)
		b.Seqs = append(b.Seqs, device.Seq{Row0: int32(row0), Rows: int32(n), Slot: int32(p.slot.ID), Pos0: int32(p.slot.Len()),
			PlaneIn: int32(in), PlaneOut: int32(out)})
		for r := range n {
			if p.all || p.last && r == n-1 {
				b.Outs = append(b.Outs, int32(row0+r))
			}
		}
	}
	b.Best = bestOf(parts)
}

// bestOf is how many of the largest logits are enough for all that want any; 0: somebody wants whole rows, or nobody any.
func bestOf(parts []part) (most int) {
	for i := range parts {
		switch p := &parts[i]; {
		case !p.all && !p.last:
		case p.job == nil || p.job.Best < 1:
			return 0
		default:
			most = max(most, p.job.Best)
		}
	}
	return most
}

// advance records a job's rows and, where its prompt is read, lets it pick the next token.
func (s *Scheduler) advance(p *part) {
	j := p.job
	j.tokens = j.tokens[len(p.tokens):]
	now := time.Now()
	if !j.writing() {
		if len(j.marks) > 0 && j.marks[0].pos == j.slot.Len() {
			j.slot.Snapshot(j.marks[0].worth)
			j.marks = j.marks[1:]
		}
		j.stats.Read += len(p.tokens)
		j.stats.Prefill = now.Sub(j.begun)
		if j.Progress != nil {
			j.Progress(j.stats.Cached, j.stats.Cached+j.stats.Read)
		}
		if len(j.tokens) > 0 {
			return
		}
		j.read = now
	} else if j.slot.Len()%s.opt.Interval == 0 {
		j.slot.Snapshot(cache.OnTheWay)
	}
	var ok bool
	if err := guarded(func() { j.picked[0], ok = j.Next(s.run.Scores(p.logits)) }); err != nil {
		s.finish(j, err)
		return
	}
	j.stats.Steps++
	j.stats.Decode = time.Since(j.read)
	s.mu.Lock()
	s.state.Tokens++
	s.mu.Unlock()
	switch {
	case !ok:
		s.finish(j, nil)
	case j.slot.Room() <= 1: // the picked token takes the last cell's place in the count
		s.finish(j, cache.ErrFull)
	default:
		j.tokens = j.picked[:]
	}
}

// guarded turns a panic of a caller's function into an error with its stack: there is nobody else on this goroutine
// who could recover it.
func guarded(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("callback: %v\n%s", p, debug.Stack())
		}
	}()
	f()
	return nil
}
