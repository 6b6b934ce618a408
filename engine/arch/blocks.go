package arch

import (
	"fmt"
	"math"

	"ingot/engine/graph"
)

// name is a layer's tensor, such as blk.3.attn_q.weight.
func name(layer int, tensor string) string { return fmt.Sprintf("blk.%d.%s", layer, tensor) }

// rsqrt is the usual scale of attention scores over heads of n values.
func rsqrt(n int) float32 { return float32(1 / math.Sqrt(float64(n))) }

func sqrt(n int) float32 { return float32(math.Sqrt(float64(n))) }

// attention is softmax attention with grouped key-value heads, as dense Llama and Qwen models have it.
type attention struct {
	norm               *graph.Weight
	q, k, v, out       *graph.Weight
	qBias, kBias       *graph.Weight // optional; Qwen2 has these three
	vBias, outBias     *graph.Weight
	qNorm, kNorm       *graph.Weight // RMSNorm before the rotation: of each head, or of all heads together
	sinks              *graph.Weight // gpt-oss: a score of each head that no cell has
	cache              *graph.State
	heads, kvHeads, hd int
}

// qkNorm says what is normalized of queries and keys before they turn.
type qkNorm int

const (
	noNorm   qkNorm = iota
	headNorm        // each head, by one weight for all
	rowNorm         // all heads together
)

func (h *Hyper) attention(i int, norms qkNorm) attention {
	hd := h.HeadDim
	heads := &graph.Cut{Name: "heads", Units: h.Heads}
	shared := graph.Columns(heads).Sharing(h.Heads / h.KVHeads)
	a := attention{
		norm: h.Weight(name(i, "attn_norm.weight"), graph.Split{}, h.Dim),
		q:    h.Weight(name(i, "attn_q.weight"), graph.Columns(heads), h.Dim, hd*h.Heads),
		k:    h.Weight(name(i, "attn_k.weight"), shared, h.Dim, hd*h.KVHeads),
		v:    h.Weight(name(i, "attn_v.weight"), shared, h.Dim, hd*h.KVHeads),
		out:  h.Weight(name(i, "attn_output.weight"), graph.RowsOf(heads), hd*h.Heads, h.Dim),

		heads: h.Heads, kvHeads: h.KVHeads, hd: hd,
	}
	perHead := graph.RowsOf(heads)
	perKVHead := perHead.Sharing(h.Heads / h.KVHeads)
	a.qBias = h.Optional(nil, name(i, "attn_q.bias"), perHead, hd*h.Heads)
	a.kBias = h.Optional(nil, name(i, "attn_k.bias"), perKVHead, hd*h.KVHeads)
	a.vBias = h.Optional(nil, name(i, "attn_v.bias"), perKVHead, hd*h.KVHeads)
	a.outBias = h.Optional(nil, name(i, "attn_output.bias"), graph.Split{}, h.Dim)
	switch norms {
	case headNorm:
		a.qNorm = h.Weight(name(i, "attn_q_norm.weight"), graph.Split{}, hd)
		a.kNorm = h.Weight(name(i, "attn_k_norm.weight"), graph.Split{}, hd)
	case rowNorm:
		a.qNorm = h.Weight(name(i, "attn_q_norm.weight"), graph.Split{}, hd*h.Heads)
		a.kNorm = h.Weight(name(i, "attn_k_norm.weight"), graph.Split{}, hd*h.KVHeads)
	}
	a.cache = h.KV(i)
	return a
}

// forward adds attention of x to x.
func (a *attention) forward(b *graph.Builder, h *Hyper, x *graph.Value) *graph.Value {
	n := b.Name(graph.AttnNorm, b.Norm(x, a.norm, h.Eps))
	q, k, v := b.Linear(n, a.q, a.qBias), b.Linear(n, a.k, a.kBias), b.Linear(n, a.v, a.vBias)
	q, k = a.normed(b, h, q, a.qNorm, a.heads), a.normed(b, h, k, a.kNorm, a.kvHeads)
	q, k = b.Rotate(q, h.Rope), b.Rotate(k, h.Rope)
	o := b.Attention(q, k, v, nil, a.sinks, a.cache, graph.Attention{Heads: a.heads, KVHeads: a.kvHeads, Dim: a.hd, Scale: rsqrt(a.hd)})
	return b.Name(graph.FFNIn, b.Add(b.Name(graph.AttnOut, b.Linear(o, a.out, a.outBias)), x))
}

// normed is the heads of q or k, normalized where there is a weight for it: of one head, or of all heads together.
func (a *attention) normed(b *graph.Builder, h *Hyper, x *graph.Value, norm *graph.Weight, heads int) *graph.Value {
	if norm != nil && int(norm.Shape[0]) == x.Cols {
		x, norm = b.Norm(x, norm, h.Eps), nil
	}
	x = b.Heads(x, 0, heads, a.hd, a.hd)
	if norm != nil {
		x = b.Norm(x, norm, h.Eps)
	}
	return x
}

// swiglu is the gated feed-forward block silu(x Wg) * (x Wu) Wd (Shazeer 2020, arXiv 2002.05202).
type swiglu struct {
	gate, up, down             *graph.Weight
	gateBias, upBias, downBias *graph.Weight // optional; a few Llamas have them
	act                        graph.Activation
}

