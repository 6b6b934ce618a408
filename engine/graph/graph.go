// Package graph describes a model's forward pass as a list of semantic operations on symbolic values.
//
// A graph knows weights by name and shape, and values by the number of floats in a row; it knows no device, no
// element type and no memory. The planner (engine/plan) turns it into programs.
package graph

import "fmt"

// Cut is an axis that several weights and values of a layer share and that lanes may divide: query heads, the width of
// a feed-forward block, the vocabulary. A lane takes a run of its units; a unit is never divided.
type Cut struct {
	Name  string
	Units int
}

// Split says how a weight lies over the lanes of a stage; the zero value: every lane that reads it holds all of it.
type Split struct {
	Cut  *Cut // the axis is divided where this is; nil: not at all
	Axis int  // of the shape: 0 a matrix's inputs or a vector's only axis, 1 a matrix's outputs
	// Segments: the axis is that many equal stretches one after the other, each divided alike (query, key and value
	// channels in one matrix); 0: 1.
	Segments int
	// Shared: that many neighbouring units have one piece of the axis in common (query heads a key head), which every
	// lane with one of these units holds; 0: 1.
	Shared int
}

// Columns is the split of a matrix whose outputs are divided.
func Columns(c *Cut) Split { return Split{Cut: c, Axis: 1} }

// RowsOf is the split of a matrix whose inputs are divided, so that its product is a partial sum, and of a vector.
func RowsOf(c *Cut) Split { return Split{Cut: c} }

// In is the same split of an axis of n segments.
func (s Split) In(n int) Split { s.Segments = n; return s }

// Sharing is the same split where n units share a piece.
func (s Split) Sharing(n int) Split { s.Shared = n; return s }

// Piece is how many values of an axis of that length belong to one unit, or to the units that share a piece, in each
// segment.
func (s Split) Piece(length int) int {
	return length / max(s.Segments, 1) / (s.Cut.Units / max(s.Shared, 1))
}

// Part is what a lane holds of a weight: stretches of one axis, joined. Where a weight has a third axis, of each of its
// matrices.
type Part struct {
	Axis      int
	Of        []int64 // the whole shape, as the file has it
	Stretches []Stretch
}

// Stretch is the values From to To-1 of an axis.
type Stretch struct{ From, To int64 }

// Weight is a tensor that a model needs.
type Weight struct {
	Name     string
	Shape    []int64 // fastest first, as GGUF lists it
	Split    Split
	Optional bool
	Tied     *Weight   // the tensor that stands in when an optional one is missing
	Or       []*Weight // optional ones that together stand in for this one where the file has them instead
	Absent   bool      // set when an optional tensor is not in the file
	ID       int       // position among the model's weights, and so in device.Spec.Weights
	Part     *Part     // what a lane holds, with Shape the shape of that; nil: all. A lane's weight keeps Name and ID
}

// use returns the tensor that an operation reads for w: w, its stand-in, or nil.
func (w *Weight) use() *Weight {
	if w != nil && w.Absent {
		return w.Tied
	}
	return w
}

// State is what a layer keeps between batches.
type State struct {
	Layer int
	// A KV cache: [slot][head][cell][dim], keys and values.
	KVHeads, KVDim int
	Window         int // cells attended to; 0: all
	// A recurrent state: the last Width-1 inputs of a convolution over Conv channels, and Heads matrices of Dim x Dim, all f32.
	Conv, Width, Heads, Dim int
	ID                      int
}

// Recurrent tells whether the state is overwritten by every token, so that going back needs a snapshot.
func (s *State) Recurrent() bool { return s.Heads > 0 }

// PlaneFloats is the size of one plane of a recurrent state: the convolution's part, then the matrices.
func (s *State) PlaneFloats() (conv, delta int) {
	return s.Conv * max(s.Width-1, 0), s.Heads * s.Dim * s.Dim
}

// Rows says how many rows a value has.
type Rows int

const (
	AllRows Rows = iota // one for each token of the batch
	OutRows             // one for each row whose logits are wanted
)

// Value is the result of an operation, or a view of one: Heads groups of Dim floats, Gap apart, Off from the row's start.
type Value struct {
	Name  string // of the operation, the weight it multiplied with, or as Builder.Name says
	Layer int    // that made it; -1 outside the layers
	Cols  int    // floats a row; Heads*Dim
	Rows  Rows
	Times int // rows a token: 1, or the experts a token uses
	Base  *Value
	Off   int
	Heads int
	Dim   int
	Gap   int
	Index bool // int32 instead of f32
	ID    int
}

// contiguous tells whether a row's groups follow one another without gaps.
func (v *Value) contiguous() bool { return v.Heads == 1 || v.Gap == v.Dim }

// Names that architectures give the values of a layer, so that hooks find them in any model.
const (
	Embedding  = "embed"       // the rows that the first layer reads
	AttnNorm   = "attn_norm"   // normalized input of the layer's attention or recurrent part
	AttnOut    = "attn_out"    // result of that part
	FFNIn      = "ffn_inp"     // the same added to the layer's input
	FFNNorm    = "ffn_norm"    // normalized input of the feed-forward part
	FFNOut     = "ffn_out"     // result of that part
	LayerOut   = "l_out"       // the layer's result
	ResultNorm = "result_norm" // what the head reads
	Logits     = "logits"
)

// Root returns the value that v is a view of, or v.
func (v *Value) Root() *Value {
	for v.Base != nil {
		v = v.Base
	}
	return v
}

// Node is one operation: what it reads, which weights and state it uses, what it writes.
type Node struct {
	Op    Op
	Layer int // -1 outside the layers
	In    []*Value
	W     []*Weight
	State *State
	Out   []*Value
}

// Graph is a forward pass in execution order.
type Graph struct {
	Nodes  []*Node
	Values []*Value // roots only, by ID
	Logits *Value
	Hidden *Value // the rows that the head reads, for drafting heads and embeddings
}

// Builder appends operations. It panics on operands that do not fit: those are faults of an architecture's code,
// found by its tests, never of a file.
type Builder struct {
	g     Graph
	layer int
}

// NewBuilder returns a builder of an empty graph.
func NewBuilder() *Builder { return &Builder{layer: -1} }

// Graph returns what was built.
func (b *Builder) Graph() *Graph { return &b.g }

// Layer says which layer the next operations belong to; -1: none.
func (b *Builder) Layer(i int) { b.layer = i }

// Name gives a value the name that hooks know it by, and returns it.
func (b *Builder) Name(name string, v *Value) *Value {
	v.Root().Name = name
	return v
}

func (b *Builder) value(name string, cols int, rows Rows, times int) *Value {
	v := &Value{Name: name, Layer: b.layer, Cols: cols, Rows: rows, Times: times, Heads: 1, Dim: cols, Gap: cols, ID: len(b.g.Values)}
	b.g.Values = append(b.g.Values, v)
	return v
}

func (b *Builder) node(op Op, in []*Value, w []*Weight, st *State, out ...*Value) {
	b.g.Nodes = append(b.g.Nodes, &Node{Op: op, Layer: b.layer, In: in, W: w, State: st, Out: out})
}

func need(ok bool, format string, args ...any) {
	if !ok {
		panic(fmt.Sprintf("graph: "+format, args...))
	}
}
