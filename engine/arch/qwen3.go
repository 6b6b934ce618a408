package arch

// newQwen3 reads Qwen 3: no biases, each head of q and k normalized before the rotation.
func newQwen3(r *reader) Model {
	r.hyp.Rope = r.rope(r.hyp.HeadDim, true)
	if r.hyp.FF < 1 {
		r.fail("qwen3.feed_forward_length is missing")
	}
	return newDense(r.hyp, denseOptions{headNorms: true})
}