// swiglu declares the three matrices; suffix tells a shared expert's from a layer's own.
func (h *Hyper) swiglu(i, ff int, suffix string) swiglu {
	cut := &graph.Cut{Name: "feed-forward" + suffix, Units: ff}
	return swiglu{
		gate: h.Weight(name(i, "ffn_gate"+suffix+".weight"), graph.Columns(cut), h.Dim, ff),
		up:   h.Weight(name(i, "ffn_up"+suffix+".weight"), graph.Columns(cut), h.Dim, ff),
		down: h.Weight(name(i, "ffn_down"+suffix+".weight"), graph.RowsOf(cut), ff, h.Dim),

		gateBias: h.Optional(nil, name(i, "ffn_gate"+suffix+".bias"), graph.RowsOf(cut), ff),
		upBias:   h.Optional(nil, name(i, "ffn_up"+suffix+".bias"), graph.RowsOf(cut), ff),
		downBias: h.Optional(nil, name(i, "ffn_down"+suffix+".bias"), graph.Split{}, h.Dim),
	}
}

func (f *swiglu) forward(b *graph.Builder, x *graph.Value) *graph.Value {
	gate, up := b.Linear(x, f.gate, f.gateBias), b.Linear(x, f.up, f.upBias)
	return b.Linear(b.GLU(gate, up, f.act), f.down, f.downBias)
}

// addFFN ends a layer: x plus the experts, or the dense block, of its norm n.
func addFFN(b *graph.Builder, x, n *graph.Value, dense *swiglu, moe *experts) *graph.Value {
	b.Name(graph.FFNNorm, n)
	var out *graph.Value
	if moe != nil {
		out = moe.forward(b, n)
	} else {
		out = dense.forward(b, n)
	}
	return b.Name(graph.LayerOut, b.Add(b.Name(graph.FFNOut, out), x))
}

// experts is a mixture of gated experts, and perhaps one that every token passes.
type experts struct {
	router, routerBias         *graph.Weight
	choiceBias                 *graph.Weight // added to the probabilities to choose by
	gate, up, down             *graph.Weight // [.., experts]
	gateBias, upBias, downBias *graph.Weight // nil but for gpt-oss
	route                      graph.Route
	act                        graph.Activation
	shared                     *swiglu
	sharedGate                 *graph.Weight
}

// experts declares a layer's experts; sharedFF 0: no shared expert.
func (h *Hyper) experts(i int, p moeParams) experts {
	cut := &graph.Cut{Name: "experts", Units: p.ff}
	e := experts{
		router: h.Weight(name(i, "ffn_gate_inp.weight"), graph.Split{}, h.Dim, p.experts),
		gate:   h.Weight(name(i, "ffn_gate_exps.weight"), graph.Columns(cut), h.Dim, p.ff, p.experts),
		up:     h.Weight(name(i, "ffn_up_exps.weight"), graph.Columns(cut), h.Dim, p.ff, p.experts),
		down:   h.Weight(name(i, "ffn_down_exps.weight"), graph.RowsOf(cut), p.ff, h.Dim, p.experts),
		route:  graph.Route{Experts: p.experts, Used: p.used, Sigmoid: p.sigmoid, Normalize: true, Scale: p.scale},
		act:    p.act,
	}
	if p.biases {
		e.routerBias = h.Weight(name(i, "ffn_gate_inp.bias"), graph.Split{}, p.experts)
		e.gateBias = h.Weight(name(i, "ffn_gate_exps.bias"), graph.RowsOf(cut), p.ff, p.experts)
		e.upBias = h.Weight(name(i, "ffn_up_exps.bias"), graph.RowsOf(cut), p.ff, p.experts)
		e.downBias = h.Weight(name(i, "ffn_down_exps.bias"), graph.Split{}, h.Dim, p.experts)
	}
	if p.choiceBias {
		e.choiceBias = h.Weight(name(i, "exp_probs_b.bias"), graph.Split{}, p.experts)
	}
	if p.sharedFF > 0 {
		s := h.swiglu(i, p.sharedFF, "_shexp")
		e.shared = &s
		e.sharedGate = h.Weight(name(i, "ffn_gate_inp_shexp.weight"), graph.Split{}, h.Dim)
	}
	return e
}

func (e *experts) forward(b *graph.Builder, x *graph.Value) *graph.Value {
	ids, shares := b.Route(b.Linear(x, e.router, e.routerBias), e.choiceBias, nil, e.route)
	gate, up := b.Experts(x, ids, e.gate, e.gateBias), b.Experts(x, ids, e.up, e.upBias)
	y := b.Experts(b.GLU(gate, up, e.act), ids, e.down, e.downBias)
	if e.shared == nil {
		return b.Combine(y, shares, nil, nil)
	}
	shared := b.Name("ffn_shexp", e.shared.forward(b, x))
	return b.Combine(y, shares, shared, b.Linear(x, e.sharedGate, nil))
}

type moeParams struct {
	experts, used, ff, sharedFF int
	scale                       float32
	sigmoid                     bool // an expert's probability is the sigmoid of its logit; otherwise their softmax
	biases                      bool // router and experts add biases
	choiceBias                  bool // experts are chosen by probability and bias
	act                         graph.Activation
}

// moe reads the parameters of a mixture; an expert's size falls back on the dense one shared out.
func (r *reader) moe() moeParams {
	p := moeParams{experts: r.count("expert_count", 1, 1<<14), scale: float32(r.number("expert_weights_scale", 0, 1e6, 1))}
	p.used = r.count("expert_used_count", 1, p.experts)
	p.ff = r.countOr("expert_feed_forward_length", 1, 1<<20, r.hyp.FF/p.used)
	if p.scale == 0 {
		p.scale = 1
	}
	if p.ff < 1 {
		r.fail("%s.expert_feed_forward_length is missing", r.arch)
	}
	return p
}
