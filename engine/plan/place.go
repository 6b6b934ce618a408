package plan

import (
	"sort"

	"ingot/engine/graph"
)

// align keeps every value on a cache line of its own.
const align = 64

func padded(size int64) int64 { return (size + align - 1) / align * align }

type span struct{ off, size int64 }

// arena hands out the lowest free space that fits and takes it back; it remembers how far it ever reached.
type arena struct {
	free []span // sorted by off, never adjacent
	top  int64
}

func (a *arena) take(size int64) span {
	size = padded(size)
	for i, f := range a.free {
		if f.size >= size {
			s := span{f.off, size}
			if f.size == size {
				a.free = append(a.free[:i], a.free[i+1:]...)
			} else {
				a.free[i] = span{f.off + size, f.size - size}
			}
			return s
		}
	}
	off := a.top
	if n := len(a.free); n > 0 && a.free[n-1].off+a.free[n-1].size == a.top {
		off = a.free[n-1].off
		a.free = a.free[:n-1]
	}
	a.top = off + size
	return span{off, size}
}

func (a *arena) give(s span) {
	i := sort.Search(len(a.free), func(i int) bool { return a.free[i].off > s.off })
	a.free = append(a.free, span{})
	copy(a.free[i+1:], a.free[i:])
	a.free[i] = s
	if i+1 < len(a.free) && s.off+s.size == a.free[i+1].off {
		a.free[i].size += a.free[i+1].size
		a.free = append(a.free[:i+1], a.free[i+2:]...)
	}
	if i > 0 && a.free[i-1].off+a.free[i-1].size == a.free[i].off {
		a.free[i-1].size += a.free[i].size
		a.free = append(a.free[:i], a.free[i+1:]...)
	}
}

// memory is what gets a place: a root value, or a quantized copy of (a view of) one.
func (o operand) memory() operand {
	if o.q {
		return o
	}
	return operand{v: o.v.Root()}
}

// place gives every value memory for the steps it lives in and writes the plan's steps.
func (p *Plan) place(items []*item, l *laneGraph) {
	last := lastUses(items)
	for _, v := range l.lasting() {
		last[operand{v: v.Root()}] = len(items)
	}
	var mem arena
	where := map[operand]span{}
	for _, v := range l.in {
		k := operand{v: v.is}
		where[k] = mem.take(p.bytes(k))
		p.In = append(p.In, Port{v.of, p.loc(k, where[k])})
	}
	for i, it := range items {
		s := Step{Op: it.op, Layer: it.layer(), Rows: it.rows, Times: it.times, Each: it.each}
		if it.node != nil {
			s.W, s.State = it.w, it.node.State
		}
		// Inputs are looked up first: an output may take one's memory over.
		for _, o := range it.in {
			s.In = append(s.In, p.loc(o, where[o.memory()]))
			s.Fine = s.Fine || p.fine(o)
		}
		if it.add != nil {
			l := p.loc(operand{v: it.add}, where[operand{v: it.add}])
			s.Add = &l
		}
		for _, o := range it.out {
			k := o.memory()
			if _, inPlace := where[k]; !inPlace {
				size := p.bytes(k)
				if heir, ok := it.heir(i, last, where, size); ok {
					where[k] = where[heir]
					delete(where, heir)
				} else {
					where[k] = mem.take(size)
				}
			}
			s.Out = append(s.Out, p.loc(o, where[k]))
			s.Fine = s.Fine || p.fine(o)
		}
		p.Steps = append(p.Steps, s)
		for k, at := range where {
			if last[k] <= i {
				mem.give(at)
				delete(where, k)
			}
		}
	}
	p.Arena = mem.top
	at := func(v *graph.Value) Loc { return p.loc(operand{v: v}, where[operand{v: v.Root()}]) }
	if g := l.graph; g.Logits != nil {
		p.Logits, p.Hidden = at(g.Logits), at(g.Hidden)
	}
	for _, v := range l.out {
		p.Out = append(p.Out, Port{v.of, at(v.is)})
	}
	for _, v := range l.kept {
		p.Kept = append(p.Kept, Kept{v.of, at(v.is)})
	}
}

// lastUses is the last step that reads or writes each piece of memory.
func lastUses(items []*item) map[operand]int {
	last := map[operand]int{}
	for i, it := range items {
		for _, o := range it.in {
			last[o.memory()] = i
		}
		for _, o := range it.out {
			last[o.memory()] = i
		}
		if it.add != nil {
			last[operand{v: it.add}] = i
		}
	}
	return last
}

// heir returns the input whose memory the output takes over: one that dies at step i, that the kernel may overwrite
// and that the step does not read as anything else besides.
func (it *item) heir(i int, last map[operand]int, where map[operand]span, size int64) (operand, bool) {
	reads := map[*graph.Value]int{}
	for _, o := range it.in {
		if !o.q {
			reads[o.v.Root()]++
		}
	}
	var may []*graph.Value
	if it.add != nil {
		reads[it.add]++
		may = append(may, it.add)
	}
	for _, n := range it.mayReuse {
		if v := it.in[n].v; v.Base == nil {
			may = append(may, v)
		}
	}
	for _, v := range may {
		k := operand{v: v}
		if s, ok := where[k]; ok && last[k] == i && reads[v] == 1 && s.size == padded(size) {
			return k, true
		}
	}
	return operand{}, false
}

// rows is the most rows a value has, the experts of a token counted.
func (p *Plan) rows(v *graph.Value) int64 { return int64(p.Most(v.Rows)) * int64(v.Times) }

// Most is how many rows a batch has at most, all of them or those whose logits are wanted.
func (p *Plan) Most(r graph.Rows) int {
	if r == graph.OutRows {
		return p.Options.Outs
	}
	return p.Options.Rows
}

func (p *Plan) bytes(o operand) int64 {
	if o.q {
		n := p.rows(o.v) * p.Options.QuantRow(o.v.Cols)
		if p.fine(o) {
			n *= 2 // a second row holds the low parts
		}
		return n
	}
	return p.rows(o.v) * int64(o.v.Cols) * 4
}

// fine tells whether a quantized copy has 16 bits a value. What the head reads, rows whose logits are wanted, has not: no router
// comes after it.
func (p *Plan) fine(o operand) bool {
	head := o.v.Layer < 0 && o.v.Rows == graph.OutRows
	return o.q && !head && o.v.Layer <= p.lastRouter && p.lastRouter >= 0
}

func (p *Plan) loc(o operand, s span) Loc {
	v := o.v
	if o.q { // rows of QuantRow(Cols) bytes
		return Loc{Off: s.off, Stride: v.Cols, Heads: 1, Dim: v.Cols, Gap: v.Cols}
	}
	return Loc{Off: s.off + int64(v.Off)*4, Stride: v.Root().Cols, Heads: v.Heads, Dim: v.Dim, Gap: v.Gap}
}
