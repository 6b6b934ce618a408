// Quantizing activations to 8 bits or twice 8, 32 values to a scale (the row format of kernels.h). The loops are plain so that
// each level compiles them to its own vectors; the bits are the same at every level.
#ifndef INGOT_QUANTIZE_ROW_H
#define INGOT_QUANTIZE_ROW_H

#include "product.h"
#include "target.h"

// 32 values as multiples, `most` at most, of a scale, which is returned. The largest magnitude is found on the bits, where
// infinity is above all numbers and NaN above infinity: such a scale then reaches every product of the row. Below 1e-36,
// or 1e-33 where there are 16 bits, the values count as zero, for most/max would overflow.
IG_INLINE float ig_quantize_32(const float *x, int32_t *q, const int most) {
	uint32_t top = 0;
	for (int i = 0; i < 32; i++) {
		uint32_t mag = ig_f32_bits(x[i]) & 0x7fffffff;
		top = mag > top ? mag : top;
	}
	float max = ig_bits_f32(top);
	int usable = top < 0x7f800000 && max > (most == 127 ? 1e-36f : 1e-33f);
	float inverse = usable ? (float)most / max : 0;
	for (int i = 0; i < 32; i++) {
		// Adding 1.5 * 2^23 leaves the value, rounded to nearest even, in the low bits.
		// Two statements, so that no compiler makes them one rounding.
		float scaled = usable ? x[i] * inverse : 0;
		float shifted = scaled + 12582912.0f;
		q[i] = (int32_t)ig_f32_bits(shifted) - 0x4b400000;
	}
	return usable || top >= 0x7f800000 ? max / (float)most : 0;
}

// Writes chunk c of a row of k values.
IG_INLINE void ig_put_chunk(uint8_t *row, int64_t k, int64_t c, const int32_t *q, float d) {
	int8_t *to = (int8_t *)row + 32 * c;
	int16_t *sums = (int16_t *)(row + ig_q8_s(k)) + 2 * c;
	((float *)(row + ig_q8_d(k)))[c] = d;
	for (int g = 0; g < 2; g++) {
		int32_t sum = 0;
		for (int i = 16 * g; i < 16 * g + 16; i++) {
			to[i] = (int8_t)q[i];
			sum += q[i];
		}
		sums[g] = (int16_t)sum;
	}
}

// The same of the pairs that numbers are: q / 254, rounded to nearest, and what that leaves. 33026 / 2^23 is close enough to
// 1 / 254 that what it leaves never exceeds 127.
IG_INLINE void ig_put_pairs(uint8_t *row, int64_t k, int64_t c, const int32_t *q, float d) {
	int32_t high[32], low[32];
	for (int i = 0; i < 32; i++) {
		high[i] = (q[i] * 33026 + (1 << 22)) >> 23;
		low[i] = q[i] - IG_RESIDUAL * high[i];
	}
	ig_put_chunk(row, k, c, high, IG_RESIDUAL * d);
	ig_put_chunk(row + ig_q8_row(k), k, c, low, d);
}

IG_INLINE void ig_quantize_share(const ig_quantize *a, const ig_batch *b, int ith, int nth) {
	int64_t rows = ig_batch_rows(b, a->rows) * (a->times > 1 ? a->times : 1), chunks = a->cols / 32, lo, hi;
	int64_t one = ig_q8_row(a->cols), bytes = a->residual ? 2 * one : one;
	ig_share(rows * chunks, 16, ith, nth, &lo, &hi);
	for (int64_t item = lo; item < hi; item++) {
		int64_t r = item / chunks, c = item % chunks;
		uint8_t *row = (uint8_t *)a->q8 + r * bytes;
		const float *x = a->x + r * a->stride + 32 * c;
		int32_t q[32];
		if (a->residual) {
			float d = ig_quantize_32(x, q, 127 * IG_RESIDUAL);
			ig_put_pairs(row, a->cols, c, q, d);
		} else {
			float d = ig_quantize_32(x, q, 127);
			ig_put_chunk(row, a->cols, c, q, d);
		}
	}
}

#endif
