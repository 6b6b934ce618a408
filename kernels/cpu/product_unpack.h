// How the packed blocks of 32 values are unpacked, in the words of product_form.h. blocks.h says what a block means.
#ifndef INGOT_PRODUCT_UNPACK_H
#define INGOT_PRODUCT_UNPACK_H

#include "product_panel.h"

// Few types need all of the arguments.
#define UNUSED __attribute__((unused))
#define SCALES(NAME) IG_INLINE void scales_##NAME(const uint8_t *w UNUSED, const uint8_t *extra UNUSED, int chunk UNUSED, scales *s)
#define UNPACK(NAME) IG_INLINE V unpack_##NAME(const uint8_t *w, int i)

IG_INLINE const uint8_t *words_from(const uint8_t *w, int i) { return w + 4 * IG_GROUP * i; }
IG_INLINE V word(const uint8_t *w, int i) { return load(words_from(w, i)); }

IG_INLINE V low_nibbles(V v) { return v & 0x0f0f0f0fu; }
IG_INLINE V high_nibbles(V v) { return v >> 4 & 0x0f0f0f0fu; }

// Word i of a chunk whose low nibbles are its first run and whose high nibbles are its second.
IG_INLINE V nibbles(const uint8_t *w, int i) { return i < 4 ? low_nibbles(word(w, i)) : high_nibbles(word(w, i - 4)); }

// Bit i of qh is bit 4 of value i: word t needs byte t/2 of qh four times, and a bit of each.
IG_INLINE V with_fifth(V q, V qh, int t) {
	static const int8_t byte_of_qh[4][16] = {
		{0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12}, {1, 1, 1, 1, 5, 5, 5, 5, 9, 9, 9, 9, 13, 13, 13, 13},
		{2, 2, 2, 2, 6, 6, 6, 6, 10, 10, 10, 10, 14, 14, 14, 14}, {3, 3, 3, 3, 7, 7, 7, 7, 11, 11, 11, 11, 15, 15, 15, 15},
	};
	return plus_where(q, lookup(qh, table(byte_of_qh[t / 2])), all(t % 2 ? 0x80402010 : 0x08040201), all(0x10101010));
}

// The first word of Q4_1 and Q5_1: d and m.
IG_INLINE void scale_and_minimum(V head, int chunk, scales *s) {
	s->scale[chunk] = half_low(head);
	s->min[chunk] = -half_low(head >> 16);
}

static const form form_q4_0 = {IG_Q4_0, 32, 4, 2, .bits = 4, .offset = 8};
SCALES(q4_0) { s->scale[chunk] = halves(extra); }
UNPACK(q4_0) { return nibbles(w, i); }

static const form form_q4_1 = {IG_Q4_1, 32, 5, 0, .bits = 4, .mins = 1};
SCALES(q4_1) { scale_and_minimum(word(w, 0), chunk, s); }
UNPACK(q4_1) { return nibbles(words_from(w, 1), i); }

static const form form_q5_0 = {IG_Q5_0, 32, 5, 2, .bits = 5, .offset = 16};
SCALES(q5_0) { s->scale[chunk] = halves(extra); }
UNPACK(q5_0) { return with_fifth(nibbles(words_from(w, 1), i), word(w, 0), i); }

static const form form_q5_1 = {IG_Q5_1, 32, 6, 0, .bits = 5, .mins = 1};
SCALES(q5_1) { scale_and_minimum(word(w, 0), chunk, s); }
UNPACK(q5_1) { return with_fifth(nibbles(words_from(w, 2), i), word(w, 1), i); }

static const form form_q8_0 = {IG_Q8_0, 32, 8, 2, .bits = 8, .offset = OFFSET8};
SCALES(q8_0) { s->scale[chunk] = halves(extra); }
UNPACK(q8_0) { return raise8(word(w, i)); }

static const form form_iq4_nl = {IG_IQ4_NL, 32, 4, 2, .bits = 8, .offset = OFFSET8};
SCALES(iq4_nl) { s->scale[chunk] = halves(extra); }
UNPACK(iq4_nl) { return lookup(raise8(table(ig_iq4_values)), nibbles(w, i)); }

static const form form_mxfp4 = {IG_MXFP4, 32, 4, 1, .bits = 5, .offset = 12};
SCALES(mxfp4) {
	// 2^(e-128): the exponent is e - 1, or the number is subnormal.
	V e = bytes(extra);
	s->scale[chunk] = (F)larger((e + 1) << 21, (e - 1) << 23);
}
UNPACK(mxfp4) {
	static const int8_t raised[16] = {12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0};
	return lookup(table(raised), nibbles(w, i));
}

#endif
