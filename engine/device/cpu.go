package device

import (
	"errors"
	"fmt"
	"unsafe"

	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/engine/tensor"
	"ingot/kernels/cpu"
)

type cpuLane struct {
	card     *CPU
	team     *cpu.Team
	exchange *exchange // nil: the lane is alone in its stage
	program  *cpu.Program
	batch    *cpu.Batch
	plan     *plan.Plan
	arena    *cpu.Memory
	memory   []*cpu.Memory // all of it, the arena included
	caches   []kvCache
	used     Memory

	matrices []region // of products

	slots, cells, planes int
}

// kvCache is one layer's keys or values: [slot][head][cell] rows.
type kvCache struct {
	bytes              []byte
	heads, cells, size int // size: bytes of a row
}

// lane allocates caches and the arena, repacks weights and compiles the plan. Weights that are not repacked are read
// where they are mapped; the few that kernels need in f32 are copied.
func (c *CPU) lane(s Spec, x *exchange) (_ *cpuLane, err error) {
	if err := cacheable(&s); err != nil {
		return nil, err
	}
	if err := c.room(&s); err != nil {
		return nil, err
	}
	team, err := c.team.take()
	if err != nil {
		return nil, err
	}
	l := &cpuLane{card: c, plan: s.Plan, team: team, exchange: x, program: cpu.NewProgram(c.level), slots: s.Slots, cells: s.Cells}
	for _, st := range s.Plan.States {
		if st.Recurrent() {
			l.planes = s.Planes
		}
	}
	l.batch = cpu.NewBatch(s.Plan.Options.Rows, s.Slots)
	defer func() {
		if err != nil {
			l.exchange = nil // its lanes were never all there
			l.Close()
		}
	}()
	b := cpuBuild{lane: l, spec: s, card: c, kv: map[*graph.State]kvPart{}, states: map[*graph.State]statePart{},
		vectors: map[*graph.Weight]unsafe.Pointer{}, freqs: map[*graph.Rope]rotation{}, matrices: map[*graph.Weight]matrix{}}
	if err := b.allocate(); err != nil {
		return nil, err
	}
	if err := b.weights(); err != nil {
		return nil, err
	}
	for i := range s.Plan.Steps {
		if err := b.step(&s.Plan.Steps[i]); err != nil {
			return nil, err
		}
	}
	b.remember()
	if s.Profile {
		l.program.Profile(true)
	}
	return l, nil
}

// cacheable refuses a type of the KV cache that the kernels don't have, or whose blocks do not divide a head.
func cacheable(s *Spec) error {
	for _, t := range []tensor.Type{s.Keys, s.Values} {
		if !cpu.KVCacheType(cpu.Type(t)) {
			return fmt.Errorf("%w: a KV cache of %v", ErrUnsupported, t)
		}
		for _, st := range s.Plan.States {
			if !st.Recurrent() && st.KVDim%t.Block() != 0 {
				return fmt.Errorf("%w: a KV cache of %v holds heads of whole blocks of %d values, this model's have %d; f16 and bf16 hold any",
					ErrUnsupported, t, t.Block(), st.KVDim)
			}
		}
	}
	return nil
}

// room refuses what the machine's memory could never hold; less is a matter of how much of the context gets used,
// for memory is only taken when it is first written.
func (c *CPU) room(s *Spec) error {
	need := float64(s.Plan.Arena) // float: products of hostile sizes don't wrap
	one := plan.Storage{Slots: 1, Cells: 1, Planes: 1, Keys: s.Keys, Values: s.Values}
	for _, st := range s.Plan.States {
		if st.Recurrent() {
			need += float64(one.Bytes(st)) * float64(s.Planes)
		} else {
			need += float64(one.Bytes(st)) * float64(s.Slots) * float64(s.Cells)
		}
	}
	if total, _ := systemMemory(); total > 0 && need > float64(total) {
		const mib = 1 << 20
		return fmt.Errorf("%w: the CPU has %d MiB, the context and the activations take %.0f MiB: %.0f too many; a smaller context or fewer slots take less",
			ErrMemory, total/mib, need/mib, (need-float64(total))/mib)
	}
	return nil
}

func (l *cpuLane) Run(b *Batch) error {
	if l.exchange == nil {
		return l.run(b)
	}
	return l.exchange.run(func() error { return l.run(b) })
}

// Bind binds the calling thread, which will run the lane, to the lane's first core.
func (l *cpuLane) Bind() {
	if len(l.card.cores) > 0 {
		cpu.Pin(l.card.cores[0]) // a refused pin costs speed, not correctness
	}
}

