package arch

import "ingot/engine/graph"

// qwen35 is Qwen 3.5 and its successors of the same form: three gated delta nets to one gated full attention.
type qwen35 struct {
	Hyper
	conv, state, kHeads, vHeads int // of the delta nets
	embed, outNorm, head        *graph.Weight
	layers                      []qwen35Layer
}

type qwen35Layer struct {
	norm, postNorm *graph.Weight
	attn           *gatedAttention // one of the two
	delta          *deltaNet
	ffn            *swiglu // one of the two
	moe            *experts
}

// gatedAttention is attention whose q rows carry, head by head, the query and then the gate of its result.
type gatedAttention struct {
	qg, k, v, out, qNorm, kNorm *graph.Weight
	cache                       *graph.State
}

// deltaNet is a gated delta net (Yang et al. 2024, arXiv 2412.06464) behind a short convolution.
type deltaNet struct {
	qkv, gate, beta, alpha, conv, dt, a, norm, out *graph.Weight
	state                                          *graph.State
}

func newQwen35(r *reader) Model {
	r.needFF()
	return readQwen35(r, nil)
}

// readQwen35 is the dense and the mixture form: they differ in the feed-forward part alone.
func readQwen35(r *reader, moe *moeParams) Model {
	// hyper-parameters
	r.hyp.Rope = r.rope(r.hyp.HeadDim/4, true) // sections for pictures do not matter to text: all positions are equal
	m := &qwen35{
		conv:   r.count("ssm.conv_kernel", 2, 16),
		state:  r.count("ssm.state_size", 1, 1<<10),
		kHeads: r.count("ssm.group_count", 1, 1<<10),
		vHeads: r.count("ssm.time_step_rank", 1, 1<<10),
	}
	if inner := r.count("ssm.inner_size", 1, 1<<20); len(r.errs) == 0 && inner != m.vHeads*m.state {
		r.fail("%s.ssm.inner_size is %d, expected time_step_rank * state_size = %d", r.arch, inner, m.vHeads*m.state)
	}
	if m.vHeads%m.kHeads != 0 {
		r.fail("%s.ssm.time_step_rank %d is not a multiple of group_count %d", r.arch, m.vHeads, m.kHeads)
	}
	interval := r.countOr("full_attention_interval", 1, MaxLayers, 4)
	// Blocks for drafting (NextN) follow the main stack and are not part of it.
	r.hyp.Layers -= r.countOr("nextn_predict_layers", 0, r.hyp.Layers-1, 0)
	m.Hyper = r.hyp

	// weights and state
	m.embed, m.outNorm, m.head = m.embeddings()
	for i := range m.Layers {
		l := qwen35Layer{
			norm:     m.Weight(name(i, "attn_norm.weight"), graph.Split{}, m.Dim),
			postNorm: m.Weight(name(i, "post_attention_norm.weight"), graph.Split{}, m.Dim),
		}
		if (i+1)%interval == 0 {
			l.attn = m.gatedAttention(i)
		} else {
			l.delta = m.deltaNet(i)
		}
		if moe != nil {
			e := m.experts(i, *moe)
			l.moe = &e
		} else {
			f := m.swiglu(i, m.FF, "")
			l.ffn = &f
		}
		m.layers = append(m.layers, l)
	}
	return m
}

func (m *qwen35) gatedAttention(i int) *gatedAttention {
	hd := m.HeadDim
	heads := &graph.Cut{Name: "heads", Units: m.Heads}
	shared := graph.Columns(heads).Sharing(m.Heads / m.KVHeads)
	return &gatedAttention{
		qg:    m.Weight(name(i, "attn_q.weight"), graph.Columns(heads), m.Dim, 2*hd*m.Heads),
		k:     m.Weight(name(i, "attn_k.weight"), shared, m.Dim, hd*m.KVHeads),
		v:     m.Weight(name(i, "attn_v.weight"), shared, m.Dim, hd*m.KVHeads),
		out:   m.Weight(name(i, "attn_output.weight"), graph.RowsOf(heads), hd*m.Heads, m.Dim),
		qNorm: m.Weight(name(i, "attn_q_norm.weight"), graph.Split{}, hd),
		kNorm: m.Weight(name(i, "attn_k_norm.weight"), graph.Split{}, hd),
		cache: m.KV(i),
	}
}

