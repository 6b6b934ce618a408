// How the packed blocks of 256 values become panels, in the words of product_panel.h. blocks.h says what a block means.
// A run is 16 values, that is 4 words of a panel; `chunks` is always 8.
#ifndef INGOT_PRODUCT_UNPACK_K_H
#define INGOT_PRODUCT_UNPACK_K_H

#include "product_unpack.h"

// Byte j of each word.
IG_INLINE V byte_of(V v, uint32_t j) { return v >> 8 * j & 0xff; }

// Q2_K and Q3_K: bits 2p, 2p+1 of 16 bytes (half l of 32) are a run of chunk p of their 128 values.
IG_INLINE void two_bits(V *q, const uint8_t *w, int64_t stride) {
	for (int h = 0; h < 2; h++)
		for (int l = 0; l < 2; l++) {
			unit u = load_unit(w + 32 * h + 16 * l, stride);
			for (uint32_t part = 0; part < 4; part++)
				for (int t = 0; t < 4; t++)
					q[32 * h + 8 * part + 4 * l + t] = u.d[t] >> 2 * part & 0x03030303u;
		}
}

static const form form_q2_k = {256, sizeof(ig_q2_k), .bits = 2, .by16 = 1, .mins = 1};

IG_INLINE void unpack_q2_k(const uint8_t *w, int64_t stride, int chunks, panel *p) {
	(void)chunks;
	unit s = load_unit(w, stride);
	V tail = load_unit(w + 68, stride).d[3];
	F d = half_low(tail), dmin = half_low(tail >> 16);
	for (uint32_t t = 0; t < 4; t++) {
		for (uint32_t j = 0; j < 4; j++)
			p->scale[4 * t + j] = d * to_float(byte_of(s.d[t], j) & 15);
		V m = s.d[t] >> 4 & 0x0f0f0f0fu;
		p->pair[2 * t] = (m & 0xff) | (m & 0xff00) << 8;
		p->pair[2 * t + 1] = (m >> 16 & 0xff) | (m >> 8 & 0xff0000);
		p->min[2 * t] = p->min[2 * t + 1] = dmin;
	}
	two_bits(p->q, w + 16, stride);
}

static const form form_q3_k = {256, sizeof(ig_q3_k), .bits = 3, .offset = 4, .by16 = 1};

IG_INLINE void unpack_q3_k(const uint8_t *w, int64_t stride, int chunks, panel *p) {
	(void)chunks;
	// The last 16 bytes: two of qs, the scales, d.
	unit tail = load_unit(w + 94, stride);
	V s0 = tail.d[0] >> 16 | tail.d[1] << 16, s1 = tail.d[1] >> 16 | tail.d[2] << 16;
	V s2 = tail.d[2] >> 16 | tail.d[3] << 16;
	F d = half_low(tail.d[3] >> 16);
	V s[4] = {
		(s0 & 0x0f0f0f0fu) | (s2 & 0x03030303u) << 4,
		(s1 & 0x0f0f0f0fu) | (s2 >> 2 & 0x03030303u) << 4,
		(s0 >> 4 & 0x0f0f0f0fu) | (s2 >> 4 & 0x03030303u) << 4,
		(s1 >> 4 & 0x0f0f0f0fu) | (s2 >> 6 & 0x03030303u) << 4,
	};
	for (uint32_t g = 0; g < 16; g++)
		p->scale[g] = d * to_float(byte_of(s[g / 4], g % 4) - 32);
	two_bits(p->q, w + 32, stride);
	for (int l = 0; l < 2; l++) {
		unit u = load_unit(w + 16 * l, stride);
		for (uint32_t c = 0; c < 8; c++)
			for (int t = 0; t < 4; t++)
				p->q[8 * c + 4 * l + t] |= (u.d[t] >> c & 0x01010101u) << 2;
	}
}

// The head of Q4_K and Q5_K: d, dmin and 12 bytes of scales and minima.
IG_INLINE void scales_k(const uint8_t *w, int64_t stride, panel *p) {
	unit u = load_unit(w, stride);
	F d = half_low(u.d[0]), dmin = half_low(u.d[0] >> 16);
	V scale[2] = {u.d[1] & 0x3f3f3f3fu, (u.d[3] & 0x0f0f0f0fu) | (u.d[1] >> 2 & 0x30303030u)};
	V min[2] = {u.d[2] & 0x3f3f3f3fu, (u.d[3] >> 4 & 0x0f0f0f0fu) | (u.d[2] >> 2 & 0x30303030u)};
	for (uint32_t c = 0; c < 8; c++) {
		p->scale[c] = d * to_float(byte_of(scale[c / 4], c % 4));
		p->min[c] = dmin * to_float(byte_of(min[c / 4], c % 4));
		p->pair[c] = all(0x00010001);
	}
}

