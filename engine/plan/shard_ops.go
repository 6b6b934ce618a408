package plan

import "ingot/engine/graph"

// node adds the lane's share of an operation.
func (d *shard) node(n *graph.Node) {
	switch op := n.Op.(type) {
	case graph.Linear:
		d.product(n, len(n.W[0].Shape) > 1, 1)
	case graph.Experts:
		d.product(n, true, 1)
	case graph.Norm:
		d.norm(n)
	case graph.Rotate:
		d.rotate(n)
	case graph.Attention:
		d.attention(n, op)
	case graph.Conv:
		d.conv(n)
	case graph.DeltaNet:
		d.deltaNet(n, op)
	case graph.GLU:
		d.elementwise(n)
	case graph.Add:
		d.sum(n)
	case graph.Softcap:
		d.elementwise(n)
	case graph.Gather:
		d.rows(n)
	case graph.Combine:
		d.combine(n)
	default: // Embed, Route, and whatever has no rule of its own
		d.everywhere(n)
	}
}

// everywhere does all of an operation on every lane.
func (d *shard) everywhere(n *graph.Node) {
	var in, out []*graph.Value
	for _, v := range n.In {
		in = append(in, d.whole(v))
	}
	for _, v := range n.Out {
		out = append(out, d.makeWhole(v))
	}
	d.add(n.Op, in, n.W, d.state(n.State), out...)
}

// product is a matrix product, or one with chosen experts: from is the number of the first further weight.
func (d *shard) product(n *graph.Node, matrix bool, from int) {
	s := n.W[0].Split
	if s.Cut == nil || !matrix || s.Axis == 0 && !d.may(n.In[0], s) {
		d.everywhere(n)
		return
	}
	in := append([]*graph.Value(nil), n.In...)
	for i, v := range in[1:] {
		in[i+1] = d.whole(v)
	}
	ws := []*graph.Weight{d.weight(n.W[0])}
	if s.Axis == 1 {
		in[0] = d.whole(n.In[0])
		for _, w := range n.W[from:] {
			ws = append(ws, d.weight(w))
		}
		if out := d.makeSplit(n.Out[0], s); out != nil {
			d.add(n.Op, in, ws, nil, out)
		}
		return
	}
	in[0] = d.like(n.In[0], s)
	out := d.makePartial(n.Out[0])
	if d.empty(s.Cut) {
		d.add(Zero{}, nil, nil, nil, out)
		return
	}
	if d.first(s.Cut) { // what is added to the sum is added once
		ws = append(ws, n.W[from:]...)
	}
	d.add(n.Op, in, ws, nil, out)
}

// norm is of whole heads: where a lane has such, its own.
func (d *shard) norm(n *graph.Node) {
	s, x, ok := d.divided(n.In[0])
	if !ok || s.Piece(n.In[0].Cols)%n.In[0].Dim != 0 || len(n.In) > 1 && !d.may(n.In[1], s) {
		d.everywhere(n)
		return
	}
	var gate *graph.Value
	if len(n.In) > 1 {
		gate = d.like(n.In[1], s)
	}
	out := d.makeSplit(n.Out[0], s)
	if out == nil {
		return
	}
	in := []*graph.Value{x}
	if gate != nil {
		in = append(in, gate)
	}
	d.add(n.Op, in, d.each(n.W), nil, out)
}

// each is what the lane holds of weights.
func (d *shard) each(ws []*graph.Weight) []*graph.Weight {
	var out []*graph.Weight
	for _, w := range ws {
		out = append(out, d.weight(w))
	}
	return out
}

// rotate works in place, on whole heads.
func (d *shard) rotate(n *graph.Node) {
	l := d.lie(n.In[0])
	if s, x, ok := d.divided(n.In[0]); ok && s.Piece(n.In[0].Cols)%n.In[0].Dim == 0 {
		l.all = nil // joined before, it would be of the past
		if x != nil {
			d.add(n.Op, []*graph.Value{x}, n.W, nil, x)
		}
		return
	}
	x := d.whole(n.In[0])
	*l = lie{form: whole, v: x.Root()}
	d.add(n.Op, []*graph.Value{x}, n.W, nil, x)
}

// attention is divided by query heads, if one of its inputs is; a key head goes to every lane that has one of its query heads.
func (d *shard) attention(n *graph.Node, op graph.Attention) {
	var q, kv graph.Split
	isKV := func(i int) bool { return !op.Stored && (i == 1 || i == 2) }
	for i, v := range n.In {
		if s, _, ok := d.divided(v); ok {
			q = graph.Split{Cut: s.Cut}
			if isKV(i) {
				kv = s
			}
		}
	}
	if op.Stored { // as it was stored
		q, kv = graph.Split{}, d.stored[n.State]
		if kv.Cut != nil {
			q.Cut = kv.Cut
		}
	}
	if q.Cut == nil || q.Cut.Units != op.Heads {
		d.everywhere(n)
		return
	}
	if kv.Cut == nil {
		kv = q.Sharing(op.Heads / op.KVHeads)
	}
	as := func(i int) graph.Split {
		if isKV(i) {
			return kv
		}
		return q
	}
	for i, v := range n.In {
		if !d.may(v, as(i)) {
			if op.Stored {
				refuse("queries of layer %d cannot be divided as the keys they read are", n.Layer)
			}
			d.everywhere(n)
			return
		}
	}
	d.stored[n.State] = kv
	var in []*graph.Value
	for i, v := range n.In {
		in = append(in, d.like(v, as(i)))
	}
	out := d.makeSplit(n.Out[0], q)
	if out == nil {
		return
	}
	op.Heads, op.KVHeads = d.columns(q, op.Heads), d.columns(kv, op.KVHeads)
	st := d.state(n.State)
	st.KVHeads = op.KVHeads
	d.add(op, in, d.each(n.W), st, out)
}

