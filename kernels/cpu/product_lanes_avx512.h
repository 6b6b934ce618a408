// The words of the packed products in AVX-512 with VNNI: 16 weight rows, one a lane. product_form.h says what they mean.
#ifndef INGOT_PRODUCT_LANES_H
#define INGOT_PRODUCT_LANES_H

enum { LANES = 16, PANELS = 2, BLOCK = 6, FEW = 8, PASSES = 4, PLAIN_BLOCK = 4, OFFSET8 = 128 };

typedef uint32_t V __attribute__((vector_size(64)));
typedef float F __attribute__((vector_size(64)));

IG_INLINE V load(const void *p) { return (V)_mm512_loadu_si512(p); }
IG_INLINE F halves(const void *p) { return (F)_mm512_cvtph_ps(_mm256_loadu_si256(p)); }
IG_INLINE V bytes(const void *p) { return (V)_mm512_cvtepu8_epi32(_mm_loadu_si128(p)); }

IG_INLINE __m512i load_quarters(const uint8_t *p, int64_t quarter) {
	__m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)p));
	v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(p + quarter)), 1);
	v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(p + 2 * quarter)), 2);
	return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(p + 3 * quarter)), 3);
}

// Quarter i of register j is row 4i + j, so a transposition within quarters leaves row r in lane r.
IG_INLINE void transpose(const uint8_t *p, int64_t stride, uint8_t *to) {
	__m512i a = load_quarters(p, 4 * stride), b = load_quarters(p + stride, 4 * stride);
	__m512i c = load_quarters(p + 2 * stride, 4 * stride), d = load_quarters(p + 3 * stride, 4 * stride);
	__m512i ab0 = _mm512_unpacklo_epi32(a, b), ab1 = _mm512_unpackhi_epi32(a, b);
	__m512i cd0 = _mm512_unpacklo_epi32(c, d), cd1 = _mm512_unpackhi_epi32(c, d);
	_mm512_storeu_si512(to, _mm512_unpacklo_epi64(ab0, cd0));
	_mm512_storeu_si512(to + 64, _mm512_unpackhi_epi64(ab0, cd0));
	_mm512_storeu_si512(to + 128, _mm512_unpacklo_epi64(ab1, cd1));
	_mm512_storeu_si512(to + 192, _mm512_unpackhi_epi64(ab1, cd1));
}

IG_INLINE V all(uint32_t v) { return (V)_mm512_set1_epi32((int)v); }
IG_INLINE V spread(const void *p) { return (V)_mm512_set1_epi32(*(const int32_t *)p); }
IG_INLINE F spread_f(const void *p) { return (F)_mm512_set1_ps(*(const float *)p); }
IG_INLINE F to_float(V v) { return (F)_mm512_cvtepi32_ps((__m512i)v); }
IG_INLINE F half_low(V v) { return (F)_mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)v)); }
IG_INLINE F muladd(F a, F b, F c) { return (F)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c); }
IG_INLINE F mulsub(F a, F b, F c) { return (F)_mm512_fnmadd_ps((__m512)a, (__m512)b, (__m512)c); }
IG_INLINE V table(const int8_t v[16]) { return (V)_mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)v)); }
IG_INLINE V lookup(V table, V nibbles) { return (V)_mm512_shuffle_epi8((__m512i)table, (__m512i)nibbles); }
IG_INLINE V plus_where(V q, V v, V bits, V more) {
	return (V)_mm512_mask_add_epi8((__m512i)q, _mm512_test_epi8_mask((__m512i)v, (__m512i)bits), (__m512i)q, (__m512i)more);
}
IG_INLINE V larger(V a, V b) { return (V)_mm512_max_epi32((__m512i)a, (__m512i)b); }

// In assembler, for the compiler would gather the prefetches of a block in one burst.
IG_INLINE void prefetch(const uint8_t *p) { __asm__ volatile("prefetcht0 %0" : : "m"(*p)); }

// VNNI multiplies unsigned by signed bytes, so signed weights are raised by OFFSET8.
IG_INLINE V raise8(V v) { return v ^ 0x80808080u; }

IG_INLINE void dot(V *sum, V *pair, V q, const uint8_t *x, int bits, int i, int n) {
	(void)pair, (void)bits, (void)i, (void)n;
	*sum = (V)_mm512_dpbusd_epi32((__m512i)*sum, (__m512i)q, (__m512i)spread(x));
}

// ---- plain weights: a vector runs along a row ----

IG_INLINE F load_f32(const void *p) { return (F)_mm512_loadu_ps(p); }
IG_INLINE F load_f16(const void *p) { return (F)_mm512_cvtph_ps(_mm256_loadu_si256(p)); }
IG_INLINE F load_bf16(const void *p) {
	return (F)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(p)), 16);
}
IG_INLINE float total(F v) { return _mm512_reduce_add_ps((__m512)v); }

#endif
