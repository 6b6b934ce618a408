// The products of packed weights with up to FEW rows of activations: weights are multiplied while they are unpacked.
#ifndef INGOT_PRODUCT_FEW_H
#define INGOT_PRODUCT_FEW_H

#include "product_form.h"

enum { PARTS = IG_GROUP / LANES };

// One block of a group's rows, the first of whose chunks is chunk `at` of x, for n rows of activations: with residuals they go in
// pairs, with one result and, second, one side. All parts of the group are multiplied by an activation once it is loaded.
IG_INLINE void few_block(const form f, scales_fn *head, unpack_fn *unpack, blocks b, const side *x, const uint8_t *const *q,
                         const int residual, int at, F (*result)[FEW], const int n) {
	const int runs = f.by16 ? 2 : 1, words = 8 / runs; // of a chunk
	const uint8_t *next = b.words + b.ahead;
	scales s[PARTS];
	__asm__("" : "+r"(next));
	if (f.extra)
		prefetch(b.extra + b.ahead);
	for (int z = 0; z < PARTS; z++)
		head(b.words + 4 * LANES * z, b.extra + f.extra * LANES * z, 0, &s[z]);
	IG_UNROLL
	for (int c = 0; c < f.values / 32; c++) {
		V sum[2][PARTS][FEW], pair[PARTS][FEW];
		__asm__("" : "+r"(b.words)); // what a chunk loads is not kept for the next: registers are few
		IG_UNROLL
		for (int half = 0; half < runs; half++) {
			IG_UNROLL
			for (int z = 0; z < PARTS; z++)
				IG_UNROLL
				for (int r = 0; r < n; r++)
					sum[half][z][r] = start_of(f, &x[r], half, at + c);
			IG_UNROLL
			for (int t = 0; t < words; t++) {
				const int i = 8 * c + words * half + t;
				V v[PARTS];
				IG_UNROLL
				for (int z = 0; z < PARTS; z++)
					v[z] = unpack(b.words + 4 * LANES * z, i);
				IG_UNROLL
				for (int r = 0; r < n; r++)
					IG_UNROLL
					for (int z = 0; z < PARTS; z++)
						dot(&sum[half][z][r], &pair[z][r], v[z], q[r] + 4 * i, f.bits, t, words);
				look_ahead(next, f.words * 4 * IG_GROUP, i, f.values / 4);
			}
		}
		IG_UNROLL
		for (int z = 0; z < PARTS; z++) {
			F *to = result[z];
			if (!residual)
				for (int r = 0; r < n; r++)
					to[r] = finish(f, &s[z], c, sum[0][z][r], f.by16 ? sum[1][z][r] : all(0), &x[r], at + c, to[r]);
			else
				for (int r = 0; r < n; r += 2)
					to[r / 2] = finish(f, &s[z], c, raised(sum[0][z][r]) + sum[0][z][r + 1],
					                   f.by16 ? raised(sum[1][z][r]) + sum[1][z][r + 1] : all(0), &x[r + 1], at + c, to[r / 2]);
		}
	}
}

// The group of rows from j on; acc holds `width` floats a result.
IG_INLINE void few_rows(const form f, scales_fn *head, unpack_fn *unpack, const ig_weights *w, int64_t j, const uint8_t *const *x,
                        float *acc, int width, const int n, const int residual) {
	const int step = f.values / 32;
	const int64_t low = residual ? ig_q8_row(w->k) : 0;
	F result[PARTS][FEW];
	side sides[FEW];
	if (residual) // the first of a pair starts from zero
		memset(sides, 0, sizeof sides);
	for (int i = 0; i < PARTS; i++)
		for (int r = 0; r < n; r++)
			result[i][r] = (F)all(0);
	for (int64_t at = 0; at < w->k / 32; at += STEP / 32) {
		int chunks = f.values == STEP || w->k / 32 - at > STEP / 32 ? STEP / 32 : (int)(w->k / 32 - at);
		room tmp;
		for (int r = residual; r < n; r += 1 + residual)
			side_of(f, x[r] - low, low, w->k, at, chunks, &sides[r]);
		blocks b = blocks_at(w, f, j, at / step, chunks / step, &tmp);
		if (w->repacked)
			ig_open_page(b.words);
		for (int c = 0; c < chunks; c += step) {
			const uint8_t *q[FEW];
			for (int r = 0; r < n; r++)
				q[r] = x[r] + 32 * (at + c);
			few_block(f, head, unpack, b, sides, q, residual, c, result, n);
			b.words += f.words * 4 * IG_GROUP;
			b.extra += f.extra * IG_GROUP;
		}
	}
	for (int r = 0; r < n >> residual; r++)
		for (int i = 0; i < PARTS; i++)
			*(F *)(acc + r * width + i * LANES) = result[i][r];
}

#endif
