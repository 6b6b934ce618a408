// Encoders of the blocks of 32 values, each with a scale of its own: 16 blocks at once, one a lane.

// d rounded to F16 as h, and back to f32.
IG_INLINE void to_halves(float *d, uint16_t *h) {
	for (int l = 0; l < GROUPS; l++) {
		h[l] = ig_to_f16(d[l]);
		d[l] = ig_f16(h[l]);
	}
}

// Byte j of nibbles holds the low four bits of values j and 16+j, bit j of fifth the bit above them.
IG_INLINE void pack_nibbles(const uint8_t *q, uint8_t *nibbles) {
	for (int j = 0; j < 16; j++)
		nibbles[j] = (uint8_t)((q[j] & 15) | q[16 + j] << 4);
}
IG_INLINE void pack_fifth(const uint8_t *q, uint8_t *fifth) {
	uint32_t bits = 0;
	for (int j = 0; j < 32; j++)
		bits |= (uint32_t)(q[j] >> 4 & 1) << j;
	for (int j = 0; j < 4; j++)
		fifth[j] = (uint8_t)(bits >> 8 * j);
}

static const float ends_4[] = {-8.8f, -8.5f, -8.2f, -7.9f, -7.6f, -7.4f, -7.2f, -7, -6.8f, 7.7f, 7.4f, 7.2f, 7, 6.8f, 6.6f};
static const float ends_5[] = {-16.8f, -16.4f, -16, -15.6f, -15.2f, -14.8f, -14.4f, 15.6f, 15.2f, 14.8f, 14.4f};
static const float ends_8[] = {127.4f, 127, 126.4f, 125.8f, 125.2f, 124.6f, 124};
static const float wide_4[] = {13.5f, 14, 14.25f, 14.5f, 14.75f, 15, 15.25f, 15.5f, 15.75f, 16, 16.5f};
static const float wide_5[] = {28, 28.5f, 29, 29.5f, 30, 30.5f, 31, 31.5f, 32, 32.5f};
static const float ends_iq4[] = {-140, -135, -130, -125, -120, -115, -110, -105, -100, 98, 104, 110, 116, 122, 128};

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

// For each run of 16 blocks: x (the groups side by side), `here` blocks of them that exist, and q for their codes.
#define BLOCKS(type) \
	type *out = dst; \
	float x[32 * GROUPS]; \
	uint8_t q[32 * GROUPS]; \
	for (int64_t left = k / 32, here; left > 0; left -= here, v += here * 32, out += here) \
		if (here = left < GROUPS ? left : GROUPS, gather(v, 32, (int)here, x), 1)

static void encode_q4_0(const float *v, void *dst, int64_t k) {
	const grid g = {-8, 7, 0};
	float d[GROUPS];
	uint16_t h[GROUPS];
	BLOCKS(ig_q4_0) {
		fit_scale(x, 32, g, ends_4, COUNT(ends_4), d);
		to_halves(d, h);
		codes(x, 32, g, d, NULL, -8, q);
		for (int l = 0; l < here; l++) {
			out[l].d = h[l];
			pack_nibbles(q + 32 * l, out[l].qs);
		}
	}
}

static void encode_q5_0(const float *v, void *dst, int64_t k) {
	const grid g = {-16, 15, 0};
	float d[GROUPS];
	uint16_t h[GROUPS];
	BLOCKS(ig_q5_0) {
		fit_scale(x, 32, g, ends_5, COUNT(ends_5), d);
		to_halves(d, h);
		codes(x, 32, g, d, NULL, -16, q);
		for (int l = 0; l < here; l++) {
			out[l].d = h[l];
			pack_nibbles(q + 32 * l, out[l].qs);
			pack_fifth(q + 32 * l, out[l].qh);
		}
	}
}

// -128 is left out: it would have no counterpart.
static void encode_q8_0(const float *v, void *dst, int64_t k) {
	const grid g = {-127, 127, 0};
	float d[GROUPS];
	uint16_t h[GROUPS];
	BLOCKS(ig_q8_0) {
		fit_scale(x, 32, g, ends_8, COUNT(ends_8), d);
		to_halves(d, h);
		codes(x, 32, g, d, NULL, -128, q);
		for (int l = 0; l < here; l++) {
			out[l].d = h[l];
			for (int j = 0; j < 32; j++)
				out[l].qs[j] = (int8_t)(q[32 * l + j] - 128);
		}
	}
}

static void encode_q4_1(const float *v, void *dst, int64_t k) {
	const grid g = {0, 15, 0};
	float d[GROUPS], m[GROUPS];
	uint16_t h[GROUPS], hm[GROUPS];
	BLOCKS(ig_q4_1) {
		fit_line(x, 32, 15, 0, wide_4, COUNT(wide_4), d, m);
		to_halves(d, h);
		to_halves(m, hm);
		codes(x, 32, g, d, m, 0, q);
		for (int l = 0; l < here; l++) {
			out[l].d = h[l];
			out[l].m = hm[l];
			pack_nibbles(q + 32 * l, out[l].qs);
		}
	}
}

