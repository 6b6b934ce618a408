// Eight neighbouring values of a row of keys or values in a cache: as read, and as numbers.
#ifndef INGOT_ATTENTION_ROW_H
#define INGOT_ATTENTION_ROW_H

#define QUANTIZED(type) ((type) == T_Q8_0 || (type) == T_Q4_0)
#define ROW_BYTES(type) ((type) == T_F32 ? 4 * DIM : (type) == T_Q8_0 ? DIM / 32 * 34 : (type) == T_Q4_0 ? DIM / 32 * 18 : 2 * DIM)

template <int TYPE> struct raw8 {
	u32 w[TYPE == T_F32 ? 8 : QUANTIZED(TYPE) ? 2 : 4];
	u32 d; // of quantized types: the scale, an f16
};

// Starts reading values 8 * at and on of a row, so many bytes from base, which is the same for all lanes of a wave.
template <int TYPE> DEVICE void raw_load(const char *base, u32 row, int at, raw8<TYPE> &r) {
	if (QUANTIZED(TYPE)) {
		u32 block = row + at / 4 * (TYPE == T_Q8_0 ? 34 : 18), q = block + 2 + (TYPE == T_Q8_0 ? at % 4 : at % 2) * 8;
		r.d = *(const u16 *)(base + block);
		r.w[0] = load_u32(base + q);
		r.w[1] = load_u32(base + q + 4);
		return;
	}
	UNROLL
	for (int i = 0; i < (TYPE == T_F32 ? 2 : 1); i++) {
		u32x4 v = *(const u32x4 *)(base + (row + (TYPE == T_F32 ? 32 : 16) * at + 16 * i));
		r.w[4 * i] = v.x, r.w[4 * i + 1] = v.y, r.w[4 * i + 2] = v.z, r.w[4 * i + 3] = v.w;
	}
}

// Value i, without the scale of quantized types.
template <int TYPE> DEVICE float raw_value(const raw8<TYPE> &r, int at, int i) {
	if (TYPE == T_F32)
		return bits_float(r.w[i]);
	if (TYPE == T_Q8_0)
		return (float)(i8)(r.w[i / 4] >> i % 4 * 8);
	if (TYPE == T_Q4_0)
		return (float)(int)((r.w[i / 4] >> at % 4 / 2 * 4) >> i % 4 * 8 & 15) - 8;
	u32 half = r.w[i / 2] >> i % 2 * 16;
	return TYPE == T_BF16 ? bits_float(half << 16) : f16_to_f32((u16)half);
}

template <int TYPE> DEVICE float raw_scale(const raw8<TYPE> &r) { return QUANTIZED(TYPE) ? f16_to_f32((u16)r.d) : 1.0f; }

#endif
