// Encoders of the blocks of 256 values whose groups have a scale each: a whole number times the block's d.

// What the groups of a type look like: n values a group, rounded to g; the codes of their scales go from lo, the end
// farther from 0, to hi.
typedef struct scaled { int n; grid g; float lo, hi; } scaled;

// One choice for 16 groups: the scale of a group is unit * code. error is squared; eq and qq are the sums of what was
// lost times q and of q squared, by which a better unit is found.
typedef struct scales { float unit[GROUPS], code[GROUPS], error[GROUPS], eq[GROUPS], qq[GROUPS]; } scales;

// The best code of each group among its present one and the two beside it.
IG_INLINE void choose_scales(const float *x, scaled s, scales *c) {
	for (int l = 0; l < GROUPS; l += W) {
		vf unit = v_load(c->unit + l), middle = v_load(c->code + l);
		vf least = v_set(INFINITY), best = middle, best_eq = v_set(0), best_qq = v_set(0);
		for (int step = -1; step <= 1; step++) {
			vf code = v_max(v_min(middle + v_set((float)step), v_set(s.hi)), v_set(s.lo));
			vf d = unit * code, inverse = v_inverse(d), error = v_set(0), eq = v_set(0), qq = v_set(0);
			for (int i = 0; i < s.n; i++) {
				vf v = v_load(x + i * GROUPS + l), q = v_grid(v * inverse, s.g), e = v - d * q;
				error = error + e * e;
				eq = eq + e * q;
				qq = qq + q * q;
			}
			best = v_less(error, least, code, best);
			best_eq = v_less(error, least, eq, best_eq);
			best_qq = v_less(error, least, qq, best_qq);
			least = v_min(error, least);
		}
		v_store(c->code + l, best);
		v_store(c->error + l, least);
		v_store(c->eq + l, best_eq);
		v_store(c->qq + l, best_qq);
	}
}

// Chooses the F16 d of each block of 256/n groups (h) and the codes of the scales of its groups; the scales
// themselves go to scale. Turns of choosing codes for d and d for the codes; the best turn counts.
IG_INLINE void fit_scales(const float *x, scaled s, const float *ends, int tries, int turns, uint16_t *h, float *code, float *scale) {
	const int per = 256 / s.n;
	scales c;
	float least[GROUPS] = {0};
	fit_scale(x, s.n, s.g, ends, tries, scale);
	for (int b = 0; b < GROUPS; b += per) {
		float top = 0;
		for (int g = b; g < b + per; g++)
			top = fabsf(scale[g]) > fabsf(top) ? scale[g] : top;
		float d = ig_f16(ig_to_f16(top / s.lo)), inverse = d != 0 ? 1 / d : 0;
		for (int g = b; g < b + per; g++) {
			c.unit[g] = d;
			c.code[g] = clamp(round_even(scale[g] * inverse), s.lo, s.hi);
		}
	}
	for (int turn = 0;; turn++) {
		choose_scales(x, s, &c);
		for (int b = 0; b < GROUPS; b += per) {
			float error = 0, above = 0, below = 0;
			for (int g = b; g < b + per; g++) {
				error += c.error[g];
				above += c.code[g] * c.eq[g];
				below += c.code[g] * c.code[g] * c.qq[g];
			}
			if (turn == 0 || error < least[b]) {
				least[b] = error;
				h[b / per] = ig_to_f16(c.unit[b]);
				for (int g = b; g < b + per; g++) {
					code[g] = c.code[g];
					scale[g] = c.unit[g] * c.code[g];
				}
			}
			float d = ig_f16(ig_to_f16(below > 0 ? c.unit[b] + above / below : c.unit[b]));
			for (int g = b; g < b + per; g++)
				c.unit[g] = d;
		}
		if (turn == turns)
			return;
	}
}

static const float ends_q3[] = {-4.8f, -4.5f, -4.3f, -4.1f, -3.9f, -3.7f, -3.5f, -3.3f, -3.1f, -2.9f, -2.6f, 4, 3.8f, 3.6f, 3.4f, 3.2f, 3, 2.8f, 2.6f};
static const float ends_q6[] = {-33, -32.5f, -32, -31.5f, -31, -30.5f, -30, -29.5f, -29, -28.5f, 31.5f, 31, 30.5f, 30, 29.5f, 29, 28.5f};

