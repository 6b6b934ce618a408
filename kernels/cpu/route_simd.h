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

// Keeps the `used` best so far sorted, best first; an equal logit goes behind. NaN counts as the worst, so that
// there are always enough to choose from.
static void best(const float *x, int n, int used, int32_t *ids, float *logits) {
	int kept = 0;
	for (int i = 0; i < n; i++) {
		float v = x[i] == x[i] ? x[i] : -INFINITY;
		if (kept == used && !(v > logits[used - 1]))
			continue;
		int at = kept < used ? kept++ : used - 1;
		for (; at > 0 && v > logits[at - 1]; at--) {
			logits[at] = logits[at - 1];
			ids[at] = ids[at - 1];
		}
		logits[at] = v;
		ids[at] = i;
	}
}

static void route(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_route *a = args;
	int64_t lo, hi;
	ig_share(b->rows, 1, ith, nth, &lo, &hi);
	for (int64_t r = lo; r < hi; r++) {
		float *weights = a->weights + r * a->used, max, total, kept = 0;
		soft(a->logits + r * a->stride, a->experts, &max, &total);
		best(a->logits + r * a->stride, a->experts, a->used, a->ids + r * a->used, weights);
		for (int s = 0; s < a->used; s += W) {
			vf p = v_exp(v_load_upto(weights + s, a->used - s) - v_set(max)) / v_set(total);
			v_store_upto(weights + s, p, a->used - s);
		}
		for (int s = 0; s < a->used; s++)
			kept += weights[s];
		float scale = a->normalize ? a->scale / (kept > 0x1p-14f ? kept : 0x1p-14f) : a->scale;
		for (int s = 0; s < a->used; s++)
			weights[s] *= scale;
	}
}
