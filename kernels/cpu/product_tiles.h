// The products of packed weights by bf16 tiles (tile.h), for chunks of up to IG_CHUNK activations. Activations are the
// rows of a tile, weight rows its columns; both become bf16, rounded to nearest even, and are multiplied 32 values at a
// time: two tiles of activations by two of weights into four sums of f32.
//
// What is where, for 256 values (STEP) of all rows:
//   activations  [token / 16][8] tiles, unpacked from the row format once for a panel of weight rows   256 KB
//   sums         [weight row / 32][token / 32][2][2] tiles of f32, of a panel                         1 MB
//   weights      [2][8] tiles: two groups, unpacked while the two before are multiplied               2 x 16 KB
// So activations and sums stay in the second cache, weights in the first. Sums are handed on with their last products.
//
// With a residual a factor is two numbers, rounded and what rounding left, and of their four products the three that
// count are added: the bits that 16 bits of activations and the weights' scales hold are kept.
//
// A sum's order depends on the columns alone, so a row's bits depend neither on the threads nor on its neighbours.
#ifndef INGOT_PRODUCT_TILES_H
#define INGOT_PRODUCT_TILES_H

#include "product_unpack.h"
#include "product_unpack_k.h"
#include "team.h"
#include "tile.h"

enum {
	DEEP = STEP / 32,                             // tiles of a group's, or of 16 activations', 256 values
	GROUP_TILES = DEEP * IG_TILE_BYTES,           // bytes of them
	ACTIVATIONS = IG_CHUNK / 16 * GROUP_TILES,    // bytes; with a residual for half as many, twice
	SUMS = 1 << 20,                               // bytes
	FOUR = 4 * IG_TILE_BYTES,
};

// Weights of up to two groups that are unpacked, and how far they are multiplied.
typedef struct job job;
typedef void multiply_fn(job *j);
struct job {
	multiply_fn *multiply;      // takes the weights to the next 32 activations
	ig_tiles *tiles;            // of the emulation
	const uint8_t *x, *x_rest;  // activation tiles; what rounding left or NULL
	const uint8_t *w, *w_rest;  // weight tiles
	uint8_t *sums;
	int next, n;                // activations
	int groups, chunks;
	int first, last;            // columns of the matrix: sums start at zero, are handed on
	int64_t row;                // of the first group
	const ig_sink *sink;
};

// ---- to bf16 ----

IG_INLINE F flat(float f) { return spread_f(&f); }

