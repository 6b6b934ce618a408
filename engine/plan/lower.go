package plan

import (
	"slices"

	"ingot/engine/graph"
	"ingot/engine/tensor"
)

// item is a step whose operands are values, before they have places.
type item struct {
	op       graph.Op
	node     *graph.Node // nil: none, the planner added the step
	w        []*graph.Weight
	in       []operand
	out      []operand
	add      *graph.Value
	each     bool
	rows     graph.Rows
	times    int
	mayReuse []int // inputs whose memory the output may take over when they die here
}

// layer is the one the step belongs to.
func (it *item) layer() int {
	if it.node == nil {
		return it.in[0].v.Layer // a quantized copy goes with its value
	}
	return it.node.Layer
}

// operand is a value or its quantized copy.
type operand struct {
	v *graph.Value
	q bool
}

// piece is the part of a root value that a quantized copy holds.
type piece struct {
	root      *graph.Value
	off, cols int
}

// lowering expands and fuses nodes:
//   - a product or an expert sum whose only reader adds something to it adds that itself
//   - attention becomes a store and a read
//   - an activation is quantized once, before its first integer product
//   - where the card has such steps, a gated unit is one with its two products
type lowering struct {
	typ       func(*graph.Weight) tensor.Type
	gated     bool
	lasting   map[*graph.Value]bool // roots
	items     []*item
	readers   map[*graph.Value]int   // of a root value
	defined   map[*graph.Value]int   // number of the step that last wrote a root value, from 1; steps that a gated unit took over count
	producer  map[*graph.Value]*item // the product, or sum of experts, that makes a value
	quantized map[piece]*graph.Value
}

func lower(lane *laneGraph, typ func(*graph.Weight) tensor.Type, gated bool) []*item {
	g := lane.graph
	l := &lowering{typ: typ, gated: gated, lasting: map[*graph.Value]bool{}, readers: map[*graph.Value]int{}, defined: map[*graph.Value]int{},
		producer: map[*graph.Value]*item{}, quantized: map[piece]*graph.Value{}}
	for _, n := range g.Nodes {
		for _, v := range n.In {
			l.readers[v.Root()]++
		}
	}
	for _, v := range lane.lasting() {
		l.lasting[v.Root()] = true
	}
	for _, n := range g.Nodes {
		l.node(n)
	}
	return slices.DeleteFunc(l.items, func(it *item) bool { return it.op == nil })
}

func (l *lowering) node(n *graph.Node) {
	it := &item{op: n.Op, node: n, w: n.W, rows: n.Out[0].Rows, times: n.Out[0].Times, in: operands(n.In), out: operands(n.Out)}
	switch op := n.Op.(type) {
	case graph.Add:
		if l.fuse(n, n.In[0], n.In[1]) || l.fuse(n, n.In[1], n.In[0]) {
			return
		}
		it.mayReuse = []int{0, 1}
	case graph.Linear:
		l.product(it)
		l.producer[n.Out[0]] = it
	case graph.Experts:
		l.product(it)
		it.each = n.In[0].Times > 1
		l.producer[n.Out[0]] = it
	case graph.Combine:
		l.producer[n.Out[0]] = it
	case AllReduce:
		if len(n.In) > 1 {
			it.add, it.in = n.In[1], it.in[:1]
		}
		it.mayReuse = []int{0}
	case graph.GLU:
		if !l.unit(it, op.Act) {
			it.mayReuse = []int{0}
		}
	case graph.Softcap:
		it.mayReuse = []int{0}
	case graph.Attention:
		if !op.Stored {
			l.items = append(l.items, &item{op: Store{}, node: n, in: it.in[1:3], rows: graph.AllRows, times: 1})
			it.in = append([]operand{it.in[0]}, it.in[3:]...)
		}
	}
	l.items = append(l.items, it)
	for _, v := range n.Out {
		if l.defined[v.Root()] > 0 { // written in place: copies made before are of another value
			for p := range l.quantized {
				if p.root == v.Root() {
					delete(l.quantized, p)
				}
			}
		}
		l.defined[v.Root()] = len(l.items)
	}
}

// fuse makes the step that produced x add y; false where x is read elsewhere, or y comes later.
func (l *lowering) fuse(n *graph.Node, x, y *graph.Value) bool {
	p := l.producer[x]
	if p == nil || p.times > 1 || p.add != nil || l.readers[x] != 1 || l.lasting[x.Root()] || y.Base != nil || l.defined[y] >= l.defined[x] {
		return false
	}
	p.add, p.out[0].v = y, n.Out[0]
	l.defined[n.Out[0]] = l.defined[x]
	return true
}

// unit makes a gated unit one step with the products of its inputs; false where it cannot be. These must be of one shape and type
// and read one input, and nothing else may read what they make.
func (l *lowering) unit(it *item, act graph.Activation) bool {
	gate, up := it.in[0].v, it.in[1].v
	p, q := l.producer[gate.Root()], l.producer[up.Root()]
	if !l.gated || p == nil || q == nil || l.lasting[gate.Root()] || l.lasting[up.Root()] || !slices.Equal(p.in, q.in) {
		return false
	}
	joined := gate.Base != nil
	switch {
	case joined: // halves of one product
		if p != q || up.Base == nil || gate.Off != 0 || up.Off != gate.Cols || gate.Root().Cols != 2*gate.Cols || l.readers[gate.Root()] != 2 || len(p.w) > 1 {
			return false
		}
	case p == q || up.Base != nil || l.readers[gate] != 1 || l.readers[up] != 1 || len(p.w) != len(q.w) ||
		l.typ(p.w[0]) != l.typ(q.w[0]) || !slices.Equal(p.w[0].Shape, q.w[0].Shape):
		return false
	}
	if x := p.in[0].v.Root(); l.defined[x] >= l.defined[gate.Root()] || l.defined[x] >= l.defined[up.Root()] { // it was turned in between
		return false
	}
	switch op := p.op.(type) {
	case graph.Linear:
		if _, both := q.op.(graph.Linear); !both || joined {
			return false
		}
		it.op = Gated{act}
	case graph.Experts:
		it.op = GatedExperts{op.Used, act}
	default:
		return false
	}
	it.in, it.each, it.w = p.in, p.each, p.w
	if !joined {
		it.w = []*graph.Weight{p.w[0], q.w[0]}
		for i := range p.w[1:] {
			it.w = append(it.w, p.w[1+i], q.w[1+i])
		}
	}
	p.op, q.op = nil, nil
	return true
}

// product makes a product read the quantized copy of its activations, where its weights are quantized.
func (l *lowering) product(it *item) {
	v := it.in[0].v
	if !Quantized(l.typ(it.node.W[0])) {
		return
	}
	at := piece{v.Root(), v.Off, v.Cols}
	first, ok := l.quantized[at]
	if !ok {
		first = v
		l.quantized[at] = v
		l.items = append(l.items, &item{op: Quantize{}, in: []operand{{v: v}}, out: []operand{{v: v, q: true}}, rows: v.Rows, times: v.Times})
	}
	it.in[0] = operand{v: first, q: true}
}

func operands(vs []*graph.Value) []operand {
	os := make([]operand, len(vs))
	for i, v := range vs {
		os[i].v = v
	}
	return os
}
