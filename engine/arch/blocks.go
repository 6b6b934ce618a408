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

// attention is softmax attention with grouped key-value heads, as dense Llama and Qwen models have it.
type attention struct {
	norm               *graph.Weight
	q, k, v, out       *graph.Weight
	qBias, kBias       *graph.Weight // Qwen2; optional
	vBias, outBias     *graph.Weight
	qNorm, kNorm       *graph.Weight // Qwen3: RMSNorm of each head before the rotation
	cache              *graph.State
	heads, kvHeads, hd int
}

func (h *Hyper) attention(i int, biases, headNorms bool) attention {
	hd := h.HeadDim
	a := attention{
		norm: h.Weight(name(i, "attn_norm.weight"), graph.Split{}, h.Dim),
		q:    h.Weight(name(i, "attn_q.weight"), graph.Columns(hd), h.Dim, hd*h.Heads),
		k:    h.Weight(name(i, "attn_k.weight"), graph.Columns(hd), h.Dim, hd*h.KVHeads),
		v:    h.Weight(name(i, "attn_v.weight"), graph.Columns(hd), h.Dim, hd*h.KVHeads),
		out:  h.Weight(name(i, "attn_output.weight"), graph.RowsOf(hd), hd*h.Heads, h.Dim),

		heads: h.Heads, kvHeads: h.KVHeads, hd: hd,
	}
	if biases {
		a.qBias = h.Optional(nil, name(i, "attn_q.bias"), graph.Split{Kind: graph.AlongAxis, Unit: hd}, hd*h.Heads)
		a.kBias = h.Optional(nil, name(i, "attn_k.bias"), graph.Split{Kind: graph.AlongAxis, Unit: hd}, hd*h.KVHeads)
		a.vBias = h.Optional(nil, name(i, "attn_v.bias"), graph.Split{Kind: graph.AlongAxis, Unit: hd}, hd*h.KVHeads)
		a.outBias = h.Optional(nil, name(i, "attn_output.bias"), graph.Split{}, h.Dim)
	}
	if headNorms {
		a.qNorm = h.Weight(name(i, "attn_q_norm.weight"), graph.Split{}, hd)
		a.kNorm = h.Weight(name(i, "attn_k_norm.weight"), graph.Split{}, hd)
	}
	a.cache = h.KV(i)
	return a
}

// forward adds attention of x to x.
func (a *attention) forward(b *graph.Builder, h *Hyper, x *graph.Value) *graph.Value {
	n := b.Norm(x, a.norm, h.Eps)
	q := b.Heads(b.Linear(n, a.q, a.qBias), 0, a.heads, a.hd, a.hd)
	k := b.Heads(b.Linear(n, a.k, a.kBias), 0, a.kvHeads, a.hd, a.hd)
	v := b.Linear(n, a.v, a.vBias)
	if a.qNorm != nil {
		q, k = b.Norm(q, a.qNorm, h.Eps), b.Norm(k, a.kNorm, h.Eps)
	}
	q, k = b.Rotate(q, h.Rope), b.Rotate(k, h.Rope)
	o := b.Attention(q, k, v, nil, a.cache, graph.Attention{Heads: a.heads, KVHeads: a.kvHeads, Dim: a.hd, Scale: rsqrt(a.hd)})
	return b.Add(b.Linear(o, a.out, a.outBias), x)
}

// swiglu is the gated feed-forward block silu(x Wg) * (x Wu) Wd (Shazeer 2020, arXiv 2002.05202).
type swiglu struct{ gate, up, down *graph.Weight }

// swiglu declares the three matrices; suffix tells a shared expert's from a layer's own.
func (h *Hyper) swiglu(i, ff int, suffix string) swiglu {
	return swiglu{
		gate: h.Weight(name(i, "ffn_gate"+suffix+".weight"), graph.Columns(256), h.Dim, ff),
		up:   h.Weight(name(i, "ffn_up"+suffix+".weight"), graph.Columns(256), h.Dim, ff),
		down: h.Weight(name(i, "ffn_down"+suffix+".weight"), graph.RowsOf(256), ff, h.Dim),
	}
}

func (f *swiglu) forward(b *graph.Builder, x *graph.Value) *graph.Value {
	gate, up := b.Linear(x, f.gate, nil), b.Linear(x, f.up, nil)
	return b.Linear(b.GLU(gate, up, graph.SiLU), f.down, nil)
}

// experts is a mixture of SwiGLU experts with softmax routing, and perhaps one that every token passes.
type experts struct {
	router         *graph.Weight
	gate, up, down *graph.Weight // [.., experts]
	route          graph.Route
	shared         *swiglu
	sharedGate     *graph.Weight
}

// experts declares a layer's experts; sharedFF 0: no shared expert.
func (h *Hyper) experts(i int, p moeParams) experts {
	cut := graph.Split{Kind: graph.AlongAxis, Axis: 1, Unit: 256}
	e := experts{
		router: h.Weight(name(i, "ffn_gate_inp.weight"), graph.Split{}, h.Dim, p.experts),
		gate:   h.Weight(name(i, "ffn_gate_exps.weight"), cut, h.Dim, p.ff, p.experts),
		up:     h.Weight(name(i, "ffn_up_exps.weight"), cut, h.Dim, p.ff, p.experts),
		down:   h.Weight(name(i, "ffn_down_exps.weight"), graph.RowsOf(256), p.ff, h.Dim, p.experts),
		route:  graph.Route{Experts: p.experts, Used: p.used, Normalize: true, Scale: p.scale},
	}
	if p.sharedFF > 0 {
		s := h.swiglu(i, p.sharedFF, "_shexp")
		e.shared = &s
		e.sharedGate = h.Weight(name(i, "ffn_gate_inp_shexp.weight"), graph.Split{}, h.Dim)
	}
	return e
}

func (e *experts) forward(b *graph.Builder, x *graph.Value) *graph.Value {
	ids, shares := b.Route(b.Linear(x, e.router, nil), e.route)
	gate, up := b.Experts(x, ids, e.gate), b.Experts(x, ids, e.up)
	y := b.Experts(b.GLU(gate, up, graph.SiLU), ids, e.down)
	if e.shared == nil {
		return b.Combine(y, shares, nil, nil)
	}
	return b.Combine(y, shares, e.shared.forward(b, x), b.Linear(x, e.sharedGate, nil))
}

type moeParams struct {
	experts, used, ff, sharedFF int
	scale                       float32
}

// moe reads the parameters of a mixture; an expert's size falls back on the dense one shared out.
func (r *reader) moe() moeParams {
	p := moeParams{experts: r.count("expert_count", 1, 1<<14), scale: float32(r.number("expert_weights_scale", 0, 1e6, 1))}
	p.used = r.count("expert_used_count", 1, max(p.experts, 1))
	p.ff = r.countOr("expert_feed_forward_length", 1, 1<<20, r.hyp.FF/max(p.used, 1))
	if p.scale == 0 {
		p.scale = 1
	}
	if p.ff < 1 {
		r.fail("%s.expert_feed_forward_length is missing", r.arch)
	}
	return p
}
