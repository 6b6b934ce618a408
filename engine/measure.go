package engine

import (
	"context"
	"time"

	"ingot/engine/device"
	"ingot/kernels/cpu"
)

// Limits is what this machine's processor does at most: bytes read from memory and multiply-adds in registers a second.
type Limits = cpu.Limits

// Rate is one instruction's part of Limits.
type Rate = cpu.Rate

// MeasureLimits measures the limits for a number of threads, 0: one a physical core. It takes a second or two, or until ctx
// ends, and 1 GiB of memory, and is meant for a machine that does nothing else.
func MeasureLimits(ctx context.Context, threads int) (*Limits, error) {
	return cpu.MeasureLimits(ctx, threads, 0)
}

// OpTime is what the steps of one operation, weight type and kernel level did together. Bytes are those of weights,
// MACs multiply-adds with them.
type OpTime = device.Timing

// Work is what computing that many tokens of one sequence costs at least, with the logits after the last: bytes of weights
// read, once for all of them, and multiply-adds with weights. A token reads the experts it uses; of several tokens it is
// not known which share theirs, so all that they can use are counted.
func (e *Engine) Work(tokens int) (bytes, macs int64) { return e.run.Work(tokens, min(tokens, 1)) }

// readTurn is how long ReadRate reads at least: a small model is read several times.
const readTurn = 20 * time.Millisecond

// ReadRate is the bytes a second at which the engine's threads read the model's matrices just now, doing nothing with them;
// 0 where its cards do not tell. What memory gives changes from minute to minute, so a share of it means something only
// where it is measured in turn with what it is a share of.
func (e *Engine) ReadRate() float64 {
	var bytes int64
	var took time.Duration
	for took < readTurn {
		n, t := e.sched.ReadWeights()
		if n == 0 {
			return 0
		}
		bytes, took = bytes+n, took+t
	}
	return float64(bytes) / took.Seconds()
}

// Profile returns where the time went since the last call; nil where Options.Profile was not set.
func (e *Engine) Profile() []OpTime { return e.sched.Profile() }
