package engine

import (
	"ingot/engine/device"
	"ingot/kernels/cpu"
)

// Limits is what this machine's processor does at most: bytes read from memory and multiply-adds in registers a second.
type Limits = cpu.Limits

// Rate is one instruction's part of Limits.
type Rate = cpu.Rate

// MeasureLimits measures the limits for a number of threads, 0: one a physical core. It takes a second or two and 1 GiB
// of memory, and is meant for a machine that does nothing else.
func MeasureLimits(threads int) (*Limits, error) { return cpu.MeasureLimits(threads, 0) }

// OpTime is what the steps of one operation, weight type and kernel level did together. Bytes are those of weights,
// MACs multiply-adds with them.
type OpTime = device.Timing

// Work is what computing that many tokens of one sequence costs at least, with the logits after the last: bytes of weights
// read, once for all of them, and multiply-adds with weights. A token reads the experts it uses; of several tokens it is
// not known which share theirs, so all that they can use are counted.
func (e *Engine) Work(tokens int) (bytes, macs int64) { return e.run.Work(tokens, min(tokens, 1)) }

// Profile returns where the time went since the last call; nil where Options.Profile was not set.
func (e *Engine) Profile() []OpTime { return e.sched.Profile() }
