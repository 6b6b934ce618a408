package sched

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"ingot/engine/cache"
	"ingot/engine/device"
	"ingot/engine/exec"
	"ingot/engine/plan"
)

const vocab = 50

// follows is the token that the fake model wants after tokens: all of them and their order matter.
func follows(tokens []int32) int32 {
	h := uint32(2166136261)
	for _, t := range tokens {
		h = (h ^ uint32(t)) * 16777619
	}
	return int32(h % vocab)
}

// lane is a model that remembers tokens instead of computing: cells hold them, and a plane holds all that led to it.
// It checks every batch, so wrong books show as errors or as wrong tokens.
type lane struct {
	rows, outs int
	cells      [][]int32
	planes     [][]int32 // nil: attention only

	mu      sync.Mutex
	batches []device.Batch
	logits  [][]float32
	best    int // as a card that gives no more than so many of the best; 0: whole rows
	taken   int // of the last batch: how many of the best were enough
	fail    func(*device.Batch) error
	enter   chan struct{} // not nil: told when a run begins, which then waits for leave
	leave   chan struct{}
	closed  int
}

func newLane(slots, cells, planes, rows, outs int) *lane {
	l := &lane{rows: rows, outs: outs}
	for range slots {
		l.cells = append(l.cells, make([]int32, cells))
	}
	if planes > 0 {
		l.planes = make([][]int32, planes)
	}
	return l
}

// gated makes runs wait until they are let go.
func (l *lane) gated() *lane {
	l.enter, l.leave = make(chan struct{}), make(chan struct{})
	return l
}

