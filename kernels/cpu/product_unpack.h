// How the packed blocks of 32 values are unpacked, in the words of product_form.h. blocks.h says what a block means.
#ifndef INGOT_PRODUCT_UNPACK_H
#define INGOT_PRODUCT_UNPACK_H

#include "product_panel.h"

#define UNPACK(NAME) \
	IG_INLINE void unpack_##NAME(const uint8_t *w, const uint8_t *extra, const form f, int chunk, scales *s, run_fn *put, void *to)

// Words i to i+3 of a block.
typedef struct unit { V d[4]; } unit;
IG_INLINE V word(const uint8_t *w, int i) { return load(w + 4 * IG_GROUP * i); }
IG_INLINE unit words(const uint8_t *w, int i) { return (unit){{word(w, i), word(w, i + 1), word(w, i + 2), word(w, i + 3)}}; }

IG_INLINE V low_nibbles(V v) { return v & 0x0f0f0f0fu; }
IG_INLINE V high_nibbles(V v) { return v >> 4 & 0x0f0f0f0fu; }

// The low nibbles are the first run of the chunk, the high ones the second.
IG_INLINE void put_nibbles(unit u, const form f, int chunk, run_fn *put, void *to) {
	put(to, f, 2 * chunk, low_nibbles(u.d[0]), low_nibbles(u.d[1]), low_nibbles(u.d[2]), low_nibbles(u.d[3]));
	put(to, f, 2 * chunk + 1, high_nibbles(u.d[0]), high_nibbles(u.d[1]), high_nibbles(u.d[2]), high_nibbles(u.d[3]));
}

IG_INLINE void put_looked_up(unit u, V values, const form f, int chunk, run_fn *put, void *to) {
	V q[8];
	IG_UNROLL
	for (int t = 0; t < 4; t++) {
		q[t] = lookup(values, low_nibbles(u.d[t]));
		q[4 + t] = lookup(values, high_nibbles(u.d[t]));
	}
	put(to, f, 2 * chunk, q[0], q[1], q[2], q[3]);
	put(to, f, 2 * chunk + 1, q[4], q[5], q[6], q[7]);
}

// Bit i of qh is bit 4 of value i: word t needs byte t/2 of qh four times, and a bit of each.
IG_INLINE void put_five_bits(unit u, V qh, const form f, int chunk, run_fn *put, void *to) {
	static const int8_t byte_of_qh[4][16] = {
		{0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12}, {1, 1, 1, 1, 5, 5, 5, 5, 9, 9, 9, 9, 13, 13, 13, 13},
		{2, 2, 2, 2, 6, 6, 6, 6, 10, 10, 10, 10, 14, 14, 14, 14}, {3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15},
	};
	V q[8];
	IG_UNROLL
	for (int t = 0; t < 8; t++)
		q[t] = plus_where(t < 4 ? low_nibbles(u.d[t]) : high_nibbles(u.d[t - 4]), lookup(qh, table(byte_of_qh[t / 2])),
		                  all(t % 2 ? 0x80402010 : 0x08040201), all(0x10101010));
	put(to, f, 2 * chunk, q[0], q[1], q[2], q[3]);
	put(to, f, 2 * chunk + 1, q[4], q[5], q[6], q[7]);
}

static const form form_q4_0 = {IG_Q4_0, 32, 4, 2, .bits = 4, .offset = 8};

UNPACK(q4_0) {
	s->scale[chunk] = halves(extra);
	put_nibbles(words(w, 0), f, chunk, put, to);
}

// The first word of Q4_1 and Q5_1: d and m.
IG_INLINE void scale_and_minimum(V head, int chunk, scales *s) {
	s->scale[chunk] = half_low(head);
	s->min[chunk] = -half_low(head >> 16);
}

static const form form_q4_1 = {IG_Q4_1, 32, 5, 0, .bits = 4, .mins = 1};

UNPACK(q4_1) {
	(void)extra;
	scale_and_minimum(word(w, 0), chunk, s);
	put_nibbles(words(w, 1), f, chunk, put, to);
}

static const form form_q5_0 = {IG_Q5_0, 32, 5, 2, .bits = 5, .offset = 16};

UNPACK(q5_0) {
	s->scale[chunk] = halves(extra);
	put_five_bits(words(w, 1), word(w, 0), f, chunk, put, to);
}

static const form form_q5_1 = {IG_Q5_1, 32, 6, 0, .bits = 5, .mins = 1};

UNPACK(q5_1) {
	(void)extra;
	scale_and_minimum(word(w, 0), chunk, s);
	put_five_bits(words(w, 2), word(w, 1), f, chunk, put, to);
}

static const form form_q8_0 = {IG_Q8_0, 32, 8, 2, .bits = 8, .offset = OFFSET8};

UNPACK(q8_0) {
	s->scale[chunk] = halves(extra);
	IG_UNROLL
	for (int l = 0; l < 2; l++) {
		unit u = words(w, 4 * l);
		put(to, f, 2 * chunk + l, raise8(u.d[0]), raise8(u.d[1]), raise8(u.d[2]), raise8(u.d[3]));
	}
}

static const form form_iq4_nl = {IG_IQ4_NL, 32, 4, 2, .bits = 8, .offset = OFFSET8};

UNPACK(iq4_nl) {
	s->scale[chunk] = halves(extra);
	put_looked_up(words(w, 0), raise8(table(ig_iq4_values)), f, chunk, put, to);
}

static const form form_mxfp4 = {IG_MXFP4, 32, 4, 1, .bits = 5, .offset = 12};

UNPACK(mxfp4) {
	static const int8_t raised[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};
	// 2^(e-128): the exponent is e - 1, or the number is subnormal.
	V e = bytes(extra);
	s->scale[chunk] = (F)larger((e + 1) << 21, (e - 1) << 23);
	put_looked_up(words(w, 0), table(raised), f, chunk, put, to);
}

#endif
