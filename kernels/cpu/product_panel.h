// The products of packed weights at the vector levels. A group of LANES weight rows is worked on at once, one row a
// lane: 256 values of each row at a time are transposed and unpacked into a panel, and the panel is taken to all
// activation rows. Since a lane adds up its row alone, chunk by chunk, its bits cannot depend on its neighbours.
//
// A level gives the words in its product_lanes_LEVEL.h:
//   V, F          LANES 32-bit words, LANES floats
//   load_unit     16 bytes of each row, transposed: lane r of d[t] is word t of row r
//   half_low      the F16 in the low half of each word
//   spread        one word in all lanes; spread_f the same for a float
//   lookup        each byte (0..15) replaced by the table's
//   pairs         sum + a.low * b.low + a.high * b.high, on signed halves
//   dots          sum[r] += the products of 4n weights of each lane with 4n activations of row r
//   raise8        signed bytes as dots wants them, which is raised by OFFSET8
#ifndef INGOT_PRODUCT_PANEL_H
#define INGOT_PRODUCT_PANEL_H

#include "product.h"

// Up to 8 chunks of 32 values of each lane. A chunk's part of the result is, d being the activations' scale,
//   d * (scale * (dot - offset * sum) - min * (pair . sums)).
typedef struct panel {
	V q[64];     // word 8c + t: values 32c + 4t .. 32c + 4t + 3, raised by the offset
	F scale[16]; // of chunk c; for the types whose scales are for 16 values: of run 2c and 2c + 1
	F min[8];
	V pair[8];   // the minima's whole parts for the two runs of a chunk, 16 bits each
} panel;

// What the panels of a type look like.
typedef struct form {
	int values, bytes; // of a block
	int bits;          // of q
	int offset;        // subtracted from q
	int by16;          // a scale for 16 values, not 32
	int mins;          // there are minima
} form;

typedef void unpack_fn(const uint8_t *w, int64_t stride, int chunks, panel *p);

// Takes `chunks` chunks of a panel, the first of which is chunk `at` of the row, to `rows` activation rows of k.
IG_INLINE void panel_dot(const panel *p, const form f, int chunks, int64_t at, int64_t k, const uint8_t *const *x,
                         float *acc, const int rows) {
	const uint32_t down = (uint16_t)-f.offset;
	const int64_t scales = ig_q8_d(k), sums = ig_q8_s(k);
	F sum[BLOCK];
	for (int r = 0; r < rows; r++)
		sum[r] = *(const F *)(acc + r * LANES);
	for (int c = 0; c < chunks; c++) {
		V dot[2][BLOCK], min[BLOCK];
		for (int r = 0; r < rows; r++) {
			V s = spread(x[r] + sums + 4 * (at + c)), zero = all(0);
			dot[0][r] = f.offset ? pairs(zero, all(f.by16 ? down : down << 16 | down), s) : zero;
			dot[1][r] = f.offset ? pairs(zero, all(down << 16), s) : zero;
			min[r] = pairs(zero, p->pair[c], s);
		}
		if (f.by16) {
			dots(dot[0], p->q + 8 * c, 4, f.bits, x, 32 * (at + c), rows);
			dots(dot[1], p->q + 8 * c + 4, 4, f.bits, x, 32 * (at + c) + 16, rows);
		} else {
			dots(dot[0], p->q + 8 * c, 8, f.bits, x, 32 * (at + c), rows);
		}
		for (int r = 0; r < rows; r++) {
			F part = to_float(dot[0][r]) * p->scale[f.by16 ? 2 * c : c];
			if (f.by16)
				part = muladd(to_float(dot[1][r]), p->scale[2 * c + 1], part);
			if (f.mins)
				part = mulsub(to_float(min[r]), p->min[c], part);
			sum[r] = muladd(part, spread_f(x[r] + scales + 4 * (at + c)), sum[r]);
		}
	}
	for (int r = 0; r < rows; r++)
		*(F *)(acc + r * LANES) = sum[r];
}

IG_INLINE void prefetch(const uint8_t *p, int64_t bytes) {
	for (int64_t i = 0; i < bytes; i += 64)
		__builtin_prefetch(p + i, 0, 2);
}

// A row kernel (product.h), for any type: the unpack function is inlined.
IG_INLINE void panel_rows(const form f, unpack_fn *unpack, const uint8_t *w, int64_t stride, int64_t k,
                          const void *const *rows, int n, float *acc, const uint8_t *next) {
	const uint8_t *const *x = (const uint8_t *const *)rows;
	panel p;
	memset(acc, 0, (size_t)n * LANES * sizeof *acc);
	for (int64_t at = 0; at < k / 32; at += 8) {
		int chunks = f.values == 256 || k / 32 - at > 8 ? 8 : (int)(k / 32 - at);
		int64_t bytes = chunks * 32 / f.values * f.bytes;
		if (next) {
			prefetch(next, bytes * LANES);
			next += bytes * LANES;
		}
		unpack(w, stride, chunks, &p);
		w += bytes;
		int r = 0;
		for (; r + BLOCK <= n; r += BLOCK)
			panel_dot(&p, f, chunks, at, k, x + r, acc + r * LANES, BLOCK);
		if (BLOCK > 4 && r + 4 <= n) {
			panel_dot(&p, f, chunks, at, k, x + r, acc + r * LANES, 4);
			r += 4;
		}
		if (r + 2 <= n) {
			panel_dot(&p, f, chunks, at, k, x + r, acc + r * LANES, 2);
			r += 2;
		}
		if (r < n)
			panel_dot(&p, f, chunks, at, k, x + r, acc + r * LANES, 1);
	}
}

#endif
