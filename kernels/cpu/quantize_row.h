// Quantizing activations to 8 bits, 32 values to a scale (the row format of kernels.h). The loops are plain so that
// each level compiles them to its own vectors; the bits are the same at every level.
#ifndef INGOT_QUANTIZE_ROW_H
#define INGOT_QUANTIZE_ROW_H

#include "product.h"
#include "target.h"

// 32 values. The largest magnitude is found on the bits, where infinity is above all numbers and NaN above infinity:
// such a scale then reaches every product of the row. Below 1e-36 the values count as zero, for 127/max would overflow.
IG_INLINE void ig_quantize_32(const float *x, int8_t *q, float *d, int16_t *sums) {
	uint32_t top = 0;
	for (int i = 0; i < 32; i++) {
		uint32_t mag = ig_f32_bits(x[i]) & 0x7fffffff;
		top = mag > top ? mag : top;
	}
	float max = ig_bits_f32(top);
	int usable = top < 0x7f800000 && max > 1e-36f;
	*d = usable || top >= 0x7f800000 ? max / 127 : 0;
	if (!usable) {
		memset(q, 0, 32);
		sums[0] = sums[1] = 0;
		return;
	}
	float inverse = 127 / max;
	for (int g = 0; g < 2; g++) {
		int32_t sum = 0;
		for (int i = 16 * g; i < 16 * g + 16; i++) {
			// Adding 1.5 * 2^23 leaves the value, rounded to nearest even, in the low bits.
			// Two statements, so that no compiler makes them one rounding.
			float scaled = x[i] * inverse;
			float shifted = scaled + 12582912.0f;
			int32_t v = (int32_t)ig_f32_bits(shifted) - 0x4b400000;
			q[i] = (int8_t)v;
			sum += v;
		}
		sums[g] = (int16_t)sum;
	}
}

// Quantizes chunk c of a row of k values.
IG_INLINE void ig_quantize_chunk(const float *x, uint8_t *row, int64_t k, int64_t c) {
	ig_quantize_32(x, (int8_t *)row + 32 * c, (float *)(row + ig_q8_d(k)) + c, (int16_t *)(row + ig_q8_s(k)) + 2 * c);
}

IG_INLINE void ig_quantize_share(const ig_quantize *a, const ig_batch *b, int ith, int nth) {
	int64_t rows = ig_batch_rows(b, a->rows) * (a->times > 1 ? a->times : 1), chunks = a->cols / 32, lo, hi;
	int64_t one = ig_q8_row(a->cols), bytes = a->residual ? 2 * one : one;
	ig_share(rows * chunks, 16, ith, nth, &lo, &hi);
	for (int64_t item = lo; item < hi; item++) {
		int64_t r = item / chunks, c = item % chunks;
		uint8_t *row = (uint8_t *)a->q8 + r * bytes;
		const float *x = a->x + r * a->stride + 32 * c;
		ig_quantize_chunk(x, row, a->cols, c);
		if (a->residual) {
			const int8_t *q = (const int8_t *)row + 32 * c;
			float d = ((const float *)(row + ig_q8_d(a->cols)))[c], left[32];
			for (int i = 0; i < 32; i++) {
				float whole = d * q[i]; // a statement of its own: no fused rounding
				left[i] = d * 0 == 0 ? x[i] - whole : 0; // infinite and NaN scales speak for themselves
			}
			ig_quantize_chunk(left, row + one, a->cols, c);
		}
	}
}

#endif
