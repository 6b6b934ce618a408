// The KV cache's writer and causal attention, in the words of simd_*.h.

// Values of a cache as floats, and back; type is a constant wherever these are inlined.
IG_INLINE vf cache_load(int type, const void *p, int64_t at) {
	return type == IG_F16 ? v_load_f16((const uint16_t *)p + at) : type == IG_BF16 ? v_load_bf16((const uint16_t *)p + at) : v_load((const float *)p + at);
}
IG_INLINE size_t cache_size(int type) { return type == IG_F32 ? 4 : 2; }

IG_INLINE vf cache_load_upto(int type, const void *p, int64_t at, int64_t n) {
	if (n >= W)
		return cache_load(type, p, at);
	float some[W] = {0};
	memcpy(some, (const char *)p + (size_t)at * cache_size(type), (size_t)n * cache_size(type));
	return cache_load(type, some, 0);
}

IG_INLINE void cache_store_upto(int type, void *p, int64_t at, vf x, int64_t n) {
	float some[W];
	void *to = n >= W ? (char *)p + (size_t)at * cache_size(type) : (char *)some;
	if (type == IG_F16)
		v_store_f16(to, x);
	else if (type == IG_BF16)
		v_store_bf16(to, x);
	else
		v_store(to, x);
	if (n < W)
		memcpy((char *)p + (size_t)at * cache_size(type), some, (size_t)n * cache_size(type));
}

IG_INLINE void kv_store(const ig_kv_store *a, const ig_batch *b, int ith, int nth, int type) {
	const ig_seq *s = b->seq;
	int64_t lo, hi;
	ig_share((int64_t)b->rows * a->heads, 1, ith, nth, &lo, &hi);
	for (int64_t i = lo; i < hi; i++) {
		int64_t r = i / a->heads, h = i % a->heads;
		s = ig_seq_of(s, r);
		int64_t at = (((int64_t)s->slot * a->heads + h) * a->cells + b->pos[r]) * a->dim;
		const float *k = a->k + r * a->kstride + h * a->dim, *v = a->v + r * a->vstride + h * a->dim;
		for (int d = 0; d < a->dim; d += W) {
			cache_store_upto(type, a->kc, at + d, v_load_upto(k + d, a->dim - d), a->dim - d);
			cache_store_upto(type, a->vc, at + d, v_load_upto(v + d, a->dim - d), a->dim - d);
		}
	}
}

enum { CELLS = IG_ATTENTION_CELLS, TOGETHER = W / 4 }; // TOGETHER: queries whose scores fit the registers

// Scores of N queries against `cells` cells (a multiple of 4), rows of pad floats both. The order of a score's sum
// depends neither on N nor on its neighbours.
IG_INLINE void dots(const float *q, const float *k, int pad, int cells, float *score, int N) {
	for (int c = 0; c < cells; c += 4, k += 4 * pad) {
		vf s[4][4];
		for (int i = 0; i < N; i++)
			for (int j = 0; j < 4; j++)
				s[i][j] = v_set(0);
		for (int d = 0; d < pad; d += W) {
			vf x[4];
			for (int j = 0; j < 4; j++)
				x[j] = v_load(k + j * pad + d);
			for (int i = 0; i < N; i++) {
				vf y = v_load(q + i * pad + d);
				for (int j = 0; j < 4; j++)
					s[i][j] = v_fma(y, x[j], s[i][j]);
			}
		}
		for (int i = 0; i < N; i++)
			_mm_storeu_ps(score + i * CELLS + c, v_sum4(s[i][0], s[i][1], s[i][2], s[i][3]));
	}
}

// acc[i] += sum over cells from..to of p[i][cell] * v[cell], cell after cell, for N queries and D vectors of a row.
IG_INLINE void weigh(float *acc, const float *p, const float *v, int pad, int from, int to, int N, int D) {
	vf s[4][2];
	for (int i = 0; i < N; i++)
		for (int d = 0; d < D; d++)
			s[i][d] = v_load(acc + i * pad + d * W);
	for (int c = from; c < to; c++) {
		vf x[2];
		for (int d = 0; d < D; d++)
			x[d] = v_load(v + c * pad + d * W);
		for (int i = 0; i < N; i++)
			for (int d = 0; d < D; d++)
				s[i][d] = v_fma(v_set(p[i * CELLS + c]), x[d], s[i][d]);
	}
	for (int i = 0; i < N; i++)
		for (int d = 0; d < D; d++)
			v_store(acc + i * pad + d * W, s[i][d]);
}