// 32 bytes are two chunks, the low nibbles and the high ones.
IG_INLINE void nibbles_k(V *q, const uint8_t *w, int64_t stride) {
	for (int c = 0; c < 8; c += 2)
		for (int l = 0; l < 2; l++) {
			unit u = load_unit(w + 16 * c + 16 * l, stride);
			for (int t = 0; t < 4; t++) {
				q[8 * c + 4 * l + t] = u.d[t] & 0x0f0f0f0fu;
				q[8 * c + 8 + 4 * l + t] = u.d[t] >> 4 & 0x0f0f0f0fu;
			}
		}
}

static const form form_q4_k = {256, sizeof(ig_q4_k), .bits = 4, .mins = 1};

IG_INLINE void unpack_q4_k(const uint8_t *w, int64_t stride, int chunks, panel *p) {
	(void)chunks;
	scales_k(w, stride, p);
	nibbles_k(p->q, w + 16, stride);
}

static const form form_q5_k = {256, sizeof(ig_q5_k), .bits = 5, .mins = 1};

IG_INLINE void unpack_q5_k(const uint8_t *w, int64_t stride, int chunks, panel *p) {
	(void)chunks;
	scales_k(w, stride, p);
	nibbles_k(p->q, w + 48, stride);
	for (int l = 0; l < 2; l++) {
		unit u = load_unit(w + 16 + 16 * l, stride);
		for (uint32_t c = 0; c < 8; c++)
			for (int t = 0; t < 4; t++)
				p->q[8 * c + 4 * l + t] |= (u.d[t] >> c & 0x01010101u) << 4;
	}
}

static const form form_q6_k = {256, sizeof(ig_q6_k), .bits = 6, .offset = 32, .by16 = 1};

// 64 bytes of ql and 32 of qh are 128 values: chunk n of them has nibble n/2 of half n%2 of ql, and bits 2n of qh.
IG_INLINE void unpack_q6_k(const uint8_t *w, int64_t stride, int chunks, panel *p) {
	(void)chunks;
	unit s = load_unit(w + 192, stride);
	F d = half_low(load_unit(w + 194, stride).d[3] >> 16);
	for (uint32_t g = 0; g < 16; g++) // signed bytes
		p->scale[g] = d * to_float((byte_of(s.d[g / 4], g % 4) ^ 0x80) - 0x80);
	for (int h = 0; h < 2; h++)
		for (int l = 0; l < 2; l++) {
			unit low = load_unit(w + 64 * h + 16 * l, stride), low2 = load_unit(w + 64 * h + 32 + 16 * l, stride);
			unit high = load_unit(w + 128 + 32 * h + 16 * l, stride);
			V *q = p->q + 32 * h + 4 * l;
			for (int t = 0; t < 4; t++) {
				q[t] = (low.d[t] & 0x0f0f0f0fu) | (high.d[t] << 4 & 0x30303030u);
				q[8 + t] = (low2.d[t] & 0x0f0f0f0fu) | (high.d[t] << 2 & 0x30303030u);
				q[16 + t] = (low.d[t] >> 4 & 0x0f0f0f0fu) | (high.d[t] & 0x30303030u);
				q[24 + t] = (low2.d[t] >> 4 & 0x0f0f0f0fu) | (high.d[t] >> 2 & 0x30303030u);
			}
		}
}

static const form form_iq4_xs = {256, sizeof(ig_iq4_xs), .bits = 8, .offset = OFFSET8};

IG_INLINE void unpack_iq4_xs(const uint8_t *w, int64_t stride, int chunks, panel *p) {
	(void)chunks;
	V values = raise8(table(ig_iq4_values));
	unit head = load_unit(w, stride);
	F d = half_low(head.d[0]);
	V high = head.d[0] >> 16;
	for (uint32_t c = 0; c < 8; c++) {
		V scale = (head.d[1] >> 4 * c & 15) | (high >> 2 * c & 3) << 4;
		p->scale[c] = d * to_float(scale - 32);
		looked_up(p->q + 8 * c, load_unit(w + 8 + 16 * c, stride), values);
	}
}

#endif