// For each run of 16 groups of n values: x (the groups side by side), `here` groups that exist, and q for their codes.
#define SUPERS(type, n) \
	type *out = dst; \
	float x[(n) * GROUPS]; \
	uint8_t q[(n) * GROUPS]; \
	for (int64_t left = k / (n), here; left > 0; left -= here, v += here * (n), out += here * (n) / 256) \
		if (here = left < GROUPS ? left : GROUPS, gather(v, n, (int)here, x), 1)

// Codes of three bits, of which the highest goes to hmask; scales of six.
static void encode_q3_k(const float *v, void *dst, int64_t k) {
	const scaled s = {16, {-4, 3, 0}, -32, 31};
	float code[GROUPS] = {0}, scale[GROUPS] = {0};
	uint16_t h[1] = {0};
	SUPERS(ig_q3_k, 16) {
		fit_scales(x, s, ends_q3, COUNT(ends_q3), 2, h, code, scale);
		codes(x, 16, s.g, scale, NULL, -4, q);
		memset(out, 0, sizeof *out);
		out->d = h[0];
		for (int c = 0; c < 8; c++)
			for (int l = 0; l < 32; l++) {
				out->hmask[l] |= (uint8_t)(q[32 * c + l] >> 2 << c);
				out->qs[c / 4 * 32 + l] |= (uint8_t)((q[32 * c + l] & 3) << c % 4 * 2);
			}
		for (int g = 0; g < 16; g++) {
			int c = (int)code[g] + 32;
			out->scales[g % 8] |= (uint8_t)((c & 15) << g / 8 * 4);
			out->scales[8 + g % 4] |= (uint8_t)(c >> 4 << g / 4 * 2);
		}
	}
}

// Codes of six bits, scales of eight.
static void encode_q6_k(const float *v, void *dst, int64_t k) {
	const scaled s = {16, {-32, 31, 0}, -128, 127};
	float code[GROUPS] = {0}, scale[GROUPS] = {0};
	uint16_t h[1] = {0};
	SUPERS(ig_q6_k, 16) {
		fit_scales(x, s, ends_q6, COUNT(ends_q6), 1, h, code, scale);
		codes(x, 16, s.g, scale, NULL, -32, q);
		out->d = h[0];
		for (int g = 0; g < 16; g++)
			out->scales[g] = (int8_t)code[g];
		for (int half = 0; half < 2; half++)
			for (int l = 0; l < 32; l++) {
				const uint8_t *a = q + 128 * half + l;
				out->ql[64 * half + l] = (uint8_t)((a[0] & 15) | a[64] << 4);
				out->ql[64 * half + 32 + l] = (uint8_t)((a[32] & 15) | a[96] << 4);
				out->qh[32 * half + l] = (uint8_t)(a[0] >> 4 | a[32] >> 4 << 2 | a[64] >> 4 << 4 | a[96] >> 4 << 6);
			}
	}
}

static void encode_iq4_xs(const float *v, void *dst, int64_t k) {
	const scaled s = {32, {0, 0, 1}, -32, 31};
	float code[GROUPS] = {0}, scale[GROUPS] = {0};
	uint16_t h[2] = {0};
	SUPERS(ig_iq4_xs, 32) {
		fit_scales(x, s, ends_iq4, COUNT(ends_iq4), 2, h, code, scale);
		codes(x, 32, s.g, scale, NULL, -128, q);
		iq4_numbers(q, 32 * GROUPS);
		for (int b = 0; b < here / 8; b++) {
			memset(out + b, 0, sizeof *out);
			out[b].d = h[b];
			for (int c = 0; c < 8; c++) {
				int n = (int)code[8 * b + c] + 32;
				out[b].scales_l[c / 2] |= (uint8_t)((n & 15) << c % 2 * 4);
				out[b].scales_h |= (uint16_t)(n >> 4 << 2 * c);
				pack_nibbles(q + 256 * b + 32 * c, out[b].qs + 16 * c);
			}
		}
	}
}