// conv is divided by channels as its weight is.
func (d *shard) conv(n *graph.Node) {
	s := n.W[0].Split
	if s.Cut == nil || !d.may(n.In[0], s) {
		d.everywhere(n)
		return
	}
	x := d.like(n.In[0], s)
	out := d.makeSplit(n.Out[0], s)
	if out == nil {
		return
	}
	st := d.state(n.State)
	st.Conv = out.Cols
	d.add(n.Op, []*graph.Value{x}, d.each(n.W), st, out)
}

// deltaNet is divided by key heads; each takes the value heads that read it along.
func (d *shard) deltaNet(n *graph.Node, op graph.DeltaNet) {
	ratio := op.VHeads / op.KHeads
	heads := graph.Split{Cut: n.W[0].Split.Cut}
	if heads.Cut == nil || !d.may(n.In[0], heads.In(2+ratio)) || !d.may(n.In[1], heads.In(ratio)) || !d.may(n.In[2], heads.In(ratio)) {
		d.everywhere(n)
		return
	}
	in := []*graph.Value{d.like(n.In[0], heads.In(2+ratio)), d.like(n.In[1], heads.In(ratio)), d.like(n.In[2], heads.In(ratio))}
	out := d.makeSplit(n.Out[0], heads.In(ratio))
	if out == nil {
		return
	}
	op.VHeads = out.Cols / op.Dim
	op.KHeads = op.VHeads / ratio
	st := d.state(n.State)
	st.Heads = op.VHeads
	d.add(op, in, d.each(n.W), st, out)
}

// elementwise makes each column from that column of its inputs.
func (d *shard) elementwise(n *graph.Node) {
	for _, v := range n.In {
		s, _, ok := d.divided(v)
		for _, v := range n.In {
			ok = ok && d.may(v, s)
		}
		if !ok {
			continue
		}
		var in []*graph.Value
		for _, v := range n.In {
			in = append(in, d.like(v, s))
		}
		if out := d.makeSplit(n.Out[0], s); out != nil {
			d.add(n.Op, in, n.W, nil, out)
		}
		return
	}
	d.everywhere(n)
}

// sum adds. Two summands make a summand; one and a whole value are what is summed over the lanes.
func (d *shard) sum(n *graph.Node) {
	x, y := n.In[0], n.In[1]
	a, b := d.lie(x), d.lie(y)
	pending := func(l *lie) bool { return l.form == partial && l.all == nil }
	switch {
	case pending(a) && pending(b):
		d.add(n.Op, []*graph.Value{viewOf(x, a.v), viewOf(y, b.v)}, nil, nil, d.makePartial(n.Out[0]))
	case pending(b) && !pending(a):
		x, y, a, b = y, x, b, a
		fallthrough
	case pending(a):
		if b.form == split || x.Base != nil || d.keep[x.Root()] {
			d.whole(x)
			d.elementwise(n)
			return
		}
		d.add(AllReduce{}, []*graph.Value{a.v, d.whole(y)}, nil, nil, d.makeWhole(n.Out[0]))
	default:
		d.elementwise(n)
	}
}

// rows keeps the wanted rows of a value as it lies.
func (d *shard) rows(n *graph.Node) {
	l := d.lie(n.In[0])
	switch {
	case n.In[0].Base == nil && l.form == split && l.all == nil:
		if out := d.makeSplit(n.Out[0], l.split); out != nil {
			d.add(n.Op, []*graph.Value{l.v}, nil, nil, out)
		}
	case n.In[0].Base == nil && l.form == partial && l.all == nil:
		d.add(n.Op, []*graph.Value{l.v}, nil, nil, d.makePartial(n.Out[0]))
	default:
		d.everywhere(n)
	}
}

// combine sums the experts' summands, and the shared expert's with them, into one summand: its sum over the lanes is that
// of the whole layer.
func (d *shard) combine(n *graph.Node) {
	y := d.lie(n.In[0])
	if y.form != partial || y.all != nil {
		d.everywhere(n)
		return
	}
	in := []*graph.Value{y.v, d.whole(n.In[1])}
	if len(n.In) > 2 {
		shared := d.lie(n.In[2])
		switch {
		case shared.form == partial && shared.all == nil:
			in = append(in, shared.v)
		case d.t == 0:
			in = append(in, d.whole(n.In[2]))
		default: // lane 0 adds what every lane has
			d.whole(n.In[2])
		}
		if len(n.In) > 3 {
			gate := d.whole(n.In[3])
			if len(in) > 2 {
				in = append(in, gate)
			}
		}
	}
	d.add(n.Op, in, nil, nil, d.makePartial(n.Out[0]))
}
