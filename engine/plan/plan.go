// Package plan turns a graph into the ordered kernel steps of a lane, with every value's place in memory.
//
// Planning is a pure function of the graph, the weights' types and the options: it touches no card and no file, and
// its result prints as text. A plan is built once for a shape class and runs for any batch up to its rows.
package plan

import (
	"fmt"
	"slices"

	"ingot/engine/graph"
	"ingot/engine/tensor"
)

// Options are what a plan depends on beside the graph.
type Options struct {
	Rows int // most tokens of a batch
	Outs int // most rows whose logits are wanted
	// QuantRow is the bytes of a quantized row of activations, which the card's kernels define.
	QuantRow func(cols int) int64
	// Gated: the card has the steps Gated and GatedExperts.
	Gated bool
	// Keep chooses values that stay readable after the run, such as a layer's output under a hook; nil: none. Rope
	// works in place: a kept query or key is seen as rope left it.
	Keep func(*graph.Value) bool
}

// keeps tells whether v's root was chosen.
func (o *Options) keeps(v *graph.Value) bool { return o.Keep != nil && o.Keep(v.Root()) }

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
	Fine  bool       // quantized activations, those it makes or those it reads, have 16 bits a value instead of 8
}

// Quantize makes the quantized copy of an activation that integer products read.
type Quantize struct{}

// Store writes keys and values to a layer's cache.
type Store struct{}

// Gated is a gated unit whole, Act of the product with W[0] times that with W[1], which have one shape and type; where there are
// four weights, the others are their biases.
type Gated struct{ Act graph.Activation }

// GatedExperts is the same of the experts a token uses. A single weight has the outputs of both, those of W[0] first.
type GatedExperts struct {
	Used int
	Act  graph.Activation
}

func (Quantize) Name() string     { return "quantize" }
func (Store) Name() string        { return "store" }
func (Gated) Name() string        { return "gated" }
func (GatedExperts) Name() string { return "gated-experts" }

// Plan is the program of one lane.
type Plan struct {
	Options Options
	Lane    int // which of the stage's Lanes it is for
	Lanes   int
	Steps   []Step
	Arena   int64 // bytes of activations
	Logits  Loc   // [Outs][vocab] f32
	Hidden  Loc   // [Outs][dim] f32, what the head read
	Kept    []Kept
	// In is what the stage before must have left here before a run, Out what later stages take; every lane of a stage
	// has all of these, whole. The first stage has no In; a stage that is not the last has no Logits and no Hidden.
	In, Out []Port
	States  []*graph.State // what the lane keeps between batches, as large as the lane's share
	// lastRouter is the last layer that routes tokens to experts; -1: none. Up to it activations are quantized to 16 bits a value
	// instead of 8: a small error in what a router reads picks another expert, and the answer jumps.
	lastRouter int
}

// Port is a value that goes from stage to stage, [rows * Times][Cols] without gaps.
type Port struct {
	Value *graph.Value // of the whole graph: the same pointer in the plan that makes it and in those that read it
	At    Loc
}

// Kept is a value that Options.Keep chose, [rows * Times][Cols].
type Kept struct {
	Value *graph.Value
	At    Loc
}

// Quantized tells whether products with a weight of that type read quantized activations.
func Quantized(t tensor.Type) bool { return t.Quantized() }

// Matrices is how many of its weights, the first, a step multiplies with; they are of one shape and type.
func (s *Step) Matrices() int {
	switch s.Op.(type) {
	case graph.Linear, graph.Experts:
		return 1
	case Gated, GatedExperts:
		return min(len(s.W), 2)
	}
	return 0
}

// Make plans a graph for one lane that has all of it. typ gives each weight's stored type.
func Make(g *graph.Graph, typ func(*graph.Weight) tensor.Type, o Options) (*Plan, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	whole := &laneGraph{graph: wanted(g, &o)}
	for _, v := range g.Values {
		if o.keeps(v) {
			whole.kept = append(whole.kept, laneValue{v, v})
		}
	}
	return whole.plan(typ, o, lastRouter(g)), nil
}

func (o *Options) check() error {
	if o.Rows < 1 || o.Outs < 1 {
		return fmt.Errorf("plan for %d rows and %d outputs", o.Rows, o.Outs)
	}
	return nil
}

// lastRouter is the last layer that routes tokens; -1: none.
func lastRouter(g *graph.Graph) int {
	last := -1
	for _, n := range g.Nodes {
		if _, routes := n.Op.(graph.Route); routes {
			last = max(last, n.Layer)
		}
	}
	return last
}

// plan makes the program of a lane from its graph.
func (l *laneGraph) plan(typ func(*graph.Weight) tensor.Type, o Options, lastRouter int) *Plan {
	p := &Plan{Options: o, lastRouter: lastRouter, Lanes: 1}
	for _, n := range l.graph.Nodes {
		if n.State != nil && !slices.Contains(p.States, n.State) {
			p.States = append(p.States, n.State)
		}
	}
	p.place(lower(l, typ, o.Gated), l)
	return p
}

// lasting is the lane's values that must stay readable after a run.
func (l *laneGraph) lasting() []*graph.Value {
	var all []*graph.Value
	if l.graph.Logits != nil {
		all = append(all, l.graph.Logits, l.graph.Hidden)
	}
	for _, v := range slices.Concat(l.out, l.kept) {
		all = append(all, v.is)
	}
	return all
}
