package arch

import "ingot/engine/graph"

// dense is a decoder of attention and feed-forward layers: Llama and the Qwen models up to 3, with or without experts.
type dense struct {
	Hyper
	embed, outNorm, head, headBias *graph.Weight
	layers                         []denseLayer
}

type denseLayer struct {
	attn    attention
	ffnNorm *graph.Weight
	ffn     swiglu
	moe     *experts
}

type denseOptions struct {
	norms    qkNorm
	headBias bool // the output may have one
	moe      *moeParams
}

func newDense(h Hyper, o denseOptions) *dense {
	m := &dense{Hyper: h}
	m.embed, m.outNorm, m.head = m.embeddings()
	if o.headBias {
		m.headBias = m.Optional(nil, "output.bias", graph.RowsOf(m.vocabulary()), m.Vocab)
	}
	for i := range m.Layers {
		l := denseLayer{attn: m.attention(i, o.norms)}
		l.ffnNorm = m.Weight(name(i, "ffn_norm.weight"), graph.Split{}, m.Dim)
		if o.moe != nil {
			e := m.experts(i, *o.moe)
			l.moe = &e
		} else {
			l.ffn = m.swiglu(i, m.FF, "")
		}
		m.layers = append(m.layers, l)
	}
	return m
}

// Forward builds the pass of a batch.
func (m *dense) Forward(b *graph.Builder) {
	x := b.Embed(m.embed, 1)
	for i := range m.layers {
		l := &m.layers[i]
		b.Layer(i)
		x = l.attn.forward(b, &m.Hyper, x)
		x = addFFN(b, x, b.Norm(x, l.ffnNorm, m.Eps), &l.ffn, l.moe)
	}
	b.Layer(-1)
	b.Head(x, m.outNorm, m.head, m.headBias, m.Eps, 1, 0)
}
