// The values of a KV cache, and its writer, in the words of simd_*.h. A row is one head's dim values of one cell.

// W values of a row from value d on, a multiple of W; type is a constant wherever this is inlined.
IG_INLINE vf cache_load(int type, const void *row, int d) {
	if (type == IG_F16)
		return v_load_f16((const uint16_t *)row + d);
	if (type == IG_BF16)
		return v_load_bf16((const uint16_t *)row + d);
	if (type == IG_Q8_0) {
		const ig_q8_0 *b = (const ig_q8_0 *)row + d / 32;
		return v_load_i8(b->qs + d % 32) * v_set_f16(&b->d);
	}
	if (type == IG_Q4_0) {
		const ig_q4_0 *b = (const ig_q4_0 *)row + d / 32;
		return (d % 32 < 16 ? v_load_low4(b->qs + d % 16) : v_load_high4(b->qs + d % 16)) * v_set_f16(&b->d);
	}
	return v_load((const float *)row + d);
}

// The same with n values left in the row, at least 1, and zeros for the rest.
IG_INLINE vf cache_load_upto(int type, const void *row, int d, int n) {
	if (n >= W || type == IG_Q8_0 || type == IG_Q4_0) // whole blocks
		return cache_load(type, row, d);
	float some[W] = {0};
	size_t size = type == IG_F32 ? 4 : 2;
	memcpy(some, (const char *)row + (size_t)d * size, (size_t)n * size);
	return cache_load(type, some, 0);
}

IG_INLINE void cache_store_upto(int type, void *row, int d, vf x, int n) {
	float some[W];
	size_t size = type == IG_F32 ? 4 : 2;
	char *place = (char *)row + (size_t)d * size;
	void *to = n >= W ? place : (char *)some;
	if (type == IG_F16)
		v_store_f16(to, x);
	else if (type == IG_BF16)
		v_store_bf16(to, x);
	else
		v_store(to, x);
	if (n < W)
		memcpy(place, some, (size_t)n * size);
}

IG_INLINE void cache_fill(int type, void *row, const float *x, int dim) {
	for (int d = 0; d < dim; d += W)
		cache_store_upto(type, row, d, v_load_upto(x + d, dim - d), dim - d);
}

static void cache_store(int type, void *row, const float *x, int dim) {
	switch (type) {
	case IG_F32: cache_fill(IG_F32, row, x, dim); return;
	case IG_F16: cache_fill(IG_F16, row, x, dim); return;
	case IG_BF16: cache_fill(IG_BF16, row, x, dim); return;
	case IG_Q8_0:
		for (int d = 0; d < dim; d += 32)
			ig_to_q8_0(x + d, (ig_q8_0 *)row + d / 32);
		return;
	case IG_Q4_0:
		for (int d = 0; d < dim; d += 32)
			ig_to_q4_0(x + d, (ig_q4_0 *)row + d / 32);
	}
}

// Threads share the heads of all rows.
static void kv_store(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_kv_store *a = args;
	const ig_seq *s = b->seq;
	int64_t lo, hi, krow = ig_kv_row(a->type, a->dim), vrow = ig_kv_row(a->vtype, a->dim);
	ig_share((int64_t)b->rows * a->heads, 1, ith, nth, &lo, &hi);
	for (int64_t i = lo; i < hi; i++) {
		int64_t r = i / a->heads, h = i % a->heads;
		s = ig_seq_of(s, r);
		int64_t cell = ((int64_t)s->slot * a->heads + h) * a->cells + b->pos[r];
		cache_store(a->type, (char *)a->kc + cell * krow, a->k + r * a->kstride + h * a->dim, a->dim);
		cache_store(a->vtype, (char *)a->vc + cell * vrow, a->v + r * a->vstride + h * a->dim, a->dim);
	}
}
