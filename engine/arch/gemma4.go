package arch

import (
	"math"

	"ingot/engine/graph"
)

// gemma4 is Gemma 4: windowed and full attention whose heads differ in size and number, norms before and after every part,
// and in the mixtures a dense block beside the experts. The small ones (E2B, E4B) give every layer a part of a second
// embedding of the token, and their last layers read the keys and values of earlier ones.
type gemma4 struct {
	Hyper
	perLayer             int     // floats of a layer's part of the second embedding; 0: none
	softcap              float32 // of the logits; 0: none
	embed, outNorm, head *graph.Weight
	tokens, project      *graph.Weight // of the second embedding: its table, and what is added from the first
	projectNorm          *graph.Weight
	layers               []gemma4Layer
}

type gemma4Layer struct {
	norm, postNorm *graph.Weight
	attn           gemma4Attention
	ffnNorm        *graph.Weight
	ffn            swiglu
	moe            *gemma4Experts
	ffnPostNorm    *graph.Weight
	gate, proj     *graph.Weight // what is made of the second embedding
	embedPostNorm  *graph.Weight
	scale          *graph.Weight // [1], optional: of the layer's result
}

// gemma4Attention has no scale on its scores: queries and keys are normalized, and values too, without a weight.
type gemma4Attention struct {
	q, k, v, out *graph.Weight // k nil: the cells of an earlier layer are read; v absent: values are keys before their norm
	qNorm, kNorm *graph.Weight
	cache        *graph.State
	heads        *graph.Cut // one for all that read the same cells
	rope         *graph.Rope
	kvHeads, hd  int
}

// gemma4Experts are experts beside the dense block, routed by the layer's input rather than by its norm.
type gemma4Experts struct {
	routerNorm, router *graph.Weight
	preNorm, postNorm  *graph.Weight
	densePostNorm      *graph.Weight
	gateUp             *graph.Weight // the outputs of each expert's gate, then those of up
	gate, up           *graph.Weight // instead of gateUp, in some files
	down, factors      *graph.Weight // factors: optional, of each expert's result
	route              graph.Route
}

// gemma4Params are what layers are declared by.
type gemma4Params struct {
	full, near  *graph.Rope  // of full and of windowed layers
	hd          map[bool]int // size of a head, by whether the layer is windowed
	window      int
	windowed    []bool
	kvHeads, ff []int
	own         int          // layers with keys of their own; they come first
	source      map[bool]int // whose keys the others read, by whether the layer is windowed
	moe         *moeParams
}

func newGemma4(r *reader) Model {
	p := r.gemma4()
	m := &gemma4{perLayer: r.countOr("embedding_length_per_layer_input", 0, 1<<16, 0), softcap: float32(r.number("final_logit_softcapping", 0, 1e6, 0))}
	if len(r.errs) > 0 {
		return m
	}
	r.hyp.Rope = p.full
	m.Hyper = r.hyp
	m.embed, m.outNorm, m.head = m.embeddings()
	if m.perLayer > 0 {
		m.tokens = m.Weight("per_layer_token_embd.weight", graph.Split{}, m.perLayer*m.Layers, m.Vocab)
		m.project = m.Weight("per_layer_model_proj.weight", graph.Split{}, m.Dim, m.perLayer*m.Layers)
		m.projectNorm = m.Weight("per_layer_proj_norm.weight", graph.Split{}, m.perLayer)
	}
	for i := range m.Layers {
		m.declareLayer(i, &p)
	}
	return m
}

func (r *reader) gemma4() gemma4Params {
	full := r.rope(r.hyp.HeadDim, true)
	p := gemma4Params{full: full, window: r.count("attention.sliding_window", 1, 1<<30), windowed: r.windows(6),
		near: &graph.Rope{Neox: true, Scaling: graph.ScalingNone, Factor: 1, Dims: r.countOr("rope.dimension_count_swa", 2, 1<<12, full.Dims),
			Base: r.number("rope.freq_base_swa", 1, 1e12, 10000)},
		hd:      map[bool]int{false: r.hyp.HeadDim, true: r.countOr("attention.key_length_swa", 1, 1<<12, r.hyp.HeadDim)},
		kvHeads: r.perLayer("attention.head_count_kv", 1, 1<<12, r.hyp.Heads), ff: r.perLayer("feed_forward_length", 1, 1<<20, 0),
		own: r.hyp.Layers - r.countOr("attention.shared_kv_layers", 0, r.hyp.Layers-1, 0)}
	r.needFF()
	near := p.hd[true]
	if v := r.countOr("attention.value_length_swa", 1, 1<<12, near); v != near {
		r.fail("%s.attention.value_length_swa is %d, expected the key length %d", r.arch, v, near)
	}
	if p.near.Dims%2 != 0 || p.near.Dims > near {
		r.fail("%s.rope.dimension_count_swa is %d, expected an even number up to the head's %d", r.arch, p.near.Dims, near)
	}
	for i, n := range p.kvHeads {
		if r.hyp.Heads%n != 0 {
			r.fail("%s.attention.head_count %d is not a multiple of layer %d's head_count_kv %d", r.arch, r.hyp.Heads, i, n)
			break
		}
	}
	p.source = map[bool]int{false: p.own - 1, true: p.own - 2}
	if p.own < r.hyp.Layers && (p.own < 2 || p.windowed[p.own-1] || !p.windowed[p.own-2]) {
		r.fail("%s.attention.shared_kv_layers leaves %d layers, of which the last two are not a windowed and a full one", r.arch, p.own)
	}
	if r.countOr("expert_count", 0, 1<<14, 0) > 0 {
		moe := r.moe()
		p.moe = &moe
	}
	return p
}

