// The two products of attention over a block of cells, in the words of simd_*.h, for each type of a cache. The order
// of a sum depends neither on how many queries are taken together nor on whether K and V were unpacked before.

#include "prefetch.h"

enum {
	TOGETHER = REGISTERS / 8, // queries whose scores against 4 cells fit the registers
	PANEL = 128,              // cells whose V is unpacked at once, two vectors of a row at a time
	DEEP = REGISTERS / 8,     // vectors of V taken together with 4 queries
	AHEAD = 8192,             // bytes that are fetched ahead
};

IG_INLINE void fetch(const char *p, int64_t bytes) {
	for (int64_t i = 0; i < bytes; i += 64)
		__builtin_prefetch(p + i);
}
// The share of `bytes` that queries i..i+more of n fetch, so that no burst of misses holds up the arithmetic.
IG_INLINE void fetch_share(const char *p, int64_t bytes, int i, int more, int n) {
	for (int64_t at = bytes * i / n & ~63; at < bytes * (i + more) / n; at += 64)
		__builtin_prefetch(p + at, 0, 2);
}

// A row's values as floats, padded with zeros.
IG_INLINE void unpack(int type, float *to, const char *row, int d, int end, int dim) {
	for (; d < dim / W * W && d < end; d += W, to += W)
		v_store(to, cache_load(type, row, d));
	for (; d < end; d += W, to += W)
		v_store(to, d < dim ? cache_load_upto(type, row, d, dim - d) : v_set(0));
}

// Scores of N queries against 4 rows of K.
IG_INLINE void dots(int type, const float *q, int pad, const char *const *k, float *score, int N) {
	vf s[TOGETHER][4];
	for (int i = 0; i < N; i++)
		for (int j = 0; j < 4; j++)
			s[i][j] = v_set(0);
	int step = type == IG_Q8_0 || type == IG_Q4_0 ? 32 : W; // a block's scale is loaded once
	for (int d0 = 0; d0 < pad; d0 += step) {
		IG_UNROLL
		for (int d = d0; d < d0 + step; d += W) {
			vf x[4];
			for (int j = 0; j < 4; j++)
				x[j] = cache_load(type, k[j], d);
			for (int i = 0; i < N; i++) {
				vf y = v_load(q + i * pad + d);
				for (int j = 0; j < 4; j++)
					s[i][j] = v_fma(y, x[j], s[i][j]);
			}
		}
	}
	if (N == TOGETHER) {
		v_sum_tile(s, score, BLOCK);
		return;
	}
	for (int i = 0; i < N; i++)
		v_store4(score + i * BLOCK, v_sum4(s[i][0], s[i][1], s[i][2], s[i][3]));
}

// Scores of all queries against cells lo..hi of the block at c0, rounded outward to multiples of 4; what lies outside
// lo..hi is no score.
IG_INLINE void score_cells(const tile *t, int c0, int lo, int hi, int type) {
	int end = hi - c0, pad = t->pad;
	for (int c = (lo - c0) / 4 * 4; c < end;) {
		int cells = t->direct ? 4 : end - c < 16 ? end - c : 16;
		const char *from = t->k + (c0 + c) * t->krow, *k[4];
		if (t->direct) {
			if (hi == c0 + BLOCK) // more may follow
				ig_open_page(from);
			fetch(from + AHEAD, cells * t->krow);
			for (int j = 0; j < 4; j++)
				k[j] = from + (c + j < end ? j : end - 1 - c) * t->krow;
			int i = 0;
			for (; i + TOGETHER <= t->n; i += TOGETHER)
				dots(type, t->q + i * pad, pad, k, t->score + i * BLOCK + c, TOGETHER);
			for (; i + 2 <= t->n; i += 2)
				dots(type, t->q + i * pad, pad, k, t->score + i * BLOCK + c, 2);
			for (; i < t->n; i++)
				dots(type, t->q + i * pad, pad, k, t->score + i * BLOCK + c, 1);
		} else {
			for (int j = 0; j < cells; j++)
				unpack(type, t->rows + j * pad, from + j * t->krow, 0, pad, t->a->dim);
			for (int i = 0; i < t->n;) {
				int more = i + TOGETHER <= t->n ? TOGETHER : 1;
				fetch_share(from + cells * t->krow, cells * t->krow, i, more, t->n);
				fetch_share(t->v + (c0 + c) * t->vrow, cells * t->vrow, i, more, t->n); // needed after the scores
				for (int u = 0; u < cells; u += 4) {
					for (int j = 0; j < 4; j++)
						k[j] = (const char *)(t->rows + (u + j) * pad);
					if (more == TOGETHER)
						dots(IG_F32, t->q + i * pad, pad, k, t->score + i * BLOCK + c + u, TOGETHER);
					else
						dots(IG_F32, t->q + i * pad, pad, k, t->score + i * BLOCK + c + u, 1);
				}
				i += more;
			}
		}
		c += cells;
	}
}

