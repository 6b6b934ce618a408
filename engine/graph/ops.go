package graph

import "fmt"

// Op is an operation with its parameters; the types below are all there are.
type Op interface{ Name() string }

type (
	// Embed looks a token's row up in a table [cols, vocab].
	Embed struct{ Scale float32 }
	// Norm is RMSNorm over each head of a value, times an optional weight [dim], times silu(gate) where a gate is given.
	Norm struct{ Eps float32 }
	// Linear is x times a weight [in, out], plus an optional bias.
	Linear struct{}
	// Rotate turns pairs of each head by the token's position.
	Rotate struct{ Rope *Rope }
	// Attention stores k and v and attends causally; an optional last input gates the result through a sigmoid. An optional
	// weight [heads] holds the sinks: one more score for each head that takes its share of the softmax and has no value.
	Attention struct {
		Heads, KVHeads, Dim int
		Scale, Cap          float32
		Stored              bool // there are no k and v: those that an earlier layer stored in the same state are read
	}
	// Conv is a causal depthwise convolution followed by silu.
	Conv struct{}
	// DeltaNet is the gated delta rule: inputs qkv, alpha, beta; weights dt bias and a.
	DeltaNet struct {
		KHeads, VHeads, Dim int
		Eps                 float32
	}
	// GLU is act(gate) * up, or SwiGLUOAI.
	GLU struct{ Act Activation }
	// Route picks Used of Experts for each token by their logits: outputs indices and shares, which are softmax or sigmoid of
	// the logits, divided by their sum where Normalize is set, then times Scale.
	Route struct {
		Experts, Used int
		Sigmoid       bool // each expert's probability by itself; otherwise their softmax
		Normalize     bool
		Scale         float32
		Bias          bool // the first weight [experts] is added to the probabilities to choose by, and to nothing else
		Factors       bool // the last weight [experts] multiplies the shares of the chosen
	}
	// Experts multiplies with the selected experts of a weight [in, out, experts]; inputs x and indices. An optional second
	// weight [out, experts] holds their biases.
	Experts struct{ Used int }
	// Combine sums the experts' results by their weights, adds the shared expert scaled by sigmoid of its gate.
	Combine struct{ Used int }
	// Add is x + y.
	Add struct{}
	// Softcap is cap * tanh(x/cap), after scaling by Scale and an optional weight [1]; Cap 0: only scaling.
	Softcap struct{ Scale, Cap float32 }
	// Gather keeps the rows whose logits are wanted.
	Gather struct{}
)

// Activation is the function inside a GLU.
type Activation int

const (
	SiLU Activation = iota
	GELU
	// SwiGLUOAI is that of gpt-oss, both inputs clamped: with g = min(gate, 7) and u = max(-7, min(up, 7)),
	// g * sigmoid(1.702 g) * (u + 1).
	SwiGLUOAI
)

func (Embed) Name() string     { return "embed" }
func (Norm) Name() string      { return "norm" }
func (Linear) Name() string    { return "linear" }
func (Rotate) Name() string    { return "rope" }
func (Attention) Name() string { return "attention" }
func (Conv) Name() string      { return "conv" }
func (DeltaNet) Name() string  { return "delta-net" }
func (GLU) Name() string       { return "glu" }
func (Route) Name() string     { return "route" }
func (Experts) Name() string   { return "experts" }
func (Combine) Name() string   { return "combine" }
func (Add) Name() string       { return "add" }
func (Softcap) Name() string   { return "softcap" }
func (Gather) Name() string    { return "gather" }

// Embed starts a graph: one row of w for each token.
func (b *Builder) Embed(w *Weight, scale float32) *Value {
	out := b.value(Embedding, int(w.Shape[0]), AllRows, 1)
	b.node(Embed{scale}, nil, []*Weight{w}, nil, out)
	return out
}

// Heads views x as n heads of dim floats, the first at offset off, the next gap floats on.
func (b *Builder) Heads(x *Value, off, n, dim, gap int) *Value {
	need(x.Base == nil || x.Heads == 1, "view of heads of a view of heads")
	need(off >= 0 && off+(n-1)*gap+dim <= x.Cols, "view %d+%d*%d+%d exceeds %d", off, n-1, gap, dim, x.Cols)
	return &Value{Name: x.Name, Layer: x.Layer, Cols: n * dim, Rows: x.Rows, Times: x.Times, Base: x.Root(), Off: x.Off + off,
		Heads: n, Dim: dim, Gap: gap, ID: -1}
}

