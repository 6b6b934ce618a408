// How the packed blocks of 256 values are unpacked, in the words of product_panel.h. blocks.h says what a block means.
#ifndef INGOT_PRODUCT_UNPACK_K_H
#define INGOT_PRODUCT_UNPACK_K_H

#include "product_unpack.h"

// Byte j of each word.
IG_INLINE V byte_of(V v, int j) { return v >> (uint32_t)(8 * j) & 0xff; }

// Bits of each byte moved down by so many places (negative: up), and masked.
IG_INLINE V moved(V v, int down, uint32_t mask) { return (down >= 0 ? v >> (uint32_t)down : v << (uint32_t)-down) & mask; }

static const form form_q2_k = {256, sizeof(ig_q2_k), .bits = 2, .by16 = 1, .mins = 1};

// Bits 2p, 2p+1 of 16 bytes (half l of 32) are run 2p + l of their 128 values.
UNPACK(q2_k) {
	(void)chunk;
	unit u = load_unit(w, 0);
	V tail = load_unit(w, 68).d[3];
	F d = half_low(tail), dmin = half_low(tail >> 16);
	IG_UNROLL
	for (int t = 0; t < 4; t++) {
		IG_UNROLL
		for (int j = 0; j < 4; j++)
			s->scale[4 * t + j] = d * to_float(byte_of(u.d[t], j) & 15);
		V m = high_nibbles(u.d[t]);
		s->pair[2 * t] = (m & 0xff) | (m & 0xff00) << 8;
		s->pair[2 * t + 1] = (m >> 16 & 0xff) | (m >> 8 & 0xff0000);
		s->min[2 * t] = s->min[2 * t + 1] = dmin;
	}
	IG_UNROLL
	for (int hl = 0; hl < 4; hl++) {
		unit q = load_unit(w, 16 + 16 * hl);
		IG_UNROLL
		for (int p = 0; p < 4; p++)
			put(to, f, hl / 2 * 8 + 2 * p + hl % 2, moved(q.d[0], 2 * p, 0x03030303), moved(q.d[1], 2 * p, 0x03030303),
			    moved(q.d[2], 2 * p, 0x03030303), moved(q.d[3], 2 * p, 0x03030303));
	}
}

static const form form_q3_k = {256, sizeof(ig_q3_k), .bits = 3, .offset = 4, .by16 = 1};

UNPACK(q3_k) {
	(void)chunk;
	// The last 16 bytes: two of qs, the scales, d.
	unit tail = load_unit(w, 94);
	V s0 = tail.d[0] >> 16 | tail.d[1] << 16, s1 = tail.d[1] >> 16 | tail.d[2] << 16;
	V s2 = tail.d[2] >> 16 | tail.d[3] << 16;
	F d = half_low(tail.d[3] >> 16);
	V scale[4] = {
		low_nibbles(s0) | moved(s2, -4, 0x30303030), low_nibbles(s1) | moved(s2, -2, 0x30303030),
		high_nibbles(s0) | moved(s2, 0, 0x30303030), high_nibbles(s1) | moved(s2, 2, 0x30303030),
	};
	IG_UNROLL
	for (int g = 0; g < 16; g++)
		s->scale[g] = d * to_float(byte_of(scale[g / 4], g % 4) - 32);
	IG_UNROLL
	for (int l = 0; l < 2; l++) {
		unit high = load_unit(w, 16 * l);
		IG_UNROLL
		for (int h = 0; h < 2; h++) {
			unit low = load_unit(w, 32 + 32 * h + 16 * l);
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
IG_INLINE void scales_k(const rows *w, scales *s) {
	unit u = load_unit(w, 0);
	F d = half_low(u.d[0]), dmin = half_low(u.d[0] >> 16);
	V scale[2] = {u.d[1] & 0x3f3f3f3fu, low_nibbles(u.d[3]) | moved(u.d[1], 2, 0x30303030)};
	V min[2] = {u.d[2] & 0x3f3f3f3fu, high_nibbles(u.d[3]) | moved(u.d[2], 2, 0x30303030)};
	IG_UNROLL
	for (int c = 0; c < 8; c++) {
		s->scale[c] = d * to_float(byte_of(scale[c / 4], c % 4));
		s->min[c] = dmin * to_float(byte_of(min[c / 4], c % 4));
		s->pair[c] = all(0x00010001);
	}
}

static const form form_q4_k = {256, sizeof(ig_q4_k), .bits = 4, .mins = 1};

// 32 bytes are two chunks, the low nibbles and the high ones.
UNPACK(q4_k) {
	(void)chunk;
	scales_k(w, s);
	IG_UNROLL
	for (int cl = 0; cl < 8; cl++) {
		unit u = load_unit(w, 16 + 16 * cl);
		int run = cl / 2 * 4 + cl % 2;
		put(to, f, run, low_nibbles(u.d[0]), low_nibbles(u.d[1]), low_nibbles(u.d[2]), low_nibbles(u.d[3]));
		put(to, f, run + 2, high_nibbles(u.d[0]), high_nibbles(u.d[1]), high_nibbles(u.d[2]), high_nibbles(u.d[3]));
	}
}

static const form form_q5_k = {256, sizeof(ig_q5_k), .bits = 5, .mins = 1};

// As Q4_K, and bit c of 32 bytes is the fifth bit of chunk c.
UNPACK(q5_k) {
	(void)chunk;
	scales_k(w, s);
	IG_UNROLL
	for (int l = 0; l < 2; l++) {
		unit fifth = load_unit(w, 16 + 16 * l);
		IG_UNROLL
		for (int c = 0; c < 8; c += 2) {
			unit u = load_unit(w, 48 + 16 * c + 16 * l);
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

static const form form_q6_k = {256, sizeof(ig_q6_k), .bits = 6, .offset = 32, .by16 = 1};

// 64 bytes of ql and 32 of qh are 128 values: chunk p of them has nibble p/2 of half p%2 of ql, and bits 2p of qh.
UNPACK(q6_k) {
	(void)chunk;
	unit u = load_unit(w, 192);
	F d = half_low(load_unit(w, 194).d[3] >> 16);
	IG_UNROLL
	for (int g = 0; g < 16; g++) // signed bytes
		s->scale[g] = d * to_float((byte_of(u.d[g / 4], g % 4) ^ 0x80) - 0x80);
	IG_UNROLL
	for (int hl = 0; hl < 4; hl++) {
		int h = hl / 2, l = hl % 2;
		unit high = load_unit(w, 128 + 32 * h + 16 * l);
		IG_UNROLL
		for (int p = 0; p < 2; p++) {
			unit low = load_unit(w, 64 * h + 32 * p + 16 * l);
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

static const form form_iq4_xs = {256, sizeof(ig_iq4_xs), .bits = 8, .offset = OFFSET8};

UNPACK(iq4_xs) {
	(void)chunk;
	V values = raise8(table(ig_iq4_values));
	unit head = load_unit(w, 0);
	F d = half_low(head.d[0]);
	V high = head.d[0] >> 16;
	IG_UNROLL
	for (int c = 0; c < 8; c++) {
		V scale = moved(head.d[1], 4 * c, 15) | moved(high, 2 * c - 4, 0x30);
		s->scale[c] = d * to_float(scale - 32);
		put_looked_up(load_unit(w, 8 + 16 * c), values, f, c, put, to);
	}
}

#endif
