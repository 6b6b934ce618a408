// Package exec runs a model's lanes, each on an operating-system thread of its own.
package exec

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"ingot/engine/device"
	"ingot/engine/plan"
)

// Runner drives the lanes of one stage. Run is called by one goroutine at a time.
type Runner struct {
	lanes []device.Lane
	jobs  []chan *device.Batch
	errs  chan error
}

// New starts a thread for each lane. The runner owns the lanes.
func New(lanes ...device.Lane) *Runner {
	r := &Runner{lanes: lanes, errs: make(chan error, len(lanes))}
	for _, lane := range lanes {
		jobs := make(chan *device.Batch)
		r.jobs = append(r.jobs, jobs)
		go func() {
			runtime.LockOSThread() // thread 0 of a CPU lane, or the owner of a driver's context
			for b := range jobs {
				r.errs <- guarded(lane, b)
			}
		}()
	}
	return r
}

// Run computes a batch on all lanes at once and returns when every lane is done.
func (r *Runner) Run(b *device.Batch) error {
	for _, jobs := range r.jobs {
		jobs <- b
	}
	var first error
	for range r.lanes {
		if err := <-r.errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Copy copies the first cells of one slot to another.
func (r *Runner) Copy(from, to, cells int) {
	for _, l := range r.lanes {
		l.CopySlot(from, to, cells)
	}
}

// Logits returns the scores of the i-th wanted row, valid until the next Run.
func (r *Runner) Logits(i int) []float32 { return r.lanes[0].Logits(i) }

// Hidden returns what the head read for that row, valid until the next Run.
func (r *Runner) Hidden(i int) []float32 { return r.lanes[0].Hidden(i) }

// Value returns row i of a kept value of f32, valid until the next Run.
func (r *Runner) Value(at plan.Loc, i int) []float32 { return r.lanes[0].Value(at, i) }

// Indices returns row i of a kept value of indices, valid until the next Run.
func (r *Runner) Indices(at plan.Loc, i int) []int32 { return r.lanes[0].Indices(at, i) }

// Memory returns what each lane takes.
func (r *Runner) Memory() []device.Memory {
	var m []device.Memory
	for _, l := range r.lanes {
		m = append(m, l.Memory())
	}
	return m
}

// Work is what a run on so many rows and outputs costs all lanes together at least.
func (r *Runner) Work(rows, outs int) (bytes, macs int64) {
	for _, l := range r.lanes {
		b, m := l.Work(rows, outs)
		bytes, macs = bytes+b, macs+m
	}
	return bytes, macs
}

// Profile returns what each kind of step took in the first lane since the last call.
func (r *Runner) Profile() []device.Timing { return r.lanes[0].Profile() }

// ReadWeights reads the matrices of the first lane's products once; 0 where its card cannot. No run may be in progress.
func (r *Runner) ReadWeights() (bytes int64, took time.Duration) {
	if l, ok := r.lanes[0].(interface{ ReadWeights() (int64, time.Duration) }); ok {
		return l.ReadWeights()
	}
	return 0, 0
}

// Close ends the threads and frees the lanes. No run may be in progress.
func (r *Runner) Close() {
	for i, l := range r.lanes {
		close(r.jobs[i])
		l.Close()
	}
}

// guarded turns a panic into an error with the worker's stack.
func guarded(lane device.Lane, b *device.Batch) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("lane: %v\n%s", p, debug.Stack())
		}
	}()
	return lane.Run(b)
}
