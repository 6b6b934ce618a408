package plan

import (
	"fmt"
	"slices"

	"ingot/engine/graph"
)

// segment is a stage's run of the graph, before it is divided: values that come in, that go out, and that are kept.
type segment struct {
	graph *graph.Graph // Logits and Hidden only where the stage has them
	in    []*graph.Value
	out   []*graph.Value
	keep  map[*graph.Value]bool // roots
}

// laneGraph is a lane's share of a segment: an ordinary graph of smaller values.
type laneGraph struct {
	graph *graph.Graph
	in    []laneValue
	out   []laneValue
	kept  []laneValue
}

// laneValue is a value of the whole graph and the lane's value that is the same.
type laneValue struct{ of, is *graph.Value }

// form says how a value lies over the lanes.
type form int

const (
	whole   form = iota // every lane has all of it
	split               // every lane has some columns
	partial             // every lane has a summand
)

// lie is a value as the lane has it.
type lie struct {
	form  form
	split graph.Split  // of the columns, where form is split
	v     *graph.Value // the lane's; nil where its share is empty
	all   *graph.Value // the same joined or summed up, once that was needed
}

// shard makes one lane's graph. What lanes do together follows from how weights are split: a product with divided outputs
// is a divided value, one with divided inputs a summand. A summand that meets a whole value is summed over the lanes (one
// AllReduce, the addition with it); an operation on whole rows of a divided value has it joined (one AllGather).
type shard struct {
	cuts    *cuts
	t       int // the lane
	keep    map[*graph.Value]bool
	lies    map[*graph.Value]*lie // by root of the whole graph
	weights map[*graph.Weight]*graph.Weight
	states  map[*graph.State]*graph.State
	stored  map[*graph.State]graph.Split // how keys and values lie over the lanes
	out     graph.Graph
	layer   int
}

func newShard(c *cuts, t int, keep map[*graph.Value]bool) *shard {
	return &shard{cuts: c, t: t, keep: keep, lies: map[*graph.Value]*lie{}, weights: map[*graph.Weight]*graph.Weight{},
		states: map[*graph.State]*graph.State{}, stored: map[*graph.State]graph.Split{}}
}

// lane makes the graph of lane t.
func (c *cuts) lane(s *segment, t int) (l *laneGraph, err error) {
	d := newShard(c, t, s.keep)
	defer func() {
		if p := recover(); p != nil {
			f, ok := p.(unsplittable)
			if !ok {
				panic(p)
			}
			err = f
		}
	}()
	l = &laneGraph{}
	for _, v := range s.in {
		is := d.value(v, v.Cols)
		d.lies[v] = &lie{form: whole, v: is}
		l.in = append(l.in, laneValue{v, is})
	}
	last := map[*graph.Value]int{} // node that last writes a root
	for i, n := range s.graph.Nodes {
		for _, v := range n.Out {
			last[v.Root()] = i
		}
	}
	kept := map[*graph.Value]*graph.Value{}
	for i, n := range s.graph.Nodes {
		d.layer = n.Layer
		d.node(n)
		for _, v := range n.Out {
			if r := v.Root(); last[r] == i && s.keep[r] {
				kept[r] = d.whole(r)
			}
		}
	}
	for _, v := range s.out {
		l.out = append(l.out, laneValue{v, d.whole(v)})
	}
	for _, v := range s.graph.Values {
		if is, ok := kept[v]; ok {
			l.kept = append(l.kept, laneValue{v, is})
		}
	}
	if s.graph.Logits != nil {
		d.out.Logits, d.out.Hidden = d.whole(s.graph.Logits), d.whole(s.graph.Hidden)
	}
	l.graph = &d.out
	return l, nil
}

// unsplittable is what no lanes can do; it ends the making of a lane's graph.
type unsplittable struct{ what string }

func (u unsplittable) Error() string { return u.what }

func refuse(format string, args ...any) { panic(unsplittable{fmt.Sprintf(format, args...)}) }

// value makes the lane's value for v, of that many columns.
func (d *shard) value(v *graph.Value, cols int) *graph.Value {
	is := *v
	is.Cols, is.Heads, is.Dim, is.Gap = cols, 1, cols, cols
	if v.Heads > 1 && v.Base == nil { // heads keep their width
		is.Heads, is.Dim, is.Gap = cols/v.Dim, v.Dim, v.Dim
	}
	is.ID = len(d.out.Values)
	d.out.Values = append(d.out.Values, &is)
	return &is
}

