package device

import (
	"fmt"
	"sync"

	"ingot/engine/plan"
	"ingot/kernels/cpu"
)

// exchange is what the lanes of a stage share. When one of them fails in the middle of a run the others, which may be
// waiting for it, give up; once all have left the exchange is as new.
type exchange struct {
	memory *cpu.Exchange
	floats int64
	mu     sync.Mutex
	lanes  int
	left   int // lanes that have left the run in progress
	failed bool
	open   int
}

func newExchange(threads []int, floats int64) (*exchange, error) {
	m, err := cpu.NewExchange(threads, floats)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMemory, err)
	}
	return &exchange{memory: m, floats: floats, lanes: len(threads), open: len(threads)}, nil
}

// exchanged is the most floats that any lane of the plan's stage passes to the others in a step.
func exchanged(p *plan.Plan) (n int64) {
	for i := range p.Steps {
		s := &p.Steps[i]
		rows := int64(p.Most(s.Rows)) * int64(s.Times)
		switch op := s.Op.(type) {
		case plan.AllReduce:
			n = max(n, rows*int64(s.Out[0].Cols()))
		case plan.AllGather:
			for t := range p.Lanes {
				n = max(n, rows*int64(op.Cols[t+1]-op.Cols[t]))
			}
		}
	}
	return n
}

// run runs a lane's share. Every lane of the stage is run once for each batch.
func (x *exchange) run(f func() error) (err error) {
	ok := false
	defer func() { err = x.leave(err, ok) }()
	err = f()
	ok = err == nil
	return err
}

func (x *exchange) leave(err error, ok bool) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !ok {
		x.failed = true
		x.memory.GiveUp()
	} else if x.failed {
		err = ErrPeer
	}
	if x.left++; x.left == x.lanes {
		x.left = 0
		if x.failed {
			x.failed = false
			x.memory.Reset()
		}
	}
	return err
}

// close frees the exchange with the last lane.
func (x *exchange) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.open--; x.open == 0 {
		x.memory.Free()
	}
}
