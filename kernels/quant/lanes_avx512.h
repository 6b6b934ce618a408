// The vector words of the encoders in AVX-512; lanes_generic.h says what each word means.
enum { W = 16 };
typedef __m512 vf;

IG_INLINE vf v_set(float x) { return _mm512_set1_ps(x); }
IG_INLINE vf v_load(const float *p) { return _mm512_loadu_ps(p); }
IG_INLINE void v_store(float *p, vf x) { _mm512_storeu_ps(p, x); }
IG_INLINE vf v_min(vf a, vf b) { return _mm512_min_ps(a, b); }
IG_INLINE vf v_max(vf a, vf b) { return _mm512_max_ps(a, b); }
IG_INLINE vf v_abs(vf x) { return _mm512_abs_ps(x); }
IG_INLINE vf v_copysign(vf x, vf sign) { return _mm512_or_ps(x, _mm512_and_ps(v_set(-0.0f), sign)); }
IG_INLINE vf v_less(vf a, vf b, vf yes, vf no) { return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), no, yes); }

IG_INLINE void v_store_bytes(uint8_t *p, vf x) {
	_mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(_mm512_cvttps_epi32(x)));
}

IG_INLINE __m512i v_add_where_above(vf x, vf at, __m512i i, int n) {
	return _mm512_mask_add_epi32(i, _mm512_cmp_ps_mask(x, at, _CMP_GT_OQ), i, _mm512_set1_epi32(n));
}
IG_INLINE vf v_iq4(vf x) {
	vf middles = v_load(iq4_middles);
	__m512i i = v_add_where_above(x, v_set(iq4_middles[7]), _mm512_setzero_si512(), 8);
	i = v_add_where_above(x, _mm512_permutexvar_ps(_mm512_add_epi32(i, _mm512_set1_epi32(3)), middles), i, 4);
	i = v_add_where_above(x, _mm512_permutexvar_ps(_mm512_add_epi32(i, _mm512_set1_epi32(1)), middles), i, 2);
	i = v_add_where_above(x, _mm512_permutexvar_ps(i, middles), i, 1);
	return _mm512_permutexvar_ps(i, v_load(iq4_levels));
}

IG_INLINE void v_store_f16(uint16_t *p, vf x) {
	_mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
IG_INLINE void v_store_bf16(uint16_t *p, vf x) {
	__m512i u = _mm512_castps_si512(x), odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
	u = _mm512_srli_epi32(_mm512_add_epi32(u, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
	_mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(u));
}
