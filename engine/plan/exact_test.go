package plan

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"ingot/engine/graph"
)

// Every operation as arithmetic on whole numbers modulo 2^64: products and sums are just these, of weights that are random numbers,
// and what is not linear is a hash of all that it depends on. Sums are the same in any order, so what lanes add up together must
// be exactly what one makes alone; and a number that is wrong somewhere is wrong, with all but certainty, in all that follows.

// mat is a value's rows, with the heads of a view one after the other.
type mat struct {
	rows       [][]uint64
	heads, dim int
}

func newMat(rows, cols int) mat {
	m := mat{heads: 1, dim: cols}
	for range rows {
		m.rows = append(m.rows, make([]uint64, cols))
	}
	return m
}

func mix(parts ...uint64) uint64 {
	h := uint64(0x9e3779b97f4a7c15)
	for _, p := range parts {
		h = (h ^ p) * 0xff51afd7ed558ccd
		h ^= h >> 32
		h *= 0xc4ceb9fe1a85ec53
		h ^= h >> 29
	}
	return h
}

func text(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// exact runs operations; it has the states of one lane.
type exact struct {
	outs   []int // wanted rows
	tables map[*graph.Weight][]uint64
	cells  map[*graph.State][2]mat
	left   map[string]bool // what states hold, each head or channel by itself
}

func newExact(outs []int) *exact {
	return &exact{outs: outs, tables: map[*graph.Weight][]uint64{}, cells: map[*graph.State][2]mat{}, left: map[string]bool{}}
}

// index is where the i-th of an axis that a lane holds a part of lies in the whole.
func index(w *graph.Weight, axis, i int) uint64 {
	if w.Part == nil || w.Part.Axis != axis {
		return uint64(i)
	}
	n := int64(i)
	for _, s := range w.Part.Stretches {
		if n < s.To-s.From {
			return uint64(s.From + n)
		}
		n -= s.To - s.From
	}
	panic(fmt.Sprintf("%s has no %d on axis %d", w.Name, i, axis))
}

// table is a weight's numbers, row by row.
func (x *exact) table(w *graph.Weight) []uint64 {
	if t := x.tables[w]; t != nil {
		return t
	}
	k, m := int(w.Shape[0]), 1
	if len(w.Shape) > 1 {
		m = int(w.Shape[1])
	}
	name, t := text(w.Name), make([]uint64, 0, k*m)
	for j := range m {
		for i := range k {
			t = append(t, mix(name, index(w, 0, i), index(w, 1, j)))
		}
	}
	x.tables[w] = t
	return t
}

// product is rows of in times w plus a bias; of experts, those that ids names for each row.
func (x *exact) product(w []*graph.Weight, in mat, ids *mat) mat {
	k, t := int(w[0].Shape[0]), x.table(w[0])
	var bias []uint64
	if len(w) > 1 {
		bias = x.table(w[1])
	}
	rows, used := len(in.rows), 1
	if ids != nil {
		used = ids.dim
		rows = len(ids.rows) * used
	}
	out := newMat(rows, len(t)/k)
	for r := range rows {
		from, e := in.rows[r/(rows/len(in.rows))], uint64(0)
		if ids != nil {
			e = ids.rows[r/used][r%used]
		}
		for j := range out.dim {
			y := uint64(0)
			if bias != nil {
				y = mix(bias[j], e)
			}
			for i, v := range from {
				if ids != nil {
					y += v * mix(t[j*k+i], e)
				} else {
					y += v * t[j*k+i]
				}
			}
			out.rows[r][j] = y
		}
	}
	return out
}

// each makes rows of the columns of in[0] from the numbers of the same place.
func each(in []mat, f func(v ...uint64) uint64) mat {
	out := newMat(len(in[0].rows), len(in[0].rows[0]))
	args := make([]uint64, len(in))
	for r := range out.rows {
		for c := range out.rows[r] {
			for i := range in {
				args[i] = in[i].rows[r][c]
			}
			out.rows[r][c] = f(args...)
		}
	}
	return out
}

func glu(act graph.Activation, gate, up mat) mat {
	return each([]mat{gate, up}, func(v ...uint64) uint64 { return mix(uint64(act), v[0]) * v[1] })
}

func sum(in ...mat) mat {
	return each(in, func(v ...uint64) (y uint64) {
		for _, x := range v {
			y += x
		}
		return y
	})
}

// half is the columns from to from+n-1.
func (m mat) half(from, n int) mat {
	out := mat{heads: 1, dim: n}
	for _, r := range m.rows {
		out.rows = append(out.rows, r[from:from+n])
	}
	return out
}

// run is what an operation makes of its inputs.
func (x *exact) run(op graph.Op, w []*graph.Weight, st *graph.State, in []mat, tokens int) []mat {
	one := func(m mat) []mat { return []mat{m} }
	switch op := op.(type) {
	case graph.Embed:
		out, name := newMat(tokens, int(w[0].Shape[0])), text(fmt.Sprint(w[0].Name, op))
		for r := range out.rows {
			for c := range out.rows[r] {
				out.rows[r][c] = mix(name, uint64(r), uint64(c))
			}
		}
		return one(out)
	case graph.Norm:
		return one(x.norm(op, w, in))
	case graph.Linear:
		return one(x.product(w, in[0], nil))
	case graph.Experts:
		return one(x.product(w, in[0], &in[1]))
	case Gated:
		gate, up := x.product([]*graph.Weight{w[0]}, in[0], nil), x.product([]*graph.Weight{w[1]}, in[0], nil)
		if len(w) > 2 {
			gate, up = x.product([]*graph.Weight{w[0], w[2]}, in[0], nil), x.product([]*graph.Weight{w[1], w[3]}, in[0], nil)
		}
		return one(glu(op.Act, gate, up))
	case GatedExperts:
		gate := x.product(w[:1], in[0], &in[1])
		if len(w) == 1 {
			return one(glu(op.Act, gate.half(0, gate.dim/2), gate.half(gate.dim/2, gate.dim/2)))
		}
		up := x.product(w[1:2], in[0], &in[1])
		if len(w) > 2 {
			gate, up = x.product([]*graph.Weight{w[0], w[2]}, in[0], &in[1]), x.product([]*graph.Weight{w[1], w[3]}, in[0], &in[1])
		}
		return one(glu(op.Act, gate, up))
	case graph.Rotate:
		return one(rotate(op, w, in[0]))
	case graph.Attention:
		return one(x.attention(op, w, st, in))
	case graph.Conv:
		return one(x.conv(w[0], st, in[0]))
	case graph.DeltaNet:
		return one(x.deltaNet(op, w, st, in))
	case graph.GLU:
		return one(glu(op.Act, in[0], in[1]))
	case graph.Add:
		return one(sum(in...))
	case graph.Softcap:
		what := text(fmt.Sprint(op))
		if len(w) > 0 {
			what = mix(what, x.table(w[0])[0])
		}
		return one(each(in, func(v ...uint64) uint64 { return mix(what, v[0]) }))
	case graph.Route:
		what := text(fmt.Sprint(op))
		for _, w := range w {
			what = mix(what, text(w.Name))
		}
		ids, shares := newMat(len(in[0].rows), op.Used), newMat(len(in[0].rows), op.Used)
		for r, row := range in[0].rows {
			for s := range op.Used {
				ids.rows[r][s] = mix(what, uint64(s), mix(row...))
				shares.rows[r][s] = mix(ids.rows[r][s], 1)
			}
		}
		return []mat{ids, shares}
	case graph.Combine:
		return one(combine(in))
	case graph.Gather:
		out := mat{heads: 1, dim: len(in[0].rows[0])}
		for _, r := range x.outs {
			out.rows = append(out.rows, slices.Clone(in[0].rows[r]))
		}
		return one(out)
	}
	panic("no arithmetic for " + op.Name())
}

func combine(in []mat) mat {
	shares := in[1]
	out := newMat(len(shares.rows), len(in[0].rows[0]))
	for r := range out.rows {
		for c := range out.rows[r] {
			y := uint64(0)
			for s, share := range shares.rows[r] {
				y += share * in[0].rows[r*shares.dim+s][c]
			}
			if len(in) > 3 {
				y += mix(in[3].rows[r][0]) * in[2].rows[r][c]
			} else if len(in) > 2 {
				y += in[2].rows[r][c]
			}
			out.rows[r][c] = y
		}
	}
	return out
}

func (x *exact) norm(op graph.Norm, w []*graph.Weight, in []mat) mat {
	n, dim := in[0], in[0].dim
	out := newMat(len(n.rows), n.heads*dim)
	for r, row := range n.rows {
		for h := range n.heads {
			all := mix(row[h*dim : (h+1)*dim]...)
			for d := range dim {
				y := mix(uint64(math.Float32bits(op.Eps)), all, row[h*dim+d])
				if len(w) > 0 {
					y *= x.table(w[0])[d]
				}
				if len(in) > 1 {
					y *= mix(in[1].rows[r][h*dim+d])
				}
				out.rows[r][h*dim+d] = y
			}
		}
	}
	return out
}

func rotate(op graph.Rotate, w []*graph.Weight, in mat) mat {
	what := text(fmt.Sprintf("%+v", *op.Rope))
	for _, w := range w {
		what = mix(what, text(w.Name))
	}
	out := newMat(len(in.rows), in.heads*in.dim)
	for r, row := range in.rows {
		copy(out.rows[r], row)
		for h := range in.heads {
			turned := row[h*in.dim : h*in.dim+op.Rope.Dims]
			all := mix(turned...)
			for d := range turned {
				out.rows[r][h*in.dim+d] = mix(what, uint64(r), uint64(d), all)
			}
		}
	}
	return out
}

// store keeps keys and values.
func (x *exact) store(st *graph.State, k, v mat) {
	x.cells[st] = [2]mat{k, v}
	for h := range st.KVHeads {
		var all uint64
		for r := range k.rows {
			all = mix(all, mix(k.rows[r][h*st.KVDim:(h+1)*st.KVDim]...), mix(v.rows[r][h*st.KVDim:(h+1)*st.KVDim]...))
		}
		x.left[fmt.Sprint("cells of layer ", st.Layer, all)] = true
	}
}

func (x *exact) attention(op graph.Attention, w []*graph.Weight, st *graph.State, in []mat) mat {
	k, v, q := x.cells[st][0], x.cells[st][1], in[0]
	out, dim := newMat(len(q.rows), op.Heads*op.Dim), op.Dim
	what := mix(uint64(math.Float32bits(op.Scale)), uint64(math.Float32bits(op.Cap)), uint64(st.Window))
	for r := range q.rows {
		for h := range op.Heads {
			kv := h / (op.Heads / op.KVHeads)
			score := mix(what, mix(q.rows[r][h*dim:(h+1)*dim]...))
			if len(w) > 0 {
				score = mix(score, x.table(w[0])[h])
			}
			for d := range dim {
				y := uint64(0)
				for c := range r + 1 {
					y += mix(score, mix(k.rows[c][kv*dim:(kv+1)*dim]...)) * v.rows[c][kv*dim+d]
				}
				if len(in) > 1 {
					y *= mix(in[1].rows[r][h*dim+d])
				}
				out.rows[r][h*dim+d] = y
			}
		}
	}
	return out
}

func (x *exact) conv(w *graph.Weight, st *graph.State, in mat) mat {
	out, taps, name := newMat(len(in.rows), in.dim), int(w.Shape[0]), text(w.Name)
	for c := range in.dim {
		channel := index(w, 1, c)
		for r := range in.rows {
			y := mix(name, channel)
			for b := max(0, r-taps+1); b <= r; b++ {
				y = mix(y, uint64(r-b), in.rows[b][c])
			}
			out.rows[r][c] = y
		}
		x.left[fmt.Sprint("channel of layer ", st.Layer, out.rows[len(in.rows)-1][c])] = true
	}
	return out
}

func (x *exact) deltaNet(op graph.DeltaNet, w []*graph.Weight, st *graph.State, in []mat) mat {
	out, n := newMat(len(in[0].rows), op.VHeads*op.Dim), op.Dim
	out.heads, out.dim = op.VHeads, n
	for h := range op.VHeads {
		state := mix(x.table(w[0])[h], x.table(w[1])[h], uint64(math.Float32bits(op.Eps)))
		q, k, v := h%op.KHeads, op.KHeads+h%op.KHeads, 2*op.KHeads+h
		for r, row := range in[0].rows {
			state = mix(state, in[1].rows[r][h], in[2].rows[r][h], mix(row[k*n:(k+1)*n]...), mix(row[v*n:(v+1)*n]...))
			for d := range n {
				out.rows[r][h*n+d] = mix(state, mix(row[q*n:(q+1)*n]...), uint64(d))
			}
		}
		x.left[fmt.Sprint("matrix of layer ", st.Layer, state)] = true
	}
	return out
}

// meaning is what a graph means: each root's rows in the end, and what its states hold.
type meaning struct {
	is   map[*graph.Value]mat
	left map[string]bool
}

// mean runs a graph for so many tokens.
func mean(g *graph.Graph, tokens int, outs []int) *meaning {
	x, m := newExact(outs), &meaning{is: map[*graph.Value]mat{}}
	view := func(v *graph.Value) mat {
		root := m.is[v.Root()]
		out := mat{heads: v.Heads, dim: v.Dim}
		for _, row := range root.rows {
			var r []uint64
			for h := range v.Heads {
				at := v.Off + h*v.Gap
				r = append(r, row[at:at+v.Dim]...)
			}
			out.rows = append(out.rows, r)
		}
		return out
	}
	for _, n := range g.Nodes {
		var in []mat
		for _, v := range n.In {
			in = append(in, view(v))
		}
		if a, ok := n.Op.(graph.Attention); ok && !a.Stored {
			x.store(n.State, in[1], in[2])
			in = append(in[:1:1], in[3:]...)
		}
		for i, made := range x.run(n.Op, n.W, n.State, in, tokens) {
			v := n.Out[i]
			if v.Base == nil {
				m.is[v] = made
				continue
			}
			for r, row := range made.rows { // in place
				for c, y := range row {
					m.is[v.Root()].rows[r][v.Off+c/v.Dim*v.Gap+c%v.Dim] = y
				}
			}
		}
	}
	m.left = x.left
	return m
}
