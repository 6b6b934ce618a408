package engine

import (
	"cmp"
	"fmt"
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

// Check refuses options that mean nothing whatever the model. The error wraps ErrBadRequest.
func (o *Options) Check() error {
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
	if o.Split != "" && !slices.Contains(SplitModes, o.Split) {
		return fmt.Errorf("%w: Options.Split is %q, expected one of %s", ErrBadRequest, o.Split, strings.Join(SplitModes, ", "))
	}
	if _, _, err := loadMode(o.Load); err != nil {
		return err
	}
	if _, err := cacheType("CacheK", o.CacheK); err != nil {
		return err
	}
	if _, err := cacheType("CacheV", o.CacheV); err != nil {
		return err
	}
	if o.TPS < 0 || o.TPS > maxLanes {
		return fmt.Errorf("%w: Options.TPS is %d, expected 0 to %d", ErrBadRequest, o.TPS, maxLanes)
	}
	_, err := o.moves()
	return err
}

// CacheTypes are the types of the KV cache (Options.CacheK and CacheV), the usual one first.
var CacheTypes = []string{"f16", "bf16", "q8_0", "q4_0", "f32"}

// SplitModes are the ways a model is spread over cards (Options.Split).
var SplitModes = []string{"none", "layer", "tensor"}

// cacheType is the type an option names; field is the option's.
func cacheType(field, name string) (tensor.Type, error) {
	name = strings.ToLower(cmp.Or(name, CacheTypes[0]))
	if t, err := tensor.Parse(name); err == nil && slices.Contains(CacheTypes, name) {
		return t, nil
	}
	return 0, fmt.Errorf("%w: Options.%s is %q, expected one of %s", ErrBadRequest, field, name, strings.Join(CacheTypes, ", "))
}

// start plans the model for the cards, loads the lanes and starts the scheduler.
func (e *Engine) start(model arch.Model, weights []device.Weight, o Options) error {
	h := e.model
	host, err := newCPU(o.Threads, o.Level)
	if err != nil {
		return err
	}
	cards, err := deal(&o, host)
	if err != nil {
		return err
	}
	slots, cells := or(o.Slots, defaultSlots), or(o.Context, min(h.TrainContext, defaultContext))
	rows := max(min(or(o.UBatch, defaultUBatch), cells), slots)
	outs := min(slots+spareOuts, rows)
	planes := planesFor(h.States, slots, or(o.Snapshots, defaultSnapshots))
	keys, _ := cacheType("CacheK", o.CacheK) // checked before
	values, _ := cacheType("CacheV", o.CacheV)
	keep := plan.Storage{Slots: slots, Cells: cells, Planes: planes, Keys: keys, Values: values}

	b := graph.NewBuilder()
	model.Forward(b)
	po := plan.Options{Rows: rows, Outs: outs}
	if o.Hook != nil {
		po.Keep = o.watched
	}
	top, err := plan.Divide(b.Graph(), func(w *graph.Weight) tensor.Type { return weights[w.ID].Type }, po, cards.spread(&o, keep))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	spec := device.Spec{Weights: weights, Slots: slots, Cells: cells, Planes: planes, Keys: keys, Values: values,
		Repack: !o.NoRepack, File: e.file, Profile: o.Profile}
	if e.run, err = e.load(top, cards, spec, o.Progress); err != nil {
		return err
	}
	e.places = placesOf(top, h.Layers)
	if _, lock, _ := loadMode(o.Load); lock { // checked before
		if err := device.LockMemory(); err != nil {
			e.run.Close()
			return err
		}
	}
	so := sched.Options{Rows: rows, Outs: outs, Interval: max(interval, rows)}
	if o.Hook != nil {
		so.Ran = (&hooked{run: e.run, kept: top.Kept(), call: o.Hook}).ran
	} else {
		so.Rows = max(min(rows*len(top.Stages), cells), rows) // a piece for every stage
	}
	e.sched = sched.New(e.run, cache.New(slots, cells, planes), so)
	ci := host.Info()
	e.info.Context, e.info.Slots, e.info.Threads, e.info.Level, e.info.Topology = cells, slots, ci.Threads, ci.Level, top.Short()
	return nil
}

// load loads the stages in order. What was loaded is freed where one fails.
func (e *Engine) load(top *plan.Topology, cards *deck, spec device.Spec, progress func(float64)) (*exec.Runner, error) {
	var stages []exec.Stage
	for i, s := range top.Stages {
		var st exec.Stage
		var on []device.Card
		var specs []device.Spec
		for _, l := range s.Lanes {
			spec := spec
			spec.Plan = l.Plan
			if progress != nil {
				spec.Progress = func(done float64) { progress((float64(i) + done) / float64(len(top.Stages))) }
			}
			on, specs = append(on, cards.cards[l.Card.Name]), append(specs, spec)
			st.Plans, st.Cards = append(st.Plans, l.Plan), append(st.Cards, l.Card.Name)
		}
		var err error
		if st.Lanes, err = device.Load(on, specs); err != nil {
			for _, s := range stages {
				for _, l := range s.Lanes {
					l.Close()
				}
			}
			return nil, err
		}
		if l, ok := st.Lanes[0].(interface{ Meets() string }); ok && e.info.Meeting == "" {
			e.info.Meeting = l.Meets()
		}
		stages = append(stages, st)
		e.cards = append(e.cards, on...)
	}
	return exec.New(stages...), nil
}

// planesFor is how many recurrent states there is memory for: two a slot, and snapshots within the budget.
func planesFor(states []*graph.State, slots int, budget int64) int {
	one := plan.Storage{Planes: 1}
	var plane int64
	for _, s := range states {
		if s.Recurrent() {
			plane += one.Bytes(s)
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
	e.unwatch()
	return e.file.Close()
}