// Pairs (a[i], b[i]) of bf16.
IG_INLINE V pairs(F a, F b) {
	static const uint16_t order[32] = {0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23,
	                                   8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
	__m512i both = (__m512i)_mm512_cvtne2ps_pbh((__m512)b, (__m512)a);
	return (V)_mm512_permutexvar_epi16(_mm512_loadu_si512(order), both);
}

IG_INLINE F first_of(V pairs) { return (F)(pairs << 16); }
IG_INLINE F second_of(V pairs) { return (F)(pairs & 0xffff0000u); }
IG_INLINE void put_vector(void *to, V v) { _mm512_storeu_si512(to, (__m512i)v); }

// The rows of a tile are pairs of columns, one of each weight row.
IG_INLINE void put_pairs(uint8_t *to, uint8_t *rest, F a, F b, const int split) {
	V v = pairs(a, b);
	put_vector(to, v);
	if (split)
		put_vector(rest, pairs(a - first_of(v), b - second_of(v)));
}

// Where a group's unpacked weights go, and what is multiplied meanwhile.
typedef struct weave {
	uint8_t *to, *rest;  // tiles
	int split;           // rest is wanted
	const uint8_t *next; // words to prefetch
	const scales *s;
	job *before;
} weave;

// A run is half a tile. Its bytes are masked where they are, so the scale makes up for their place.
IG_INLINE void tile_of_run(uint8_t *to, uint8_t *rest, const V *q, F scale, F add, const int split) {
	const F scale1 = scale * flat(0x1p-8f), scale2 = scale * flat(0x1p-16f);
	IG_UNROLL
	for (int t = 0; t < 4; t++) {
		F v0 = muladd(to_float(q[t] & 0xff), scale, add), v1 = muladd(to_float(q[t] & 0xff00), scale1, add);
		F v2 = muladd(to_float(q[t] & 0xff0000), scale2, add), v3 = muladd(to_float(q[t] >> 24), scale, add);
		put_pairs(to + 128 * t, rest + 128 * t, v0, v1, split);
		put_pairs(to + 128 * t + 64, rest + 128 * t + 64, v2, v3, split);
	}
}

static __attribute__((noinline)) void weave_run(weave *w, int run, V a, V b, V c, V d, F scale, F add) {
	const V q[4] = {a, b, c, d};
	uint8_t *to = w->to + run * (IG_TILE_BYTES / 2), *rest = w->rest + run * (IG_TILE_BYTES / 2);
	if (w->split)
		tile_of_run(to, rest, q, scale, add, 1);
	else
		tile_of_run(to, rest, q, scale, add, 0);
	if (run % 2 && w->before->next < w->before->n)
		w->before->multiply(w->before);
}

// A weight is scale * q - min, or scale * (q - offset).
IG_INLINE void run_weave(void *to, const form f, int run, V a, V b, V c, V d) {
	weave *w = to;
	const int i = f.by16 ? run : run / 2;
	F scale = w->s->scale[i], add = f.mins ? -w->s->min[i] : scale * flat((float)-f.offset);
	look_ahead_run(w->next, f, run);
	weave_run(w, run, a, b, c, d, scale, add);
}

// A group and `chunks` chunks of it from chunk `at` on; next_j and next_at: what is unpacked next.
typedef void unpack_group_fn(const ig_weights *w, int64_t j, int64_t at, int chunks, int64_t next_j, int64_t next_at, weave *to);

IG_INLINE void unpack_group(const form f, scales_fn *head, unpack_fn *unpack, const ig_weights *w, int64_t j, int64_t at, int chunks,
                            int64_t next_j, int64_t next_at, weave *to) {
	const int step = f.values / 32;
	room tmp;
	scales s;
	blocks b = blocks_at(w, f, j, at / step, chunks / step, &tmp);
	to->s = &s;
	to->next = b.words; // what is not repacked, blocks_at prefetches
	if (w->repacked) {
		const int n = chunks / step;
		to->next = w->w + next_j * w->stride + next_at / step * (f.words * 4 + f.extra) * IG_GROUP;
		for (int i = 0; i < n * f.extra * IG_GROUP; i += 64)
			prefetch(to->next + n * f.words * 4 * IG_GROUP + i);
	}
	for (int c = 0; c < chunks; c += step) {
		unpack_runs(b.words, b.extra, f, head, unpack, c, &s, run_weave, to);
		b.words += f.words * 4 * IG_GROUP;
		b.extra += f.extra * IG_GROUP;
		to->next += w->repacked ? f.words * 4 * IG_GROUP : 0;
	}
}

// ---- activations ----

// 32 values of a row of the row format (kernels.h), and of its residual where there is one.
IG_INLINE void row_of_tile(const uint8_t *q8, int64_t k, int64_t chunk, uint8_t *to, uint8_t *rest) {
	const uint8_t *left = q8 + ig_q8_row(k);
	F v[2];
	for (int i = 0; i < 2; i++) {
		const int64_t at = 32 * chunk + 16 * i;
		F d = spread_f(q8 + ig_q8_d(k) + 4 * chunk);
		v[i] = to_float((V)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(q8 + at)))) * d;
		if (rest) {
			d = spread_f(left + ig_q8_d(k) + 4 * chunk);
			v[i] = muladd(to_float((V)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(left + at)))), d, v[i]);
		}
	}
	V both = (V)(__m512i)_mm512_cvtne2ps_pbh((__m512)v[1], (__m512)v[0]);
	put_vector(to, both);
	if (!rest)
		return;
	__m512i low = _mm512_cvtepu16_epi32(_mm512_castsi512_si256((__m512i)both));
	__m512i high = _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64((__m512i)both, 1));
	v[0] -= (F)((V)low << 16);
	v[1] -= (F)((V)high << 16);
	put_vector(rest, (V)(__m512i)_mm512_cvtne2ps_pbh((__m512)v[1], (__m512)v[0]));
}

// Rows after the last activation stay what they are: a row of a product depends on no other.
static void tiles_of_rows(const void *const *x, int n, int64_t k, int64_t at, int chunks, uint8_t *to, uint8_t *rest) {
	for (int r = 0; r < n; r++)
		for (int c = 0; c < chunks; c++) {
			int64_t place = r / 16 * GROUP_TILES + c * IG_TILE_BYTES + r % 16 * 64;
			row_of_tile(x[r], k, at + c, to + place, rest ? rest + place : 0);
		}
}

// ---- products ----

// Adds the products of tiles 4, 5 (activations) and 6, 7 (weights) to tiles 0 to 3.
IG_INLINE void four_dots(ig_tiles *t, int two, int groups) {
	tile_dot(t, 0, 4, 6);
	if (groups == 2)
		tile_dot(t, 1, 4, 7);
	if (!two)
		return;
	tile_dot(t, 2, 5, 6);
	if (groups == 2)
		tile_dot(t, 3, 5, 7);
}

IG_INLINE void load_two(ig_tiles *t, const int i, const uint8_t *p, int64_t at, int both) {
	tile_load(t, i, p + at);
	if (both)
		tile_load(t, i + 1, p + at + GROUP_TILES);
}

// Hands on the sums of up to 16 activations from `token` on.
IG_INLINE void hand_on(const job *j, const uint8_t *sums, int token) {
	for (int r = 0; r < 16 && token + r < j->n; r++)
		for (int g = 0; g < j->groups; g++) {
			int64_t row = j->row + 16 * g;
			const float *add = j->sink->add[token + r];
			F v = (F)load(sums + g * IG_TILE_BYTES + 64 * r);
			if (j->sink->bias)
				v += (F)load(j->sink->bias + row);
			if (add)
				v += (F)load(add + row);
			put_vector(j->sink->dst[token + r] + row, (V)v);
		}
}