IG_INLINE void weigh_rows(float *acc, const float *p, const float *v, int pad, int from, int to, int N) {
	int d = 0;
	for (; d + 2 * W <= pad; d += 2 * W)
		weigh(acc + d, p, v + d, pad, from, to, N, 2);
	if (d < pad)
		weigh(acc + d, p, v + d, pad, from, to, N, 1);
}

// One tile: queries of rows r0..r1 of a sequence and heads g0..g1 of a kv head's group.
typedef struct tile {
	const ig_attention *a;
	const ig_seq *s;
	int64_t r0, r1;
	int kvh, g0, g1;
	int n, pad;           // queries; floats of a padded row
	float *q, *acc;       // [n][pad]
	float *score;         // [n][CELLS]
	float *max, *total;   // [n]
	float *block;         // [CELLS][pad]
} tile;

// The cells that row r attends to.
static inline void cells_of(const tile *t, int64_t r, int *from, int *to) {
	int end = t->s->pos0 + (int)(r - t->s->row0) + 1;
	*to = end;
	*from = t->a->window > 0 && end > t->a->window ? end - t->a->window : 0;
}

IG_INLINE void unpack(const tile *t, const void *cache, int from, int to, int base, int type) {
	const ig_attention *a = t->a;
	int64_t at = (((int64_t)t->s->slot * a->kv_heads + t->kvh) * a->cells + from) * a->dim;
	for (int c = from - base; c < to - base; c++, at += a->dim)
		for (int d = 0; d < t->pad; d += W)
			v_store(t->block + c * t->pad + d, d < a->dim ? cache_load_upto(type, cache, at + d, a->dim - d) : v_set(0));
}

static void load_queries(tile *t) {
	const ig_attention *a = t->a;
	int i = 0, group = a->heads / a->kv_heads;
	for (int64_t r = t->r0; r < t->r1; r++) {
		for (int g = t->g0; g < t->g1; g++, i++) {
			const float *q = a->q + r * a->qstride + (t->kvh * group + g) * a->qgap;
			for (int d = 0; d < t->pad; d += W) {
				vf x = v_set(0);
				if (d < a->dim)
					x = v_load_upto(q + d, a->dim - d) * v_set(a->scale);
				v_store(t->q + i * t->pad + d, x);
				v_store(t->acc + i * t->pad + d, v_set(0));
			}
			t->max[i] = -INFINITY;
			t->total[i] = 0;
		}
	}
	t->n = i;
}

// Turns the scores of query i into weights relative to its new maximum; those of cells outside from..to become 0.
static void soften(tile *t, int i, int from, int to) {
	float *x = t->score + i * CELLS, cap = t->a->cap;
	for (int c = 0; c < from; c++)
		x[c] = -INFINITY;
	for (int c = to; c < CELLS; c++)
		x[c] = -INFINITY;
	vf top = v_set(t->max[i]);
	for (int c = 0; c < CELLS; c += W) {
		vf v = v_load(x + c);
		if (cap > 0) { // leaves -infinity, which tanh would make finite
			v = v_less_than(v_set(-INFINITY), v, v_set(cap) * v_tanh(v / v_set(cap)), v);
			v_store(x + c, v);
		}
		top = v_max(v, top);
	}
	float max = v_top(top);
	vf sum = v_set(0);
	for (int c = 0; c < CELLS; c += W) {
		vf p = v_exp(v_load(x + c) - v_set(max));
		v_store(x + c, p);
		sum = sum + p;
	}
	float shrink = v_one(v_exp(v_set(t->max[i] - max)));
	t->total[i] = t->total[i] * shrink + v_sum(sum);
	if (shrink != 1)
		for (int d = 0; d < t->pad; d += W)
			v_store(t->acc + i * t->pad + d, v_load(t->acc + i * t->pad + d) * v_set(shrink));
	t->max[i] = max;
}

static void finish(const tile *t) {
	const ig_attention *a = t->a;
	int i = 0, group = a->heads / a->kv_heads;
	for (int64_t r = t->r0; r < t->r1; r++) {
		for (int g = t->g0; g < t->g1; g++, i++) {
			int h = t->kvh * group + g;
			float *dst = a->dst + r * a->dstride + (int64_t)h * a->dim;
			const float *gate = a->gate ? a->gate + r * a->gstride + h * a->ggap : NULL;
			for (int d = 0; d < a->dim; d += W) {
				vf x = v_load(t->acc + i * t->pad + d) / v_set(t->total[i]);
				if (gate)
					x = x * v_sigmoid(v_load_upto(gate + d, a->dim - d));
				v_store_upto(dst + d, x, a->dim - d);
			}
		}
	}
}

