// How the packed blocks of 32 values are unpacked, in the words of product_panel.h. blocks.h says what a block means.
#ifndef INGOT_PRODUCT_UNPACK_H
#define INGOT_PRODUCT_UNPACK_H

#include "product_panel.h"

#define UNPACK(NAME) IG_INLINE void unpack_##NAME(const rows *w, const form f, int chunk, scales *s, run_fn *put, void *to)

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

static const form form_q4_0 = {32, sizeof(ig_q4_0), .bits = 4, .offset = 8};

UNPACK(q4_0) {
	s->scale[chunk] = half_low(load_unit(w, 0).d[0]);
	put_nibbles(load_unit(w, 2), f, chunk, put, to);
}

static const form form_q4_1 = {32, sizeof(ig_q4_1), .bits = 4, .mins = 1};

UNPACK(q4_1) {
	V head = load_unit(w, 0).d[0];
	s->scale[chunk] = half_low(head);
	s->min[chunk] = -half_low(head >> 16);
	s->pair[chunk] = all(0x00010001);
	put_nibbles(load_unit(w, 4), f, chunk, put, to);
}

static const form form_q5_0 = {32, sizeof(ig_q5_0), .bits = 5, .offset = 16};

UNPACK(q5_0) {
	unit head = load_unit(w, 0);
	s->scale[chunk] = half_low(head.d[0]);
	put_five_bits(load_unit(w, 6), head.d[0] >> 16 | head.d[1] << 16, f, chunk, put, to);
}

static const form form_q5_1 = {32, sizeof(ig_q5_1), .bits = 5, .mins = 1};

UNPACK(q5_1) {
	unit head = load_unit(w, 0);
	s->scale[chunk] = half_low(head.d[0]);
	s->min[chunk] = -half_low(head.d[0] >> 16);
	s->pair[chunk] = all(0x00010001);
	put_five_bits(load_unit(w, 8), head.d[1], f, chunk, put, to);
}

static const form form_q8_0 = {32, sizeof(ig_q8_0), .bits = 8, .offset = OFFSET8};

UNPACK(q8_0) {
	s->scale[chunk] = half_low(load_unit(w, 0).d[0]);
	IG_UNROLL
	for (int l = 0; l < 2; l++) {
		unit u = load_unit(w, 2 + 16 * l);
		put(to, f, 2 * chunk + l, raise8(u.d[0]), raise8(u.d[1]), raise8(u.d[2]), raise8(u.d[3]));
	}
}

static const form form_iq4_nl = {32, sizeof(ig_iq4_nl), .bits = 8, .offset = OFFSET8};

UNPACK(iq4_nl) {
	s->scale[chunk] = half_low(load_unit(w, 0).d[0]);
	put_looked_up(load_unit(w, 2), raise8(table(ig_iq4_values)), f, chunk, put, to);
}

static const form form_mxfp4 = {32, sizeof(ig_mxfp4), .bits = 5, .offset = 12};

UNPACK(mxfp4) {
	static const int8_t raised[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};
	// 2^(e-128): the exponent is e - 1, or the number is subnormal.
	V e = load_unit(w, 0).d[0] & 0xff;
	s->scale[chunk] = (F)larger((e + 1) << 21, (e - 1) << 23);
	put_looked_up(load_unit(w, 1), table(raised), f, chunk, put, to);
}

#endif