static void encode_q5_1(const float *v, void *dst, int64_t k) {
	const grid g = {0, 31, 0};
	float d[GROUPS], m[GROUPS];
	uint16_t h[GROUPS], hm[GROUPS];
	BLOCKS(ig_q5_1) {
		fit_line(x, 32, 31, 0, wide_5, COUNT(wide_5), d, m);
		to_halves(d, h);
		to_halves(m, hm);
		codes(x, 32, g, d, m, 0, q);
		for (int l = 0; l < here; l++) {
			out[l].d = h[l];
			out[l].m = hm[l];
			pack_nibbles(q + 32 * l, out[l].qs);
			pack_fifth(q + 32 * l, out[l].qh);
		}
	}
}

// Codes 128 above an IQ4 level become its number.
IG_INLINE void iq4_numbers(uint8_t *q, int n) {
	static const uint8_t number[256] = {[1] = 0, [24] = 1, [45] = 2, [63] = 3, [79] = 4, [93] = 5, [106] = 6, [118] = 7,
		[129] = 8, [141] = 9, [153] = 10, [166] = 11, [181] = 12, [197] = 13, [217] = 14, [241] = 15};
	for (int i = 0; i < n; i++)
		q[i] = number[q[i]];
}

static void encode_iq4_nl(const float *v, void *dst, int64_t k) {
	const grid g = {0, 0, 1};
	float d[GROUPS];
	uint16_t h[GROUPS];
	BLOCKS(ig_iq4_nl) {
		fit_scale(x, 32, g, ends_iq4, COUNT(ends_iq4), d);
		to_halves(d, h);
		codes(x, 32, g, d, NULL, -128, q);
		iq4_numbers(q, 32 * (int)here);
		for (int l = 0; l < here; l++) {
			out[l].d = h[l];
			pack_nibbles(q + 32 * l, out[l].qs);
		}
	}
}

// The nearest magnitude that FP4 (E2M1) has, doubled: 0 1 2 3 4 6 8 12. t is the magnitude doubled.
IG_INLINE vf v_fp4(vf t) {
	vf by2 = v_round(t * v_set(0.5f)) * v_set(2), by4 = v_round(v_min(t, v_set(12)) * v_set(0.25f)) * v_set(4);
	return v_less(t, v_set(4), v_round(t), v_less(t, v_set(8), by2, by4));
}

// The scale is a power of two: of the one that puts the largest value in 4..8 (6 is the largest FP4) and its two
// neighbours, the one with the least error.
static void encode_mxfp4(const float *v, void *dst, int64_t k) {
	static const uint8_t number[13] = {0, 1, 2, 3, 4, 0, 5, 0, 6, 0, 0, 0, 7};
	uint16_t h[GROUPS];
	BLOCKS(ig_mxfp4) {
		for (int l = 0; l < GROUPS; l++) {
			float top = 0;
			for (int i = 0; i < 32; i++)
				top = fmaxf(top, fabsf(x[i * GROUPS + l]));
			int e = (int)(ig_f32_bits(top) >> 23) - 2; // the exponent's field, bias 127
			h[l] = (uint16_t)(e < 3 ? 3 : e > 253 ? 253 : e);
		}
		for (int l = 0; l < GROUPS; l += W) {
			float doubled[W], chosen[W];
			vf least = v_set(INFINITY), best = v_set(0);
			for (int step = -1; step <= 1; step++) {
				for (int w = 0; w < W; w++)
					doubled[w] = ig_bits_f32((uint32_t)(254 - (h[l + w] + step) + 1) << 23); // 2 / 2^(e-127)
				vf inverse = v_load(doubled), error = v_set(0);
				for (int i = 0; i < 32; i++) {
					vf t = v_abs(v_load(x + i * GROUPS + l)) * inverse, r = t - v_fp4(t);
					error = error + r * r;
				}
				error = error * v_set(step < 0 ? 0.25f : step > 0 ? 4 : 1);
				best = v_less(error, least, v_set((float)step), best);
				least = v_min(error, least);
			}
			v_store(chosen, best);
			for (int w = 0; w < W; w++) {
				h[l + w] = (uint16_t)(h[l + w] + (int)chosen[w]);
				doubled[w] = ig_bits_f32((uint32_t)(254 - h[l + w] + 1) << 23);
			}
			for (int i = 0; i < 32; i++) {
				vf t = v_abs(v_load(x + i * GROUPS + l)) * v_load(doubled);
				v_store(x + i * GROUPS + l, v_copysign(v_fp4(t), v_load(x + i * GROUPS + l)));
			}
		}
		for (int l = 0; l < here; l++) {
			for (int i = 0; i < 32; i++) {
				float t = x[i * GROUPS + l];
				q[i] = (uint8_t)(number[(int)fabsf(t)] | (t < 0 ? 8 : 0));
			}
			out[l].e = (uint8_t)h[l];
			pack_nibbles(q, out[l].qs);
		}
	}
}