IG_INLINE void attend(tile *t, int type) {
	int start, end, last, heads = t->g1 - t->g0;
	load_queries(t);
	cells_of(t, t->r0, &start, &end);
	cells_of(t, t->r1 - 1, &last, &end); // end: the last row's
	for (int c0 = start / CELLS * CELLS; c0 < end; c0 += CELLS) {
		int lo = c0 < start ? start : c0, hi = c0 + CELLS < end ? c0 + CELLS : end;
		int first = (lo - c0) / 4 * 4, cells = (hi - c0 - first + 3) / 4 * 4;
		unpack(t, t->a->kc, lo, hi, c0, type);
		const float *k = t->block + first * t->pad;
		int done = 0;
		for (; done + TOGETHER <= t->n; done += TOGETHER)
			dots(t->q + done * t->pad, k, t->pad, cells, t->score + done * CELLS + first, TOGETHER);
		for (; done < t->n; done++)
			dots(t->q + done * t->pad, k, t->pad, cells, t->score + done * CELLS + first, 1);
		for (int i = 0; i < t->n; i++) {
			int from, to;
			cells_of(t, t->r0 + i / heads, &from, &to);
			from = from < lo ? lo : from;
			to = to > hi ? hi : to;
			if (from < to)
				soften(t, i, from - c0, to - c0);
		}
		unpack(t, t->a->vc, lo, hi, c0, type);
		for (int i = 0; i < t->n; i += heads) { // the heads of one row see the same cells
			int from, to, j = 0;
			cells_of(t, t->r0 + i / heads, &from, &to);
			from = (from < lo ? lo : from) - c0;
			to = (to > hi ? hi : to) - c0;
			for (; j + 4 <= heads; j += 4)
				weigh_rows(t->acc + (i + j) * t->pad, t->score + (i + j) * CELLS, t->block, t->pad, from, to, 4);
			for (; j < heads; j++)
				weigh_rows(t->acc + (i + j) * t->pad, t->score + (i + j) * CELLS, t->block, t->pad, from, to, 1);
		}
	}
	finish(t);
}

// Threads share tiles of queries; where there are fewer kv heads than threads, a group is cut too. Tiles are dealt
// in turn, since later rows see more cells.
IG_INLINE void attention(const ig_attention *a, const ig_batch *b, int ith, int nth, int type) {
	int group = a->heads / a->kv_heads, rows = group < IG_ATTENTION_QUERIES ? IG_ATTENTION_QUERIES / group : 1;
	int64_t tiles = 0, queries = group > IG_ATTENTION_QUERIES ? group : IG_ATTENTION_QUERIES;
	for (const ig_seq *s = b->seq; s < b->seq + b->seqs; s++)
		tiles += (s->rows + rows - 1) / rows * a->kv_heads;
	if (tiles == 0)
		return;
	int64_t cuts = tiles < nth ? (nth + tiles - 1) / tiles : 1, item = 0;
	if (cuts > group)
		cuts = group;
	tile t = {.a = a, .pad = (a->dim + 15) & ~15};
	t.q = a->scratch + ith * ig_attention_scratch(a->heads, a->kv_heads, a->dim);
	t.acc = t.q + queries * t.pad;
	t.block = t.acc + queries * t.pad;
	t.score = t.block + CELLS * t.pad;
	t.max = t.score + queries * CELLS;
	t.total = t.max + queries;
	for (t.s = b->seq; t.s < b->seq + b->seqs; t.s++) {
		int64_t end = t.s->row0 + t.s->rows;
		for (t.r0 = t.s->row0; t.r0 < end; t.r0 = t.r1) {
			t.r1 = t.r0 + rows < end ? t.r0 + rows : end;
			for (t.kvh = 0; t.kvh < a->kv_heads; t.kvh++) {
				for (int cut = 0; cut < cuts; cut++, item++) {
					t.g0 = (int)(group * cut / cuts);
					t.g1 = (int)(group * (cut + 1) / cuts);
					if (item % nth == ith && t.g0 < t.g1)
						attend(&t, type);
				}
			}
		}
	}
}

#define CACHE_KERNELS(NAME, TYPE)                                                                                      \
	static void kv_store_##NAME(const void *args, const ig_batch *b, int ith, int nth) {                               \
		kv_store(args, b, ith, nth, TYPE);                                                                             \
	}                                                                                                                  \
	static void attention_##NAME(const void *args, const ig_batch *b, int ith, int nth) {                              \
		attention(args, b, ith, nth, TYPE);                                                                            \
	}
CACHE_KERNELS(f32, IG_F32)
CACHE_KERNELS(f16, IG_F16)
CACHE_KERNELS(bf16, IG_BF16)
