// Weights of F32, F16 and BF16: how 16 bytes of a row, or one value, are read. PARTS: how many bf16 sum up to a value exactly.
#ifndef INGOT_PLAIN_H
#define INGOT_PLAIN_H

struct f32 {
	enum { STEP = 4, BYTES = 4 };
	DEVICE void values(u32x4 p, float *f) { f[0] = bits_float(p.x), f[1] = bits_float(p.y), f[2] = bits_float(p.z), f[3] = bits_float(p.w); }
	DEVICE float one(const u8 *w, int i) { return ((const float *)w)[i]; }
};

struct f16 {
	enum { STEP = 8, BYTES = 2, PARTS = 2 };
	DEVICE void two(u32 p, float *f) { f[0] = f16_to_f32((u16)p), f[1] = f16_to_f32((u16)(p >> 16)); }
	DEVICE void values(u32x4 p, float *f) { two(p.x, f), two(p.y, f + 2), two(p.z, f + 4), two(p.w, f + 6); }
	DEVICE float one(const u8 *w, int i) { return f16_to_f32(((const u16 *)w)[i]); }
};

struct bf16 {
	enum { STEP = 8, BYTES = 2, PARTS = 1 };
	DEVICE void two(u32 p, float *f) { f[0] = bits_float(p << 16), f[1] = bits_float(p & 0xffff0000); }
	DEVICE void values(u32x4 p, float *f) { two(p.x, f), two(p.y, f + 2), two(p.z, f + 4), two(p.w, f + 6); }
	DEVICE float one(const u8 *w, int i) { return bf16_to_f32(((const u16 *)w)[i]); }
};

#endif
