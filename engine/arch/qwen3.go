package arch

// newQwen3 reads Qwen 3: no biases, each head of q and k normalized before the rotation.
func newQwen3(r *reader) Model {
	r.hyp.Rope = r.rope(r.hyp.HeadDim, true)
	r.needFF()
	return newDense(r.hyp, denseOptions{norms: headNorm})
}
