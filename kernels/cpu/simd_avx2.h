// The vector words of the *_simd.h kernels in AVX2: W floats a vector. Included between IG_AVX2_BEGIN and
// IG_TARGET_END. Arithmetic is written with operators; the compiler fuses none of it (see cgo.go).
enum { W = 8, REGISTERS = 16 };
typedef __m256 vf;
typedef __m256i vi;

IG_INLINE vf v_set(float x) { return _mm256_set1_ps(x); }
IG_INLINE vf v_load(const float *p) { return _mm256_loadu_ps(p); }
IG_INLINE void v_store(float *p, vf x) { _mm256_storeu_ps(p, x); }
IG_INLINE vf v_fma(vf a, vf b, vf c) { return _mm256_fmadd_ps(a, b, c); }
// Where one operand is NaN, b is the result.
IG_INLINE vf v_min(vf a, vf b) { return _mm256_min_ps(a, b); }
IG_INLINE vf v_max(vf a, vf b) { return _mm256_max_ps(a, b); }
IG_INLINE vf v_abs(vf x) { return _mm256_andnot_ps(v_set(-0.0f), x); }
IG_INLINE vf v_copysign(vf x, vf sign) { return _mm256_or_ps(v_abs(x), _mm256_and_ps(v_set(-0.0f), sign)); }
IG_INLINE vf v_less_than(vf a, vf b, vf yes, vf no) { return _mm256_blendv_ps(no, yes, _mm256_cmp_ps(a, b, _CMP_LT_OQ)); }

// The first n lanes, 0 < n <= W; the rest of a load is zero. Memory past them is not touched.
IG_INLINE vi v_lanes(int n) {
	return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
IG_INLINE vf v_load_part(const float *p, int n) { return _mm256_maskload_ps(p, v_lanes(n)); }
IG_INLINE void v_store_part(float *p, vf x, int n) { _mm256_maskstore_ps(p, v_lanes(n), x); }

IG_INLINE float v_one(vf x) { return _mm_cvtss_f32(_mm256_castps256_ps128(x)); } // the first lane
IG_INLINE __m128 v_quarter(vf x) { return _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1)); }
IG_INLINE __m128 v_quarter_max(vf x) { return _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1)); }

// x * 2^n for whole n in -150..128, in two steps so that the ends of the range come out right.
IG_INLINE vf v_scale(vf x, vf n) {
	vi i = _mm256_cvtps_epi32(n), half = _mm256_srai_epi32(i, 1), bias = _mm256_set1_epi32(127);
	vi a = _mm256_slli_epi32(_mm256_add_epi32(half, bias), 23);
	vi b = _mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(i, half), bias), 23);
	return x * _mm256_castsi256_ps(a) * _mm256_castsi256_ps(b);
}
IG_INLINE vf v_round(vf x) { return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

// pos * freq[0..W) in double, less the nearest multiple *turns of pi/2.
IG_INLINE vf v_angle(double pos, const double *freq, vi *turns) {
	__m256d p = _mm256_set1_pd(pos);
	__m256d a = _mm256_mul_pd(p, _mm256_loadu_pd(freq)), b = _mm256_mul_pd(p, _mm256_loadu_pd(freq + 4));
	__m256d per = _mm256_set1_pd(0x1.45f306dc9c883p-1);                 // 2/pi
	__m256d hi = _mm256_set1_pd(0x1.921fb54442d18p0), lo = _mm256_set1_pd(0x1.1a62633145c07p-54); // pi/2
	__m256d na = _mm256_round_pd(_mm256_mul_pd(a, per), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
	__m256d nb = _mm256_round_pd(_mm256_mul_pd(b, per), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
	a = _mm256_fnmadd_pd(na, lo, _mm256_fnmadd_pd(na, hi, a));
	b = _mm256_fnmadd_pd(nb, lo, _mm256_fnmadd_pd(nb, hi, b));
	*turns = _mm256_set_m128i(_mm256_cvtpd_epi32(nb), _mm256_cvtpd_epi32(na));
	return _mm256_set_m128(_mm256_cvtpd_ps(b), _mm256_cvtpd_ps(a));
}
// a where n is even, b where it is odd; negated where (n+shift)/2 is odd.
IG_INLINE vf v_quadrant(vi n, int shift, vf a, vf b) {
	vf odd = _mm256_castsi256_ps(_mm256_slli_epi32(n, 31));
	vi sign = _mm256_slli_epi32(_mm256_srli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(shift)), 1), 31);
	return _mm256_xor_ps(_mm256_blendv_ps(a, b, odd), _mm256_castsi256_ps(sign));
}
IG_INLINE vf v_swap_pairs(vf x) { return _mm256_permute_ps(x, 0xb1); }

IG_INLINE vf v_load_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
IG_INLINE vf v_load_bf16(const uint16_t *p) {
	return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16));
}
IG_INLINE void v_store_f16(uint16_t *p, vf x) {
	_mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
// NaN is not expected: its rounding could carry into infinity.
IG_INLINE void v_store_bf16(uint16_t *p, vf x) {
	vi u = _mm256_castps_si256(x), odd = _mm256_and_si256(_mm256_srli_epi32(u, 16), _mm256_set1_epi32(1));
	u = _mm256_srli_epi32(_mm256_add_epi32(u, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
	_mm_storeu_si128((__m128i *)p, _mm_packus_epi32(_mm256_castsi256_si128(u), _mm256_extracti128_si256(u, 1)));
}

// The f16 at p in every lane.
IG_INLINE vf v_set_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_set1_epi16((int16_t)*p)); }
// W values of 8 bits; W values of 4 bits, less 8, in the low or high halves of W bytes.
IG_INLINE vf v_load_i8(const int8_t *p) { return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p))); }
IG_INLINE vf v_load_low4(const uint8_t *p) {
	vi x = _mm256_and_si256(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)), _mm256_set1_epi32(15));
	return _mm256_cvtepi32_ps(_mm256_sub_epi32(x, _mm256_set1_epi32(8)));
}
IG_INLINE vf v_load_high4(const uint8_t *p) {
	vi x = _mm256_srli_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)), 4);
	return _mm256_cvtepi32_ps(_mm256_sub_epi32(x, _mm256_set1_epi32(8)));
}

// to[i*stride + j] = the sum of s[i][j], for i < REGISTERS/8 and j < 4, in the order of v_sum4.
IG_INLINE void v_sum_tile(vf (*s)[4], float *to, int stride) {
	vf x[4];
	for (int j = 0; j < 4; j++)
		x[j] = _mm256_permute2f128_ps(s[0][j], s[1][j], 0x20) + _mm256_permute2f128_ps(s[0][j], s[1][j], 0x31);
	vf a = _mm256_unpacklo_ps(x[0], x[1]) + _mm256_unpackhi_ps(x[0], x[1]);
	vf b = _mm256_unpacklo_ps(x[2], x[3]) + _mm256_unpackhi_ps(x[2], x[3]);
	x[0] = _mm256_shuffle_ps(a, b, 0x44) + _mm256_shuffle_ps(a, b, 0xee);
	_mm_storeu_ps(to, _mm256_castps256_ps128(x[0]));
	_mm_storeu_ps(to + stride, _mm256_extractf128_ps(x[0], 1));
}
