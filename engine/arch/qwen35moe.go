package arch

// newQwen35MoE reads Qwen 3.5's mixtures: the same layers with routed experts and one shared, gated expert.
func newQwen35MoE(r *reader) Model {
	p := r.moe()
	p.sharedFF = r.countOr("expert_shared_feed_forward_length", 1, 1<<20, r.hyp.FF)
	if p.sharedFF < 1 {
		r.fail("qwen35moe.expert_shared_feed_forward_length is missing")
	}
	return readQwen35(r, &p)
}
