package plan

import (
	"sort"

	"ingot/engine/graph"
)

// align keeps every value on a cache line of its own.
const align = 64

type span struct{ off, size int64 }

// arena hands out the lowest free space that fits and takes it back; it remembers how far it ever reached.
type arena struct {
	free []span // sorted by off, never adjacent
	top  int64
}

func (a *arena) take(size int64) span {
	size = (size + align - 1) / align * align
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

// key is a root value or its quantized copy.
type key struct {
	v *graph.Value
	q bool
}

// place gives every value memory for the steps it lives in and writes the plan's steps.
func (p *Plan) place(items []item, g *graph.Graph) {
	last := map[key]int{}
	for i, it := range items {
		for _, o := range it.in {
			last[key{o.v.Root(), o.q}] = i
		}
		for _, o := range it.out {
			last[key{o.v.Root(), o.q}] = i
		}
		if it.add != nil {
			last[key{it.add.Root(), false}] = i
		}
	}
	for _, n := range g.Nodes { // values someone wants to see live to the end
		for _, v := range n.Out {
			if p.Options.Keep != nil && p.Options.Keep(v) {
				last[key{v.Root(), false}] = len(items)
			}
		}
	}
	last[key{g.Logits.Root(), false}] = len(items)
	last[key{g.Hidden.Root(), false}] = len(items)

	var mem arena
	where := map[key]span{}
	for i, it := range items {
		for _, o := range it.out {
			k := key{o.v.Root(), o.q}
			if _, ok := where[k]; ok { // in place
				continue
			}
			size := p.bytes(k)
			if heir := p.heir(it, i, last, where, size); heir != nil {
				where[k] = where[*heir]
				delete(where, *heir)
				continue
			}
			where[k] = mem.take(size)
		}
		s := Step{Op: it.op, Layer: -1, Rows: it.rows, Times: it.times, Each: it.each}
		if it.node != nil {
			s.Layer, s.W, s.State = it.node.Layer, it.node.W, it.node.State
		}
		for _, o := range it.in {
			s.In = append(s.In, p.loc(o, p.find(where, it, o)))
		}
		for _, o := range it.out {
			s.Out = append(s.Out, p.loc(o, where[key{o.v.Root(), o.q}]))
		}
		if it.add != nil {
			l := p.loc(operand{v: it.add}, p.find(where, it, operand{v: it.add}))
			s.Add = &l
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
	p.Logits = p.loc(operand{v: g.Logits}, where[key{g.Logits.Root(), false}])
	p.Hidden = p.loc(operand{v: g.Hidden}, where[key{g.Hidden.Root(), false}])
}

// find is the memory of an operand, which an output may have just taken over.
func (p *Plan) find(where map[key]span, it item, o operand) span {
	if s, ok := where[key{o.v.Root(), o.q}]; ok {
		return s
	}
	return where[key{it.out[0].v.Root(), it.out[0].q}]
}

// heir returns the input whose memory the first output takes over: one that dies here and that the kernel may overwrite.
func (p *Plan) heir(it item, i int, last map[key]int, where map[key]span, size int64) *key {
	var may []*graph.Value
	if it.add != nil {
		may = append(may, it.add)
	}
	for _, n := range it.mayReuse {
		if v := it.in[n].v; v.Base == nil && !it.in[n].q {
			may = append(may, v)
		}
	}
	for _, v := range may {
		k := key{v, false}
		if s, ok := where[k]; ok && last[k] == i && s.size == (size+align-1)/align*align {
			return &k
		}
	}
	return nil
}

func (p *Plan) rows(v *graph.Value) int64 {
	n := p.Options.Rows
	if v.Rows == graph.OutRows {
		n = p.Options.Outs
	}
	return int64(n) * int64(v.Times)
}

func (p *Plan) bytes(k key) int64 {
	if k.q {
		return p.rows(k.v) * p.Options.QuantRow(k.v.Cols)
	}
	return p.rows(k.v) * int64(k.v.Cols) * 4
}

func (p *Plan) loc(o operand, s span) Loc {
	v := o.v
	l := Loc{Off: s.off + int64(v.Off)*4, Stride: v.Root().Cols, Heads: v.Heads, Dim: v.Dim, Gap: v.Gap}
	if o.q {
		l.Off = s.off
	}
	return l
}
