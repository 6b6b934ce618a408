// Package exec runs a model's lanes, each on an operating-system thread of its own, and stages as a pipeline.
package exec

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"ingot/engine/device"
	"ingot/engine/plan"
)

// Stage is the lanes of a stage with their plans.
type Stage struct {
	Lanes []device.Lane
	Plans []*plan.Plan // a lane's; nil: a single stage that takes batches of any size
	Cards []string     // a lane's; stages that share a card take turns
}

// Runner drives the stages of a model. Run is called by one goroutine at a time.
//
// A batch of more rows than the plans take is cut into pieces, which go through the stages like goods on a belt: at each
// beat every stage has a piece of its own, between beats values move on. A batch of one piece passes stage by stage.
type Runner struct {
	stages  []*stage
	pieces  []piece
	outs    []out // of the last batch's wanted rows
	stashed stash
	turns   bool // a card has several stages: one piece is under way at a time
}

// New starts a thread for each lane. The runner owns the lanes.
func New(stages ...Stage) *Runner {
	r := &Runner{}
	for _, s := range stages {
		st := &stage{Stage: s, errs: make(chan error, len(s.Lanes))}
		for _, lane := range s.Lanes {
			jobs := make(chan func(int) error)
			st.jobs = append(st.jobs, jobs)
			i := len(st.jobs) - 1
			go func() {
				runtime.LockOSThread() // thread 0 of a CPU lane, or the owner of a driver's context
				if b, ok := lane.(interface{ Bind() }); ok {
					b.Bind()
				}
				for f := range jobs {
					st.errs <- guarded(f, i)
				}
			}()
		}
		for _, other := range r.stages {
			for _, card := range s.Cards {
				r.turns = r.turns || slices.Contains(other.Cards, card)
			}
		}
		r.stages = append(r.stages, st)
	}
	return r
}

// stage is a group of lanes with their threads.
type stage struct {
	Stage
	jobs []chan func(lane int) error
	errs chan error
}

// start gives every lane something to do; wait returns when all are done, with what went wrong first. That another lane
// failed says less than how it did.
func (s *stage) start(f func(lane int) error) {
	for _, jobs := range s.jobs {
		jobs <- f
	}
}

func (s *stage) wait() (err error) {
	for range s.jobs {
		if e := <-s.errs; e != nil && (err == nil || errors.Is(err, device.ErrPeer)) {
			err = e
		}
	}
	return err
}

// run computes a piece on all lanes.
func (s *stage) run(b *device.Batch) func(int) error {
	return func(i int) error { return s.Lanes[i].Run(b) }
}