// Adds to D vectors of N queries' sums p[i][cell] times V, cell after cell; v: row `from`, whose value d0 is the vectors'
// first. soon: where what is read later begins, to be fetched; NULL: nowhere.
IG_INLINE void weigh(int type, float *sum, int64_t stride, const float *p, const char *v, int64_t row, int d0, int from, int to, int N, int D,
                     const char *soon) {
	vf s[8][4];
	for (int i = 0; i < N; i++)
		for (int d = 0; d < D; d++)
			s[i][d] = v_load(sum + i * stride + d * W);
	for (int c = from; c < to; c++, v += row) {
		vf x[4];
		if (soon) {
			__builtin_prefetch(soon);
			if (D > 1 && type != IG_Q8_0 && type != IG_Q4_0)
				__builtin_prefetch(soon + 64);
			soon += row;
		}
		for (int d = 0; d < D; d++)
			x[d] = cache_load(type, v, d0 + d * W);
		for (int i = 0; i < N; i++) {
			vf y = v_set(p[i * BLOCK + c]);
			for (int d = 0; d < D; d++)
				s[i][d] = v_fma(y, x[d], s[i][d]);
		}
	}
	for (int i = 0; i < N; i++)
		for (int d = 0; d < D; d++)
			v_store(sum + i * stride + d * W, s[i][d]);
}

// The cells of query i among from..to of the block at c0, counted from c0.
static inline void seen(const tile *t, int i, int c0, int lo, int hi, int *from, int *to) {
	cells_of(t, t->r0 + i / t->group, from, to);
	*from = (*from < lo ? lo : *from) - c0;
	*to = (*to > hi ? hi : *to) - c0;
}

// Where K and V are read in place, the queries are of one row. Short runs of cells, so that a run stays in the L1 cache
// while its vectors are gone through.
IG_INLINE void weigh_in_place(const tile *t, int c0, int lo, int hi, int type) {
	int64_t stride = ig_attention_sum(t->a->dim);
	int from, to, pad = t->pad;
	seen(t, 0, c0, lo, hi, &from, &to);
	for (int c = from; c < to; c += 16) {
		int end = c + 16 < to ? c + 16 : to;
		const char *v = t->v + (c0 + c) * t->vrow;
		if (hi == c0 + BLOCK) // as for K
			for (int64_t at = 0; at < 16 * t->vrow; at += IG_PAGE)
				ig_open_page(v + at);
		for (int i = 0, more; i < t->n; i += more) {
			more = i + 4 <= t->n ? 4 : i + 2 <= t->n ? 2 : 1;
			float *sum = t->part + i * stride;
			const float *p = t->score + i * BLOCK;
			int d = 0;
			for (; d + DEEP * W <= pad; d += DEEP * W) {
				const char *soon = v + AHEAD + d * t->vrow / pad;
				if (more == 4)
					weigh(type, sum + d, stride, p, v, t->vrow, d, c, end, 4, DEEP, soon);
				else if (more == 2)
					weigh(type, sum + d, stride, p, v, t->vrow, d, c, end, 2, DEEP, soon);
				else
					weigh(type, sum + d, stride, p, v, t->vrow, d, c, end, 1, DEEP, soon);
			}
			for (; d < pad; d += W)
				for (int j = 0; j < more; j++)
					weigh(type, sum + j * stride + d, stride, p + j * BLOCK, v, t->vrow, d, c, end, 1, 1, NULL);
		}
	}
}

