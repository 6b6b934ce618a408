// The vector words of the encoders in AVX2; lanes_generic.h says what each word means.
enum { W = 8 };
typedef __m256 vf;

IG_INLINE vf v_set(float x) { return _mm256_set1_ps(x); }
IG_INLINE vf v_load(const float *p) { return _mm256_loadu_ps(p); }
IG_INLINE void v_store(float *p, vf x) { _mm256_storeu_ps(p, x); }
IG_INLINE vf v_min(vf a, vf b) { return _mm256_min_ps(a, b); }
IG_INLINE vf v_max(vf a, vf b) { return _mm256_max_ps(a, b); }
IG_INLINE vf v_abs(vf x) { return _mm256_andnot_ps(v_set(-0.0f), x); }
IG_INLINE vf v_copysign(vf x, vf sign) { return _mm256_or_ps(x, _mm256_and_ps(v_set(-0.0f), sign)); }
IG_INLINE vf v_less(vf a, vf b, vf yes, vf no) { return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ)); }

IG_INLINE void v_store_bytes(uint8_t *p, vf x) {
	__m256i n = _mm256_cvttps_epi32(x);
	__m128i w = _mm_packus_epi32(_mm256_castsi256_si128(n), _mm256_extracti128_si256(n, 1));
	_mm_storel_epi64((__m128i *)p, _mm_packus_epi16(w, w));
}

// The same four comparisons; the first bit chooses between halves of the tables.
IG_INLINE vf v_iq4(vf x) {
	vf lo = v_load(iq4_middles), hi = v_load(iq4_middles + 8);
	vf top = _mm256_cmp_ps(x, v_set(iq4_middles[7]), _CMP_GT_OQ);
	vf at = _mm256_blendv_ps(v_set(iq4_middles[3]), v_set(iq4_middles[11]), top);
	__m256i i = _mm256_and_si256(_mm256_castps_si256(_mm256_cmp_ps(x, at, _CMP_GT_OQ)), _mm256_set1_epi32(4));
	__m256i j = _mm256_add_epi32(i, _mm256_set1_epi32(1));
	at = _mm256_blendv_ps(_mm256_permutevar8x32_ps(lo, j), _mm256_permutevar8x32_ps(hi, j), top);
	i = _mm256_add_epi32(i, _mm256_and_si256(_mm256_castps_si256(_mm256_cmp_ps(x, at, _CMP_GT_OQ)), _mm256_set1_epi32(2)));
	at = _mm256_blendv_ps(_mm256_permutevar8x32_ps(lo, i), _mm256_permutevar8x32_ps(hi, i), top);
	i = _mm256_sub_epi32(i, _mm256_castps_si256(_mm256_cmp_ps(x, at, _CMP_GT_OQ)));
	return _mm256_blendv_ps(_mm256_permutevar8x32_ps(v_load(iq4_levels), i), _mm256_permutevar8x32_ps(v_load(iq4_levels + 8), i), top);
}

IG_INLINE void v_store_f16(uint16_t *p, vf x) {
	_mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
IG_INLINE void v_store_bf16(uint16_t *p, vf x) {
	__m256i u = _mm256_castps_si256(x), odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
	u = _mm256_srli_epi32(_mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
	_mm_storeu_si128((__m128i *)p, _mm_packus_epi32(_mm256_castsi256_si128(u), _mm256_extracti128_si256(u, 1)));
}