IG_INLINE void multiply(job *j, ig_tiles *t) {
	const int token = j->next, two = j->n - token > 16, groups = j->groups;
	uint8_t *sums = j->sums + token / 32 * FOUR;
	const int64_t x = token / 16 * GROUP_TILES;
	j->next = token + 32;
	if (j->first) {
		tile_zero(t, 0), tile_zero(t, 1), tile_zero(t, 2), tile_zero(t, 3);
	} else {
		tile_load(t, 0, sums), tile_load(t, 1, sums + IG_TILE_BYTES);
		tile_load(t, 2, sums + 2 * IG_TILE_BYTES), tile_load(t, 3, sums + 3 * IG_TILE_BYTES);
	}
	for (int64_t at = 0; at < j->chunks * IG_TILE_BYTES; at += IG_TILE_BYTES) {
		load_two(t, 4, j->x + x, at, two);
		load_two(t, 6, j->w, at, groups == 2);
		four_dots(t, two, groups);
		if (!j->x_rest)
			continue;
		load_two(t, 6, j->w_rest, at, groups == 2);
		four_dots(t, two, groups);
		load_two(t, 4, j->x_rest + x, at, two);
		load_two(t, 6, j->w, at, groups == 2);
		four_dots(t, two, groups);
	}
	tile_store(t, 0, sums), tile_store(t, 1, sums + IG_TILE_BYTES);
	tile_store(t, 2, sums + 2 * IG_TILE_BYTES), tile_store(t, 3, sums + 3 * IG_TILE_BYTES);
	if (j->last) {
		hand_on(j, sums, token);
		if (two)
			hand_on(j, sums + 2 * IG_TILE_BYTES, token + 16);
	}
}

static __attribute__((noinline)) void multiply_tiles(job *j) { multiply(j, 0); }
static __attribute__((noinline)) void multiply_emulated(job *j) { multiply(j, j->tiles); }

static void finish_job(job *j) {
	while (j->next < j->n)
		j->multiply(j);
}

// ---- a chunk ----

typedef struct chunk_room {
	_Alignas(64) uint8_t x[ACTIVATIONS], sums[SUMS], w[2][2][2 * GROUP_TILES]; // w: turn, rounded and rest
} chunk_room;

// All rows of a panel, whose sums fit: every STEP columns the activations become tiles, and are taken to all groups.
static void panel_of_chunk(unpack_group_fn *unpack, const ig_weights *w, int64_t lo, int64_t hi, const void *const *x, int n,
                           int split, const ig_sink *s, job shape, chunk_room *room) {
	const int64_t all_chunks = w->k / 32, sums = (n + 31) / 32 * FOUR;
	uint8_t *x_rest = split ? room->x + ACTIVATIONS / 2 : 0;
	for (int64_t at = 0; at < all_chunks; at += DEEP) {
		int chunks = all_chunks - at < DEEP ? (int)(all_chunks - at) : DEEP, turn = 0;
		job before = {.n = 0};
		tiles_of_rows(x, n, w->k, at, chunks, room->x, x_rest);
		for (int64_t j = lo; j < hi; j += 2 * IG_GROUP, turn ^= 1) {
			job now = shape;
			now.x = room->x, now.x_rest = x_rest;
			now.w = room->w[turn][0], now.w_rest = room->w[turn][1];
			now.sums = room->sums + (j - lo) / 32 * sums;
			now.n = n, now.chunks = chunks, now.first = at == 0, now.last = at + chunks == all_chunks;
			now.groups = hi - j > IG_GROUP ? 2 : 1, now.row = j, now.sink = s;
			for (int g = 0; g < now.groups; g++) {
				weave to = {.to = room->w[turn][0] + g * GROUP_TILES, .rest = room->w[turn][1] + g * GROUP_TILES, .split = split, .before = &before};
				int64_t row = j + g * IG_GROUP, next = row + IG_GROUP;
				if (next < hi)
					unpack(w, row, at, chunks, next, at, &to);
				else if (!now.last)
					unpack(w, row, at, chunks, lo, at + chunks, &to);
				else
					unpack(w, row, at, chunks, hi, 0, &to);
			}
			finish_job(&before);
			before = now;
		}
		finish_job(&before);
	}
}

static void chunk(unpack_group_fn *unpack, const ig_weights *w, int64_t lo, int64_t hi, const void *const *x, int n, int residual,
                  const ig_sink *s) {
	chunk_room room;
	ig_tiles emulated;
	ig_tile_config c = {.palette = 1};
	job shape = {.multiply = ig_amx_emulated ? multiply_emulated : multiply_tiles, .tiles = ig_amx_emulated ? &emulated : 0};
	for (int i = 0; i < IG_TILE_REGISTERS; i++)
		c.colsb[i] = 64, c.rows[i] = IG_TILE_ROWS;
	tile_configure(shape.tiles, &c);
	const int64_t panel = SUMS / ((n + 31) / 32 * FOUR) * 32;
	for (int64_t j = lo; j < hi; j += panel)
		panel_of_chunk(unpack, w, j, j + panel < hi ? j + panel : hi, x, n, residual, s, shape, &room);
	tile_release(shape.tiles);
}

#endif
