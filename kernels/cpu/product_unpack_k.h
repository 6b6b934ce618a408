// How the packed blocks of 256 values are unpacked, in the words of product_form.h. blocks.h says what a block means.
#ifndef INGOT_PRODUCT_UNPACK_K_H
#define INGOT_PRODUCT_UNPACK_K_H

#include "product_unpack.h"

// Byte j of each word.
IG_INLINE V byte_of(V v, int j) { return v >> (uint32_t)(8 * j) & 0xff; }

// Bits of each byte moved down by so many places (negative: up), and masked.
IG_INLINE V moved(V v, int down, uint32_t mask) { return (down >= 0 ? v >> (uint32_t)down : v << (uint32_t)-down) & mask; }

static const form form_q2_k = {IG_Q2_K, 256, 21, 0, .bits = 2, .by16 = 1, .mins = 1};

// Bits 2p, 2p+1 of 16 bytes (half l of 32) are run 2p + l of their 128 values.
UNPACK(q2_k) {
	(void)chunk, (void)extra;
	unit u = words(w, 0);
	V tail = word(w, 20);
	F d = half_low(tail), dmin = half_low(tail >> 16);
	IG_UNROLL
	for (int g = 0; g < 16; g++) {
		V both = byte_of(u.d[g / 4], g % 4);
		s->scale[g] = d * to_float(both & 15);
		s->min[g] = dmin * to_float(both >> 4);
	}
	IG_UNROLL
	for (int hl = 0; hl < 4; hl++) {
		unit q = words(w, 4 + 4 * hl);
		IG_UNROLL
		for (int p = 0; p < 4; p++)
			put(to, f, hl / 2 * 8 + 2 * p + hl % 2, moved(q.d[0], 2 * p, 0x03030303), moved(q.d[1], 2 * p, 0x03030303),
			    moved(q.d[2], 2 * p, 0x03030303), moved(q.d[3], 2 * p, 0x03030303));
	}
}

static const form form_q3_k = {IG_Q3_K, 256, 27, 2, .bits = 3, .offset = 4, .by16 = 1};

UNPACK(q3_k) {
	(void)chunk;
	V s0 = word(w, 24), s1 = word(w, 25), s2 = word(w, 26);
	F d = halves(extra);
	V scale[4] = {
		low_nibbles(s0) | moved(s2, -4, 0x30303030), low_nibbles(s1) | moved(s2, -2, 0x30303030),
		high_nibbles(s0) | moved(s2, 0, 0x30303030), high_nibbles(s1) | moved(s2, 2, 0x30303030),
	};
	IG_UNROLL
	for (int g = 0; g < 16; g++)
		s->scale[g] = d * to_float(byte_of(scale[g / 4], g % 4) - 32);
	IG_UNROLL
	for (int l = 0; l < 2; l++) {
		unit high = words(w, 4 * l);
		IG_UNROLL
		for (int h = 0; h < 2; h++) {
			unit low = words(w, 8 + 8 * h + 4 * l);
			IG_UNROLL
			for (int p = 0; p < 4; p++) {
				V q[4];
				IG_UNROLL
				for (int t = 0; t < 4; t++)
					q[t] = moved(low.d[t], 2 * p, 0x03030303) | moved(high.d[t], 4 * h + p - 2, 0x04040404);
				put(to, f, 8 * h + 2 * p + l, q[0], q[1], q[2], q[3]);
			}
		}
	}
}

// The head of Q4_K and Q5_K: d, dmin and 12 bytes of scales and minima.
IG_INLINE void scales_k(const uint8_t *w, scales *s) {
	unit u = words(w, 0);
	F d = half_low(u.d[0]), dmin = half_low(u.d[0] >> 16);
	V scale[2] = {u.d[1] & 0x3f3f3f3fu, low_nibbles(u.d[3]) | moved(u.d[1], 2, 0x30303030)};
	V min[2] = {u.d[2] & 0x3f3f3f3fu, high_nibbles(u.d[3]) | moved(u.d[2], 2, 0x30303030)};
	IG_UNROLL
	for (int c = 0; c < 8; c++) {
		s->scale[c] = d * to_float(byte_of(scale[c / 4], c % 4));
		s->min[c] = dmin * to_float(byte_of(min[c / 4], c % 4));
	}
}

