package arch

import "ingot/engine/graph"

// gptOSS is gpt-oss (arXiv 2508.10925): attention with biases and sinks, in every other layer to the last cells only, and
// experts with biases whose gated unit is clamped. Choosing by logits and normalizing the shares of the chosen is the
// softmax over the chosen alone that it was trained with.
type gptOSS struct {
	Hyper
	embed, outNorm, head *graph.Weight
	layers               []gptOSSLayer
}

type gptOSSLayer struct {
	attn    attention
	ffnNorm *graph.Weight
	moe     experts
}

func newGPTOSS(r *reader) Model {
	// hyper-parameters
	r.hyp.Rope = r.rope(r.hyp.HeadDim, true)
	p := r.moe()
	p.biases, p.act = true, graph.SwiGLUOAI
	window, windowed := r.count("attention.sliding_window", 1, 1<<30), r.windows(2)

	// weights and state
	m := &gptOSS{Hyper: r.hyp}
	m.embed, m.outNorm, m.head = m.embeddings()
	for i := range m.Layers {
		l := gptOSSLayer{attn: m.attention(i, noNorm)}
		if windowed[i] {
			l.attn.cache.Window = window
		}
		l.attn.sinks = m.Weight(name(i, "attn_sinks.weight"), graph.RowsOf(l.attn.q.Split.Cut), m.Heads)
		l.ffnNorm = m.Weight(name(i, "post_attention_norm.weight"), graph.Split{}, m.Dim)
		l.moe = m.experts(i, p)
		m.layers = append(m.layers, l)
	}
	return m
}

// Forward builds the pass of a batch.
func (m *gptOSS) Forward(b *graph.Builder) {
	x := b.Embed(m.embed, 1)
	for i := range m.layers {
		l := &m.layers[i]
		b.Layer(i)
		x = l.attn.forward(b, &m.Hyper, x)
		x = addFFN(b, x, b.Norm(x, l.ffnNorm, m.Eps), nil, &l.moe)
	}
	b.Layer(-1)
	b.Head(x, m.outNorm, m.head, nil, m.Eps, 1, 0)
}
