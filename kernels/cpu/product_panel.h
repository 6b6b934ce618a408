// The products of packed weights at the vector levels. A group of LANES weight rows is worked on at once, one row a
// lane: while 16 values of each row are unpacked they are transposed. With one or two activation rows they are
// multiplied at once; with more, 256 values of each lane are kept in a panel, and the panel is taken to all activation
// rows. Since a lane adds up its row alone, chunk by chunk, its bits depend neither on its neighbours nor on that
// choice.
//
// A level gives the words in its product_lanes_LEVEL.h:
//   V, F          LANES 32-bit words, LANES floats
//   load_unit     16 bytes of each row, transposed: lane r of d[t] is word t of row r
//   half_low      the F16 in the low half of each word
//   spread        one word in all lanes; spread_f the same for a float
//   lookup        each byte (0..15) replaced by that byte of the 16 bytes of the table it lies in
//   pairs         sum + a.low * b.low + a.high * b.high, on signed halves
//   dots          sum[r] += the products of 4n weights of each lane with 4n activations of row r
//   plus_where    to each byte of q the byte of `more` is added where v has the bit that `bits` names
//   larger        of two signed words
//   prefetch      a line into the second-level cache, at this place of the code
//   raise8        signed bytes as dots wants them, which is raised by OFFSET8
#ifndef INGOT_PRODUCT_PANEL_H
#define INGOT_PRODUCT_PANEL_H

#include "product.h"

// What the blocks of a type look like once they are unpacked.
typedef struct form {
	int values, bytes; // of a block
	int bits;          // of q
	int offset;        // subtracted from q
	int by16;          // a scale for 16 values, not 32
	int mins;          // there are minima
} form;

// The scales of up to 8 chunks of 32 values of each lane. A chunk's part of the result is, d being the activations'
// scale, d * (scale * (dot - offset * sum) - min * (pair . sums)).
typedef struct scales {
	F scale[16]; // of chunk c; for the types whose scales are for 16 values: of run 2c and 2c + 1
	F min[8];
	V pair[8];   // the minima's whole parts for the two runs of a chunk, 16 bits each
} scales;

// Where the unpacked values of a run (16 values of each lane, raised by the form's offset, in four words) go.
typedef void run_fn(void *to, const form f, int run, V a, V b, V c, V d);

// Unpacks one block of each lane, which becomes the chunks from `chunk` on; blocks of 256 are always the whole.
typedef void unpack_fn(const rows *w, const form f, int chunk, scales *s, run_fn *put, void *to);

IG_INLINE rows rows_at(const uint8_t *w, int64_t stride) {
	rows v = {.stride = stride, .stride3 = 3 * stride};
	for (int i = 0; i < LANES / 4; i++)
		v.part[i] = w + 4 * i * stride;
	return v;
}

IG_INLINE void advance(rows *w, int64_t bytes) {
	for (int i = 0; i < LANES / 4; i++)
		w->part[i] += bytes;
}

// Prefetches a run's part of the bytes at next, which belong to the group that follows. A burst for the whole block
// would keep the loads of this group waiting.
IG_INLINE void look_ahead(const uint8_t *next, int run, const form f) {
	const int bytes = f.bytes * LANES * 16 / f.values;
	IG_UNROLL
	for (int i = 0; i < bytes; i += 64)
		prefetch(next + run * bytes + i);
}

// ---- the activations ----

// What the products need to know of rows of k activations; x points into the first.
typedef struct inputs {
	const uint8_t *const *x;
	int64_t scales, sums; // offsets of d and s in a row
} inputs;

IG_INLINE V sums_of(const inputs *in, int r, int64_t chunk) { return spread(in->x[r] + in->sums + 4 * chunk); }
IG_INLINE F scale_of(const inputs *in, int r, int64_t chunk) { return spread_f(in->x[r] + in->scales + 4 * chunk); }

// What the sum of run `half` of a chunk (of both, where they share a scale) starts from: the offset's part.
IG_INLINE V start_of(const form f, int half, V sums) {
	const uint32_t down = (uint16_t)-f.offset;
	return f.offset ? pairs(all(0), all(!f.by16 ? down << 16 | down : half ? down << 16 : down), sums) : all(0);
}

// Adds chunk c of a block to a result.
IG_INLINE F finish(const form f, const scales *s, int c, const V dot[2], V sums, F scale, F result) {
	F part = to_float(dot[0]) * s->scale[f.by16 ? 2 * c : c];
	if (f.by16)
		part = muladd(to_float(dot[1]), s->scale[2 * c + 1], part);
	if (f.mins)
		part = mulsub(to_float(pairs(all(0), s->pair[c], sums)), s->min[c], part);
	return muladd(part, scale, result);
}

// ---- one or two activation rows ----

typedef struct few {
	V dot[16][2]; // of each run and row; of each chunk in dot[2c] where the runs of a chunk share a scale
	const uint8_t *x[2], *next;
} few;

IG_INLINE void run_dot(few *to, const form f, int run, V a, V b, V c, V d, const int n) {
	V q[4] = {a, b, c, d};
	dots(to->dot[f.by16 ? run : run & ~1], q, 4, f.bits, to->x, 16 * run, n);
	look_ahead(to->next, run, f);
}

IG_INLINE void run_dot1(void *to, const form f, int run, V a, V b, V c, V d) { run_dot(to, f, run, a, b, c, d, 1); }
IG_INLINE void run_dot2(void *to, const form f, int run, V a, V b, V c, V d) { run_dot(to, f, run, a, b, c, d, 2); }

