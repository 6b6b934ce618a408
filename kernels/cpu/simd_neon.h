// The vector words of the *_simd.h kernels in NEON: W floats a vector. Included between IG_NEON_BEGIN and IG_TARGET_END;
// simd_avx2.h says what each word means.
enum { W = 4, REGISTERS = 32 };
typedef float32x4_t vf;
typedef int32x4_t vi;

IG_INLINE vf v_set(float x) { return vdupq_n_f32(x); }
IG_INLINE vf v_load(const float *p) { return vld1q_f32(p); }
IG_INLINE void v_store(float *p, vf x) { vst1q_f32(p, x); }
IG_INLINE vf v_fma(vf a, vf b, vf c) { return vfmaq_f32(c, a, b); }
IG_INLINE vf v_less_than(vf a, vf b, vf yes, vf no) { return vbslq_f32(vcltq_f32(a, b), yes, no); }
// The instructions of that name would make NaN of either operand the result.
IG_INLINE vf v_min(vf a, vf b) { return v_less_than(a, b, a, b); }
IG_INLINE vf v_max(vf a, vf b) { return v_less_than(b, a, a, b); }
IG_INLINE vf v_abs(vf x) { return vabsq_f32(x); }
IG_INLINE vf v_copysign(vf x, vf sign) { return vbslq_f32(vdupq_n_u32(0x80000000), sign, x); }

IG_INLINE vf v_load_part(const float *p, int n) {
	float some[W] = {p[0], n > 1 ? p[1] : 0, n > 2 ? p[2] : 0, n > 3 ? p[3] : 0};
	return v_load(some);
}
IG_INLINE void v_store_part(float *p, vf x, int n) {
	float some[W];
	v_store(some, x);
	for (int i = 0; i < n; i++)
		p[i] = some[i];
}

IG_INLINE float v_one(vf x) { return vgetq_lane_f32(x, 0); } // the first lane

// (x0+x1) + (x2+x3) of each; the single sum has the same order.
IG_INLINE vf v_sum4(vf a, vf b, vf c, vf d) { return vpaddq_f32(vpaddq_f32(a, b), vpaddq_f32(c, d)); }
IG_INLINE float v_sum(vf x) { return vaddvq_f32(x); }
IG_INLINE float v_top(vf x) { return vmaxnmvq_f32(x); }
IG_INLINE void v_store4(float *p, vf x) { v_store(p, x); }
IG_INLINE void v_sum_tile(vf (*s)[4], float *to, int stride) {
	for (int i = 0; i < REGISTERS / 8; i++)
		v_store(to + i * stride, v_sum4(s[i][0], s[i][1], s[i][2], s[i][3]));
}

IG_INLINE vf v_scale(vf x, vf n) {
	vi i = vcvtq_s32_f32(n), half = vshrq_n_s32(i, 1), bias = vdupq_n_s32(127);
	vi a = vshlq_n_s32(vaddq_s32(half, bias), 23), b = vshlq_n_s32(vaddq_s32(vsubq_s32(i, half), bias), 23);
	return x * vreinterpretq_f32_s32(a) * vreinterpretq_f32_s32(b);
}
IG_INLINE vf v_round(vf x) { return vrndnq_f32(x); }

IG_INLINE vf v_angle(double pos, const double *freq, vi *turns) {
	float64x2_t p = vdupq_n_f64(pos);
	float64x2_t a = vmulq_f64(p, vld1q_f64(freq)), b = vmulq_f64(p, vld1q_f64(freq + 2));
	float64x2_t per = vdupq_n_f64(0x1.45f306dc9c883p-1);
	float64x2_t hi = vdupq_n_f64(0x1.921fb54442d18p0), lo = vdupq_n_f64(0x1.1a62633145c07p-54);
	float64x2_t na = vrndnq_f64(vmulq_f64(a, per)), nb = vrndnq_f64(vmulq_f64(b, per));
	a = vfmsq_f64(vfmsq_f64(a, na, hi), na, lo);
	b = vfmsq_f64(vfmsq_f64(b, nb, hi), nb, lo);
	*turns = vcombine_s32(vmovn_s64(vcvtq_s64_f64(na)), vmovn_s64(vcvtq_s64_f64(nb)));
	return vcvt_high_f32_f64(vcvt_f32_f64(a), b);
}
IG_INLINE vf v_quadrant(vi n, int shift, vf a, vf b) {
	vf x = vbslq_f32(vtstq_s32(n, vdupq_n_s32(1)), b, a);
	uint32x4_t sign = vshlq_n_u32(vshrq_n_u32(vreinterpretq_u32_s32(vaddq_s32(n, vdupq_n_s32(shift))), 1), 31);
	return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(x), sign));
}
IG_INLINE vf v_swap_pairs(vf x) { return vrev64q_f32(x); }

IG_INLINE vf v_load_f16(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
IG_INLINE vf v_load_bf16(const uint16_t *p) { return vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(p), 16)); }
IG_INLINE void v_store_f16(uint16_t *p, vf x) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(x))); }
IG_INLINE void v_store_bf16(uint16_t *p, vf x) {
	uint32x4_t u = vreinterpretq_u32_f32(x), odd = vandq_u32(vshrq_n_u32(u, 16), vdupq_n_u32(1));
	vst1_u16(p, vaddhn_u32(vaddq_u32(u, odd), vdupq_n_u32(0x7fff)));
}

IG_INLINE vf v_set_f16(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(*p))); }
IG_INLINE uint8x8_t four_bytes(const void *p) {
	uint32_t four;
	memcpy(&four, p, 4);
	return vcreate_u8(four);
}
IG_INLINE vf from_bytes(int8x8_t x) { return vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(x)))); }
IG_INLINE vf v_load_i8(const int8_t *p) { return from_bytes(vreinterpret_s8_u8(four_bytes(p))); }
IG_INLINE vf v_load_low4(const uint8_t *p) {
	return from_bytes(vsub_s8(vreinterpret_s8_u8(vand_u8(four_bytes(p), vdup_n_u8(15))), vdup_n_s8(8)));
}
IG_INLINE vf v_load_high4(const uint8_t *p) {
	return from_bytes(vsub_s8(vreinterpret_s8_u8(vshr_n_u8(four_bytes(p), 4)), vdup_n_s8(8)));
}