func (m *qwen35) deltaNet(i int) *deltaNet {
	value := m.vHeads * m.state
	channels := 2*m.kHeads*m.state + value
	// Value head h reads key head h % kHeads: the axes of value heads are ratio segments of the key heads' axis.
	ratio := m.vHeads / m.kHeads
	heads := &graph.Cut{Name: "key heads", Units: m.kHeads}
	mixed, values := graph.Columns(heads).In(2+ratio), graph.Columns(heads).In(ratio)
	perHead := graph.RowsOf(heads).In(ratio)
	return &deltaNet{
		qkv:   m.Weight(name(i, "attn_qkv.weight"), mixed, m.Dim, channels),
		gate:  m.Weight(name(i, "attn_gate.weight"), values, m.Dim, value),
		beta:  m.Weight(name(i, "ssm_beta.weight"), values, m.Dim, m.vHeads),
		alpha: m.Weight(name(i, "ssm_alpha.weight"), values, m.Dim, m.vHeads),
		conv:  m.Weight(name(i, "ssm_conv1d.weight"), mixed, m.conv, channels),
		dt:    m.Weight(name(i, "ssm_dt.bias"), perHead, m.vHeads),
		a:     m.Weight(name(i, "ssm_a"), perHead, m.vHeads),
		norm:  m.Weight(name(i, "ssm_norm.weight"), graph.Split{}, m.state),
		out:   m.Weight(name(i, "ssm_out.weight"), perHead, value, m.Dim),
		state: m.Hyper.state(&graph.State{Layer: i, Conv: channels, Width: m.conv, Heads: m.vHeads, Dim: m.state}),
	}
}

// Forward builds the pass of a batch.
func (m *qwen35) Forward(b *graph.Builder) {
	x := b.Embed(m.embed, 1)
	for i := range m.layers {
		l := &m.layers[i]
		b.Layer(i)
		n := b.Name(graph.AttnNorm, b.Norm(x, l.norm, m.Eps))
		var mixed *graph.Value
		if l.attn != nil {
			mixed = m.attend(b, l.attn, n)
		} else {
			mixed = m.recur(b, l.delta, n)
		}
		x = b.Name(graph.FFNIn, b.Add(b.Name(graph.AttnOut, mixed), x))
		x = addFFN(b, x, b.Norm(x, l.postNorm, m.Eps), l.ffn, l.moe)
	}
	b.Layer(-1)
	b.Head(x, m.outNorm, m.head, nil, m.Eps, 1, 0)
}

func (m *qwen35) attend(b *graph.Builder, a *gatedAttention, n *graph.Value) *graph.Value {
	hd := m.HeadDim
	qg := b.Linear(n, a.qg, nil)
	q := b.Norm(b.Heads(qg, 0, m.Heads, hd, 2*hd), a.qNorm, m.Eps)
	gate := b.Heads(qg, hd, m.Heads, hd, 2*hd)
	k := b.Norm(b.Heads(b.Linear(n, a.k, nil), 0, m.KVHeads, hd, hd), a.kNorm, m.Eps)
	v := b.Linear(n, a.v, nil)
	q, k = b.Rotate(q, m.Rope), b.Rotate(k, m.Rope)
	o := b.Attention(q, k, v, gate, nil, a.cache, graph.Attention{Heads: m.Heads, KVHeads: m.KVHeads, Dim: hd, Scale: rsqrt(hd)})
	return b.Linear(o, a.out, nil)
}

func (m *qwen35) recur(b *graph.Builder, d *deltaNet, n *graph.Value) *graph.Value {
	qkv := b.Conv(b.Linear(n, d.qkv, nil), d.conv, d.state)
	gate := b.Heads(b.Linear(n, d.gate, nil), 0, m.vHeads, m.state, m.state)
	alpha, beta := b.Linear(n, d.alpha, nil), b.Linear(n, d.beta, nil)
	o := b.DeltaNet(qkv, alpha, beta, d.dt, d.a, d.state,
		graph.DeltaNet{KHeads: m.kHeads, VHeads: m.vHeads, Dim: m.state, Eps: m.Eps})
	return b.Linear(b.NormGated(o, d.norm, gate, m.Eps), d.out, nil)
}
