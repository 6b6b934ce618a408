// Package plan turns a graph into the ordered kernel steps of a lane, with every value's place in memory.
//
// Planning is a pure function of the graph, the weights' types and the options: it touches no card and no file, and
// its result prints as text. A plan is built once for a shape class and runs for any batch up to its rows.
package plan

import (
	"fmt"

	"ingot/engine/graph"
	"ingot/engine/tensor"
)

// Options are what a plan depends on beside the graph.
type Options struct {
	Rows int // most tokens of a batch
	Outs int // most rows whose logits are wanted
	// QuantRow is the bytes of a quantized row of activations, which the card's kernels define.
	QuantRow func(cols int) int64
	// Keep names values that stay readable after the run, such as a layer's output under a hook.
	Keep func(*graph.Value) bool
}

// Loc is where a value lies: in the arena, Off bytes from its start.
type Loc struct {
	Off    int64
	Stride int // elements from row to row
	Heads  int // groups a row, Dim elements each, Gap apart
	Dim    int
	Gap    int
}

// Cols is the number of elements a row has.
func (l Loc) Cols() int { return l.Heads * l.Dim }

// Step is one kernel launch.
type Step struct {
	Op    graph.Op
	Layer int
	In    []Loc
	W     []*graph.Weight
	State *graph.State
	Out   []Loc
	Add   *Loc       // added to the result (Linear, Combine)
	Rows  graph.Rows // how many rows it runs over
	Times int        // rows a token, for steps after expert routing
	Each  bool       // Experts: the input has a row for each expert a token uses
}

// Quantize makes the quantized copy of an activation that integer products read.
type Quantize struct{}

// Store writes keys and values to a layer's cache.
type Store struct{}

func (Quantize) Name() string { return "quantize" }
func (Store) Name() string    { return "store" }

// Plan is the program of one lane.
type Plan struct {
	Options Options
	Steps   []Step
	Arena   int64 // bytes of activations
	Logits  Loc   // [Outs][vocab] f32
	Hidden  Loc   // [Outs][dim] f32, what the head read
}

// Quantized tells whether products with a weight of that type read quantized activations.
func Quantized(t tensor.Type) bool { return t.Quantized() }

// Make plans a graph for one lane. typ gives each weight's stored type.
func Make(g *graph.Graph, typ func(*graph.Weight) tensor.Type, o Options) (*Plan, error) {
	if o.Rows < 1 || o.Outs < 1 {
		return nil, fmt.Errorf("plan for %d rows and %d outputs", o.Rows, o.Outs)
	}
	m := lower(g, typ)
	p := &Plan{Options: o}
	p.place(m, g)
	return p, nil
}

// item is a step whose operands are values, before they have places.
type item struct {
	op       graph.Op
	node     *graph.Node
	in       []operand
	out      []operand
	add      *graph.Value
	each     bool
	rows     graph.Rows
	times    int
	mayReuse []int // inputs whose memory the output may take over when they die here
}

// operand is a value or its quantized copy.
type operand struct {
	v *graph.Value
	q bool
}

// lower expands and fuses nodes:
//   - a product or an expert sum whose only reader adds something to it adds that itself
//   - attention becomes a store and a read
//   - an activation is quantized once, before its first integer product
func lower(g *graph.Graph, typ func(*graph.Weight) tensor.Type) []item {
	readers := map[*graph.Value]int{}
	for _, n := range g.Nodes {
		for _, v := range n.In {
			readers[v.Root()]++
		}
	}
	readers[g.Logits.Root()]++
	readers[g.Hidden.Root()]++
	producer := map[*graph.Value]*item{} // of products and expert sums
	quantized := map[*graph.Value]bool{}
	var items []*item
	quantize := func(v *graph.Value) operand {
		if r := v.Root(); !quantized[r] {
			quantized[r] = true
			items = append(items, &item{op: Quantize{}, in: []operand{{v: v}}, out: []operand{{v: r, q: true}}, rows: v.Rows, times: v.Times})
		}
		return operand{v: v, q: true}
	}
	defined := map[*graph.Value]int{} // position of the step that makes a value
	for _, n := range g.Nodes {
		it := &item{op: n.Op, node: n, rows: n.Out[0].Rows, times: n.Out[0].Times}
		for _, v := range n.In {
			it.in = append(it.in, operand{v: v})
		}
		for _, v := range n.Out {
			it.out = append(it.out, operand{v: v})
		}
		switch n.Op.(type) {
		case graph.Add:
			x, y := n.In[0], n.In[1]
			if p := producer[x]; p != nil && p.add == nil && readers[x] == 1 && defined[y.Root()] < defined[x] && y.Base == nil {
				p.add, p.out[0].v = y, n.Out[0]
				producer[n.Out[0]], defined[n.Out[0]] = p, defined[x]
				continue
			}
			it.mayReuse = []int{0, 1}
		case graph.Linear, graph.Experts:
			if Quantized(typ(n.W[0])) {
				it.in[0] = quantize(n.In[0])
			}
			if _, ok := n.Op.(graph.Experts); ok {
				it.each = n.In[0].Times > 1
			} else {
				producer[n.Out[0]] = it
			}
		case graph.Combine:
			producer[n.Out[0]] = it
		case graph.GLU:
			it.mayReuse = []int{0}
		case graph.Softcap:
			it.mayReuse = []int{0}
		case graph.Attention:
			items = append(items, &item{op: Store{}, node: n, in: it.in[1:3], rows: graph.AllRows, times: 1})
			it.in = append([]operand{it.in[0]}, it.in[3:]...)
		}
		items = append(items, it)
		for _, v := range n.Out {
			defined[v.Root()] = len(items)
		}
	}
	out := make([]item, len(items))
	for i, it := range items {
		out[i] = *it
	}
	return out
}