func (l *cpuLane) run(b *Batch) error {
	c := l.batch
	if len(b.Tokens) > c.MaxRows() || len(b.Seqs) > c.MaxSeqs() || len(b.Outs) > l.plan.Options.Outs || len(b.Outs) > len(b.Tokens) {
		return fmt.Errorf("batch of %d rows, %d sequences, %d outputs exceeds the plan's %d, %d, %d",
			len(b.Tokens), len(b.Seqs), len(b.Outs), c.MaxRows(), c.MaxSeqs(), l.plan.Options.Outs)
	}
	c.Resize(len(b.Tokens), len(b.Outs), len(b.Seqs))
	copy(c.Tokens(), b.Tokens)
	copy(c.Outs(), b.Outs)
	pos, seqs := c.Pos(), c.Seqs()
	for i, s := range b.Seqs {
		if err := l.fits(&s, len(b.Tokens)); err != nil {
			return fmt.Errorf("batch: sequence %d: %w", i, err)
		}
		seqs[i] = cpu.Seq(s)
		for r := range s.Rows {
			pos[s.Row0+r] = s.Pos0 + r
		}
	}
	if err := c.Check(); err != nil {
		return fmt.Errorf("batch: %w", err)
	}
	l.team.Run(l.program, c)
	return nil
}

// fits checks what a kernel would otherwise write outside of.
func (l *cpuLane) fits(s *Seq, rows int) error {
	switch {
	case s.Row0 < 0 || s.Rows < 0 || int(s.Row0)+int(s.Rows) > rows:
		return fmt.Errorf("rows %d+%d of %d", s.Row0, s.Rows, rows)
	case int(s.Slot) >= l.slots || int(s.Pos0)+int(s.Rows) > l.cells:
		return fmt.Errorf("positions %d+%d of slot %d, where %d slots of %d cells are", s.Pos0, s.Rows, s.Slot, l.slots, l.cells)
	case l.planes > 0 && (int(s.PlaneIn) >= l.planes || int(s.PlaneOut) >= l.planes):
		return fmt.Errorf("planes %d and %d of %d", s.PlaneIn, s.PlaneOut, l.planes)
	}
	return nil
}

func (l *cpuLane) Scores(i int) Scores    { return Scores{Logits: l.Value(l.plan.Logits, i)} }
func (l *cpuLane) Hidden(i int) []float32 { return l.Value(l.plan.Hidden, i) }

func (l *cpuLane) Value(at plan.Loc, r int) []float32 {
	off := at.Off + int64(r)*int64(at.Stride)*4
	return unsafe.Slice((*float32)(l.arena.At(off)), at.Cols())
}

func (l *cpuLane) Indices(at plan.Loc, r int) []int32 {
	off := at.Off + int64(r)*int64(at.Stride)*4
	return unsafe.Slice((*int32)(l.arena.At(off)), at.Cols())
}

func (l *cpuLane) Receive(to plan.Loc, rows int, from Lane, at plan.Loc) error {
	if to.Cols() != at.Cols() {
		return fmt.Errorf("receive %d columns as %d", at.Cols(), to.Cols())
	}
	for r := range rows {
		copy(l.Value(to, r), from.Value(at, r))
	}
	return nil
}

func (l *cpuLane) CopySlot(from, to, cells int) {
	for _, c := range l.caches {
		head := c.cells * c.size
		for h := range c.heads {
			src, dst := (from*c.heads+h)*head, (to*c.heads+h)*head
			copy(c.bytes[dst:dst+cells*c.size], c.bytes[src:])
		}
	}
}

func (l *cpuLane) Memory() Memory { return l.used }

func (l *cpuLane) Close() {
	l.card.team.give()
	if l.exchange != nil {
		l.exchange.close()
	}
	l.program.Free()
	l.batch.Free()
	for _, m := range l.memory {
		m.Free()
	}
}

// rotation is a rope's table in C memory.
type rotation struct {
	freq unsafe.Pointer
	mag  float32
}

// cpuBuild turns the steps of a plan into kernel arguments.
type cpuBuild struct {
	lane     *cpuLane
	spec     Spec
	card     *CPU
	kv       map[*graph.State]kvPart
	states   map[*graph.State]statePart
	scratch  unsafe.Pointer // of attention
	done     unsafe.Pointer // of attention: counters
	vectors  map[*graph.Weight]unsafe.Pointer
	stored   []byte // a slice of a weight as the file has it, before it is repacked
	freqs    map[*graph.Rope]rotation
	matrices map[*graph.Weight]matrix
}

type kvPart [2]unsafe.Pointer // keys, values
type statePart struct{ conv, delta unsafe.Pointer }

