package device

import (
	"fmt"
	"slices"
	"time"
	"unsafe"

	"ingot/engine/device/driver"
	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/engine/tensor"
	"ingot/kernels/cpu"
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

// sync waits for the lane's stream.
func (l *simtLane) sync() error {
	if err := l.card.d.SyncWithin(l.stream, l.card.patience, l.watch); err != nil {
		l.failed = fmt.Errorf("%s: %w", l.card.name, err)
		return l.failed
	}
	return nil
}

func (l *simtLane) Run(b *Batch) error {
	return l.group.run(l, func() error {
		if l.failed != nil {
			return l.failed
		}
		if err := checkBatch(b, l.plan, &l.spec, l.hasState); err != nil {
			return err
		}
		return l.card.with(func() error { return l.settle(l.run(b)) })
	})
}

func (l *simtLane) run(b *Batch) error {
	l.k = l.best(b)
	p, err := l.program(len(b.Tokens), l.k > 0)
	if err != nil {
		return err
	}
	if l.group.library != nil {
		l.group.mu.Lock()
		l.group.running[l.index] = p
		l.group.mu.Unlock()
	}
	l.describe(b)
	l.rows = len(b.Tokens)
	for i := range l.embeds {
		if err := l.lookUp(&l.embeds[i], b.Tokens); err != nil {
			return err
		}
	}
	if err := p.start(b); err != nil {
		return fmt.Errorf("%s: %w", l.card.name, err)
	}
	if err := l.fetch(len(b.Outs)); err != nil {
		return err
	}
	if err := l.sync(); err != nil {
		return l.group.blame(l, err)
	}
	return p.timed()
}

// batchHead is the size of struct batch.
const batchHead = 48

// describe writes struct batch and its arrays: out, pos, seqs. Tokens stay on the host, which looks them up.
func (l *simtLane) describe(b *Batch) {
	at := uint64(l.build.at("batch"))
	outs := uint64(batchHead)
	pos := outs + uint64(l.plan.Options.Outs)*4
	seqs := pos + uint64(l.plan.Options.Rows)*4
	head := unsafe.Slice((*int32)(unsafe.Pointer(&l.batch[0])), 4)
	head[0], head[1], head[2], head[3] = int32(len(b.Tokens)), int32(len(b.Outs)), int32(len(b.Seqs)), int32(l.k)
	ptrs := unsafe.Slice((*uint64)(unsafe.Pointer(&l.batch[16])), 4)
	ptrs[0], ptrs[1], ptrs[2], ptrs[3] = 0, at+pos, at+outs, at+seqs
	copy(l.batch[outs:], bytesIn(b.Outs))
	positions := unsafe.Slice((*int32)(unsafe.Pointer(&l.batch[pos])), l.plan.Options.Rows)
	for _, s := range b.Seqs {
		for r := range s.Rows {
			positions[s.Row0+r] = s.Pos0 + r
		}
	}
	copy(l.batch[seqs:], bytesIn(b.Seqs))
}

// lookUp reads the rows of a table that the tokens choose. Tables are read a row at a time from where the file is mapped.
func (l *simtLane) lookUp(e *simtEmbed, tokens []int32) error {
	cols := int(e.w.Shape[0])
	for i, t := range tokens {
		if int64(t) < 0 || int64(t) >= e.src.count {
			return fmt.Errorf("token %d of %d", t, e.src.count)
		}
		if err := e.src.copy(l.row[:e.src.row], int64(t), 1); err != nil {
			return err
		}
		v := e.rows[i*cols : (i+1)*cols]
		if err := cpu.Dequantize(cpu.Type(e.src.typ), l.row[:e.src.row], v); err != nil {
			return fmt.Errorf("%s: %w", e.w.Name, err)
		}
		if e.scale != 1 {
			for j := range v {
				v[j] *= e.scale
			}
		}
	}
	return nil
}

// checkBatch refuses what a kernel would write outside of its memory for.
func checkBatch(b *Batch, p *plan.Plan, s *Spec, states bool) error {
	rows := len(b.Tokens)
	if rows > p.Options.Rows || len(b.Seqs) > max(s.Slots, 1) || len(b.Outs) > p.Options.Outs || len(b.Outs) > rows {
		return fmt.Errorf("batch of %d rows, %d sequences, %d outputs exceeds the plan's %d, %d, %d", rows, len(b.Seqs), len(b.Outs), p.Options.Rows, s.Slots, p.Options.Outs)
	}
	next := int32(0)
	for i, q := range b.Seqs {
		switch {
		case q.Row0 != next || q.Rows < 1 || int(q.Row0)+int(q.Rows) > rows:
			return fmt.Errorf("batch: sequence %d: rows %d+%d of %d, expected from %d", i, q.Row0, q.Rows, rows, next)
		case q.Slot < 0 || int(q.Slot) >= s.Slots || q.Pos0 < 0 || int(q.Pos0)+int(q.Rows) > s.Cells:
			return fmt.Errorf("batch: sequence %d: positions %d+%d of slot %d, where %d slots of %d cells are", i, q.Pos0, q.Rows, q.Slot, s.Slots, s.Cells)
		case states && (q.PlaneIn < -1 || int(q.PlaneIn) >= s.Planes || q.PlaneOut < 0 || int(q.PlaneOut) >= s.Planes):
			return fmt.Errorf("batch: sequence %d: planes %d and %d of %d", i, q.PlaneIn, q.PlaneOut, s.Planes)
		}
		next = q.Row0 + q.Rows
	}
	if int(next) != rows {
		return fmt.Errorf("batch: sequences have %d of %d rows", next, rows)
	}
	for i, o := range b.Outs {
		if o < 0 || int(o) >= rows || i > 0 && o <= b.Outs[i-1] {
			return fmt.Errorf("batch: output %d of %d rows, out of range or order", o, rows)
		}
	}
	return nil
}

func (l *simtLane) Hidden(i int) []float32 { return l.Value(l.plan.Hidden, i) }

func (l *simtLane) Value(at plan.Loc, r int) []float32 { return fetched[float32](l, at, r) }
func (l *simtLane) Indices(at plan.Loc, r int) []int32 { return fetched[int32](l, at, r) }

// fetched copies a row from the card. A card that has failed has none: zeros.
func fetched[T any](l *simtLane, at plan.Loc, r int) []T {
	v := make([]T, at.Cols())
	n := int64(len(v)) * 4
	if l.failed != nil || n == 0 {
		return v
	}
	l.card.with(func() error {
		host, err := l.room(n)
		if err == nil {
			err = l.card.d.Download(host, driver.Ptr(l.build.loc(at))+driver.Ptr(r*at.Stride*4), n, l.stream)
		}
		if err == nil {
			err = l.sync()
		}
		if err == nil {
			copy(v, unsafe.Slice((*T)(host), len(v)))
		}
		return err
	})
	return v
}

// Receive copies from card to card where both have one driver, otherwise through the host's memory.
func (l *simtLane) Receive(to plan.Loc, rows int, from Lane, at plan.Loc) error {
	n := int64(rows) * int64(to.Cols()) * 4
	if n == 0 {
		return nil
	}
	return l.card.with(func() error {
		dst, err := driver.Ptr(l.build.loc(to)), error(nil)
		if other, ok := from.(*simtLane); ok && other.card.d.Kind == l.card.d.Kind {
			src := driver.Ptr(other.build.loc(at))
			if other.card.index == l.card.index {
				err = l.card.d.Copy(dst, src, n, l.stream)
			} else {
				err = l.card.d.CopyPeer(dst, l.card.index, src, other.card.index, n, l.stream)
			}
		} else {
			var host unsafe.Pointer
			if host, err = l.room(n); err != nil {
				return err
			}
			all := unsafe.Slice((*float32)(host), n/4)
			for r := range rows {
				copy(all[r*to.Cols():], from.Value(at, r))
			}
			err = l.card.d.Upload(dst, host, n, l.stream)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", l.card.name, err)
		}
		return l.sync() // the other lane may go on
	})
}

func (l *simtLane) CopySlot(from, to, cells int) {
	l.card.with(func() error {
		for _, c := range l.caches {
			head := driver.Ptr(int64(c.cells) * c.size)
			for h := range c.heads {
				src, dst := driver.Ptr(from*c.heads+h)*head, driver.Ptr(to*c.heads+h)*head
				if err := l.card.d.Copy(c.at+dst, c.at+src, int64(cells)*c.size, l.stream); err != nil {
					l.failed = fmt.Errorf("%s: %w", l.card.name, err)
					return err
				}
			}
		}
		return l.sync()
	})
}

func (l *simtLane) Memory() Memory { return l.used }

// Work is what the products cost at least.
func (l *simtLane) Work(rows, outs int) (bytes, macs int64) {
	for i := range l.plan.Steps {
		s := &l.plan.Steps[i]
		b, m := stepWork(s, l.build.typ, rows, outs)
		bytes, macs = bytes+b, macs+m
	}
	return bytes, macs
}

// stepWork is the bytes of packed weights that a step reads for so many rows, of experts as many as the rows can use, and its
// multiply-adds.
func stepWork(s *plan.Step, typ func(*graph.Weight) tensor.Type, rows, outs int) (bytes, macs int64) {
	n := int64(rows)
	if s.Rows == graph.OutRows {
		n = int64(outs)
	}
	if n == 0 {
		return 0, 0
	}
	for _, w := range s.W[:s.Matrices()] {
		elements, _ := tensor.Elements(w.Shape[:min(len(w.Shape), 2)])
		one, _ := tensor.Bytes(typ(w), w.Shape[:min(len(w.Shape), 2)])
		if len(w.Shape) < 3 {
			bytes, macs = bytes+one, macs+n*elements
			continue
		}
		used := n * int64(s.Times)
		bytes, macs = bytes+one*min(w.Shape[2], used), macs+used*elements
	}
	return bytes, macs
}

// Profile returns the timings of each kind of kernel.
func (l *simtLane) Profile() []Timing {
	if !l.spec.Profile {
		return nil
	}
	var list []Timing
	for _, t := range l.timing {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b Timing) int { return int(b.Time - a.Time) })
	l.timing = nil
	return list
}

// count adds a launch to the timings.
func (l *simtLane) count(o *simtOp, entry string, took time.Duration, rows, outs int) {
	t := Timing{Op: "top_k", Level: entry}
	var b, m int64
	if o.step >= 0 {
		s := &l.plan.Steps[o.step]
		t.Op = s.Op.Name()
		if s.Matrices() > 0 {
			t.Type = l.build.typ(s.W[0]).String()
		}
		b, m = stepWork(s, l.build.typ, rows, outs)
	}
	key := t.Op + t.Type + t.Level
	if l.timing == nil {
		l.timing = map[string]*Timing{}
	}
	if l.timing[key] == nil {
		l.timing[key] = &t
	}
	alike := int64(0) // launches of the step with this kernel, which share its work
	for i := range o.launches {
		if o.launches[i].entry == entry {
			alike++
		}
	}
	b, m = b/max(alike, 1), m/max(alike, 1)
	x := l.timing[key]
	x.Calls, x.Bytes, x.MACs, x.Time = x.Calls+1, x.Bytes+b, x.MACs+m, x.Time+took
}

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