IG_INLINE void few_rows(const form f, unpack_fn *unpack, rows w, int64_t k, const uint8_t *const *x, float *acc,
                        const uint8_t *next, const int n) {
	const int chunks = f.values / 32;
	const inputs in = {x, ig_q8_d(k), ig_q8_s(k)};
	F result[2] = {(F)all(0), (F)all(0)};
	for (int64_t at = 0; at < k / 32; at += chunks, next += f.bytes * LANES) {
		scales s;
		few o;
		o.next = next;
		for (int r = 0; r < n; r++)
			o.x[r] = x[r] + 32 * at;
		IG_UNROLL
		for (int c = 0; c < chunks; c++)
			for (int r = 0; r < n; r++) {
				V sums = sums_of(&in, r, at + c);
				o.dot[2 * c][r] = start_of(f, 0, sums);
				o.dot[2 * c + 1][r] = start_of(f, 1, sums);
			}
		unpack(&w, f, 0, &s, n == 1 ? run_dot1 : run_dot2, &o);
		IG_UNROLL
		for (int c = 0; c < chunks; c++)
			for (int r = 0; r < n; r++) {
				V dot[2] = {o.dot[2 * c][r], o.dot[2 * c + 1][r]};
				result[r] = finish(f, &s, c, dot, sums_of(&in, r, at + c), scale_of(&in, r, at + c), result[r]);
			}
		advance(&w, f.bytes);
	}
	for (int r = 0; r < n; r++)
		*(F *)(acc + r * LANES) = result[r];
}

// ---- several activation rows ----

typedef struct panel {
	V q[64]; // word 8c + t: values 32c + 4t .. 32c + 4t + 3
	scales s;
} panel;

typedef struct many {
	V *q; // of a panel
	const uint8_t *next;
} many;

IG_INLINE void run_store(void *to, const form f, int run, V a, V b, V c, V d) {
	many *m = to;
	V *q = m->q + 4 * run;
	q[0] = a, q[1] = b, q[2] = c, q[3] = d;
	look_ahead(m->next, run, f);
}

// Takes `chunks` chunks of a panel, the first of which is chunk `at` of the row, to `rows` activation rows.
IG_INLINE void panel_dot(const panel *p, const form f, int chunks, int64_t at, const inputs *in, float *acc, const int rows) {
	F result[BLOCK];
	for (int r = 0; r < rows; r++)
		result[r] = *(const F *)(acc + r * LANES);
	for (int c = 0; c < chunks; c++) {
		V dot[2][BLOCK], sums[BLOCK];
		for (int r = 0; r < rows; r++) {
			sums[r] = sums_of(in, r, at + c);
			dot[0][r] = start_of(f, 0, sums[r]);
			dot[1][r] = start_of(f, 1, sums[r]);
		}
		dots(dot[0], p->q + 8 * c, f.by16 ? 4 : 8, f.bits, in->x, 32 * (at + c), rows);
		if (f.by16)
			dots(dot[1], p->q + 8 * c + 4, 4, f.bits, in->x, 32 * (at + c) + 16, rows);
		for (int r = 0; r < rows; r++) {
			V both[2] = {dot[0][r], dot[1][r]};
			result[r] = finish(f, &p->s, c, both, sums[r], scale_of(in, r, at + c), result[r]);
		}
	}
	for (int r = 0; r < rows; r++)
		*(F *)(acc + r * LANES) = result[r];
}

IG_INLINE void panel_dots(const panel *p, const form f, int chunks, int64_t at, inputs in, int n, float *acc) {
	int r = 0;
	for (; r + BLOCK <= n; r += BLOCK, in.x += BLOCK)
		panel_dot(p, f, chunks, at, &in, acc + r * LANES, BLOCK);
	if (BLOCK > 4 && r + 4 <= n) {
		panel_dot(p, f, chunks, at, &in, acc + r * LANES, 4);
		r += 4, in.x += 4;
	}
	if (r + 2 <= n) {
		panel_dot(p, f, chunks, at, &in, acc + r * LANES, 2);
		r += 2, in.x += 2;
	}
	if (r < n)
		panel_dot(p, f, chunks, at, &in, acc + r * LANES, 1);
}

IG_INLINE void many_rows(const form f, unpack_fn *unpack, rows w, int64_t k, const uint8_t *const *x, int n, float *acc,
                         const uint8_t *next) {
	const int step = f.values / 32;
	panel p;
	memset(acc, 0, (size_t)n * LANES * sizeof *acc);
	for (int64_t at = 0; at < k / 32; at += 8) {
		int chunks = f.values == 256 || k / 32 - at > 8 ? 8 : (int)(k / 32 - at);
		many m = {p.q, next};
		for (int c = 0; c < chunks; c += step) {
			unpack(&w, f, c, &p.s, run_store, &m);
			advance(&w, f.bytes);
		}
		next += chunks / step * f.bytes * LANES;
		panel_dots(&p, f, chunks, at, (inputs){x, ig_q8_d(k), ig_q8_s(k)}, n, acc);
	}
}

// A row kernel (product.h), for any type.
IG_INLINE void packed_rows(const form f, unpack_fn *unpack, const uint8_t *w, int64_t stride, int64_t k,
                           const void *const *x, int n, float *acc, const uint8_t *next) {
	if (!next)
		next = w;
	if (n == 1)
		few_rows(f, unpack, rows_at(w, stride), k, (const uint8_t *const *)x, acc, next, 1);
	else if (n == 2)
		few_rows(f, unpack, rows_at(w, stride), k, (const uint8_t *const *)x, acc, next, 2);
	else
		many_rows(f, unpack, rows_at(w, stride), k, (const uint8_t *const *)x, n, acc, next);
}

#endif