// Norm is RMSNorm over each head of x. w may be nil.
func (b *Builder) Norm(x *Value, w *Weight, eps float32) *Value { return b.NormGated(x, w, nil, eps) }

// NormGated is RMSNorm over each head of x, times silu(gate).
func (b *Builder) NormGated(x *Value, w *Weight, gate *Value, eps float32) *Value {
	need(w == nil || int(w.Shape[0]) == x.Dim, "norm of %d by a weight of %v", x.Dim, shapeOf(w))
	need(x.Times == 1, "norm of expert rows")
	out := b.value("norm", x.Cols, x.Rows, x.Times)
	out.Heads, out.Dim, out.Gap = x.Heads, x.Dim, x.Dim
	in := []*Value{x}
	if gate != nil {
		need(gate.Cols == x.Cols && gate.contiguous(), "gate of %d for %d", gate.Cols, x.Cols)
		in = append(in, gate)
	}
	b.node(Norm{eps}, in, weights(w), nil, out)
	return out
}

// Linear is x times w, plus bias where it is not nil.
func (b *Builder) Linear(x *Value, w, bias *Weight) *Value {
	w = w.use()
	need(int(w.Shape[0]) == x.Cols && x.contiguous() && x.Times == 1, "%s: %d inputs, x has %d", w.Name, w.Shape[0], x.Cols)
	m := 1
	if len(w.Shape) > 1 {
		m = int(w.Shape[1])
	}
	out := b.value(w.Name, m, x.Rows, x.Times)
	b.node(Linear{}, []*Value{x}, weights(w, bias), nil, out)
	return out
}

// Rotate applies rotary position embedding to each head of x, in place.
func (b *Builder) Rotate(x *Value, r *Rope) *Value {
	need(r.Dims <= x.Dim, "rope over %d of %d", r.Dims, x.Dim)
	b.node(Rotate{r}, []*Value{x}, weights(r.Factors), nil, x)
	return x
}

// Attention attends with q over the cells of st after storing k and v there; where a.Stored is set, k and v are nil.
// gate and sinks may be nil.
func (b *Builder) Attention(q, k, v, gate *Value, sinks *Weight, st *State, a Attention) *Value {
	need(q.Cols == a.Heads*a.Dim && a.Heads%a.KVHeads == 0, "attention of %d, %d query heads over %d", q.Cols, a.Heads, a.KVHeads)
	in := []*Value{q}
	if !a.Stored {
		need(k.Cols == a.KVHeads*a.Dim && v.Cols == k.Cols, "attention %d %d %d", q.Cols, k.Cols, v.Cols)
		need(k.contiguous() && v.contiguous(), "keys or values with gaps")
		in = append(in, k, v)
	}
	if gate != nil {
		in = append(in, gate)
	}
	need(sinks == nil || int(sinks.Shape[0]) == a.Heads, "sinks of %v for %d heads", shapeOf(sinks), a.Heads)
	out := b.value("attention", a.Heads*a.Dim, AllRows, 1)
	b.node(a, in, weights(sinks), st, out)
	return out
}

// Conv convolves x with w [width, channels] over the sequence, then silu.
func (b *Builder) Conv(x *Value, w *Weight, st *State) *Value {
	need(int(w.Shape[1]) == x.Cols && x.contiguous(), "conv of %d by %v", x.Cols, w.Shape)
	out := b.value("conv", x.Cols, AllRows, 1)
	b.node(Conv{}, []*Value{x}, weights(w), st, out)
	return out
}

// DeltaNet runs the gated delta rule over a sequence.
func (b *Builder) DeltaNet(qkv, alpha, beta *Value, dt, a *Weight, st *State, d DeltaNet) *Value {
	need(qkv.Cols == (2*d.KHeads+d.VHeads)*d.Dim && alpha.Cols == d.VHeads && beta.Cols == d.VHeads, "delta net %d", qkv.Cols)
	out := b.value("delta", d.VHeads*d.Dim, AllRows, 1)
	out.Heads, out.Dim, out.Gap = d.VHeads, d.Dim, d.Dim
	b.node(d, []*Value{qkv, alpha, beta}, weights(dt, a), st, out)
	return out
}

