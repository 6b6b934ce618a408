// The words of the packed products in AVX-512 with VNNI: 16 weight rows, one a lane. product_panel.h says what they mean.
#ifndef INGOT_PRODUCT_LANES_H
#define INGOT_PRODUCT_LANES_H

enum { LANES = 16, BLOCK = 8 /* activation rows at once */, PLAIN_BLOCK = 4, OFFSET8 = 128 };

typedef uint32_t V __attribute__((vector_size(64)));
typedef float F __attribute__((vector_size(64)));
typedef struct unit { V d[4]; } unit;

// LANES weight rows: part i starts at row 4i. Few addresses serve all of them.
typedef struct rows {
	const uint8_t *part[LANES / 4];
	int64_t stride, stride3; // to the next row, and the third next
} rows;

IG_INLINE __m512i load_quarters(const rows *w, int64_t at) {
	__m512i v = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(w->part[0] + at)));
	v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(w->part[1] + at)), 1);
	v = _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(w->part[2] + at)), 2);
	return _mm512_inserti32x4(v, _mm_loadu_si128((const __m128i *)(w->part[3] + at)), 3);
}

// Quarter i of row register j is row 4i + j, so a transposition within quarters leaves row r in lane r.
IG_INLINE unit load_unit(const rows *w, int64_t at) {
	__m512i a = load_quarters(w, at), b = load_quarters(w, at + w->stride);
	__m512i c = load_quarters(w, at + 2 * w->stride), d = load_quarters(w, at + w->stride3);
	__m512i ab0 = _mm512_unpacklo_epi32(a, b), ab1 = _mm512_unpackhi_epi32(a, b);
	__m512i cd0 = _mm512_unpacklo_epi32(c, d), cd1 = _mm512_unpackhi_epi32(c, d);
	return (unit){{(V)_mm512_unpacklo_epi64(ab0, cd0), (V)_mm512_unpackhi_epi64(ab0, cd0),
		(V)_mm512_unpacklo_epi64(ab1, cd1), (V)_mm512_unpackhi_epi64(ab1, cd1)}};
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
IG_INLINE void prefetch(const uint8_t *p) { __asm__ volatile("prefetcht1 %0" : : "m"(*p)); }

IG_INLINE V pairs(V sum, V a, V b) { return (V)_mm512_dpwssd_epi32((__m512i)sum, (__m512i)a, (__m512i)b); }

// VNNI multiplies unsigned by signed bytes, so signed weights are raised by OFFSET8.
IG_INLINE V raise8(V v) { return v ^ 0x80808080u; }

IG_INLINE void dots(V *sum, const V *q, int n, int bits, const uint8_t *const *x, int64_t at, const int rows) {
	(void)bits;
	IG_UNROLL
	for (int t = 0; t < n; t++)
		IG_UNROLL
		for (int r = 0; r < rows; r++)
			sum[r] = (V)_mm512_dpbusd_epi32((__m512i)sum[r], (__m512i)q[t], (__m512i)spread(x[r] + at + 4 * t));
}

// ---- plain weights: a vector runs along a row ----

IG_INLINE F load_f32(const void *p) { return (F)_mm512_loadu_ps(p); }
IG_INLINE F load_f16(const void *p) { return (F)_mm512_cvtph_ps(_mm256_loadu_si256(p)); }
IG_INLINE F load_bf16(const void *p) {
	return (F)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(p)), 16);
}
IG_INLINE float total(F v) { return _mm512_reduce_add_ps((__m512)v); }

#endif
