// The products of packed weights with up to FEW rows of activations: weights are multiplied while they are unpacked.
#ifndef INGOT_PRODUCT_FEW_H
#define INGOT_PRODUCT_FEW_H

#include "product_form.h"

enum { FEW = 4 };

typedef struct few {
	V dot[16][FEW]; // of each run and row; of each chunk in dot[2c] where the runs of a chunk share a scale
	const uint8_t *x[FEW], *next;
} few;

IG_INLINE void run_dot(few *to, const form f, int run, V a, V b, V c, V d, const int n) {
	V q[4] = {a, b, c, d};
	dots(to->dot[f.by16 ? run : run & ~1], q, 4, 4, f.bits, to->x, 16 * run, n, 1);
	look_ahead(to->next, f, run);
}

IG_INLINE void run_dot1(void *to, const form f, int run, V a, V b, V c, V d) { run_dot(to, f, run, a, b, c, d, 1); }
IG_INLINE void run_dot2(void *to, const form f, int run, V a, V b, V c, V d) { run_dot(to, f, run, a, b, c, d, 2); }
IG_INLINE void run_dot4(void *to, const form f, int run, V a, V b, V c, V d) { run_dot(to, f, run, a, b, c, d, 4); }

// One block of part `part` of a group's rows, the first of whose chunks is chunk `at` of x, for n rows: with residuals they
// go in pairs, with one result and, second, one side.
IG_INLINE void few_block(const form f, unpack_fn *unpack, blocks b, int part, const side *x, const uint8_t *const *q, int residual, int at,
                         F *result, const int n) {
	const int chunks = f.values / 32;
	scales s;
	few o;
	o.next = ahead_of(f, b, part);
	if (f.extra && part == 0)
		prefetch(b.extra + b.ahead);
	b.words += 4 * LANES * part;
	b.extra += f.extra * LANES * part;
	for (int r = 0; r < n; r++)
		o.x[r] = q[r];
	IG_UNROLL
	for (int c = 0; c < chunks; c++)
		for (int r = 0; r < n; r++) {
			o.dot[2 * c][r] = start_of(f, &x[r], f.by16 ? 2 * (at + c) : at + c);
			o.dot[2 * c + 1][r] = f.by16 ? start_of(f, &x[r], 2 * (at + c) + 1) : all(0);
		}
	unpack(b.words, b.extra, f, 0, &s, n == 1 ? run_dot1 : n == 2 ? run_dot2 : run_dot4, &o);
	if (residual) {
		IG_UNROLL
		for (int c = 0; c < chunks; c++)
			for (int r = 0; r + 1 < n; r += 2)
				result[r / 2] = finish(f, &s, c, raised(o.dot[2 * c][r]) + o.dot[2 * c][r + 1],
				                       f.by16 ? raised(o.dot[2 * c + 1][r]) + o.dot[2 * c + 1][r + 1] : all(0), &x[r + 1], at + c, result[r / 2]);
		return;
	}
	IG_UNROLL
	for (int c = 0; c < chunks; c++)
		for (int r = 0; r < n; r++)
			result[r] = finish(f, &s, c, o.dot[2 * c][r], o.dot[2 * c + 1][r], &x[r], at + c, result[r]);
}

// The group of rows from j on; acc holds `width` floats a result.
IG_INLINE void few_rows(const form f, unpack_fn *unpack, const ig_weights *w, int64_t j, const uint8_t *const *x, int64_t low, float *acc,
                        int width, const int n) {
	enum { PARTS = IG_GROUP / LANES };
	const int step = f.values / 32;
	F result[PARTS][FEW];
	side sides[FEW];
	if (low) // the first of a pair starts from zero
		memset(sides, 0, sizeof sides);
	for (int i = 0; i < PARTS; i++)
		for (int r = 0; r < n; r++)
			result[i][r] = (F)all(0);
	for (int64_t at = 0; at < w->k / 32; at += STEP / 32) {
		int chunks = f.values == STEP || w->k / 32 - at > STEP / 32 ? STEP / 32 : (int)(w->k / 32 - at);
		room tmp;
		for (int r = low ? 1 : 0; r < n; r += low ? 2 : 1)
			side_of(f, x[r] - low, low, w->k, at, chunks, &sides[r]);
		blocks b = blocks_at(w, f, j, at / step, chunks / step, &tmp);
		if (w->repacked)
			ig_open_page(b.words);
		for (int c = 0; c < chunks; c += step) {
			const uint8_t *q[FEW];
			for (int r = 0; r < n; r++)
				q[r] = x[r] + 32 * (at + c);
			for (int i = 0; i < PARTS; i++)
				few_block(f, unpack, b, i, sides, q, low != 0, c, result[i], n);
			b.words += f.words * 4 * IG_GROUP;
			b.extra += f.extra * IG_GROUP;
		}
	}
	for (int r = 0; r < (low ? n / 2 : n); r++)
		for (int i = 0; i < PARTS; i++)
			*(F *)(acc + r * width + i * LANES) = result[i][r];
}

#endif
