// How the packed blocks of 32 values become panels, in the words of product_panel.h. blocks.h says what a block means.
#ifndef INGOT_PRODUCT_UNPACK_H
#define INGOT_PRODUCT_UNPACK_H

#include "product_panel.h"

// The low nibbles are the first 16 values of the chunk, the high ones the others.
IG_INLINE void nibbles(V *q, unit u) {
	for (int t = 0; t < 4; t++) {
		q[t] = u.d[t] & 0x0f0f0f0fu;
		q[4 + t] = u.d[t] >> 4 & 0x0f0f0f0fu;
	}
}

IG_INLINE void looked_up(V *q, unit u, V values) {
	nibbles(q, u);
	for (int t = 0; t < 8; t++)
		q[t] = lookup(values, q[t]);
}

// Bit i of qh becomes bit 4 of value i.
IG_INLINE void fifth_bits(V *q, V qh) {
	for (uint32_t t = 0; t < 8; t++)
		q[t] |= ((qh >> 4 * t & 15u) * 0x00204081u & 0x01010101u) << 4;
}

static const form form_q4_0 = {32, sizeof(ig_q4_0), .bits = 4, .offset = 8};

IG_INLINE void unpack_q4_0(const uint8_t *w, int64_t stride, int chunks, panel *p) {
	for (int c = 0; c < chunks; c++, w += sizeof(ig_q4_0)) {
		p->scale[c] = half_low(load_unit(w, stride).d[0]);
		nibbles(p->q + 8 * c, load_unit(w + 2, stride));
	}
}

static const form form_q4_1 = {32, sizeof(ig_q4_1), .bits = 4, .mins = 1};

IG_INLINE void unpack_q4_1(const uint8_t *w, int64_t stride, int chunks, panel *p) {
	for (int c = 0; c < chunks; c++, w += sizeof(ig_q4_1)) {
		V head = load_unit(w, stride).d[0];
		p->scale[c] = half_low(head);
		p->min[c] = -half_low(head >> 16);
		p->pair[c] = all(0x00010001);
		nibbles(p->q + 8 * c, load_unit(w + 4, stride));
	}
}

static const form form_q5_0 = {32, sizeof(ig_q5_0), .bits = 5, .offset = 16};

IG_INLINE void unpack_q5_0(const uint8_t *w, int64_t stride, int chunks, panel *p) {
	for (int c = 0; c < chunks; c++, w += sizeof(ig_q5_0)) {
		unit head = load_unit(w, stride);
		p->scale[c] = half_low(head.d[0]);
		nibbles(p->q + 8 * c, load_unit(w + 6, stride));
		fifth_bits(p->q + 8 * c, head.d[0] >> 16 | head.d[1] << 16);
	}
}

static const form form_q5_1 = {32, sizeof(ig_q5_1), .bits = 5, .mins = 1};

IG_INLINE void unpack_q5_1(const uint8_t *w, int64_t stride, int chunks, panel *p) {
	for (int c = 0; c < chunks; c++, w += sizeof(ig_q5_1)) {
		unit head = load_unit(w, stride);
		p->scale[c] = half_low(head.d[0]);
		p->min[c] = -half_low(head.d[0] >> 16);
		p->pair[c] = all(0x00010001);
		nibbles(p->q + 8 * c, load_unit(w + 8, stride));
		fifth_bits(p->q + 8 * c, head.d[1]);
	}
}

static const form form_q8_0 = {32, sizeof(ig_q8_0), .bits = 8, .offset = OFFSET8};

IG_INLINE void unpack_q8_0(const uint8_t *w, int64_t stride, int chunks, panel *p) {
	for (int c = 0; c < chunks; c++, w += sizeof(ig_q8_0)) {
		p->scale[c] = half_low(load_unit(w, stride).d[0]);
		unit low = load_unit(w + 2, stride), high = load_unit(w + 18, stride);
		for (int t = 0; t < 4; t++) {
			p->q[8 * c + t] = raise8(low.d[t]);
			p->q[8 * c + 4 + t] = raise8(high.d[t]);
		}
	}
}

static const form form_iq4_nl = {32, sizeof(ig_iq4_nl), .bits = 8, .offset = OFFSET8};

IG_INLINE void unpack_iq4_nl(const uint8_t *w, int64_t stride, int chunks, panel *p) {
	V values = raise8(table(ig_iq4_values));
	for (int c = 0; c < chunks; c++, w += sizeof(ig_iq4_nl)) {
		p->scale[c] = half_low(load_unit(w, stride).d[0]);
		looked_up(p->q + 8 * c, load_unit(w + 2, stride), values);
	}
}

static const form form_mxfp4 = {32, sizeof(ig_mxfp4), .bits = 5, .offset = 12};

IG_INLINE void unpack_mxfp4(const uint8_t *w, int64_t stride, int chunks, panel *p) {
	V values = table((const int8_t[16]){12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0});
	for (int c = 0; c < chunks; c++, w += sizeof(ig_mxfp4)) {
		V e = load_unit(w, stride).d[0] & 0xff, tiny = (V)(e < 2u);
		p->scale[c] = (F)((all(0x00200000) << (e & 1) & tiny) | ((e - 1) << 23 & ~tiny));
		looked_up(p->q + 8 * c, load_unit(w + 1, stride), values);
	}
}

#endif
