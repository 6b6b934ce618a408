package arch

import (
	"math"
	"slices"
	"sort"

	"ingot/engine/graph"
)

// plain computes a graph as its operations are defined, in float64 and without any planning: one sequence from
// position 0, every row's logits. It is the meaning that plans and kernels are held against. The one rounding that it
// shares with them is that of activations before products with packed weights, which is part of the format.
type plain struct {
	weights map[string][]float64
	packed  map[string]bool // weights whose products read activations of 8 bits
	fine    bool            // of 16 bits
	tokens  []int32
	kv      map[*graph.State][2][][]float64 // rows of keys and of values
	vals    map[*graph.Value][][]float64    // rows of root values; a token's experts follow one another in its row
}

func (p *plain) run(g *graph.Graph) [][]float64 {
	p.vals, p.kv = map[*graph.Value][][]float64{}, map[*graph.State][2][][]float64{}
	p.fine = slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool { _, ok := n.Op.(graph.Route); return ok })
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			if p.vals[v.Root()] == nil {
				rows := make([][]float64, len(p.tokens))
				for r := range rows {
					rows[r] = make([]float64, v.Root().Cols*v.Root().Times)
				}
				p.vals[v.Root()] = rows
			}
		}
		p.node(n)
	}
	return p.vals[g.Logits.Root()]
}

// row is a copy of a view's row.
func (p *plain) row(v *graph.Value, r int) []float64 {
	from := p.vals[v.Root()][r]
	var out []float64
	for t := range v.Times {
		for h := range v.Heads {
			at := t*v.Root().Cols + v.Off + h*v.Gap
			out = append(out, from[at:at+v.Dim]...)
		}
	}
	return out
}

func (p *plain) node(n *graph.Node) {
	switch op := n.Op.(type) {
	case graph.Conv:
		p.conv(n)
		return
	case graph.DeltaNet:
		p.delta(n, op)
		return
	case graph.Attention:
		p.attend(n, op)
		return
	}
	for r := range p.tokens {
		var in [][]float64
		for _, v := range n.In {
			in = append(in, p.row(v, r))
		}
		out := p.vals[n.Out[0].Root()][r]
		switch op := n.Op.(type) {
		case graph.Embed:
			cols := int(n.W[0].Shape[0])
			for i := range out {
				out[i] = p.weights[n.W[0].Name][int(p.tokens[r])*cols+i] * float64(op.Scale)
			}
		case graph.Linear:
			copy(out, p.product(n.W[0], 0, in[0]))
			if len(n.W) > 1 {
				for j := range out {
					out[j] += p.weights[n.W[1].Name][j]
				}
			}
		case graph.Norm:
			p.norm(n, op, in, out)
		case graph.Rotate:
			p.rotate(n, op, r)
		case graph.GLU:
			for i := range out {
				out[i] = gated(op.Act, in[0][i], in[1][i])
			}
		case graph.Add:
			for i := range out {
				out[i] = in[0][i] + in[1][i]
			}
		case graph.Gather:
			copy(out, in[0])
		case graph.Route:
			p.route(n, op, in[0], out, p.vals[n.Out[1]][r])
		case graph.Softcap:
			for i := range out {
				out[i] = in[0][i] * float64(op.Scale)
				if len(n.W) > 0 {
					out[i] *= p.weights[n.W[0].Name][0]
				}
				if c := float64(op.Cap); c > 0 {
					out[i] = c * math.Tanh(out[i]/c)
				}
			}
		case graph.Experts:
			m := n.Out[0].Cols
			for s := range op.Used {
				x := in[0]
				if n.In[0].Times > 1 {
					x = x[s*n.In[0].Cols : (s+1)*n.In[0].Cols]
				}
				e := int(in[1][s])
				for j, y := range p.product(n.W[0], e, x) {
					if len(n.W) > 1 {
						y += p.weights[n.W[1].Name][e*m+j]
					}
					out[s*m+j] = y
				}
			}
		case graph.Combine:
			for c := range out {
				for s := range op.Used {
					out[c] += in[1][s] * in[0][s*len(out)+c]
				}
				if len(in) > 3 {
					out[c] += sigmoid(in[3][0]) * in[2][c]
				} else if len(in) > 2 {
					out[c] += in[2][c]
				}
			}
		default:
			panic("plain: no meaning for " + n.Op.Name())
		}
	}
}