// receive takes over what the stage before has of a piece.
func (s *stage) receive(from *stage, b *device.Batch) func(int) error {
	return func(i int) error {
		j := i % len(from.Lanes)
		for _, in := range s.Plans[i].In {
			for _, out := range from.Plans[j].Out {
				if out.Value != in.Value {
					continue
				}
				n := len(b.Tokens)
				if in.Value.Rows == wantedRows {
					n = len(b.Outs)
				}
				if err := s.Lanes[i].Receive(in.At, n*in.Value.Times, from.Lanes[j], out.At); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// Run computes a batch and returns when its results can be read. After an error nothing is known of the caches' contents
// at the batch's positions.
func (r *Runner) Run(b *device.Batch) error {
	rows := len(b.Tokens)
	if p := r.stages[0].Plans; p != nil {
		rows = p[0].Options.Rows
	}
	r.pieces = cut(r.pieces[:0], b, rows)
	r.outs, r.stashed.used = r.outs[:0], 0
	if !r.turns {
		if err := r.belt(r.pieces); err != nil {
			return err
		}
	} else {
		// Two stages on the same cards at once could wait for each other: each has some of them and needs all.
		for i := range r.pieces {
			if i > 0 {
				r.keep(&r.pieces[i-1])
			}
			if err := r.belt(r.pieces[i : i+1]); err != nil {
				return err
			}
		}
	}
	p := &r.pieces[len(r.pieces)-1]
	for i := range p.batch.Outs {
		r.outs = append(r.outs, out{row: i})
	}
	return nil
}

// belt takes pieces through the stages.
func (r *Runner) belt(pieces []piece) error {
	last := len(r.stages) - 1
	for beat := range len(pieces) + last {
		busy := func(s int) bool { return beat >= s && beat-s < len(pieces) }
		if k := beat - last - 1; k >= 0 {
			r.keep(&pieces[k]) // before the next piece goes over it
		}
		working := 0
		for s := range r.stages {
			if busy(s) {
				working++
			}
		}
		if working == 1 { // nothing to wait for between taking over and computing
			s := max(beat-len(pieces)+1, 0)
			st, p := r.stages[s], &pieces[beat-s].batch
			st.start(func(i int) error {
				if s > 0 {
					if err := st.receive(r.stages[s-1], p)(i); err != nil {
						return err
					}
				}
				return st.Lanes[i].Run(p)
			})
			if err := st.wait(); err != nil {
				return err
			}
			continue
		}
		for s := last; s > 0; s-- { // from the end: what a stage takes over may lie on what it hands on
			if busy(s) {
				st := r.stages[s]
				st.start(st.receive(r.stages[s-1], &pieces[beat-s].batch))
				if err := st.wait(); err != nil {
					return err
				}
			}
		}
		for s, st := range r.stages {
			if busy(s) {
				st.start(st.run(&pieces[beat-s].batch))
			}
		}
		var first error
		for s, st := range r.stages {
			if busy(s) {
				if err := st.wait(); err != nil && first == nil {
					first = err
				}
			}
		}
		if first != nil {
			return first
		}
	}
	return nil
}

// Copy copies the first cells of one slot to another.
func (r *Runner) Copy(from, to, cells int) {
	for _, l := range r.lanes() {
		l.CopySlot(from, to, cells)
	}
}

func (r *Runner) lanes() (all []device.Lane) {
	for _, s := range r.stages {
		all = append(all, s.Lanes...)
	}
	return all
}

// head is the lane that has the logits.
func (r *Runner) head() device.Lane { return r.stages[len(r.stages)-1].Lanes[0] }

// Scores returns the scores of the i-th wanted row, valid until the next Run: all logits, or as many of the best as the batch
// says are enough. Of a batch of several pieces some rows may have all and some the best.
func (r *Runner) Scores(i int) device.Scores {
	if o := r.outs[i]; o.aside {
		return o.scores
	}
	return r.head().Scores(r.outs[i].row)
}

// Hidden returns what the head read for that row, valid until the next Run.
func (r *Runner) Hidden(i int) []float32 {
	if o := r.outs[i]; o.aside {
		return o.hidden
	}
	return r.head().Hidden(r.outs[i].row)
}

// Value returns row i of a kept value of f32 of a stage, valid until the next Run. Of a batch of several pieces it has the
// last.
func (r *Runner) Value(stage int, at plan.Loc, i int) []float32 {
	return r.stages[stage].Lanes[0].Value(at, i)
}

// Indices is Value for values that are numbers of experts.
func (r *Runner) Indices(stage int, at plan.Loc, i int) []int32 {
	return r.stages[stage].Lanes[0].Indices(at, i)
}

// Memory returns what each lane takes, stage by stage.
func (r *Runner) Memory() []device.Memory {
	var m []device.Memory
	for _, l := range r.lanes() {
		m = append(m, l.Memory())
	}
	return m
}

// Work is what a run on so many rows and outputs costs all lanes together at least.
func (r *Runner) Work(rows, outs int) (bytes, macs int64) {
	for _, l := range r.lanes() {
		b, m := l.Work(rows, outs)
		bytes, macs = bytes+b, macs+m
	}
	return bytes, macs
}

// Profile returns what each kind of step took in the first lane of each stage since the last call.
func (r *Runner) Profile() (all []device.Timing) {
	for _, s := range r.stages {
		all = append(all, s.Lanes[0].Profile()...)
	}
	return all
}

// ReadWeights reads the matrices of all lanes' products once, the lanes of a stage at once and stages one after the other; 0
// where a card cannot. No run may be in progress.
func (r *Runner) ReadWeights() (bytes int64, took time.Duration) {
	for _, s := range r.stages {
		each := make([]int64, len(s.Lanes))
		times := make([]time.Duration, len(s.Lanes))
		s.start(func(i int) error {
			if l, ok := s.Lanes[i].(interface{ ReadWeights() (int64, time.Duration) }); ok {
				each[i], times[i] = l.ReadWeights()
			}
			return nil
		})
		s.wait()
		for _, n := range each {
			if n == 0 {
				return 0, 0
			}
			bytes += n
		}
		took += slices.Max(times)
	}
	return bytes, took
}

// Close ends the threads and frees the lanes. No run may be in progress.
func (r *Runner) Close() {
	for _, s := range r.stages {
		for i, l := range s.Lanes {
			close(s.jobs[i])
			l.Close()
		}
	}
}

// guarded turns a panic into an error with the worker's stack.
func guarded(f func(int) error, lane int) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("lane: %v\n%s", p, debug.Stack())
		}
	}()
	return f(lane)
}
