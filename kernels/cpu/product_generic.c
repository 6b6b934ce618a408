// Products, the plain meaning: a weight block is unpacked to 8-bit values and taken to every activation row.
#include "product.h"

// 16 values. Kept a function of its own because compilers find the vectors in it, but not once it is inlined.
static __attribute__((noinline)) int32_t run_dot(const int16_t *q, const int8_t *x) {
	int32_t sum = 0;
	for (int i = 0; i < 16; i++)
		sum += q[i] * x[i];
	return sum;
}

// One block of weights against the matching 32..256 activations of a quantized row of k.
static inline float block_dot(const ig_span *s, const uint8_t *x, int64_t k, int64_t at, int values, float sum) {
	const int8_t *q = (const int8_t *)x + at;
	const float *d = (const float *)(x + ig_q8_d(k)) + at / 32;
	const int16_t *sums = (const int16_t *)(x + ig_q8_s(k)) + at / 16;
	for (int c = 0; c < values / 32; c++) {
		float t = 0;
		for (int g = 2 * c; g < 2 * c + 2; g++) {
			t += s->scale[g] * (float)run_dot(s->q + 16 * g, q + 16 * g);
			t -= s->min[g] * (float)sums[g];
		}
		sum += d[c] * t;
	}
	return sum;
}

static inline void rows_packed(int type, const uint8_t *w, int64_t k, const void *const *x, int n, float *acc) {
	ig_block t = ig_block_of(type);
	ig_span s;
	memset(acc, 0, (size_t)n * sizeof *acc);
	for (int64_t i = 0; i < k; i += t.values, w += t.bytes) {
		t.unpack(w, &s);
		for (int r = 0; r < n; r++)
			acc[r] = block_dot(&s, x[r], k, i, t.values, acc[r]);
	}
}

enum { PIECE = 256, LANES = 8 };

// Plain weights are converted a piece at a time; the sums run in LANES parts so that a compiler can use vectors.
static inline void rows_plain(int type, const uint8_t *w, int64_t k, const void *const *x, int n, float *acc) {
	float part[IG_TILE][LANES], piece[PIECE];
	int size = ig_block_of(type).bytes;
	memset(part, 0, (size_t)n * sizeof part[0]);
	for (int64_t i = 0; i < k; i += PIECE) {
		int len = k - i < PIECE ? (int)(k - i) : PIECE;
		ig_dequantize(type, w + i * size, piece, len);
		for (int r = 0; r < n; r++) {
			const float *v = (const float *)x[r] + i;
			int j = 0;
			for (; j + LANES <= len; j += LANES)
				for (int l = 0; l < LANES; l++)
					part[r][l] += piece[j + l] * v[j + l];
			for (int l = 0; j + l < len; l++)
				part[r][l] += piece[j + l] * v[j + l];
		}
	}
	for (int r = 0; r < n; r++) {
		float *p = part[r];
		acc[r] = ((p[0] + p[4]) + (p[2] + p[6])) + ((p[1] + p[5]) + (p[3] + p[7]));
	}
}

#define ROWS(NAME, TYPE, KIND)                                                                                   \
	static void rows_##NAME(const uint8_t *w, int64_t stride, int64_t k, const void *const *x, int n, float *acc, \
	                        const uint8_t *next) {                                                               \
		(void)stride, (void)next;                                                                                \
		KIND(TYPE, w, k, x, n, acc);                                                                             \
	}
ROWS(f32, IG_F32, rows_plain)
ROWS(f16, IG_F16, rows_plain)
ROWS(bf16, IG_BF16, rows_plain)
ROWS(q4_0, IG_Q4_0, rows_packed)
ROWS(q4_1, IG_Q4_1, rows_packed)
ROWS(q5_0, IG_Q5_0, rows_packed)
ROWS(q5_1, IG_Q5_1, rows_packed)
ROWS(q8_0, IG_Q8_0, rows_packed)
ROWS(q2_k, IG_Q2_K, rows_packed)
ROWS(q3_k, IG_Q3_K, rows_packed)
ROWS(q4_k, IG_Q4_K, rows_packed)
ROWS(q5_k, IG_Q5_K, rows_packed)
ROWS(q6_k, IG_Q6_K, rows_packed)
ROWS(iq4_nl, IG_IQ4_NL, rows_packed)
ROWS(iq4_xs, IG_IQ4_XS, rows_packed)
ROWS(mxfp4, IG_MXFP4, rows_packed)

ig_product ig_product_generic(int type) {
	static ig_rows_fn *const fns[] = {
		[IG_F32] = rows_f32, [IG_F16] = rows_f16, [IG_BF16] = rows_bf16, [IG_Q4_0] = rows_q4_0, [IG_Q4_1] = rows_q4_1,
		[IG_Q5_0] = rows_q5_0, [IG_Q5_1] = rows_q5_1, [IG_Q8_0] = rows_q8_0, [IG_Q2_K] = rows_q2_k, [IG_Q3_K] = rows_q3_k,
		[IG_Q4_K] = rows_q4_k, [IG_Q5_K] = rows_q5_k, [IG_Q6_K] = rows_q6_k, [IG_IQ4_NL] = rows_iq4_nl,
		[IG_IQ4_XS] = rows_iq4_xs, [IG_MXFP4] = rows_mxfp4,
	};
	ig_rows_fn *fn = type >= 0 && type < (int)(sizeof fns / sizeof *fns) ? fns[type] : 0;
	return (ig_product){fn, 1};
}

static void matmul(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_matmul *a = args;
	ig_drive_matmul(a, b, ith, nth, ig_product_generic(a->type));
}

static void experts(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_experts *a = args;
	ig_drive_experts(a, b, ith, nth, ig_product_generic(a->type));
}

ig_kernel *ig_products_generic(int op, int type) {
	if (op == IG_QUANTIZE)
		return ig_quantize_generic;
	if (!ig_product_generic(type).fn)
		return 0;
	switch (op) {
	case IG_EMBED: return ig_embed_rows;
	case IG_MATMUL: return matmul;
	case IG_EXPERTS: return experts;
	default: return 0;
	}
}