func (m *gemma4) declareLayer(i int, p *gemma4Params) {
	windowed := p.windowed[i]
	if !windowed && p.full.Factors == nil {
		p.full.Factors = m.Weight("rope_freqs.weight", graph.Split{}, m.HeadDim/2)
	}
	l := gemma4Layer{norm: m.Weight(name(i, "attn_norm.weight"), graph.Split{}, m.Dim)}
	a := &l.attn
	*a = gemma4Attention{rope: p.full, kvHeads: p.kvHeads[i], hd: p.hd[windowed]}
	if windowed {
		a.rope = p.near
	}
	if i < p.own {
		a.heads = &graph.Cut{Name: "heads", Units: m.Heads}
		a.cache = m.state(&graph.State{Layer: i, KVHeads: p.kvHeads[i], KVDim: a.hd})
		if windowed {
			a.cache.Window = p.window
		}
	} else {
		source := &m.layers[p.source[windowed]].attn
		a.cache, a.kvHeads, a.heads = source.cache, source.kvHeads, source.heads
	}
	m.declareAttention(i, a, i < p.own)
	l.postNorm = m.Weight(name(i, "post_attention_norm.weight"), graph.Split{}, m.Dim)
	l.ffnNorm = m.Weight(name(i, "ffn_norm.weight"), graph.Split{}, m.Dim)
	l.ffn = m.swiglu(i, p.ff[i], "")
	l.ffn.act = graph.GELU
	if p.moe != nil {
		l.moe = m.declareExperts(i, *p.moe)
	}
	l.ffnPostNorm = m.Weight(name(i, "post_ffw_norm.weight"), graph.Split{}, m.Dim)
	if m.perLayer > 0 {
		l.gate = m.Weight(name(i, "inp_gate.weight"), graph.Split{}, m.Dim, m.perLayer)
		l.proj = m.Weight(name(i, "proj.weight"), graph.Split{}, m.perLayer, m.Dim)
		l.embedPostNorm = m.Weight(name(i, "post_norm.weight"), graph.Split{}, m.Dim)
	}
	l.scale = m.Optional(nil, name(i, "layer_output_scale.weight"), graph.Split{}, 1)
	m.layers = append(m.layers, l)
}

func (m *gemma4) declareAttention(i int, a *gemma4Attention, own bool) {
	shared := graph.Columns(a.heads).Sharing(m.Heads / a.kvHeads)
	a.q = m.Weight(name(i, "attn_q.weight"), graph.Columns(a.heads), m.Dim, a.hd*m.Heads)
	a.out = m.Weight(name(i, "attn_output.weight"), graph.RowsOf(a.heads), a.hd*m.Heads, m.Dim)
	a.qNorm = m.Weight(name(i, "attn_q_norm.weight"), graph.Split{}, a.hd)
	if !own {
		for _, t := range []string{"attn_k.weight", "attn_v.weight", "attn_k_norm.weight"} {
			m.mayHold(name(i, t))
		}
		return
	}
	a.k = m.Weight(name(i, "attn_k.weight"), shared, m.Dim, a.hd*a.kvHeads)
	a.v = m.Optional(nil, name(i, "attn_v.weight"), shared, m.Dim, a.hd*a.kvHeads)
	a.kNorm = m.Weight(name(i, "attn_k_norm.weight"), graph.Split{}, a.hd)
}

func (m *gemma4) declareExperts(i int, p moeParams) *gemma4Experts {
	cut := &graph.Cut{Name: "experts", Units: p.ff}
	e := &gemma4Experts{
		densePostNorm: m.Weight(name(i, "post_ffw_norm_1.weight"), graph.Split{}, m.Dim),
		preNorm:       m.Weight(name(i, "pre_ffw_norm_2.weight"), graph.Split{}, m.Dim),
		postNorm:      m.Weight(name(i, "post_ffw_norm_2.weight"), graph.Split{}, m.Dim),
		routerNorm:    m.Weight(name(i, "ffn_gate_inp.scale"), graph.Split{}, m.Dim),
		router:        m.Weight(name(i, "ffn_gate_inp.weight"), graph.Split{}, m.Dim, p.experts),
		gateUp:        m.Weight(name(i, "ffn_gate_up_exps.weight"), graph.Columns(cut).In(2), m.Dim, 2*p.ff, p.experts),
		down:          m.Weight(name(i, "ffn_down_exps.weight"), graph.RowsOf(cut), p.ff, m.Dim, p.experts),
		factors:       m.Optional(nil, name(i, "ffn_down_exps.scale"), graph.Split{}, p.experts),
		gate:          m.Optional(nil, name(i, "ffn_gate_exps.weight"), graph.Columns(cut), m.Dim, p.ff, p.experts),
		up:            m.Optional(nil, name(i, "ffn_up_exps.weight"), graph.Columns(cut), m.Dim, p.ff, p.experts),
		route:         graph.Route{Experts: p.experts, Used: p.used, Normalize: true, Scale: p.scale},
	}
	e.gateUp.Or = []*graph.Weight{e.gate, e.up}
	return e
}

