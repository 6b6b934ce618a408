// How the packed blocks of 256 values are unpacked, in the words of product_form.h. blocks.h says what a block means.
#ifndef INGOT_PRODUCT_UNPACK_K_H
#define INGOT_PRODUCT_UNPACK_K_H

#include "product_unpack.h"

// Byte j of each word.
IG_INLINE V byte_of(V v, int j) { return v >> (uint32_t)(8 * j) & 0xff; }

// Bits of each byte moved down by so many places (negative: up), and masked.
IG_INLINE V moved(V v, int down, uint32_t mask) { return (down >= 0 ? v >> (uint32_t)down : v << (uint32_t)-down) & mask; }

static const form form_q2_k = {IG_Q2_K, 256, 21, 0, .bits = 2, .by16 = 1, .mins = 1};

SCALES(q2_k) {
	V tail = word(w, 20);
	F d = half_low(tail), dmin = half_low(tail >> 16);
	IG_UNROLL
	for (int g = 0; g < 16; g++) {
		V both = byte_of(word(w, g / 4), g % 4);
		s->scale[g] = d * to_float(both & 15);
		s->min[g] = dmin * to_float(both >> 4);
	}
}

// Bits 2p, 2p+1 of 32 bytes are chunk p of their 128 values.
UNPACK(q2_k) { return moved(word(w, 4 + i / 32 * 8 + i % 8), i / 8 % 4 * 2, 0x03030303); }

static const form form_q3_k = {IG_Q3_K, 256, 27, 2, .bits = 3, .offset = 4, .by16 = 1};

SCALES(q3_k) {
	V s0 = word(w, 24), s1 = word(w, 25), s2 = word(w, 26);
	F d = halves(extra);
	V scale[4] = {
		low_nibbles(s0) | moved(s2, -4, 0x30303030), low_nibbles(s1) | moved(s2, -2, 0x30303030),
		high_nibbles(s0) | moved(s2, 0, 0x30303030), high_nibbles(s1) | moved(s2, 2, 0x30303030),
	};
	IG_UNROLL
	for (int g = 0; g < 16; g++)
		s->scale[g] = d * to_float(byte_of(scale[g / 4], g % 4) - 32);
}

// As Q2_K, and bit c of 32 bytes is the third bit of chunk c.
UNPACK(q3_k) {
	const int c = i / 8;
	return moved(word(w, 8 + i / 32 * 8 + i % 8), c % 4 * 2, 0x03030303) | moved(word(w, i % 8), c - 2, 0x04040404);
}

// 32 bytes of Q4_K and Q5_K are two chunks, the low nibbles and the high ones.
IG_INLINE V nibbles_k(const uint8_t *w, int i) {
	V v = word(w, i / 16 * 8 + i % 8);
	return i / 8 % 2 ? high_nibbles(v) : low_nibbles(v);
}

// Their head: d, dmin and 12 bytes of scales and minima.
IG_INLINE void scales_k(const uint8_t *w, scales *s) {
	V head = word(w, 0), u1 = word(w, 1), u2 = word(w, 2), u3 = word(w, 3);
	F d = half_low(head), dmin = half_low(head >> 16);
	V scale[2] = {u1 & 0x3f3f3f3fu, low_nibbles(u3) | moved(u1, 2, 0x30303030)};
	V min[2] = {u2 & 0x3f3f3f3fu, high_nibbles(u3) | moved(u2, 2, 0x30303030)};
	IG_UNROLL
	for (int c = 0; c < 8; c++) {
		s->scale[c] = d * to_float(byte_of(scale[c / 4], c % 4));
		s->min[c] = dmin * to_float(byte_of(min[c / 4], c % 4));
	}
}

static const form form_q4_k = {IG_Q4_K, 256, 36, 0, .bits = 4, .mins = 1};
SCALES(q4_k) { scales_k(w, s); }
UNPACK(q4_k) { return nibbles_k(words_from(w, 4), i); }

static const form form_q5_k = {IG_Q5_K, 256, 44, 0, .bits = 5, .mins = 1};
SCALES(q5_k) { scales_k(w, s); }

// As Q4_K, and bit c of 32 bytes is the fifth bit of chunk c.
UNPACK(q5_k) { return nibbles_k(words_from(w, 12), i) | moved(word(w, 4 + i % 8), i / 8 - 4, 0x10101010); }

static const form form_q6_k = {IG_Q6_K, 256, 52, 2, .bits = 6, .offset = 32, .by16 = 1};

SCALES(q6_k) {
	F d = halves(extra);
	IG_UNROLL
	for (int g = 0; g < 16; g++) // signed bytes
		s->scale[g] = d * to_float((byte_of(word(w, 48 + g / 4), g % 4) ^ 0x80) - 0x80);
}

// 64 bytes of ql and 32 of qh are 128 values: chunk p of them has nibble p/2 of half p%2 of ql, and bits 2p of qh.
UNPACK(q6_k) {
	const int half = i / 32, p = i / 8 % 4;
	V low = word(w, 16 * half + 8 * (p % 2) + i % 8), high = word(w, 32 + 8 * half + i % 8);
	return (p < 2 ? low_nibbles(low) : high_nibbles(low)) | moved(high, 2 * p - 4, 0x30303030);
}

static const form form_iq4_xs = {IG_IQ4_XS, 256, 34, 0, .bits = 8, .offset = OFFSET8};

SCALES(iq4_xs) {
	V head = word(w, 0), low = word(w, 1), high = head >> 16;
	F d = half_low(head);
	IG_UNROLL
	for (int c = 0; c < 8; c++) {
		V scale = moved(low, 4 * c, 15) | moved(high, 2 * c - 4, 0x30);
		s->scale[c] = d * to_float(scale - 32);
	}
}

UNPACK(iq4_xs) { return lookup(raise8(table(ig_iq4_values)), nibbles(words_from(w, 2 + i / 8 * 4), i % 8)); }

#endif