func (l *lane) Run(b *device.Batch) error {
	if l.enter != nil {
		l.enter <- struct{}{}
		<-l.leave
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.batches = append(l.batches, device.Batch{Tokens: slices.Clone(b.Tokens), Outs: slices.Clone(b.Outs), Seqs: slices.Clone(b.Seqs), Best: b.Best})
	if l.fail != nil {
		if err := l.fail(b); err != nil {
			return err
		}
	}
	if len(b.Tokens) == 0 || len(b.Tokens) > l.rows || len(b.Outs) > l.outs {
		return fmt.Errorf("batch of %d rows and %d outputs, %d and %d fit", len(b.Tokens), len(b.Outs), l.rows, l.outs)
	}
	l.logits, l.taken = l.logits[:0], 0
	if b.Best <= l.best {
		l.taken = b.Best
	}
	outs, next, slots := b.Outs, int32(0), map[int32]bool{}
	for _, s := range b.Seqs {
		if s.Row0 != next || s.Rows < 1 || slots[s.Slot] {
			return fmt.Errorf("sequences %+v", b.Seqs)
		}
		next, slots[s.Slot] = s.Row0+s.Rows, true
		cells := l.cells[s.Slot]
		copy(cells[s.Pos0:], b.Tokens[s.Row0:next])
		if l.planes != nil {
			var state []int32
			if s.PlaneIn >= 0 {
				state = l.planes[s.PlaneIn]
			}
			if !slices.Equal(state, cells[:s.Pos0]) {
				return fmt.Errorf("slot %d at %d: plane %d holds the state after %v, the cells %v", s.Slot, s.Pos0, s.PlaneIn, state, cells[:s.Pos0])
			}
			l.planes[s.PlaneOut] = slices.Clone(cells[:s.Pos0+s.Rows])
		}
		for ; len(outs) > 0 && outs[0] < next; outs = outs[1:] {
			row := make([]float32, vocab)
			row[follows(cells[:s.Pos0+outs[0]-s.Row0+1])] = 1
			l.logits = append(l.logits, row)
		}
	}
	if int(next) != len(b.Tokens) || len(outs) > 0 {
		return fmt.Errorf("%d rows, sequences %+v, outputs %v", len(b.Tokens), b.Seqs, b.Outs)
	}
	return nil
}

// Scores gives the best where the batch could do with them: the wanted token, then others by id.
func (l *lane) Scores(i int) device.Scores {
	if l.taken == 0 {
		return device.Scores{Logits: l.logits[i]}
	}
	s := device.Scores{Logits: []float32{1}, IDs: []int32{int32(slices.Index(l.logits[i], 1))}}
	for id := int32(0); len(s.IDs) < l.taken; id++ {
		if id != s.IDs[0] {
			s.Logits, s.IDs = append(s.Logits, 0), append(s.IDs, id)
		}
	}
	return s
}

func (l *lane) Hidden(int) []float32               { return nil }
func (l *lane) Value(plan.Loc, int) []float32      { return nil }
func (l *lane) Indices(plan.Loc, int) []int32      { return nil }
func (l *lane) Work(rows, outs int) (int64, int64) { return int64(rows), int64(outs) }
func (l *lane) Profile() []device.Timing           { return nil }
func (l *lane) Receive(plan.Loc, int, device.Lane, plan.Loc) error {
	return nil
}
func (l *lane) CopySlot(from, to, cells int)  { copy(l.cells[to][:cells], l.cells[from]) }
func (l *lane) Memory() device.Memory         { return device.Memory{Weights: 1} }
func (l *lane) Close()                        { l.closed++ }
func (l *lane) options() Options              { return Options{Rows: l.rows, Outs: l.outs, Interval: 16} }
func (l *lane) pool() *cache.Pool             { return cache.New(len(l.cells), len(l.cells[0]), len(l.planes)) }
func (l *lane) start(t *testing.T) *Scheduler { return l.startWith(t, l.options()) }
func (l *lane) startWith(t *testing.T, o Options) *Scheduler {
	s := New(exec.New(exec.Stage{Lanes: []device.Lane{l}}), l.pool(), o)
	t.Cleanup(s.Close)
	return s
}

// still is a scheduler whose loop does not run: a test takes its turns.
func (l *lane) still(t *testing.T) *Scheduler {
	r := exec.New(exec.Stage{Lanes: []device.Lane{l}})
	t.Cleanup(r.Close)
	return &Scheduler{run: r, pool: l.pool(), opt: l.options(), inbox: make(chan any), wake: make(chan struct{}, 1),
		quit: make(chan struct{}), ended: make(chan struct{})}
}

// script is a job that checks what it is given and counts its calls.
type script struct {
	Job
	t       *testing.T
	steps   int // tokens to write
	written []int32
	cancel  context.CancelFunc
	mu      sync.Mutex
	dones   int
	done    chan error
	stats   Stats
}

func newScript(t *testing.T, prompt []int32, steps int, keep ...int) *script {
	s := &script{t: t, steps: steps, done: make(chan error, 2)}
	s.Prompt, s.Keep = prompt, keep
	s.Ctx, s.cancel = context.WithCancel(context.Background())
	t.Cleanup(s.cancel)
	s.Job.Next = s.next
	s.Job.Done = func(st Stats, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.dones++; s.dones > 1 {
			t.Errorf("Done was called %d times", s.dones)
		}
		s.stats = st
		s.done <- err
	}
	return s
}

func (s *script) next(scores device.Scores) (int32, bool) {
	want := follows(slices.Concat(s.Prompt, s.written))
	got := int32(slices.Index(scores.Logits, 1))
	if scores.IDs != nil {
		got = scores.IDs[got]
		if s.Best == 0 || s.Best > len(scores.IDs) {
			s.t.Errorf("%d of the best logits, where %d were wanted", len(scores.IDs), s.Best)
		}
	}
	if got != want {
		s.t.Errorf("prompt of %d tokens, %d written: the model says %d, expected %d", len(s.Prompt), len(s.written), got, want)
	}
	s.written = append(s.written, got)
	return got, len(s.written) < s.steps
}

// submit hands the script's job to a scheduler.
func (s *script) submit(to *Scheduler) *script { to.Submit(&s.Job); return s }

// place puts it into a still scheduler.
func (s *script) place(to *Scheduler) *script {
	s.unwake = func() bool { return true }
	to.accept(&s.Job)
	return s
}

func tokens(n int, seed int32) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = (seed*31 + int32(i)*7) % vocab
	}
	return out
}
