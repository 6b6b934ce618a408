// The packed blocks of GGUF's quantized types, and what a block means.
//
// A block holds 32 values (256 for the K types and IQ4_XS). Its meaning is the same for all types once it is unpacked:
// 16 values share one scale and one minimum, and value i is scale[i/16] * q[i] - min[i/16].
#ifndef INGOT_BLOCKS_H
#define INGOT_BLOCKS_H

#include <stdint.h>
#include <string.h>

#include "kernels.h"

// d and m are F16 (except MXFP4's e, an exponent). In blocks of 32, byte j of qs holds value j in its low nibble and
// value 16+j in its high nibble; bit j of qh is the fifth bit of value j.
typedef struct { uint16_t d; uint8_t qs[16]; } ig_q4_0;               // d * (q - 8)
typedef struct { uint16_t d, m; uint8_t qs[16]; } ig_q4_1;            // d * q + m
typedef struct { uint16_t d; uint8_t qh[4], qs[16]; } ig_q5_0;        // d * (q - 16)
typedef struct { uint16_t d, m; uint8_t qh[4], qs[16]; } ig_q5_1;     // d * q + m
typedef struct { uint16_t d; int8_t qs[32]; } ig_q8_0;                // d * q
typedef struct { uint16_t d; uint8_t qs[16]; } ig_iq4_nl;             // d * ig_iq4_values[q]
typedef struct { uint8_t e, qs[16]; } ig_mxfp4;                       // 2^(e-128) * ig_mxfp4_values[q]

// Blocks of 256. Where a run of 32 bytes holds several runs of 32 values, the lower bits come first. The scales of
// Q4_K and Q5_K (8 scales, 8 minima) and of Q3_K (16) have 6 bits, scattered over 12 bytes.
typedef struct { uint8_t scales[16], qs[64]; uint16_t d, dmin; } ig_q2_k;          // d * scale * q - dmin * min
typedef struct { uint8_t hmask[32], qs[64], scales[12]; uint16_t d; } ig_q3_k;     // d * (scale - 32) * (q - 4)
typedef struct { uint16_t d, dmin; uint8_t scales[12], qs[128]; } ig_q4_k;         // d * scale * q - dmin * min
typedef struct { uint16_t d, dmin; uint8_t scales[12], qh[32], qs[128]; } ig_q5_k; // d * scale * q - dmin * min
typedef struct { uint8_t ql[128], qh[64]; int8_t scales[16]; uint16_t d; } ig_q6_k; // d * scale * (q - 32)
typedef struct { uint16_t d, scales_h; uint8_t scales_l[4], qs[128]; } ig_iq4_xs;  // d * (scale - 32) * ig_iq4_values[q]

_Static_assert(sizeof(ig_q4_0) == 18 && sizeof(ig_q4_1) == 20 && sizeof(ig_q5_0) == 22 && sizeof(ig_q5_1) == 24 &&
	sizeof(ig_q8_0) == 34 && sizeof(ig_iq4_nl) == 18 && sizeof(ig_mxfp4) == 17, "blocks of 32");
_Static_assert(sizeof(ig_q2_k) == 84 && sizeof(ig_q3_k) == 110 && sizeof(ig_q4_k) == 144 && sizeof(ig_q5_k) == 176 &&
	sizeof(ig_q6_k) == 210 && sizeof(ig_iq4_xs) == 136, "blocks of 256");

extern const int8_t ig_iq4_values[16];
extern const int8_t ig_mxfp4_values[16]; // twice the value, so that they are whole

// A block, unpacked. A block of 32 fills only the first 32 values.
typedef struct ig_span {
	int16_t q[256]; // of 8 bits
	float scale[16], min[16];
} ig_span;

typedef void ig_unpack_fn(const void *block, ig_span *s);

// What the quantized types have in common; fn is NULL for F32, F16, BF16 and numbers that are no type.
typedef struct ig_block {
	ig_unpack_fn *unpack;
	int32_t values, bytes; // of one block; 1 and the element's size for the plain types
} ig_block;

ig_block ig_block_of(int type);

static inline float ig_bits_f32(uint32_t u) { float f; memcpy(&f, &u, 4); return f; }
static inline uint32_t ig_f32_bits(float f) { uint32_t u; memcpy(&u, &f, 4); return u; }

// F16 to f32 without branches: the exponent is rebased by a multiplication, which also makes subnormals right.
static inline float ig_f16(uint16_t h) {
	uint32_t mag = (uint32_t)(h & 0x7fff) << 13;
	uint32_t bits = ig_f32_bits(ig_bits_f32(mag) * 0x1p112f);
	bits |= (int32_t)mag >= 0x0f800000 ? 0x7f800000 : 0; // infinity and NaN
	return ig_bits_f32(bits | (uint32_t)(h & 0x8000) << 16);
}

static inline float ig_bf16(uint16_t h) { return ig_bits_f32((uint32_t)h << 16); }

// 2^(e-128); the two smallest are subnormal.
static inline float ig_e8m0_half(uint8_t e) { return ig_bits_f32(e < 2 ? 0x00200000u << e : (uint32_t)(e - 1) << 23); }

#endif
