// The products of packed weights with several activations: unpacked weights are kept in a panel, which is taken to all of
// them; and the row kernel, which chooses between this and product_few.h.
#ifndef INGOT_PRODUCT_PANEL_H
#define INGOT_PRODUCT_PANEL_H

#include "product_few.h"

#ifdef WIDENS
enum { WIDE = 1, KEPT = STEP / 2 };
#else
enum { WIDE = 0, KEPT = STEP / 4 };
#endif

typedef struct panel {
	V q[PANELS][KEPT]; // word 8c + t: values 32c + 4t .. 32c + 4t + 3, in the order of keep; or twice as many of 16 bits
	scales s[PANELS];
} panel;

typedef struct many {
	V *q; // of a panel
	const uint8_t *next;
} many;

#ifndef KEEPS_PAIRS
IG_INLINE void keep(V *q, V a, V b, V c, V d) { q[0] = a, q[1] = b, q[2] = c, q[3] = d; }
#define kept_dots dots
#endif

IG_INLINE void run_store(void *to, const form f, int run, V a, V b, V c, V d) {
	many *m = to;
	keep(m->q + 4 * run, a, b, c, d);
	look_ahead_run(m->next, f, run);
}

// Takes `chunks` chunks of `panels` panels, the first of which is chunk `at` of the row, to `rows` activations, whose
// residuals lie `low` bytes behind them; acc holds `width` floats a result.
IG_INLINE void panel_dot(const panel *p, const form f, int chunks, int64_t at, const uint8_t *const *x, int64_t low, const side *sides,
                         float *acc, int width, const int rows, const int panels) {
	F result[PANELS * BLOCK];
	for (int g = 0; g < panels; g++)
		for (int r = 0; r < rows; r++)
			result[g * rows + r] = *(const F *)(acc + r * width + g * LANES);
	for (int c = 0; c < chunks; c++) {
		F first[PANELS * BLOCK];
		for (int half = 0; half <= f.by16; half++) {
			V dot[PANELS * BLOCK];
			const V *q = p->q[0] + 8 * c + 4 * half;
			const int64_t from = 32 * (at + c) + 16 * half;
			for (int g = 0; g < panels; g++)
				for (int r = 0; r < rows; r++)
					dot[g * rows + r] = low ? all(0) : start_of(f, &sides[r], half, c);
			kept_dots(dot, q, KEPT, f.by16 ? 4 : 8, f.bits, x, from, rows, panels);
			if (low) {
				for (int g = 0; g < panels; g++)
					for (int r = 0; r < rows; r++)
						dot[g * rows + r] = raised(dot[g * rows + r]) + start_of(f, &sides[r], half, c);
				kept_dots(dot, q, KEPT, f.by16 ? 4 : 8, f.bits, x, from + low, rows, panels);
			}
			for (int g = 0; g < panels; g++)
				for (int r = 0; r < rows; r++) {
					int i = g * rows + r;
					first[i] = scaled(f, &p->s[g], c, half, dot[i], first[i]);
					if (half == f.by16)
						result[i] = add_chunk(f, &p->s[g], c, first[i], &sides[r], c, result[i]);
				}
		}
	}
	for (int g = 0; g < panels; g++)
		for (int r = 0; r < rows; r++)
			*(F *)(acc + r * width + g * LANES) = result[g * rows + r];
}

#include "product_wide.h"

// Takes `panels` panels to all activation rows. One such function serves all types whose products go alike.
typedef void panel_fn(const panel *p, int panels, int chunks, int64_t at, const uint8_t *const *x, int64_t low, const side *sides,
                      int n, float *acc, int width);

IG_INLINE void panel_dots(const form f, const panel *p, int panels, int chunks, int64_t at, const uint8_t *const *x,
                          int64_t low, const side *sides, int n, float *acc, int width) {
	int r = 0;
	if (WIDE && low) {
		wide_panel_dots(f, p, chunks, x, sides, n, acc, width);
		return;
	}
#define TAKE(ROWS, PANELS) panel_dot(p, f, chunks, at, x + r, low, sides + r, acc + r * width, width, ROWS, PANELS), r += ROWS
	if (PANELS > 1 && panels == PANELS) {
		while (BLOCK > 4 && !f.by16 && r + BLOCK <= n) // two halves of a chunk leave registers for four
			TAKE(BLOCK, PANELS);
		while (r + 4 <= n)
			TAKE(4, PANELS);
		while (r + 2 <= n)
			TAKE(2, PANELS);
		if (r < n)
			TAKE(1, PANELS);
		return;
	}
	while (r + 4 <= n)
		TAKE(4, 1);
	while (r < n)
		TAKE(1, 1);
#undef TAKE
}