// D vectors of the sums of queries i..i+N from an unpacked panel of cells c..end. The cells that only some of these
// queries see come first (a window's) or last (the diagonal's).
IG_INLINE void weigh_panel(const tile *t, int i, int d, int c0, int c, int end, int N, int D) {
	int64_t stride = ig_attention_sum(t->a->dim);
	int64_t row = D * W * 4;
	float *sum = t->part + i * stride + d;
	const float *p = t->score + i * BLOCK;
	const char *v = (const char *)t->rows;
	int from[8], to[8], lo = 0, hi = BLOCK;
	for (int j = 0; j < N; j++) {
		seen(t, i + j, c0, c0 + c, c0 + end, from + j, to + j);
		lo = from[j] > lo ? from[j] : lo;
		hi = to[j] < hi ? to[j] : hi;
	}
	if (N == 1) {
		if (from[0] < to[0])
			weigh(IG_F32, sum, stride, p, v + (from[0] - c) * row, row, 0, from[0], to[0], 1, D, NULL);
		return;
	}
	if (lo > hi)
		hi = lo; // no cell is common: each goes over its own
	for (int j = 0; j < N; j++) {
		int most = to[j] < lo ? to[j] : lo;
		if (from[j] < most)
			weigh(IG_F32, sum + j * stride, stride, p + j * BLOCK, v + (from[j] - c) * row, row, 0, from[j], most, 1, D, NULL);
	}
	if (lo < hi)
		weigh(IG_F32, sum, stride, p, v + (lo - c) * row, row, 0, lo, hi, N, D, NULL);
	for (int j = 0; j < N; j++) {
		int least = from[j] > hi ? from[j] : hi;
		if (least < to[j])
			weigh(IG_F32, sum + j * stride, stride, p + j * BLOCK, v + (least - c) * row, row, 0, least, to[j], 1, D, NULL);
	}
}

IG_INLINE void weigh_unpacked(const tile *t, int c0, int lo, int hi, int type) {
	int dim = t->a->dim;
	for (int c = lo - c0, end; c < hi - c0; c = end) {
		end = (c / PANEL + 1) * PANEL < hi - c0 ? (c / PANEL + 1) * PANEL : hi - c0;
		for (int d = 0; d < t->pad; d += 2 * W) {
			int D = d + W < t->pad ? 2 : 1;
			const char *v = t->v + (c0 + c) * t->vrow;
			if (D == 2)
				for (int j = 0; j < end - c; j++)
					unpack(type, t->rows + j * 2 * W, v + j * t->vrow, d, d + 2 * W, dim);
			else
				for (int j = 0; j < end - c; j++)
					unpack(type, t->rows + j * W, v + j * t->vrow, d, d + W, dim);
			const char *next = v + (d + 2 * W) * t->vrow / dim;
			int i = 0;
			if (D == 2)
				for (; i + 2 * TOGETHER <= t->n; i += 2 * TOGETHER) {
					for (int j = (end - c) * i / t->n; j < (end - c) * (i + 2 * TOGETHER) / t->n; j++)
						__builtin_prefetch(next + j * t->vrow);
					weigh_panel(t, i, d, c0, c, end, 2 * TOGETHER, 2);
				}
			for (; i < t->n; i++) {
				if (D == 2)
					weigh_panel(t, i, d, c0, c, end, 1, 2);
				else
					weigh_panel(t, i, d, c0, c, end, 1, 1);
			}
		}
	}
}

#define BLOCK_KERNELS(NAME, TYPE)                                                                                      \
	static void score_##NAME(const tile *t, int c0, int lo, int hi) { score_cells(t, c0, lo, hi, TYPE); }              \
	static void weigh_##NAME(const tile *t, int c0, int lo, int hi) {                                                  \
		if (t->direct)                                                                                                 \
			weigh_in_place(t, c0, lo, hi, TYPE);                                                                       \
		else                                                                                                           \
			weigh_unpacked(t, c0, lo, hi, TYPE);                                                                       \
	}
BLOCK_KERNELS(f32, IG_F32)
BLOCK_KERNELS(f16, IG_F16)
BLOCK_KERNELS(bf16, IG_BF16)
BLOCK_KERNELS(q8_0, IG_Q8_0)
BLOCK_KERNELS(q4_0, IG_Q4_0)

static void score_block(const tile *t, int c0, int lo, int hi) {
	switch (t->a->type) {
	case IG_F32: score_f32(t, c0, lo, hi); return;
	case IG_F16: score_f16(t, c0, lo, hi); return;
	case IG_BF16: score_bf16(t, c0, lo, hi); return;
	case IG_Q8_0: score_q8_0(t, c0, lo, hi); return;
	case IG_Q4_0: score_q4_0(t, c0, lo, hi);
	}
}

static void weigh_block(const tile *t, int c0, int lo, int hi) {
	switch (t->a->vtype) {
	case IG_F32: weigh_f32(t, c0, lo, hi); return;
	case IG_F16: weigh_f16(t, c0, lo, hi); return;
	case IG_BF16: weigh_bf16(t, c0, lo, hi); return;
	case IG_Q8_0: weigh_q8_0(t, c0, lo, hi); return;
	case IG_Q4_0: weigh_q4_0(t, c0, lo, hi);
	}
}