func (b *cpuBuild) alloc(purpose string, n int64, count *int64) (*cpu.Memory, error) {
	m, err := cpu.Alloc(n)
	if err != nil {
		_, free := systemMemory()
		return nil, fmt.Errorf("%w: the CPU has %d MiB free, the %s of the model take %d MiB", ErrMemory, free>>20, purpose, n>>20)
	}
	b.lane.memory = append(b.lane.memory, m)
	*count += n
	return m, nil
}

func (b *cpuBuild) allocate() error {
	used := &b.lane.used
	arena, err := b.alloc("activations", b.spec.Plan.Arena, &used.Scratch)
	if err != nil {
		return err
	}
	b.lane.arena = arena

	for _, s := range b.spec.Plan.States {
		if s.Recurrent() {
			conv, delta := s.PlaneFloats()
			m, err := b.alloc("recurrent states", int64(conv+delta)*4*int64(b.spec.Planes), &used.State)
			if err != nil {
				return err
			}
			b.states[s] = statePart{m.Pointer(), m.At(int64(conv) * 4 * int64(b.spec.Planes))}
			continue
		}
		var kv kvPart
		for part, t := range []tensor.Type{b.spec.Keys, b.spec.Values} {
			row := tensor.RowBytes(t, s.KVDim)
			m, err := b.alloc("keys and values", int64(b.spec.Slots)*int64(b.spec.Cells)*int64(s.KVHeads)*int64(row), &used.Cache)
			if err != nil {
				return err
			}
			kv[part] = m.Pointer()
			b.lane.caches = append(b.lane.caches, kvCache{m.Bytes(), s.KVHeads, b.spec.Cells, row})
		}
		b.kv[s] = kv
	}
	if floats := attentionFloats(b.spec.Plan); floats > 0 {
		m, err := b.alloc("attention scratch", floats*4*int64(b.card.threads), &used.Scratch)
		if err != nil {
			return err
		}
		b.scratch = m.Pointer()
		if m, err = b.alloc("attention scratch", cpu.AttentionShared*4*int64(b.card.threads), &used.Scratch); err != nil {
			return err
		}
		b.done = m.Pointer()
	}
	if x := b.lane.exchange; x != nil {
		used.Scratch += cpu.ExchangeBytes(x.floats)
	}
	return nil
}

func (b *cpuBuild) at(l plan.Loc) unsafe.Pointer { return b.lane.arena.At(l.Off) }

// vector is a weight in f32, copied where it is stored otherwise, not in one piece, or not aligned for floats.
func (b *cpuBuild) vector(w *graph.Weight) (unsafe.Pointer, error) {
	if p, ok := b.vectors[w]; ok {
		return p, nil
	}
	src := b.spec.source(w)
	data, _ := src.run(0, src.count)
	p := unsafe.Pointer(unsafe.SliceData(data))
	if !mappedVector(w, src.typ) || uintptr(p)%4 != 0 {
		n, err := tensor.Elements(w.Shape)
		if err != nil {
			return nil, err
		}
		m, err := b.alloc("f32 copies", n*4, &b.lane.used.Scratch)
		if err != nil {
			return nil, err
		}
		if data == nil {
			data = make([]byte, src.count*src.row)
			err = src.copy(data, 0, src.count)
		} else {
			err = b.spec.need(data)
		}
		if err != nil {
			return nil, err
		}
		if err := cpu.Dequantize(cpu.Type(src.typ), data, m.Float32s()); err != nil {
			return nil, fmt.Errorf("%s: %w", w.Name, err)
		}
		p = m.Pointer()
	} else if err := b.spec.need(data); err != nil {
		return nil, err
	}
	b.vectors[w] = p
	return p, nil
}

func (b *cpuBuild) rotation(r *graph.Rope, w []*graph.Weight) (rotation, error) {
	if t, ok := b.freqs[r]; ok {
		return t, nil
	}
	var factors []float32
	if len(w) > 0 {
		p, err := b.vector(w[0])
		if err != nil {
			return rotation{}, err
		}
		factors = unsafe.Slice((*float32)(p), r.Dims/2)
	}
	freqs, mag := r.Freqs(factors)
	m, err := b.alloc("rotation tables", int64(len(freqs))*8, &b.lane.used.Scratch)
	if err != nil {
		return rotation{}, err
	}
	copy(m.Float64s(), freqs)
	t := rotation{m.Pointer(), float32(mag)}
	b.freqs[r] = t
	return t, nil
}

func (b *cpuBuild) add(s *plan.Step, a cpu.Args) error {
	if err := b.lane.program.Add(a); err != nil {
		if errors.Is(err, cpu.ErrNoKernel) {
			return fmt.Errorf("%w: %s: %w", ErrUnsupported, s.Op.Name(), err)
		}
		return err
	}
	return nil
}
