package arch

// newMiniMaxM2 reads MiniMax-M2 and M2.1: experts in every layer, each with a sigmoid of its own and chosen with a bias,
// and queries and keys normalized over all heads together, of which a part turns.
func newMiniMaxM2(r *reader) Model {
	r.hyp.Rope = r.rope(r.hyp.HeadDim, true)
	p := r.moe()
	const softmax, sigmoid = 1, 2
	p.sigmoid = r.countOr("expert_gating_func", softmax, sigmoid, sigmoid) == sigmoid
	p.choiceBias = true
	return newDense(r.hyp, denseOptions{norms: rowNorm, moe: &p})
}
