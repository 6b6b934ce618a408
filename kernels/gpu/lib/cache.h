// What a row of a KV cache holds, by its element type: GGUF's blocks, as in kernels/cpu.
#ifndef INGOT_CACHE_H
#define INGOT_CACHE_H

// Bytes of a row of dim values.
DEVICE i64 cache_row(int type, int dim) {
	return type == T_F32 ? 4 * dim : type == T_Q8_0 ? dim / 32 * 34 : type == T_Q4_0 ? dim / 32 * 18 : 2 * dim;
}

// x times inverse as a whole number, to nearest even: adding 1.5 * 2^23 leaves it in the low bits.
DEVICE int whole(float x, float inverse) { return (int)(float_bits(no_contraction(x * inverse) + 12582912.0f) - 0x4b400000u); }

#endif
