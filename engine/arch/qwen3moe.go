package arch

// newQwen3MoE reads Qwen 3's mixtures: Qwen 3 with experts in every layer.
func newQwen3MoE(r *reader) Model {
	r.hyp.Rope = r.rope(r.hyp.HeadDim, true)
	p := r.moe()
	return newDense(r.hyp, denseOptions{norms: headNorm, moe: &p})
}