// product is x times the e-th matrix of w.
func (p *plain) product(w *graph.Weight, e int, x []float64) []float64 {
	k, m := int(w.Shape[0]), 1
	if len(w.Shape) > 1 {
		m = int(w.Shape[1])
	}
	data := p.weights[w.Name][e*k*m:]
	if p.packed[w.Name] {
		x = p.rounded(x)
	}
	out := make([]float64, m)
	for j := range out {
		for i := range k {
			out[j] += data[j*k+i] * x[i]
		}
	}
	return out
}

// rounded is x in 8 bits with a scale for 32 values; where the model is fine, plus what that leaves over in the same way.
func (p *plain) rounded(x []float64) []float64 {
	out := make([]float64, len(x))
	for pass := 0; pass == 0 || pass == 1 && p.fine; pass++ {
		for at := 0; at < len(x); at += 32 {
			var top float32
			for i := at; i < at+32; i++ {
				top = max(top, float32(math.Abs(x[i]-out[i])))
			}
			if top == 0 {
				continue
			}
			scale := top / 127
			for i := at; i < at+32; i++ {
				out[i] += float64(scale) * math.RoundToEven((x[i]-out[i])*127/float64(top))
			}
		}
	}
	return out
}

func (p *plain) norm(n *graph.Node, op graph.Norm, in [][]float64, out []float64) {
	dim := n.In[0].Dim
	for h := range n.In[0].Heads {
		sum := 0.0
		for i := range dim {
			sum += in[0][h*dim+i] * in[0][h*dim+i]
		}
		scale := 1 / math.Sqrt(sum/float64(dim)+float64(op.Eps))
		for i := range dim {
			y := in[0][h*dim+i] * scale
			if len(n.W) > 0 {
				y *= p.weights[n.W[0].Name][i]
			}
			if len(in) > 1 {
				y *= silu(in[1][h*dim+i])
			}
			out[h*dim+i] = y
		}
	}
}

func (p *plain) rotate(n *graph.Node, op graph.Rotate, r int) {
	v, rope := n.In[0], op.Rope
	var factors []float32
	if len(n.W) > 0 {
		for _, f := range p.weights[n.W[0].Name] {
			factors = append(factors, float32(f))
		}
	}
	freqs, mag := rope.Freqs(factors)
	row := p.vals[v.Root()][r]
	for h := range v.Heads {
		x := row[v.Off+h*v.Gap:]
		for i, f := range freqs {
			a, b := 2*i, 2*i+1
			if rope.Neox {
				a, b = i, i+len(freqs)
			}
			sin, cos := math.Sincos(float64(r) * f)
			x[a], x[b] = (x[a]*cos-x[b]*sin)*mag, (x[a]*sin+x[b]*cos)*mag
		}
	}
}

func (p *plain) attend(n *graph.Node, op graph.Attention) {
	if !op.Stored {
		kv := [2][][]float64{}
		for r := range p.tokens {
			kv[0], kv[1] = append(kv[0], p.row(n.In[1], r)), append(kv[1], p.row(n.In[2], r))
		}
		p.kv[n.State] = kv
	}
	keys, values := p.kv[n.State][0], p.kv[n.State][1]
	for r := range p.tokens {
		q, out := p.row(n.In[0], r), p.vals[n.Out[0]][r]
		for h := range op.Heads {
			kv := h / (op.Heads / op.KVHeads) * op.Dim
			score, total := make([]float64, r+1), 0.0
			if len(n.W) > 0 {
				total = math.Exp(p.weights[n.W[0].Name][h])
			}
			for c := range score {
				if w := n.State.Window; w > 0 && c <= r-w {
					continue
				}
				k := keys[c]
				for d := range op.Dim {
					score[c] += q[h*op.Dim+d] * k[kv+d]
				}
				score[c] = math.Exp(score[c] * float64(op.Scale))
				total += score[c]
			}
			for c, s := range score {
				v := values[c]
				for d := range op.Dim {
					out[h*op.Dim+d] += s / total * v[kv+d]
				}
			}
		}
		if gate := n.In[len(n.In)-1]; len(n.In)%2 == 0 {
			for i, g := range p.row(gate, r) {
				out[i] *= sigmoid(g)
			}
		}
	}
}

