// The words of the packed products in NEON with dotprod: 4 weight rows, one a lane. product_form.h says what they mean.
#ifndef INGOT_PRODUCT_LANES_H
#define INGOT_PRODUCT_LANES_H

enum { LANES = 4, PANELS = 2, BLOCK = 4, FEW = 2, PASSES = 2, PLAIN_BLOCK = 4, OFFSET8 = 0 };

typedef uint32_t V __attribute__((vector_size(16)));
typedef float F __attribute__((vector_size(16)));

IG_INLINE V load(const void *p) { return (V)vld1q_u8(p); }
IG_INLINE F half_floats(uint16x4_t v) { return (F)vcvt_f32_f16(vreinterpret_f16_u16(v)); }
IG_INLINE F halves(const void *p) { return half_floats(vreinterpret_u16_u8(vld1_u8(p))); }
IG_INLINE V bytes(const void *p) {
	uint32_t four;
	memcpy(&four, p, 4);
	return (V)vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four))));
}

// Four rows at a time: first pairs of words change places, then pairs of pairs.
IG_INLINE void transpose(const uint8_t *p, int64_t stride, uint8_t *to) {
	IG_UNROLL
	for (int four = 0; four < IG_GROUP / 4; four++, p += 4 * stride, to += 16) {
		uint32x4_t a = (uint32x4_t)load(p), b = (uint32x4_t)load(p + stride);
		uint32x4_t c = (uint32x4_t)load(p + 2 * stride), d = (uint32x4_t)load(p + 3 * stride);
		uint64x2_t ab0 = (uint64x2_t)vtrn1q_u32(a, b), ab1 = (uint64x2_t)vtrn2q_u32(a, b);
		uint64x2_t cd0 = (uint64x2_t)vtrn1q_u32(c, d), cd1 = (uint64x2_t)vtrn2q_u32(c, d);
		vst1q_u8(to, (uint8x16_t)vtrn1q_u64(ab0, cd0));
		vst1q_u8(to + 64, (uint8x16_t)vtrn1q_u64(ab1, cd1));
		vst1q_u8(to + 128, (uint8x16_t)vtrn2q_u64(ab0, cd0));
		vst1q_u8(to + 192, (uint8x16_t)vtrn2q_u64(ab1, cd1));
	}
}

IG_INLINE V all(uint32_t v) { return (V)vdupq_n_u32(v); }
IG_INLINE V spread(const void *p) { return (V)vdupq_n_u32(*(const uint32_t *)p); }
IG_INLINE F spread_f(const void *p) { return (F)vdupq_n_f32(*(const float *)p); }
IG_INLINE F to_float(V v) { return (F)vcvtq_f32_s32((int32x4_t)v); }
IG_INLINE F half_low(V v) { return half_floats(vmovn_u32((uint32x4_t)v)); }
IG_INLINE F muladd(F a, F b, F c) { return (F)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
IG_INLINE F mulsub(F a, F b, F c) { return (F)vfmsq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b); }
IG_INLINE V table(const int8_t v[16]) { return (V)vld1q_s8(v); }
IG_INLINE V lookup(V table, V nibbles) { return (V)vqtbl1q_u8((uint8x16_t)table, (uint8x16_t)nibbles); }
IG_INLINE V plus_where(V q, V v, V bits, V more) {
	return q + ((V)vtstq_u8((uint8x16_t)v, (uint8x16_t)bits) & more);
}
IG_INLINE V larger(V a, V b) { return (V)vmaxq_s32((int32x4_t)a, (int32x4_t)b); }

// In assembler, for the compiler would gather the prefetches of a block in one burst.
IG_INLINE void prefetch(const uint8_t *p) { __asm__ volatile("prfm pldl2keep, %a0" : : "p"(p)); }

// Both factors are signed, so weights need no raise.
IG_INLINE V raise8(V v) { return v; }

// sum + the products of a word of weights in each lane with word LANE of x. In assembler, since not every compiler has
// the intrinsic where dotprod is chosen for a part of a file.
#define SDOT(LANE) __asm__("sdot %0.4s, %1.16b, %2.4b[" #LANE "]" : "+w"(sum) : "w"(q), "w"(x))
IG_INLINE V sdot0(V sum, V q, V x) { SDOT(0); return sum; }
IG_INLINE V sdot1(V sum, V q, V x) { SDOT(1); return sum; }
IG_INLINE V sdot2(V sum, V q, V x) { SDOT(2); return sum; }
IG_INLINE V sdot3(V sum, V q, V x) { SDOT(3); return sum; }
#undef SDOT

// One load of activations serves four words of weights.
IG_INLINE void dot(V *sum, V *pair, V q, const uint8_t *x, int bits, const int i, int n) {
	const int lane = i % 4;
	V four = load(x - 4 * lane);
	(void)pair, (void)bits, (void)n;
	*sum = lane == 0 ? sdot0(*sum, q, four) : lane == 1 ? sdot1(*sum, q, four) : lane == 2 ? sdot2(*sum, q, four) : sdot3(*sum, q, four);
}

// ---- plain weights: a vector runs along a row ----

IG_INLINE F load_f32(const void *p) { return (F)load(p); }
IG_INLINE F load_f16(const void *p) { return halves(p); }
IG_INLINE F load_bf16(const void *p) { return (F)vshll_n_u16(vreinterpret_u16_u8(vld1_u8(p)), 16); }
IG_INLINE float total(F v) { return vaddvq_f32((float32x4_t)v); }

#endif