// Forward builds the pass of a batch.
func (m *gemma4) Forward(b *graph.Builder) {
	x := b.Embed(m.embed, sqrt(m.Dim))
	second := m.second(b, x)
	for i := range m.layers {
		l := &m.layers[i]
		b.Layer(i)
		n := b.Name(graph.AttnNorm, b.Norm(x, l.norm, m.Eps))
		mixed := b.Norm(m.attend(b, &l.attn, n), l.postNorm, m.Eps)
		x = b.Name(graph.FFNIn, b.Add(b.Name(graph.AttnOut, mixed), x))
		f := l.ffn.forward(b, b.Name(graph.FFNNorm, b.Norm(x, l.ffnNorm, m.Eps)))
		if l.moe != nil {
			f = b.Add(b.Norm(f, l.moe.densePostNorm, m.Eps), m.mix(b, l.moe, x))
		}
		x = b.Add(b.Name(graph.FFNOut, b.Norm(f, l.ffnPostNorm, m.Eps)), x)
		if second != nil {
			g := b.GLU(b.Linear(x, l.gate, nil), b.Heads(second, i*m.perLayer, 1, m.perLayer, m.perLayer), graph.GELU)
			x = b.Add(b.Norm(b.Linear(g, l.proj, nil), l.embedPostNorm, m.Eps), x)
		}
		if !l.scale.Absent {
			x = b.Scale(x, 1, l.scale)
		}
		b.Name(graph.LayerOut, x)
	}
	b.Layer(-1)
	b.Head(x, m.outNorm, m.head, nil, m.Eps, 1, m.softcap)
}

// second is the second embedding, with a projection of the first added: a stretch for each layer. nil where there is none.
func (m *gemma4) second(b *graph.Builder, x *graph.Value) *graph.Value {
	if m.perLayer == 0 {
		return nil
	}
	table := b.Name("per_layer_embed", b.Embed(m.tokens, sqrt(m.perLayer)))
	p := b.Scale(b.Linear(x, m.project, nil), rsqrt(m.Dim), nil)
	p = b.Norm(b.Heads(p, 0, m.Layers, m.perLayer, m.perLayer), m.projectNorm, m.Eps)
	return b.Scale(b.Add(p, table), float32(math.Sqrt(0.5)), nil)
}

func (m *gemma4) attend(b *graph.Builder, a *gemma4Attention, n *graph.Value) *graph.Value {
	q := b.Norm(b.Heads(b.Linear(n, a.q, nil), 0, m.Heads, a.hd, a.hd), a.qNorm, m.Eps)
	q = b.Rotate(q, a.rope)
	op := graph.Attention{Heads: m.Heads, KVHeads: a.kvHeads, Dim: a.hd, Scale: 1, Stored: a.k == nil}
	var k, v *graph.Value
	if a.k != nil {
		k = b.Heads(b.Linear(n, a.k, nil), 0, a.kvHeads, a.hd, a.hd)
		v = k
		if !a.v.Absent {
			v = b.Heads(b.Linear(n, a.v, nil), 0, a.kvHeads, a.hd, a.hd)
		}
		v = b.Norm(v, nil, m.Eps)
		k = b.Rotate(b.Norm(k, a.kNorm, m.Eps), a.rope)
	}
	return b.Linear(b.Attention(q, k, v, nil, nil, a.cache, op), a.out, nil)
}

// mix is what the experts make of x, the layer's input to its feed-forward part.
func (m *gemma4) mix(b *graph.Builder, e *gemma4Experts, x *graph.Value) *graph.Value {
	logits := b.Linear(b.Norm(x, e.routerNorm, m.Eps), e.router, nil)
	ids, shares := b.Route(b.Scale(logits, rsqrt(m.Dim), nil), nil, e.factors, e.route)
	n := b.Norm(x, e.preNorm, m.Eps)
	var gate, up *graph.Value
	if e.gateUp.Absent {
		gate, up = b.Experts(n, ids, e.gate, nil), b.Experts(n, ids, e.up, nil)
	} else {
		both := b.Experts(n, ids, e.gateUp, nil)
		ff := both.Cols / 2
		gate, up = b.Heads(both, 0, 1, ff, ff), b.Heads(both, ff, 1, ff, ff)
	}
	y := b.Experts(b.GLU(gate, up, graph.GELU), ids, e.down, nil)
	return b.Norm(b.Combine(y, shares, nil, nil), e.postNorm, m.Eps)
}
