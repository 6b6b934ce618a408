// Which encoder runs, and whether what goes in and comes out is finite.
#include <stddef.h>

#include "quant.h"

// The largest magnitude of k values, as a float's bits: beyond those of infinity where one is no number.
static uint32_t largest(const float *x, int64_t k) {
	uint32_t top = 0;
	for (int64_t i = 0; i < k; i++) {
		uint32_t u;
		memcpy(&u, x + i, 4);
		u &= 0x7fffffff;
		top = u > top ? u : top;
	}
	return top;
}

enum {
	INFINITE = 0x7f800000,
	BF16_INFINITE = 0x7f7f8000,  // rounds to infinity
	MXFP4_INFINITE = 0x7f400000, // 1.5 * 2^127: what is less never rounds up to 2^128
};

// Whether the F16 numbers at `at` of each of n blocks are finite.
static int halves_finite(const uint8_t *block, int64_t n, int bytes, int at) {
	for (int64_t i = 0; i < n; i++, block += bytes) {
		uint16_t h;
		memcpy(&h, block + at, 2);
		if ((h & 0x7c00) == 0x7c00)
			return 0;
	}
	return 1;
}

int ig_encode(int level, int type, const float *x, void *dst, int64_t k, int values, int bytes) {
	static ig_encode_fn *(*const levels[IG_LEVELS])(int) = {
		[IG_GENERIC] = ig_encoder_generic,
#if defined(__x86_64__)
		[IG_AVX2] = ig_encoder_avx2,
		[IG_AVX512] = ig_encoder_avx512,
#endif
	};
	uint32_t top = largest(x, k);
	if (top >= INFINITE)
		return 1;
	if ((type == IG_BF16 && top >= BF16_INFINITE) || (type == IG_MXFP4 && top >= MXFP4_INFINITE))
		return 2;
	while (level > IG_GENERIC && !levels[level])
		level--;
	levels[level](type)(x, dst, k);
	int at = 0, also = -1; // where a block's F16 numbers lie
	switch (type) {
	case IG_F32: case IG_BF16: case IG_MXFP4: return 0;
	case IG_Q2_K: at = offsetof(ig_q2_k, d), also = offsetof(ig_q2_k, dmin); break;
	case IG_Q3_K: at = offsetof(ig_q3_k, d); break;
	case IG_Q6_K: at = offsetof(ig_q6_k, d); break;
	case IG_Q4_1: case IG_Q5_1: case IG_Q4_K: case IG_Q5_K: also = 2; break;
	}
	int64_t n = k / values;
	return halves_finite(dst, n, bytes, at) && (also < 0 || halves_finite(dst, n, bytes, also)) ? 0 : 2;
}