// Bytes from a group's words of the step at chunk `at` to what is unpacked next where they are now: its words of the next step, or the
// first ones of the group `rows` rows further on.
IG_INLINE int64_t next_step(const ig_weights *w, const form f, int64_t at, int rows) {
	const ig_layout l = ig_layout_of(f.type);
	const int64_t blocks = w->k / f.values, next = at + STEP / 32;
	int64_t here = ig_place_of(&l, blocks, at * 32 / f.values).words;
	return next < w->k / 32 ? ig_place_of(&l, blocks, next * 32 / f.values).words - here : rows * w->stride - here;
}

// `groups` groups of rows from j on, PANELS panels at a time.
IG_INLINE void many_rows(const form f, scales_fn *head, unpack_fn *unpack, panel_fn *products, const ig_weights *w, int64_t j,
                         int groups, const uint8_t *const *x, int64_t low, int n, float *acc) {
	const int step = f.values / 32, width = groups * IG_GROUP;
	panel p;
	side sides[IG_TILE];
	widened wide;
	memset(acc, 0, (size_t)(n * width) * sizeof *acc);
	for (int64_t at = 0; at < w->k / 32; at += STEP / 32) {
		int chunks = f.values == STEP || w->k / 32 - at > STEP / 32 ? STEP / 32 : (int)(w->k / 32 - at);
		for (int r = 0; r < n; r++)
			side_of(f, x[r], low, w->k, at, chunks, &sides[r]);
		if (WIDE && low)
			widen_rows(&wide, x, low, at, chunks, n);
		room tmp;
		blocks group = {0};
		for (int part = 0; part < groups * PARTS;) {
			int panels = part + PANELS <= groups * PARTS ? PANELS : 1;
			for (int g = 0; g < panels; g++) {
				int i = (part + g) % PARTS;
				if (i == 0) { // once for all parts of its rows
					group = blocks_at(w, f, j + (part + g) / PARTS * IG_GROUP, at / step, chunks / step, &tmp);
					if (w->repacked)
						group.ahead = (int)next_step(w, f, at, width);
				}
				blocks b = group;
				for (int c = 0; c < chunks; c += step) {
					many m = {p.q[g], ahead_of(f, b, i)};
					const uint8_t *words = b.words + 4 * LANES * i, *extra = b.extra + f.extra * LANES * i;
					if (f.extra)
						prefetch(extra + b.ahead);
					if (WIDE && low)
						unpack_runs(words, extra, f, head, unpack, c, &p.s[g], run_store_wide, &m);
					else
						unpack_runs(words, extra, f, head, unpack, c, &p.s[g], run_store, &m);
					b.words += f.words * 4 * IG_GROUP;
					b.extra += f.extra * IG_GROUP;
				}
			}
			products(&p, panels, chunks, at, WIDE && low ? wide.x : x, low, sides, n, acc + part * LANES, width);
			part += panels;
		}
	}
}

// A row kernel (product.h), for any type.
IG_INLINE void packed_rows(const form f, scales_fn *head, unpack_fn *unpack, panel_fn *products, const ig_weights *w, int64_t j,
                           int rows, const void *const *x, int n, int residual, float *acc) {
	const uint8_t *const *q = (const uint8_t *const *)x;
	const int64_t low = residual ? ig_q8_row(w->k) : 0;
	const int vectors = n << residual; // rows of activations
	if (vectors > (w->repacked ? PASSES : 1) * FEW) { // a pass over what is not repacked would repack it again
		many_rows(f, head, unpack, products, w, j, rows / IG_GROUP, q, low, n, acc);
		return;
	}
	const uint8_t *each[PASSES * FEW]; // 1, 2, 4 or 8 are taken at once, the last of them repeatedly where there are fewer
	for (int r = 0; r < vectors; r++)
		each[r] = q[r >> residual] + (r & residual ? low : 0);
	for (int r = vectors; r % FEW; r++)
		each[r] = each[vectors - 1];
	float spare[FEW * IG_GROUP];
#define FEW_ROWS(N, RESIDUAL) few_rows(f, head, unpack, w, j + i, each + r, left > 2 ? spare : to, left > 2 ? IG_GROUP : rows, N, RESIDUAL)
#define TAKE(N) (residual ? FEW_ROWS(N, 1) : FEW_ROWS(N, 0))
	for (int i = 0; i < rows; i += IG_GROUP)
		for (int r = 0; r < vectors; r += FEW) { // all passes but the first find the group in a cache
			const int left = vectors - r < FEW ? vectors - r : FEW;
			float *to = acc + (r >> residual) * rows + i;
			if (FEW > 4 && left > 4)
				TAKE(8);
			else if (FEW > 2 && left > 2)
				TAKE(4);
			else if (left == 2)
				TAKE(2);
			else
				FEW_ROWS(1, 0);
			for (int k = 0; left > 2 && k < left >> residual; k++)
				memcpy(to + k * rows, spare + k * IG_GROUP, sizeof(float) * IG_GROUP);
		}
#undef TAKE
#undef FEW_ROWS
}

#endif
