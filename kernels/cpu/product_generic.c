// Products, the plain meaning: a weight block is unpacked to 8-bit values and taken to every activation row.
#include "product.h"

// 16 values. Kept a function of its own because compilers find the vectors in it, but not once it is inlined.
static __attribute__((noinline)) int32_t run_dot(const int16_t *q, const int8_t *x) {
	int32_t sum = 0;
	for (int i = 0; i < 16; i++)
		sum += q[i] * x[i];
	return sum;
}

// One block of weights against the matching 32..256 activations of a quantized row of k, of 16 bits with a residual.
static inline float block_dot(const ig_span *s, const uint8_t *x, int64_t k, int residual, int64_t at, int values, float sum) {
	const int8_t *q = (const int8_t *)x + at;
	const int64_t low = residual ? ig_q8_row(k) : 0;
	const float *d = (const float *)(x + low + ig_q8_d(k)) + at / 32;
	const int16_t *sums = (const int16_t *)(x + ig_q8_s(k)) + at / 16;
	for (int c = 0; c < values / 32; c++) {
		float t = 0;
		for (int g = 2 * c; g < 2 * c + 2; g++) {
			int32_t dot = run_dot(s->q + 16 * g, q + 16 * g), total = sums[g];
			if (residual) {
				dot = IG_RESIDUAL * dot + run_dot(s->q + 16 * g, q + low + 16 * g);
				total = IG_RESIDUAL * total + sums[low / 2 + g];
			}
			t += s->scale[g] * (float)dot;
			t -= s->min[g] * (float)total;
		}
		sum += d[c] * t;
	}
	return sum;
}

static inline void rows_packed(const ig_weights *w, int64_t j, const void *const *x, int n, int residual, float *acc) {
	ig_block t = ig_block_of(w->type);
	ig_layout l = ig_layout_of(w->type);
	int64_t blocks = w->k / t.values, row = j % IG_GROUP;
	int repacked = w->repacked && j - row + IG_GROUP <= w->m;
	memset(acc, 0, (size_t)n * sizeof *acc);
	for (int64_t b = 0; b < blocks; b++) {
		uint8_t copy[IG_BLOCK_BYTES];
		const uint8_t *block = w->w + j * w->stride + b * t.bytes;
		if (repacked) {
			ig_block_from(&l, w->w + (j - row) * w->stride, blocks, (int)row, b, copy);
			block = copy;
		}
		ig_span s;
		t.unpack(block, &s);
		for (int r = 0; r < n; r++)
			acc[r] = block_dot(&s, x[r], w->k, residual, b * t.values, t.values, acc[r]);
	}
}

enum { PIECE = 256, LANES = 8 };

// Plain weights are converted a piece at a time; the sums run in LANES parts so that a compiler can use vectors.
static inline void rows_plain(const ig_weights *m, int64_t j, const void *const *x, int n, float *acc) {
	const uint8_t *w = m->w + j * m->stride;
	int64_t k = m->k;
	int type = m->type;
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

static void rows_of_blocks(const ig_weights *w, int64_t j, int rows, const void *const *x, int n, int residual, float *acc) {
	(void)rows;
	rows_packed(w, j, x, n, residual, acc);
}

static void rows_of_numbers(const ig_weights *w, int64_t j, int rows, const void *const *x, int n, int residual, float *acc) {
	(void)rows, (void)residual;
	rows_plain(w, j, x, n, acc);
}

ig_product ig_product_generic(int type) {
	ig_block t = ig_block_of(type);
	return (ig_product){t.values == 0 ? 0 : t.unpack ? rows_of_blocks : rows_of_numbers, 1, 1};
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
	case IG_REPACK: return ig_repack_matrix;
	case IG_MATMUL: return matmul;
	case IG_EXPERTS: return experts;
	default: return 0;
	}
}
