// The products of F32, F16 and BF16 weights at the vector levels: f32 arithmetic, ROWS weight rows against up to
// PLAIN_BLOCK activation rows at once. Lane l of a sum takes the values l, l + LANES, ... of its row, whatever else is
// in the block, so its bits do not depend on it.
//
// A level gives load_f32, load_f16, load_bf16 (LANES values as floats) and total (the sum of the lanes).
#ifndef INGOT_PRODUCT_PLAIN_H
#define INGOT_PRODUCT_PLAIN_H

#include "product_panel.h"

enum { ROWS = 4 };

typedef F load_fn(const void *p);

IG_INLINE void plain_step(F sum[ROWS][PLAIN_BLOCK], const uint8_t *w, int64_t stride, const float *const *x, int64_t i,
                          int size, load_fn *load, const int rows) {
	F v[ROWS];
	for (int j = 0; j < ROWS; j++)
		v[j] = load(w + j * stride + i * size);
	for (int r = 0; r < rows; r++) {
		F from = load_f32(x[r] + i);
		for (int j = 0; j < ROWS; j++)
			sum[j][r] = muladd(v[j], from, sum[j][r]);
	}
}

IG_INLINE void plain_dot(const uint8_t *w, int64_t stride, int64_t k, const float *const *x, float *acc, int size,
                         load_fn *load, const int rows) {
	F sum[ROWS][PLAIN_BLOCK];
	for (int j = 0; j < ROWS; j++)
		for (int r = 0; r < rows; r++)
			sum[j][r] = (F)all(0);
	int64_t i = 0;
	for (; i + 64 <= k; i += 64) { // one prefetch serves several steps
		for (int line = 0; line < size * ROWS; line++)
			prefetch(w + i * size * ROWS + 64 * line + ROWS * stride);
		for (int step = 0; step < 64; step += LANES)
			plain_step(sum, w, stride, x, i + step, size, load, rows);
	}
	for (; i + LANES <= k; i += LANES)
		plain_step(sum, w, stride, x, i, size, load, rows);
	if (i < k) { // the rest, padded with zeros
		uint8_t weights[ROWS][LANES * 4] = {{0}};
		float values[PLAIN_BLOCK][LANES] = {{0}};
		const float *at[PLAIN_BLOCK];
		for (int j = 0; j < ROWS; j++)
			memcpy(weights[j], w + j * stride + i * size, (size_t)((k - i) * size));
		for (int r = 0; r < rows; r++) {
			memcpy(values[r], x[r] + i, (size_t)(k - i) * 4);
			at[r] = values[r];
		}
		plain_step(sum, weights[0], sizeof weights[0], at, 0, size, load, rows);
	}
	for (int r = 0; r < rows; r++)
		for (int j = 0; j < ROWS; j++)
			acc[r * ROWS + j] = total(sum[j][r]);
}

IG_INLINE void plain_rows(const ig_weights *m, int64_t j, const void *const *rows, int n, float *acc, int size, load_fn *load) {
	const float *const *x = (const float *const *)rows;
	const uint8_t *w = m->w + j * m->stride;
	int r = 0;
	for (; r + PLAIN_BLOCK <= n; r += PLAIN_BLOCK)
		plain_dot(w, m->stride, m->k, x + r, acc + r * ROWS, size, load, PLAIN_BLOCK);
	for (; r < n; r++)
		plain_dot(w, m->stride, m->k, x + r, acc + r * ROWS, size, load, 1);
}

#endif
