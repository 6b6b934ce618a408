package device

import (
	"fmt"
	"unsafe"

	"ingot/engine/device/driver"
	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/engine/tensor"
	"ingot/kernels/gpu"
)

// simtLane is a graphics card's share of a model. Its memory is one allocation laid out by layoutOf, one for what it keeps between
// batches, and where it has company what lanes exchange.
type simtLane struct {
	card     *Simt
	spec     Spec
	plan     *plan.Plan
	group    *simtGroup
	index    int // among the group's lanes
	build    *simtBuild
	stream   driver.Stream
	programs map[simtClass]*simtProgram
	caches   []simtCache
	used     Memory
	owned    []driver.Ptr
	pinned   []unsafe.Pointer
	exchange gpu.Exchange
	inbox    driver.Ptr // with the flags and the epoch behind it
	hasState bool
	failed   error // a lane that failed on the card does not run again
	summed   bool  // the run in progress has sums of the library on the stream
	lost     error // why the run in progress comes to nothing, although the lane goes on with it

	batch  []byte // pinned: struct batch as it goes to the card
	embeds []simtEmbed
	row    []byte    // of a table, as stored
	logits []float32 // pinned: [Outs][vocab], of the first lane
	top    simtTop
	tops   []float32 // pinned: what top_k wrote, of a lane that has columns
	k      int       // of the last run: how many of the best it took; 0: whole rows
	copies hostBuffer
	rows   int // of the last run
	timing map[string]*Timing
}

// simtCache is one layer's keys or values: [slot][head][cell] rows.
type simtCache struct {
	at           driver.Ptr
	heads, cells int
	size         int64 // bytes of a row
}

// simtEmbed is a table that the host looks rows up in, and where they go.
type simtEmbed struct {
	w     *graph.Weight
	src   source
	scale float32
	to    driver.Ptr
	rows  []float32 // pinned
}

// hostBuffer is pinned memory that grows by powers of two.
type hostBuffer struct {
	at    unsafe.Pointer
	bytes int64
}

// newSimtLane allocates and uploads; the thread's card is the lane's.
func newSimtLane(c *Simt, s Spec, g *simtGroup, index int) (_ *simtLane, err error) {
	if err := cacheable(&s); err != nil {
		return nil, err
	}
	l := &simtLane{card: c, spec: s, plan: s.Plan, group: g, index: index, programs: map[simtClass]*simtProgram{}}
	b := &simtBuild{lane: l, spec: s, sent: map[any]bool{}, repacked: map[*graph.Weight]bool{}, magnitude: map[*graph.Rope]float32{},
		kv: map[*graph.State][2]driver.Ptr{}, states: map[*graph.State][2]driver.Ptr{}}
	l.build = b
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if l.stream, err = c.d.NewStream(); err != nil {
		return nil, err
	}
	b.layout = layoutOf(s.Plan, b.typ)
	weights := weightBytes(s.Plan, b.typ)
	l.used = Memory{Weights: weights, Scratch: b.layout.bytes - weights + exchangeBytes(s.Plan)}
	if err := b.allocate(); err != nil {
		return nil, err
	}
	if err := b.upload(); err != nil {
		return nil, err
	}
	return l, b.host()
}

// allocate takes all of the card's memory that the lane needs, or says what is missing.
func (b *simtBuild) allocate() (err error) {
	l := b.lane
	keep := plan.Storage{Slots: b.spec.Slots, Cells: b.spec.Cells, Planes: b.spec.Planes, Keys: b.spec.Keys, Values: b.spec.Values}
	need := float64(l.used.Weights) + float64(l.used.Scratch) // float: products of hostile sizes don't wrap
	for _, s := range l.plan.States {
		if s.Recurrent() {
			need += float64((&plan.Storage{Planes: 1}).Bytes(s)) * float64(keep.Planes)
			l.hasState = true
		} else {
			need += float64((&plan.Storage{Slots: 1, Cells: 1, Keys: keep.Keys, Values: keep.Values}).Bytes(s)) * float64(keep.Slots) * float64(keep.Cells)
		}
	}
	free, _, err := l.card.d.MemInfo()
	if err != nil {
		return err
	}
	if need > float64(free) {
		return l.memoryError("its share of the model", need, nil)
	}
	if b.base, err = l.alloc("weights and activations", b.layout.bytes); err != nil {
		return err
	}
	for _, s := range l.plan.States {
		if s.Recurrent() {
			conv, delta := s.PlaneFloats()
			n := int64(conv+delta) * 4 * int64(keep.Planes)
			p, err := l.alloc("recurrent states", n)
			if err != nil {
				return err
			}
			if err := l.card.d.Clear(p, n, l.stream); err != nil {
				return err
			}
			b.states[s] = [2]driver.Ptr{p, p + driver.Ptr(conv*4*keep.Planes)}
			l.used.State += n
			continue
		}
		var kv [2]driver.Ptr
		for i, t := range []tensor.Type{keep.Keys, keep.Values} {
			row := int64(tensor.RowBytes(t, s.KVDim))
			n := int64(keep.Slots) * int64(keep.Cells) * int64(s.KVHeads) * row
			if kv[i], err = l.alloc("keys and values", n); err != nil {
				return err
			}
			if err := l.card.d.Clear(kv[i], n, l.stream); err != nil {
				return err
			}
			l.caches = append(l.caches, simtCache{kv[i], s.KVHeads, keep.Cells, row})
			l.used.Cache += n
		}
		b.kv[s] = kv
	}
	if n := exchangeBytes(l.plan); n > 0 {
		if l.inbox, err = l.card.d.MallocShared(n); err != nil {
			return l.memoryError("exchange of lanes", float64(n), err)
		}
		l.owned = append(l.owned, l.inbox)
		return l.card.d.Clear(l.inbox, n, l.stream)
	}
	return nil
}

