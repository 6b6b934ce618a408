// Choosing experts, in the words of simd_*.h.

// Softmax over n logits needs their maximum and the sum of their exponentials.
static void soft(const float *x, int64_t n, float *max, float *total) {
	vf top = v_set(-INFINITY), sum = v_set(0);
	int64_t whole = n - n % W;
	for (int64_t i = 0; i < whole; i += W)
		top = v_max(v_load(x + i), top);
	float last[W];
	for (int i = 0; i < W; i++)
		last[i] = whole + i < n ? x[whole + i] : -INFINITY;
	*max = v_top(v_max(v_load(last), top));
	for (int64_t i = 0; i < whole; i += W)
		sum = sum + v_exp(v_load(x + i) - v_set(*max));
	*total = v_sum(sum + v_exp(v_load(last) - v_set(*max)));
}

// Takes the scores of experts first..first+n to the `used` best so far, of which there are `kept` and which stay sorted,
// best first; an equal score goes behind. NaN counts as the worst, so that there are always enough to choose from.
static int best(const float *x, int first, int n, int used, int32_t *ids, float *scores, int kept) {
	for (int i = 0; i < n; i++) {
		float v = x[i] == x[i] ? x[i] : -INFINITY;
		if (kept == used && !(v > scores[used - 1]))
			continue;
		int at = kept < used ? kept++ : used - 1;
		for (; at > 0 && v > scores[at - 1]; at--) {
			scores[at] = scores[at - 1];
			ids[at] = ids[at - 1];
		}
		scores[at] = v;
		ids[at] = first + i;
	}
	return kept;
}

IG_INLINE vf probability(const ig_route *a, vf x, float max, float total) {
	if (a->sigmoid)
		return v_sigmoid(x);
	return v_exp(x - v_set(max)) / v_set(total);
}

static void route(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_route *a = args;
	int64_t lo, hi;
	ig_share(b->rows, 1, ith, nth, &lo, &hi);
	for (int64_t r = lo; r < hi; r++) {
		const float *x = a->logits + r * a->stride;
		int32_t *ids = a->ids + r * a->used;
		float *weights = a->weights + r * a->used, max = 0, total = 1, kept = 0; // of the chosen: their scores first
		if (!a->sigmoid)
			soft(x, a->experts, &max, &total);
		if (a->bias) {
			for (int e = 0, n = 0; e < a->experts; e += W) {
				float score[W];
				int left = a->experts - e;
				v_store(score, probability(a, v_load_upto(x + e, left), max, total) + v_load_upto(a->bias + e, left));
				n = best(score, e, left < W ? left : W, a->used, ids, weights, n);
			}
			for (int s = 0; s < a->used; s++)
				weights[s] = x[ids[s]];
		} else {
			best(x, 0, a->experts, a->used, ids, weights, 0);
		}
		for (int s = 0; s < a->used; s += W)
			v_store_upto(weights + s, probability(a, v_load_upto(weights + s, a->used - s), max, total), a->used - s);
		for (int s = 0; s < a->used; s++)
			kept += weights[s];
		float scale = a->normalize ? a->scale / (kept > 0x1p-14f ? kept : 0x1p-14f) : a->scale;
		for (int s = 0; s < a->used; s++)
			weights[s] *= a->factors ? scale * a->factors[ids[s]] : scale;
	}
}
