package plan

import "ingot/engine/graph"

// wanted moves the choice of the rows whose logits are wanted up to where rows stop to mix. What follows the last
// attention or recurrence reads no other row, so a long prompt need not go through the last feed-forward part with
// every token. Values that Options.Keep chose keep all rows, and so does all that they are made from.
func wanted(g *graph.Graph, o *Options) *graph.Graph {
	if o.Outs >= o.Rows {
		return g
	}
	w := &wanting{few: fewRows(g, o), of: map[*graph.Value]*graph.Value{}, gather: map[*graph.Node]*graph.Value{}}
	w.choose(g)
	for _, n := range g.Nodes {
		w.node(n)
	}
	out := *g
	out.Nodes = w.nodes
	out.Logits, out.Hidden = w.has(g.Logits), w.has(g.Hidden)
	return &out
}

// rowwise tells whether an operation makes each row from that row of its inputs alone, and runs on the wanted ones.
func rowwise(op graph.Op) bool {
	switch op.(type) {
	case graph.Linear, graph.Norm, graph.GLU, graph.Add, graph.Softcap:
		return true
	}
	return false
}

// fewRows is the nodes whose results are read for the wanted rows alone, each behind a product that is among them:
// to gather two values instead of their sum would gain nothing.
func fewRows(g *graph.Graph, o *Options) map[*graph.Node]bool {
	writers := map[*graph.Value]int{}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			writers[v.Root()]++
		}
	}
	all := map[*graph.Value]bool{} // roots of which some reader needs all rows
	few := map[*graph.Node]bool{}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := g.Nodes[i]
		out := n.Out[0].Root()
		if _, ok := n.Op.(graph.Gather); ok {
			in := n.In[0].Root()
			all[in] = all[in] || o.keeps(out)
		}
		if out.Rows == graph.OutRows {
			continue
		}
		few[n] = rowwise(n.Op) && !all[out] && !o.keeps(out)
		for _, v := range n.In {
			few[n] = few[n] && writers[v.Root()] == 1 // a copy of a value that changes later would be another
		}
		if !few[n] {
			for _, v := range n.In {
				all[v.Root()] = true
			}
		}
	}
	behind := map[*graph.Value]bool{}
	for _, n := range g.Nodes {
		_, product := n.Op.(graph.Linear)
		for _, v := range n.In {
			product = product || behind[v.Root()]
		}
		few[n] = few[n] && product
		behind[n.Out[0].Root()] = few[n]
	}
	return few
}

// wanting writes the nodes again.
type wanting struct {
	few    map[*graph.Node]bool
	of     map[*graph.Value]*graph.Value // the wanted rows of a root value
	gather map[*graph.Node]*graph.Value  // the root value to gather once a node is done
	nodes  []*graph.Node
}

// choose gives the wanted rows that are read a value of their own. What is gathered is so as soon as it is made, before the
// product that may add it.
func (w *wanting) choose(g *graph.Graph) {
	last := map[*graph.Value]*graph.Node{} // that writes a root value
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			last[v.Root()] = n
		}
		if w.few[n] {
			out := n.Out[0].Root()
			w.of[out] = few(out)
		}
	}
	for _, n := range g.Nodes {
		out := n.Out[0].Root()
		for _, v := range n.In {
			v := v.Root()
			_, done := w.of[v]
			if done || v.Rows == graph.OutRows || out.Rows == graph.AllRows && !w.few[n] {
				continue
			}
			w.gather[last[v]] = v
			if _, ok := n.Op.(graph.Gather); ok {
				w.of[v] = out
			} else {
				w.of[v] = few(v)
			}
		}
		if _, ok := n.Op.(graph.Gather); ok {
			w.of[out] = w.of[n.In[0].Root()]
		}
	}
}

// few is a value for the wanted rows of a root value.
func few(v *graph.Value) *graph.Value {
	c := *v
	c.Name, c.Rows = "outs", graph.OutRows
	return &c
}

func (w *wanting) node(n *graph.Node) {
	out := n.Out[0].Root()
	_, gather := n.Op.(graph.Gather)
	switch {
	case gather: // where its input is made
	case w.few[n] || out.Rows == graph.OutRows:
		c := *n
		c.In = nil
		for _, v := range n.In {
			c.In = append(c.In, view(v, w.has(v.Root())))
		}
		if w.few[n] {
			c.Out = []*graph.Value{w.of[out]}
		}
		w.nodes = append(w.nodes, &c)
	default:
		w.nodes = append(w.nodes, n)
	}
	if v, ok := w.gather[n]; ok {
		w.nodes = append(w.nodes, &graph.Node{Op: graph.Gather{}, Layer: n.Layer, In: []*graph.Value{v}, Out: []*graph.Value{w.of[v]}})
	}
}

// has is the wanted rows of a root value; one that has no others is its own.
func (w *wanting) has(v *graph.Value) *graph.Value {
	if c, ok := w.of[v]; ok {
		return c
	}
	return v
}

// view is what v is of its root, of another root.
func view(v, root *graph.Value) *graph.Value {
	if v.Base == nil {
		return root
	}
	c := *v
	c.Base, c.Rows = root, root.Rows
	return &c
}