func (p *plain) conv(n *graph.Node) {
	w, width := p.weights[n.W[0].Name], int(n.W[0].Shape[0])
	var x [][]float64
	for r := range p.tokens {
		x = append(x, p.row(n.In[0], r))
		for c, out := 0, p.vals[n.Out[0]][r]; c < len(out); c++ {
			for j := range width {
				if at := r - width + 1 + j; at >= 0 {
					out[c] += w[c*width+j] * x[at][c]
				}
			}
			out[c] = silu(out[c])
		}
	}
}

func (p *plain) delta(n *graph.Node, op graph.DeltaNet) {
	dim := op.Dim
	for h := range op.VHeads {
		state := make([]float64, dim*dim) // [value][key]
		for r := range p.tokens {
			row := p.row(n.In[0], r)
			at := func(head int) []float64 { return row[head*dim : (head+1)*dim] }
			q, k, v := at(h%op.KHeads), at(op.KHeads+h%op.KHeads), at(2*op.KHeads+h)
			qn, kn := length(q, float64(op.Eps))*math.Sqrt(float64(dim)), length(k, float64(op.Eps))
			dt, a := p.weights[n.W[0].Name][h], p.weights[n.W[1].Name][h]
			decay := math.Exp(a * math.Log1p(math.Exp(p.row(n.In[1], r)[h]+dt)))
			beta := sigmoid(p.row(n.In[2], r)[h])
			out := p.vals[n.Out[0]][r]
			for i := range dim {
				s, seen := state[i*dim:(i+1)*dim], 0.0
				for j := range s {
					s[j] *= decay
					seen += s[j] * k[j] / kn
				}
				for j := range s {
					s[j] += k[j] / kn * beta * (v[i] - seen)
					out[h*dim+i] += s[j] * q[j] / qn
				}
			}
		}
	}
}

func (p *plain) route(n *graph.Node, op graph.Route, logits, ids, shares []float64) {
	top, total, kept := slices.Max(logits), 0.0, 0.0
	for _, l := range logits {
		total += math.Exp(l - top)
	}
	probability := func(e int) float64 {
		if op.Sigmoid {
			return sigmoid(logits[e])
		}
		return math.Exp(logits[e]-top) / total
	}
	order, score := make([]int, len(logits)), slices.Clone(logits)
	for e := range order {
		order[e] = e
		if op.Bias {
			score[e] = probability(e) + p.weights[n.W[0].Name][e]
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return score[order[a]] > score[order[b]] })
	for s, e := range order[:op.Used] {
		ids[s], shares[s] = float64(e), probability(e)
		kept += shares[s]
	}
	for s, e := range order[:op.Used] {
		if op.Normalize {
			shares[s] /= kept
		}
		shares[s] *= float64(op.Scale)
		if op.Factors {
			shares[s] *= p.weights[n.W[len(n.W)-1].Name][e]
		}
	}
}

func length(x []float64, least float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Max(math.Sqrt(sum), least)
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
func silu(x float64) float64    { return x * sigmoid(x) }

func gated(act graph.Activation, gate, up float64) float64 {
	switch act {
	case graph.GELU:
		return 0.5 * gate * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(gate+0.044715*gate*gate*gate))) * up
	case graph.SwiGLUOAI:
		g, u := min(gate, 7), max(-7, min(up, 7))
		return g * sigmoid(1.702*g) * (u + 1)
	}
	return silu(gate) * up
}
