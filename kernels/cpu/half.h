// 16-bit floats by bits, for code that no instruction set helps; f16 rounds to nearest even.
#ifndef INGOT_HALF_H
#define INGOT_HALF_H

#include <stdint.h>
#include <string.h>

static inline float ig_bits_float(uint32_t u) {
	float f;
	memcpy(&f, &u, 4);
	return f;
}

static inline uint32_t ig_float_bits(float f) {
	uint32_t u;
	memcpy(&u, &f, 4);
	return u;
}

static inline float ig_from_f16(uint16_t h) {
	uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fff;
	if (magnitude >= 0x7c00) // infinity, NaN
		return ig_bits_float(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
	if (magnitude < 0x400) // zero, subnormal: a multiple of 2^-24
		return ig_bits_float(sign | ig_float_bits((float)magnitude * 0x1p-24f));
	return ig_bits_float(sign | ((magnitude << 13) + (112u << 23)));
}

static inline uint16_t ig_to_f16(float f) {
	uint32_t u = ig_float_bits(f), sign = u >> 16 & 0x8000, a = u & 0x7fffffff;
	if (a > 0x7f800000)
		return (uint16_t)(sign | 0x7e00 | (a >> 13 & 0x3ff));
	if (a >= 0x47800000) // 65536 and more
		return (uint16_t)(sign | 0x7c00);
	if (a < 0x38800000) // below 2^-14: adding 1/2 leaves the multiple of 2^-24, rounded, in the low bits
		return (uint16_t)(sign | (ig_float_bits(ig_bits_float(a) + 0.5f) - 0x3f000000));
	return (uint16_t)(sign | (a - (112u << 23) + 0xfff + (a >> 13 & 1)) >> 13);
}

static inline float ig_from_bf16(uint16_t h) { return ig_bits_float((uint32_t)h << 16); }

static inline uint16_t ig_to_bf16(float f) {
	uint32_t u = ig_float_bits(f);
	if ((u & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(u >> 16 | 0x40);
	return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

#endif