// GLU is act(gate) * up.
func (b *Builder) GLU(gate, up *Value, act Activation) *Value {
	need(gate.Cols == up.Cols && gate.Times == up.Times && gate.contiguous() && up.contiguous(), "glu %d %d", gate.Cols, up.Cols)
	out := b.value("glu", gate.Cols, gate.Rows, gate.Times)
	b.node(GLU{act}, []*Value{gate, up}, nil, nil, out)
	return out
}

// Route picks experts by their logits. bias and factors [experts] may be nil.
func (b *Builder) Route(logits *Value, bias, factors *Weight, r Route) (ids, shares *Value) {
	need(logits.Cols == r.Experts, "route %d of %d", logits.Cols, r.Experts)
	bias, factors = bias.use(), factors.use()
	r.Bias, r.Factors = bias != nil, factors != nil
	ids = b.value("experts", r.Used, AllRows, 1)
	ids.Index = true
	shares = b.value("shares", r.Used, AllRows, 1)
	b.node(r, []*Value{logits}, weights(bias, factors), nil, ids, shares)
	return ids, shares
}

// Experts multiplies each token's x (or each of its expert rows) with the experts picked for it, plus their rows of bias
// [out, experts] where it is not nil.
func (b *Builder) Experts(x, ids *Value, w, bias *Weight) *Value {
	need(int(w.Shape[0]) == x.Cols && x.contiguous(), "%s: %d inputs, x has %d", w.Name, w.Shape[0], x.Cols)
	need(x.Times == 1 || x.Times == ids.Cols, "%s: %d rows a token for %d experts", w.Name, x.Times, ids.Cols)
	out := b.value(w.Name, int(w.Shape[1]), AllRows, ids.Cols)
	b.node(Experts{ids.Cols}, []*Value{x, ids}, weights(w, bias), nil, out)
	return out
}

// Combine sums experts' rows by their weights; shared and its gate may be nil.
func (b *Builder) Combine(y, shares, shared, gate *Value) *Value {
	need(y.Times == shares.Cols, "combine %d rows a token by %d shares", y.Times, shares.Cols)
	out := b.value("moe", y.Cols, AllRows, 1)
	in := []*Value{y, shares}
	if shared != nil {
		need(shared.Cols == y.Cols, "shared expert of %d for %d", shared.Cols, y.Cols)
		in = append(in, shared)
		if gate != nil {
			need(gate.Cols == 1 && gate.Base == nil, "gate of %d for a shared expert", gate.Cols)
			in = append(in, gate)
		}
	}
	b.node(Combine{shares.Cols}, in, nil, nil, out)
	return out
}

// Add is x + y.
func (b *Builder) Add(x, y *Value) *Value {
	need(x.Cols == y.Cols && x.Rows == y.Rows && x.Times == y.Times && x.contiguous() && y.contiguous(), "add %d %d", x.Cols, y.Cols)
	out := b.value("add", x.Cols, x.Rows, x.Times)
	b.node(Add{}, []*Value{x, y}, nil, nil, out)
	return out
}

// Scale is scale * x, times the one value of factor where it is not nil.
func (b *Builder) Scale(x *Value, scale float32, factor *Weight) *Value {
	need(x.contiguous() && x.Times == 1, "scaling of a view with gaps or of expert rows")
	out := b.value("scale", x.Cols, x.Rows, x.Times)
	b.node(Softcap{scale, 0}, []*Value{x}, weights(factor), nil, out)
	return out
}

// Head ends a graph: keeps the wanted rows, normalizes them and multiplies with w [dim, vocab]. bias may be nil.
func (b *Builder) Head(x *Value, norm, w, bias *Weight, eps, scale, softcap float32) {
	rows := b.value("outs", x.Cols, OutRows, 1)
	b.node(Gather{}, []*Value{x}, nil, nil, rows)
	b.g.Hidden = b.Name(ResultNorm, b.Norm(rows, norm, eps))
	logits := b.Linear(b.g.Hidden, w, bias)
	if scale != 1 || softcap != 0 {
		out := b.value(Logits, logits.Cols, OutRows, 1)
		b.node(Softcap{scale, softcap}, []*Value{logits}, nil, nil, out)
		logits = out
	}
	b.g.Logits = b.Name(Logits, logits)
}

func weights(ws ...*Weight) []*Weight {
	var out []*Weight
	for _, w := range ws {
		if w = w.use(); w != nil {
			out = append(out, w)
		}
	}
	return out
}

func shapeOf(w *Weight) string {
	if w == nil {
		return "none"
	}
	return fmt.Sprint(w.Shape)
}
