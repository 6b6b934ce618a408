// Quantizing keys and values into GGUF's blocks of 32. The loops are plain so that each level compiles them to its own
// vectors; the bits are the same at every level.
#ifndef INGOT_KV_QUANTIZE_H
#define INGOT_KV_QUANTIZE_H

#include "blocks.h"
#include "half.h"
#include "target.h"

// x times inverse as a whole number, to nearest even: adding 1.5 * 2^23 leaves it in the low bits. Two statements, so
// that no compiler makes them one rounding.
IG_INLINE int32_t ig_kv_whole(float x, float inverse) {
	float scaled = x * inverse;
	float shifted = scaled + 12582912.0f;
	return (int32_t)(ig_f32_bits(shifted) - 0x4b400000);
}

// The largest magnitude by its bits, where NaN is above infinity: a scale that is either says so to every reader.
IG_INLINE uint32_t ig_kv_top(const float *x) {
	uint32_t top = 0;
	for (int i = 0; i < 32; i++) {
		uint32_t magnitude = ig_f32_bits(x[i]) & 0x7fffffff;
		top = magnitude > top ? magnitude : top;
	}
	return top;
}

// The scale is the f16 nearest to max/127, or the next above it where that is too coarse; values are rounded by the
// scale as it is stored.
IG_INLINE void ig_to_q8_0(const float *x, ig_q8_0 *b) {
	float max = ig_bits_f32(ig_kv_top(x));
	b->d = ig_to_f16(max / 127);
	if (ig_f16(b->d) * 127.5f < max)
		b->d++;
	float d = ig_f16(b->d), inverse = d > 0 && d * 0 == 0 ? 1 / d : 0;
	for (int i = 0; i < 32; i++)
		b->qs[i] = (int8_t)ig_kv_whole(x[i], inverse);
}

// The scale is the f16 nearest to the value of largest magnitude, the first of them, over -8.
IG_INLINE void ig_to_q4_0(const float *x, ig_q4_0 *b) {
	uint32_t top = ig_kv_top(x);
	float most = 0;
	for (int i = 31; i >= 0; i--)
		most = (ig_f32_bits(x[i]) & 0x7fffffff) == top ? x[i] : most;
	b->d = ig_to_f16(most / -8);
	float d = ig_f16(b->d), inverse = d != 0 && d * 0 == 0 ? 1 / d : 0;
	uint8_t q[32];
	for (int i = 0; i < 32; i++) {
		int32_t v = ig_kv_whole(x[i], inverse) + 8;
		q[i] = (uint8_t)(v < 0 ? 0 : v > 15 ? 15 : v);
	}
	for (int i = 0; i < 16; i++)
		b->qs[i] = (uint8_t)(q[i] | q[16 + i] << 4);
}

#endif
