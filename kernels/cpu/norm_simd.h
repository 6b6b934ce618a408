// Norm, add, gated linear units and the weighted sum of experts, in the words of simd_*.h.

static void norm_row(const float *x, const float *w, const float *gate, float *dst, int64_t n, float eps) {
	vf s0 = v_set(0), s1 = v_set(0), s2 = v_set(0), s3 = v_set(0);
	int64_t i = 0;
	for (; i + 4 * W <= n; i += 4 * W) {
		vf a = v_load(x + i), b = v_load(x + i + W), c = v_load(x + i + 2 * W), d = v_load(x + i + 3 * W);
		s0 = v_fma(a, a, s0);
		s1 = v_fma(b, b, s1);
		s2 = v_fma(c, c, s2);
		s3 = v_fma(d, d, s3);
	}
	for (; i < n; i += W) {
		vf a = v_load_upto(x + i, n - i);
		s0 = v_fma(a, a, s0);
	}
	vf scale = v_set(1 / sqrtf(v_sum((s0 + s1) + (s2 + s3)) / (float)n + eps));
	for (i = 0; i < n; i += W) {
		vf y = v_load_upto(x + i, n - i) * scale;
		if (w)
			y = y * v_load_upto(w + i, n - i);
		if (gate)
			y = y * v_silu(v_load_upto(gate + i, n - i));
		v_store_upto(dst + i, y, n - i);
	}
}

static void norm(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_norm *a = args;
	int64_t lo, hi;
	ig_share(ig_count(b, a->rows) * a->heads, 1, ith, nth, &lo, &hi);
	for (int64_t i = lo; i < hi; i++) {
		int64_t r = i / a->heads, h = i % a->heads;
		norm_row(a->x + r * a->stride + h * a->gap, a->w, a->gate ? a->gate + r * a->gstride + h * a->dgap : NULL,
		         a->dst + r * a->dstride + h * a->dgap, a->cols, a->eps);
	}
}

static void add(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_add *a = args;
	vf scale = v_set(a->factor ? a->scale * *a->factor : a->scale), cap = v_set(a->cap);
	int64_t lo, hi, rows = ig_count(b, a->rows);
	ig_share(a->cols, 64, ith, nth, &lo, &hi);
	for (int64_t r = 0; r < rows; r++) {
		for (int64_t c = lo; c < hi; c += W) {
			vf v = scale * v_load_upto(a->x + r * a->xstride + c, hi - c);
			if (a->y)
				v = v + v_load_upto(a->y + r * a->ystride + c, hi - c);
			if (a->cap > 0)
				v = cap * v_tanh(v / cap);
			v_store_upto(a->dst + r * a->dstride + c, v, hi - c);
		}
	}
}

static void glu(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_glu *a = args;
	int64_t lo, hi, rows = ig_count(b, a->rows) * a->times;
	ig_share(a->cols, 64, ith, nth, &lo, &hi);
	for (int64_t r = 0; r < rows; r++) {
		const float *gate = a->gate + r * a->gstride, *up = a->up + r * a->ustride;
		float *dst = a->dst + r * a->dstride;
		for (int64_t c = lo; c < hi; c += W) {
			vf g = v_load_upto(gate + c, hi - c);
			vf u = v_load_upto(up + c, hi - c);
			if (a->act == 2)
				v_store_upto(dst + c, v_swiglu_oai(g, u), hi - c);
			else
				v_store_upto(dst + c, (a->act == 0 ? v_silu(g) : v_gelu(g)) * u, hi - c);
		}
	}
}

static void combine(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_combine *a = args;
	int64_t lo, hi;
	ig_share(a->cols, 64, ith, nth, &lo, &hi);
	for (int64_t r = 0; r < b->rows; r++) {
		const float *weights = a->weights + r * a->used, *y = a->y + r * a->used * a->ystride;
		vf share = a->shared && a->sgate ? v_sigmoid(v_set(a->sgate[r])) : v_set(1);
		for (int64_t c = lo; c < hi; c += W) {
			vf sum = a->add ? v_load_upto(a->add + r * a->addstride + c, hi - c) : v_set(0);
			for (int s = 0; s < a->used; s++)
				sum = v_fma(v_set(weights[s]), v_load_upto(y + s * a->ystride + c, hi - c), sum);
			if (a->shared)
				sum = v_fma(share, v_load_upto(a->shared + r * a->sstride + c, hi - c), sum);
			v_store_upto(a->dst + r * a->dstride + c, sum, hi - c);
		}
	}
}