func (d *shard) add(op graph.Op, in []*graph.Value, w []*graph.Weight, st *graph.State, out ...*graph.Value) {
	d.out.Nodes = append(d.out.Nodes, &graph.Node{Op: op, Layer: d.layer, In: in, W: w, State: st, Out: out})
}

// columns is how many of a divided axis the lane has.
func (d *shard) columns(s graph.Split, length int) int { return d.cuts.length(s, length, d.t) }

// empty tells whether the lane has nothing of a cut.
func (d *shard) empty(c *graph.Cut) bool { at := d.cuts.of(c); return at[d.t] == at[d.t+1] }

// first tells whether the lane is the first that has something of a cut: it adds what is to be added once.
func (d *shard) first(c *graph.Cut) bool { return d.cuts.of(c)[d.t] == 0 && !d.empty(c) }

// weight is what the lane holds of w.
func (d *shard) weight(w *graph.Weight) *graph.Weight {
	if w.Split.Cut == nil {
		return w
	}
	if is, ok := d.weights[w]; ok {
		return is
	}
	axis := w.Split.Axis
	is := *w
	is.Part = &graph.Part{Axis: axis, Of: w.Shape, Stretches: d.cuts.stretches(w.Split, int(w.Shape[axis]), d.t)}
	is.Shape = slices.Clone(w.Shape)
	is.Shape[axis] = 0
	for _, s := range is.Part.Stretches {
		is.Shape[axis] += s.To - s.From
	}
	d.weights[w] = &is
	if is.Shape[axis] == w.Shape[axis] {
		d.weights[w] = w
	}
	return d.weights[w]
}

// state is the lane's share of a state, to be made smaller by the operation that uses it.
func (d *shard) state(s *graph.State) *graph.State {
	if s == nil {
		return nil
	}
	is, ok := d.states[s]
	if !ok {
		c := *s
		is = &c
		d.states[s] = is
	}
	return is
}

// lie is how the root of v lies.
func (d *shard) lie(v *graph.Value) *lie {
	l, ok := d.lies[v.Root()]
	if !ok {
		refuse("%s of layer %d is read before it is made", v.Root().Name, v.Root().Layer)
	}
	return l
}

// whole is the lane's value of which every lane has all: v joined or summed up where it is not so already.
func (d *shard) whole(v *graph.Value) *graph.Value { return viewOf(v, d.all(v.Root(), nil)) }

// all makes the root whole; add, a whole value of the lane, is added to a sum.
func (d *shard) all(root *graph.Value, add *graph.Value) *graph.Value {
	l := d.lie(root)
	if l.form == whole {
		return l.v
	}
	if l.all != nil {
		return l.all
	}
	layer := d.layer
	d.layer = root.Layer
	defer func() { d.layer = layer }()
	out := d.value(root, root.Cols)
	if l.form == partial {
		in := []*graph.Value{l.v}
		if add != nil {
			in = append(in, add)
		}
		d.add(AllReduce{}, in, nil, nil, out)
	} else {
		d.gather(root, l, out)
	}
	l.all = out
	return out
}

// gather joins a divided value, a segment at a time. Pieces that several lanes have come from the first of them.
func (d *shard) gather(root *graph.Value, l *lie, out *graph.Value) {
	segments, shared := max(l.split.Segments, 1), max(l.split.Shared, 1)
	at, piece, length := d.cuts.of(l.split.Cut), l.split.Piece(root.Cols), root.Cols/segments
	cols := []int{0}
	for t := range d.cuts.speeds {
		to := (at[t+1] + shared - 1) / shared * piece
		if at[t] == at[t+1] {
			to = 0
		}
		cols = append(cols, max(to, cols[t]))
	}
	n, held := cols[d.t+1]-cols[d.t], 0
	if l.v != nil {
		held = l.v.Cols / segments
	}
	for s := range segments {
		var in []*graph.Value
		if n > 0 { // the last n columns of what it holds: those before are of earlier lanes
			in = []*graph.Value{stretch(l.v, s*held+held-n, n)}
		}
		d.add(AllGather{slices.Clone(cols)}, in, nil, nil, stretch(out, s*length, length))
	}
}

// stretch is a view of some columns.
func stretch(v *graph.Value, off, n int) *graph.Value {
	if off == 0 && n == v.Cols {
		return v
	}
	c := *v
	c.Base, c.Off, c.Cols, c.Heads, c.Dim, c.Gap, c.ID = v, off, n, 1, n, n, -1
	return &c
}

// viewOf is what v is of its root, of a lane's value that is the whole root.
func viewOf(v, is *graph.Value) *graph.Value {
	if v.Base == nil {
		return is
	}
	c := *v
	c.Base, c.Rows, c.Name = is, is.Rows, is.Name
	return &c
}

