// The vector words of the *_simd.h kernels in AVX-512: W floats a vector. Included between IG_AVX512_BEGIN and
// IG_TARGET_END; simd_avx2.h says what each word means.
enum { W = 16, REGISTERS = 32 };
typedef __m512 vf;
typedef __m512i vi;

IG_INLINE vf v_set(float x) { return _mm512_set1_ps(x); }
IG_INLINE vf v_load(const float *p) { return _mm512_loadu_ps(p); }
IG_INLINE void v_store(float *p, vf x) { _mm512_storeu_ps(p, x); }
IG_INLINE vf v_fma(vf a, vf b, vf c) { return _mm512_fmadd_ps(a, b, c); }
IG_INLINE vf v_min(vf a, vf b) { return _mm512_min_ps(a, b); }
IG_INLINE vf v_max(vf a, vf b) { return _mm512_max_ps(a, b); }
IG_INLINE vf v_abs(vf x) { return _mm512_abs_ps(x); }
IG_INLINE vf v_copysign(vf x, vf sign) { return _mm512_or_ps(v_abs(x), _mm512_and_ps(v_set(-0.0f), sign)); }
IG_INLINE vf v_less_than(vf a, vf b, vf yes, vf no) {
	return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes);
}

IG_INLINE __mmask16 v_lanes(int n) { return (__mmask16)((1u << n) - 1); }
IG_INLINE vf v_load_part(const float *p, int n) { return _mm512_maskz_loadu_ps(v_lanes(n), p); }
IG_INLINE void v_store_part(float *p, vf x, int n) { _mm512_mask_storeu_ps(p, v_lanes(n), x); }

IG_INLINE float v_one(vf x) { return _mm_cvtss_f32(_mm512_castps512_ps128(x)); } // the first lane
IG_INLINE __m128 v_quarter(vf x) {
	__m256 h = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
	return _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
}
IG_INLINE __m128 v_quarter_max(vf x) {
	__m256 h = _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
	return _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
}

IG_INLINE vf v_scale(vf x, vf n) { return _mm512_scalef_ps(x, n); }
IG_INLINE vf v_round(vf x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT); }

IG_INLINE vf v_angle(double pos, const double *freq, vi *turns) {
	__m512d p = _mm512_set1_pd(pos);
	__m512d a = _mm512_mul_pd(p, _mm512_loadu_pd(freq)), b = _mm512_mul_pd(p, _mm512_loadu_pd(freq + 8));
	__m512d per = _mm512_set1_pd(0x1.45f306dc9c883p-1);
	__m512d hi = _mm512_set1_pd(0x1.921fb54442d18p0), lo = _mm512_set1_pd(0x1.1a62633145c07p-54);
	__m512d na = _mm512_roundscale_pd(_mm512_mul_pd(a, per), _MM_FROUND_TO_NEAREST_INT);
	__m512d nb = _mm512_roundscale_pd(_mm512_mul_pd(b, per), _MM_FROUND_TO_NEAREST_INT);
	a = _mm512_fnmadd_pd(na, lo, _mm512_fnmadd_pd(na, hi, a));
	b = _mm512_fnmadd_pd(nb, lo, _mm512_fnmadd_pd(nb, hi, b));
	*turns = _mm512_inserti64x4(_mm512_castsi256_si512(_mm512_cvtpd_epi32(na)), _mm512_cvtpd_epi32(nb), 1);
	return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(a)), _mm512_cvtpd_ps(b), 1);
}
IG_INLINE vf v_quadrant(vi n, int shift, vf a, vf b) {
	vf x = _mm512_mask_blend_ps(_mm512_test_epi32_mask(n, _mm512_set1_epi32(1)), a, b);
	vi sign = _mm512_slli_epi32(_mm512_srli_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(shift)), 1), 31);
	return _mm512_xor_ps(x, _mm512_castsi512_ps(sign));
}
IG_INLINE vf v_swap_pairs(vf x) { return _mm512_permute_ps(x, 0xb1); }

IG_INLINE vf v_load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
IG_INLINE vf v_load_bf16(const uint16_t *p) {
	return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16));
}
IG_INLINE void v_store_f16(uint16_t *p, vf x) {
	_mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
IG_INLINE void v_store_bf16(uint16_t *p, vf x) {
	vi u = _mm512_castps_si512(x), odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
	u = _mm512_srli_epi32(_mm512_add_epi32(u, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
	_mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(u));
}

IG_INLINE vf v_set_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_set1_epi16((int16_t)*p)); }
IG_INLINE vf v_load_i8(const int8_t *p) { return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p))); }
IG_INLINE vf v_load_low4(const uint8_t *p) {
	vi x = _mm512_and_si512(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)), _mm512_set1_epi32(15));
	return _mm512_cvtepi32_ps(_mm512_sub_epi32(x, _mm512_set1_epi32(8)));
}
IG_INLINE vf v_load_high4(const uint8_t *p) {
	vi x = _mm512_srli_epi32(_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)), 4);
	return _mm512_cvtepi32_ps(_mm512_sub_epi32(x, _mm512_set1_epi32(8)));
}

IG_INLINE void v_sum_tile(vf (*s)[4], float *to, int stride) {
	vf x[4];
	for (int j = 0; j < 4; j++) {
		vf a = _mm512_shuffle_f32x4(s[0][j], s[1][j], 0x44) + _mm512_shuffle_f32x4(s[0][j], s[1][j], 0xee);
		vf b = _mm512_shuffle_f32x4(s[2][j], s[3][j], 0x44) + _mm512_shuffle_f32x4(s[2][j], s[3][j], 0xee);
		x[j] = _mm512_shuffle_f32x4(a, b, 0x88) + _mm512_shuffle_f32x4(a, b, 0xdd);
	}
	vf a = _mm512_unpacklo_ps(x[0], x[1]) + _mm512_unpackhi_ps(x[0], x[1]);
	vf b = _mm512_unpacklo_ps(x[2], x[3]) + _mm512_unpackhi_ps(x[2], x[3]);
	x[0] = _mm512_shuffle_ps(a, b, 0x44) + _mm512_shuffle_ps(a, b, 0xee);
	_mm_storeu_ps(to, _mm512_castps512_ps128(x[0]));
	_mm_storeu_ps(to + stride, _mm512_extractf32x4_ps(x[0], 1));
	_mm_storeu_ps(to + 2 * stride, _mm512_extractf32x4_ps(x[0], 2));
	_mm_storeu_ps(to + 3 * stride, _mm512_extractf32x4_ps(x[0], 3));
}
