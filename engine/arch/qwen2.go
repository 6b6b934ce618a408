package arch

// newQwen2 reads Qwen 2 and 2.5: Llama's shape with biases on q, k and v.
func newQwen2(r *reader) Model {
	r.hyp.Rope = r.rope(r.hyp.HeadDim, true)
	r.needFF()
	return newDense(r.hyp, denseOptions{headBias: true})
}