// divided is v as a divided value: its split and the lane's part of it, nil where that is empty. ok is false where v does
// not lie so: its root is not divided, or the view takes other columns than whole pieces.
func (d *shard) divided(v *graph.Value) (s graph.Split, part *graph.Value, ok bool) {
	l := d.lie(v)
	if l.form != split {
		return s, nil, false
	}
	if v.Base == nil {
		return l.split, l.v, true
	}
	root := v.Root()
	length, piece := root.Cols/max(l.split.Segments, 1), l.split.Piece(root.Cols)
	from, within := v.Off/length, v.Off%length
	gap := v.Gap
	if v.Heads == 1 && within == 0 && v.Dim%length == 0 { // whole segments
		gap = piece
	} else if piece%gap != 0 || within >= gap || v.Heads*gap%length != 0 {
		return s, nil, false
	}
	n := v.Heads * gap / length // segments
	if v.Heads == 1 {
		n = v.Dim / length
	}
	s = l.split
	s.Segments = n
	if l.v == nil {
		return s, nil, true
	}
	held := l.v.Cols / max(l.split.Segments, 1)
	c := *v
	c.Base, c.Rows, c.Name = l.v, l.v.Rows, l.v.Name
	c.Off = from*held + within
	if v.Heads == 1 {
		c.Cols, c.Dim, c.Gap = n*held, n*held, n*held
	} else {
		c.Heads = n * held / gap
		c.Cols = c.Heads * v.Dim
	}
	return s, &c, true
}

// slice is the lane's columns of a whole v, as split s divides it: a view. It is for what sliceable allows.
func (d *shard) slice(v *graph.Value, s graph.Split) *graph.Value {
	w := d.whole(v)
	if d.empty(s.Cut) {
		return nil
	}
	at := d.cuts.stretches(s, v.Cols, d.t)[0]
	from, n := int(at.From), int(at.To-at.From)
	c := *w
	c.Base, c.Cols, c.ID = w.Root(), n, -1
	switch {
	case v.Heads > 1 && s.Piece(v.Cols)%v.Dim == 0:
		c.Off, c.Heads = w.Off+from/v.Dim*v.Gap, n/v.Dim
	default:
		c.Off, c.Heads, c.Dim, c.Gap = w.Off+from, 1, n, n
	}
	return &c
}

// sliceable tells whether a lane's columns of v, were it whole, are a view of it.
func sliceable(v *graph.Value, s graph.Split) bool {
	return max(s.Segments, 1) == 1 && (v.Heads == 1 || v.Gap == v.Dim || s.Piece(v.Cols)%v.Dim == 0)
}

// may tells whether v can be had divided as s says.
func (d *shard) may(v *graph.Value, s graph.Split) bool {
	got, _, ok := d.divided(v)
	return ok && equal(got, s) || sliceable(v, s)
}

// like is v divided as s says, whatever it was; may has been asked.
func (d *shard) like(v *graph.Value, s graph.Split) *graph.Value {
	if got, part, ok := d.divided(v); ok && equal(got, s) {
		return part
	}
	return d.slice(v, s)
}

// equal tells whether two axes are divided alike.
func equal(a, b graph.Split) bool {
	return a.Cut == b.Cut && max(a.Segments, 1) == max(b.Segments, 1) && max(a.Shared, 1) == max(b.Shared, 1)
}

// set records what an operation made.
func (d *shard) set(v *graph.Value, l *lie) { d.lies[v.Root()] = l }

// makeSplit makes a divided value; nil where the lane's share is empty.
func (d *shard) makeSplit(v *graph.Value, s graph.Split) *graph.Value {
	s.Axis = 0
	l := &lie{form: split, split: s}
	if n := d.columns(s, v.Cols); n > 0 {
		l.v = d.value(v, n)
		if d.keep[v] {
			l.v.Name = "share of " + v.Name
		}
	}
	d.set(v, l)
	return l.v
}

// makePartial makes a summand.
func (d *shard) makePartial(v *graph.Value) *graph.Value {
	l := &lie{form: partial, v: d.value(v, v.Cols)}
	if d.keep[v] {
		l.v.Name = "summand of " + v.Name
	}
	d.set(v, l)
	return l.v
}

// makeWhole makes a value that every lane has.
func (d *shard) makeWhole(v *graph.Value) *graph.Value {
	l := &lie{form: whole, v: d.value(v, v.Cols)}
	d.set(v, l)
	return l.v
}