static const form form_q4_k = {IG_Q4_K, 256, 36, 0, .bits = 4, .mins = 1};

// 32 bytes are two chunks, the low nibbles and the high ones.
UNPACK(q4_k) {
	(void)chunk, (void)extra;
	scales_k(w, s);
	IG_UNROLL
	for (int cl = 0; cl < 8; cl++) {
		unit u = words(w, 4 + 4 * cl);
		int run = cl / 2 * 4 + cl % 2;
		put(to, f, run, low_nibbles(u.d[0]), low_nibbles(u.d[1]), low_nibbles(u.d[2]), low_nibbles(u.d[3]));
		put(to, f, run + 2, high_nibbles(u.d[0]), high_nibbles(u.d[1]), high_nibbles(u.d[2]), high_nibbles(u.d[3]));
	}
}

static const form form_q5_k = {IG_Q5_K, 256, 44, 0, .bits = 5, .mins = 1};

// As Q4_K, and bit c of 32 bytes is the fifth bit of chunk c.
UNPACK(q5_k) {
	(void)chunk, (void)extra;
	scales_k(w, s);
	IG_UNROLL
	for (int l = 0; l < 2; l++) {
		unit fifth = words(w, 4 + 4 * l);
		IG_UNROLL
		for (int c = 0; c < 8; c += 2) {
			unit u = words(w, 12 + 4 * c + 4 * l);
			V q[8];
			IG_UNROLL
			for (int t = 0; t < 4; t++) {
				q[t] = low_nibbles(u.d[t]) | moved(fifth.d[t], c - 4, 0x10101010);
				q[4 + t] = high_nibbles(u.d[t]) | moved(fifth.d[t], c - 3, 0x10101010);
			}
			put(to, f, 2 * c + l, q[0], q[1], q[2], q[3]);
			put(to, f, 2 * c + 2 + l, q[4], q[5], q[6], q[7]);
		}
	}
}

static const form form_q6_k = {IG_Q6_K, 256, 52, 2, .bits = 6, .offset = 32, .by16 = 1};

// 64 bytes of ql and 32 of qh are 128 values: chunk p of them has nibble p/2 of half p%2 of ql, and bits 2p of qh.
UNPACK(q6_k) {
	(void)chunk;
	unit u = words(w, 48);
	F d = halves(extra);
	IG_UNROLL
	for (int g = 0; g < 16; g++) // signed bytes
		s->scale[g] = d * to_float((byte_of(u.d[g / 4], g % 4) ^ 0x80) - 0x80);
	IG_UNROLL
	for (int hl = 0; hl < 4; hl++) {
		int h = hl / 2, l = hl % 2;
		unit high = words(w, 32 + 8 * h + 4 * l);
		IG_UNROLL
		for (int p = 0; p < 2; p++) {
			unit low = words(w, 16 * h + 8 * p + 4 * l);
			V q[8];
			IG_UNROLL
			for (int t = 0; t < 4; t++) {
				q[t] = low_nibbles(low.d[t]) | moved(high.d[t], 2 * p - 4, 0x30303030);
				q[4 + t] = high_nibbles(low.d[t]) | moved(high.d[t], 2 * p, 0x30303030);
			}
			put(to, f, 8 * h + 2 * p + l, q[0], q[1], q[2], q[3]);
			put(to, f, 8 * h + 2 * p + 4 + l, q[4], q[5], q[6], q[7]);
		}
	}
}

static const form form_iq4_xs = {IG_IQ4_XS, 256, 34, 0, .bits = 8, .offset = OFFSET8};

UNPACK(iq4_xs) {
	(void)chunk, (void)extra;
	V values = raise8(table(ig_iq4_values)), head = word(w, 0), low = word(w, 1);
	F d = half_low(head);
	V high = head >> 16;
	IG_UNROLL
	for (int c = 0; c < 8; c++) {
		V scale = moved(low, 4 * c, 15) | moved(high, 2 * c - 4, 0x30);
		s->scale[c] = d * to_float(scale - 32);
		put_looked_up(words(w, 2 + 4 * c), values, f, c, put, to);
	}
}

#endif
