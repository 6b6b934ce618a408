package arch

import "ingot/engine/graph"

// newLlama reads Llama 1 to 3.x, Mistral, Mixtral and the models converted to the same form. The rotation is of
// neighbouring values: the file's q and k rows are permuted for it.
func newLlama(r *reader) Model {
	r.hyp.Rope = r.rope(r.hyp.HeadDim, false)
	o := denseOptions{}
	r.needFF()
	if r.countOr("expert_count", 0, 1<<14, 0) > 0 {
		p := r.moe()
		p.ff = r.hyp.FF // Mixtral: each expert is as large as a dense block
		o.moe = &p
	}
	// Llama 3.1 and later stretch the low frequencies by per-pair divisors.
	r.hyp.Rope.Factors = r.hyp.Optional(nil, "rope_freqs.weight", graph.Split{}, r.hyp.Rope.Dims/2)
	return newDense(r.hyp, o)
}
