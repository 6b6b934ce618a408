package engine

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"ingot/engine/arch"
	"ingot/engine/cache"
	"ingot/engine/device"
	"ingot/engine/exec"
	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/engine/sched"
	"ingot/engine/tensor"
)

const (
	defaultContext   = 4096
	defaultUBatch    = 512
	defaultSlots     = 1
	defaultSnapshots = 256 << 20

	interval = 512 // tokens between snapshots on the way; whole batches at least

	maxContext = 1 << 30 // positions are 32-bit
	maxUBatch  = 1 << 16
	maxSlots   = 1 << 10
	maxThreads = 1 << 10
	maxPlanes  = 256
	spareOuts  = 64 // wanted rows of a batch beyond one a slot, for FeedAll; each has vocab floats
)

// check refuses options that mean nothing. The error wraps ErrBadRequest.
func (o *Options) check() error {
	for _, n := range []struct {
		name     string
		v, limit int
	}{
		{"Threads", o.Threads, maxThreads}, {"Context", o.Context, maxContext}, {"Slots", o.Slots, maxSlots}, {"UBatch", o.UBatch, maxUBatch},
	} {
		if n.v < 0 || n.v > n.limit {
			return fmt.Errorf("%w: Options.%s is %d, expected 0 to %d", ErrBadRequest, n.name, n.v, n.limit)
		}
	}
	if !slices.Contains([]string{"", "none", "layer", "tensor"}, o.Split) {
		return fmt.Errorf("%w: Options.Split is %q, expected none, layer or tensor", ErrBadRequest, o.Split)
	}
	if _, err := cacheType("CacheK", o.CacheK); err != nil {
		return err
	}
	if _, err := cacheType("CacheV", o.CacheV); err != nil {
		return err
	}
	for _, c := range o.Cards {
		if c != "cpu" {
			return fmt.Errorf("%w: there is no card %q here, only the cpu", ErrBadRequest, c)
		}
	}
	if len(o.Cards) > 1 || o.TPS > 1 {
		return fmt.Errorf("%w: this build runs a model on the CPU as one lane", ErrBadRequest)
	}
	return nil
}

// cacheType is the type an option names; field is the option's.
func cacheType(field, name string) (tensor.Type, error) {
	switch strings.ToLower(name) {
	case "", "f16":
		return tensor.F16, nil
	case "bf16":
		return tensor.BF16, nil
	case "q8_0":
		return tensor.Q8_0, nil
	case "q4_0":
		return tensor.Q4_0, nil
	case "f32":
		return tensor.F32, nil
	}
	return 0, fmt.Errorf("%w: Options.%s is %q, expected f16, bf16, q8_0, q4_0 or f32", ErrBadRequest, field, name)
}

// start plans the model for the card, loads the lane and starts the scheduler.
func (e *Engine) start(model arch.Model, weights []device.Weight, o Options) error {
	h := e.model
	level := o.Level
	if level == "" {
		level = os.Getenv("INGOT_CPU")
	}
	card, err := device.NewCPU(o.Threads, level)
	if err != nil {
		return err
	}
	slots, cells := or(o.Slots, defaultSlots), or(o.Context, min(h.TrainContext, defaultContext))
	rows := max(min(or(o.UBatch, defaultUBatch), cells), slots)
	outs := min(slots+spareOuts, rows)

	b := graph.NewBuilder()
	model.Forward(b)
	po := plan.Options{Rows: rows, Outs: outs, QuantRow: card.QuantRow}
	if o.Hook != nil {
		po.Keep = o.watched
	}
	p, err := plan.Make(b.Graph(), func(w *graph.Weight) tensor.Type { return weights[w.ID].Type }, po)
	if err != nil {
		return err
	}
	planes := planesFor(h.States, slots, or(o.Snapshots, defaultSnapshots))
	keys, _ := cacheType("CacheK", o.CacheK) // checked before
	values, _ := cacheType("CacheV", o.CacheV)
	lanes, err := device.Load([]device.Card{card}, []device.Spec{{Plan: p, Weights: weights, Slots: slots, Cells: cells, Planes: planes, Keys: keys, Values: values,
		Repack: !o.NoRepack, Progress: o.Progress, Release: e.file.Release, Profile: o.Profile}})
	if err != nil {
		return err
	}
	e.card = card
	e.run = exec.New(lanes...)
	so := sched.Options{Rows: rows, Outs: outs, Interval: max(interval, rows)}
	if o.Hook != nil {
		so.Ran = (&hooked{run: e.run, kept: p.Kept, call: o.Hook}).ran
	}
	e.sched = sched.New(e.run, cache.New(slots, cells, planes), so)
	ci := card.Info()
	e.info.Context, e.info.Slots, e.info.Threads, e.info.Level = cells, slots, ci.Threads, ci.Level
	return nil
}

// planesFor is how many recurrent states there is memory for: two a slot, and snapshots within the budget.
func planesFor(states []*graph.State, slots int, budget int64) int {
	var plane int64
	for _, s := range states {
		if s.Recurrent() {
			plane += device.PlaneBytes(s)
		}
	}
	if plane == 0 {
		return 0
	}
	return 2*slots + int(min(max(budget/plane, 2), maxPlanes))
}

// or is v, or what stands for 0.
func or[T int | int64](v, zero T) T {
	if v > 0 {
		return v
	}
	return zero
}

// Close ends all work and frees the model. Answers under way end with ErrClosed. Closing twice is harmless.
func (e *Engine) Close() error {
	e.sched.Close()
	return e.file.Close()
}
