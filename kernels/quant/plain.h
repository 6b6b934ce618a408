// Rows of types without blocks.
static void encode_f32(const float *v, void *dst, int64_t k) { memcpy(dst, v, sizeof(float) * (size_t)k); }

static void encode_f16(const float *v, void *dst, int64_t k) {
	uint16_t *out = dst;
	int64_t i = 0;
	for (; i + W <= k; i += W)
		v_store_f16(out + i, v_load(v + i));
	for (; i < k; i++)
		out[i] = ig_to_f16(v[i]);
}

static void encode_bf16(const float *v, void *dst, int64_t k) {
	uint16_t *out = dst;
	int64_t i = 0;
	for (; i + W <= k; i += W)
		v_store_bf16(out + i, v_load(v + i));
	for (; i < k; i++)
		out[i] = ig_to_bf16(v[i]);
}