func (l *simtLane) alloc(purpose string, n int64) (driver.Ptr, error) {
	p, err := l.card.d.Malloc(max(n, simtAlign))
	if err != nil {
		return 0, l.memoryError(purpose, float64(n), err)
	}
	l.owned = append(l.owned, p)
	return p, nil
}

// memoryError names the card and what it lacks.
func (l *simtLane) memoryError(purpose string, need float64, cause error) error {
	const mib = 1 << 20
	free, total, _ := l.card.d.MemInfo()
	text := fmt.Sprintf("%s has %d MiB free of %d, %s takes %.0f", l.card.name, free/mib, total/mib, purpose, need/mib)
	if short := need - float64(free); short > 0 {
		text += fmt.Sprintf(": %.0f too many", short/mib)
	}
	text += "; a smaller context, fewer slots or more cards take less of it"
	if cause != nil {
		return fmt.Errorf("%w: %s (%w)", ErrMemory, text, cause)
	}
	return fmt.Errorf("%w: %s", ErrMemory, text)
}

// host makes what a run needs in the host's memory.
func (b *simtBuild) host() error {
	l := b.lane
	batch, err := l.pin(batchBytes(l.plan))
	if err != nil {
		return err
	}
	l.batch = unsafe.Slice((*byte)(batch), batchBytes(l.plan))
	clear(l.batch)
	for i := range l.plan.Steps {
		s := &l.plan.Steps[i]
		op, ok := s.Op.(graph.Embed)
		if !ok {
			continue
		}
		n := l.plan.Options.Rows * int(s.W[0].Shape[0])
		p, err := l.pin(int64(n) * 4)
		if err != nil {
			return err
		}
		table := b.spec.Weights[s.W[0].ID]
		if err := b.spec.need(table.Data); err != nil {
			return err
		}
		e := simtEmbed{w: s.W[0], src: sourceOf(s.W[0], table), scale: op.Scale, to: driver.Ptr(b.loc(s.Out[0])), rows: unsafe.Slice((*float32)(p), n)}
		if i > 0 {
			e.to = b.at(s)
		}
		l.row = make([]byte, max(int64(len(l.row)), e.src.row))
		l.embeds = append(l.embeds, e)
	}
	if cols := l.plan.Logits.Cols(); cols > 0 && l.index == 0 {
		n := l.plan.Options.Outs * cols
		p, err := l.pin(int64(n) * 4)
		if err != nil {
			return err
		}
		l.logits = unsafe.Slice((*float32)(p), n)
	}
	if l.top, _ = topOf(l.plan); l.top.x.Cols() > 0 {
		n := gpu.TopKResult(min(l.plan.Options.Outs, topRows), gpu.MaxTopK)
		p, err := l.pin(int64(n) * 4)
		if err != nil {
			return err
		}
		l.tops = unsafe.Slice((*float32)(p), n)
	}
	return nil
}

func (l *simtLane) pin(n int64) (unsafe.Pointer, error) {
	p, err := l.card.d.HostMalloc(n)
	if err != nil {
		return nil, l.memoryError("pinned memory of the host", float64(n), err)
	}
	l.pinned = append(l.pinned, p)
	return p, nil
}

// room returns pinned memory of at least n bytes, which the next call may move.
func (l *simtLane) room(n int64) (unsafe.Pointer, error) {
	if l.copies.bytes < n {
		size := int64(64 << 10)
		for size < n {
			size *= 2
		}
		p, err := l.pin(size)
		if err != nil {
			return nil, err
		}
		l.copies = hostBuffer{p, size} // the old one stays until the lane is closed: together no larger than this
	}
	return l.copies.at, nil
}

func (l *simtLane) Memory() Memory { return l.used }

// Close frees the lane's memory. What a hung card holds stays with it: its driver would wait for it.
func (l *simtLane) Close() {
	if l.failed != nil {
		return
	}
	l.card.with(func() error {
		d := l.card.d
		if l.stream != 0 {
			if l.sync() != nil {
				return nil
			}
			l.group.leave(l)
			for _, p := range l.programs {
				p.free()
			}
			d.FreeStream(l.stream)
			l.stream = 0
		}
		for _, p := range l.owned {
			d.Free(p)
		}
		for _, p := range l.pinned {
			d.HostFree(p)
		}
		l.owned, l.pinned = nil, nil
		return nil
	})
}
