// The contract of the encoders: rows of f32 into the packed blocks of GGUF.
//
//   - a block depends on its own values alone, so bits depend neither on threads nor on where a row was cut
//   - the bits are the same at every level: lanes are groups that share a scale, never parts of a sum, products and
//     sums are rounded one by one (nothing is fused), and all levels do the same operations in the same order
//   - the input is finite; a scale beyond F16 comes out as infinity, which ig_encoded_finite finds
#ifndef INGOT_QUANT_H
#define INGOT_QUANT_H

#include "../cpu/blocks.h"

typedef void ig_encode_fn(const float *x, void *dst, int64_t k);

// The encoder of a type at a level, NULL for numbers that are no type. It writes k values, whole blocks.
ig_encode_fn *ig_encoder_generic(int type);
#if defined(__x86_64__)
ig_encode_fn *ig_encoder_avx2(int type);
ig_encode_fn *ig_encoder_avx512(int type);
#endif

// Encodes k values, whole blocks of a known type, at the best level up to the given one. values and bytes are those
// of a block. 0; or 1 where a value is not finite, 2 where the values do not fit the type's range.
int ig_encode(int level, int type, const float *x, void *dst, int64_t k, int values, int bytes);

#endif
