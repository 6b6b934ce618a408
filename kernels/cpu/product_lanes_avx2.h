// The words of the packed products in AVX2: 8 weight rows, one a lane. product_form.h says what they mean.
#ifndef INGOT_PRODUCT_LANES_H
#define INGOT_PRODUCT_LANES_H

enum { LANES = 8, PANELS = 1, BLOCK = 4, FEW = 2, PASSES = 2, PLAIN_BLOCK = 2, OFFSET8 = 0 };

typedef uint32_t V __attribute__((vector_size(32)));
typedef float F __attribute__((vector_size(32)));

IG_INLINE V load(const void *p) { return (V)_mm256_loadu_si256(p); }
IG_INLINE F halves(const void *p) { return (F)_mm256_cvtph_ps(_mm_loadu_si128(p)); }
IG_INLINE V bytes(const void *p) { return (V)_mm256_cvtepu8_epi32(_mm_loadl_epi64(p)); }

IG_INLINE __m256i load_halves(const uint8_t *p, int64_t half) {
	return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)p)),
		_mm_loadu_si128((const __m128i *)(p + half)), 1);
}

// Eight rows at a time: half i of register j is row 4i + j, so a transposition within halves leaves row r in lane r.
IG_INLINE void transpose(const uint8_t *p, int64_t stride, uint8_t *to) {
	for (int eight = 0; eight < 2; eight++, p += 8 * stride, to += 32) {
		__m256i a = load_halves(p, 4 * stride), b = load_halves(p + stride, 4 * stride);
		__m256i c = load_halves(p + 2 * stride, 4 * stride), d = load_halves(p + 3 * stride, 4 * stride);
		__m256i ab0 = _mm256_unpacklo_epi32(a, b), ab1 = _mm256_unpackhi_epi32(a, b);
		__m256i cd0 = _mm256_unpacklo_epi32(c, d), cd1 = _mm256_unpackhi_epi32(c, d);
		_mm256_storeu_si256((__m256i *)to, _mm256_unpacklo_epi64(ab0, cd0));
		_mm256_storeu_si256((__m256i *)(to + 64), _mm256_unpackhi_epi64(ab0, cd0));
		_mm256_storeu_si256((__m256i *)(to + 128), _mm256_unpacklo_epi64(ab1, cd1));
		_mm256_storeu_si256((__m256i *)(to + 192), _mm256_unpackhi_epi64(ab1, cd1));
	}
}

IG_INLINE V all(uint32_t v) { return (V)_mm256_set1_epi32((int)v); }
IG_INLINE V spread(const void *p) { return (V)_mm256_set1_epi32(*(const int32_t *)p); }
IG_INLINE F spread_f(const void *p) { return (F)_mm256_set1_ps(*(const float *)p); }
IG_INLINE F to_float(V v) { return (F)_mm256_cvtepi32_ps((__m256i)v); }
IG_INLINE F muladd(F a, F b, F c) { return (F)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c); }
IG_INLINE F mulsub(F a, F b, F c) { return (F)_mm256_fnmadd_ps((__m256)a, (__m256)b, (__m256)c); }
IG_INLINE V table(const int8_t v[16]) { return (V)_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)v)); }
IG_INLINE V lookup(V table, V nibbles) { return (V)_mm256_shuffle_epi8((__m256i)table, (__m256i)nibbles); }

IG_INLINE F half_low(V v) {
	__m256i low = (__m256i)(v & 0xffff);
	__m128i h = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
	return (F)_mm256_cvtph_ps(h);
}
IG_INLINE V plus_where(V q, V v, V bits, V more) {
	return q + ((V)_mm256_cmpeq_epi8((__m256i)(v & bits), (__m256i)bits) & more);
}
IG_INLINE V larger(V a, V b) { return (V)_mm256_max_epi32((__m256i)a, (__m256i)b); }

// In assembler, for the compiler would gather the prefetches of a block in one burst.
IG_INLINE void prefetch(const uint8_t *p) { __asm__ volatile("prefetcht0 %0" : : "m"(*p)); }

// 8-bit weights stay signed: see dots.
IG_INLINE V raise8(V v) { return v; }

// maddubs multiplies unsigned by signed bytes and adds pairs in 16 bits: values of b bits give at most
// 254 * (2^b - 1), so several fit before they are widened. Signed 8-bit weights lend their sign to the activation
// (|w| <= 128, |x| <= 127: a pair fits).
IG_INLINE void dot(V *sum, V *pair, V q, const uint8_t *x, const int bits, const int i, const int n) {
	const int most = bits == 8 ? 1 : bits == 6 ? 2 : bits == 5 ? 4 : 8, fit = most < n ? most : n;
	const __m256i w = (__m256i)q, v = (__m256i)spread(x);
	V m = (V)_mm256_maddubs_epi16(bits == 8 ? _mm256_abs_epi8(w) : w, bits == 8 ? _mm256_sign_epi8(v, w) : v);
	if (i % fit == 0)
		*pair = m;
	else
		__asm__("vpaddw %2, %1, %0" : "=x"(*pair) : "x"(*pair), "x"(m));
	if (i % fit != fit - 1)
		return;
	m = (V)_mm256_madd_epi16((__m256i)*pair, _mm256_set1_epi16(1));
	__asm__("vpaddd %2, %1, %0" : "=x"(*sum) : "x"(*sum), "x"(m));
}

// ---- products of 16-bit numbers, which one multiply takes whole ----

#define WIDENS

IG_INLINE void widen(const void *high, const void *low, int16_t *to) {
	const __m128i h = _mm_loadu_si128(high), l = _mm_loadu_si128(low);
	const __m128i factors = _mm_set1_epi16(1 << 8 | IG_RESIDUAL); // unsigned bytes
	_mm_store_si128((__m128i *)to, _mm_maddubs_epi16(factors, _mm_unpacklo_epi8(h, l)));
	_mm_store_si128((__m128i *)to + 1, _mm_maddubs_epi16(factors, _mm_unpackhi_epi8(h, l)));
}

// Bytes 0 and 1 of each word, then bytes 2 and 3. Signed ones come down from the upper half of their place.
IG_INLINE void keep_wide(V *q, V a, V b, V c, V d, const int bits) {
	const int s = bits == 8;
	const __m128i first = s ? _mm_setr_epi8(-1, 0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13)
	                        : _mm_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1);
	const __m256i order = _mm256_broadcastsi128_si256(first), two = _mm256_set1_epi16(s ? 0x200 : 2);
	const __m256i next = _mm256_add_epi8(order, two); // an index of -1 stays one: 2 is added to indices alone
	const V from[4] = {a, b, c, d};
	IG_UNROLL
	for (int t = 0; t < 4; t++) {
		__m256i low = _mm256_shuffle_epi8((__m256i)from[t], order), high = _mm256_shuffle_epi8((__m256i)from[t], next);
		q[2 * t] = (V)(s ? _mm256_srai_epi16(low, 8) : low);
		q[2 * t + 1] = (V)(s ? _mm256_srai_epi16(high, 8) : high);
	}
}

// n words of two weights.
IG_INLINE void wide_dots(V *sum, const V *q, const int n, const uint8_t *const *x, int64_t at, const int rows) {
	IG_UNROLL
	for (int t = 0; t < n; t++)
		IG_UNROLL
		for (int r = 0; r < rows; r++) {
			sum[r] = (V)_mm256_add_epi32((__m256i)sum[r], _mm256_madd_epi16((__m256i)q[t], (__m256i)spread(x[r] + at + 4 * t)));
			__asm__("" : "+x"(sum[r])); // see dot
		}
}

// ---- plain weights: a vector runs along a row ----

IG_INLINE F load_f32(const void *p) { return (F)_mm256_loadu_ps(p); }
IG_INLINE F load_f16(const void *p) { return (F)_mm256_cvtph_ps(_mm_loadu_si128(p)); }
IG_INLINE F load_bf16(const void *p) {
	return (F)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(p)), 16);
}
IG_INLINE float total(F v) {
	__m128 h = _mm_add_ps(_mm256_castps256_ps128((__m256)v), _mm256_extractf128_ps((__m256)v, 1));
	h = _mm_add_ps(h, _mm_movehl_ps(h, h));
	return _mm_cvtss_f32(_mm_add_ss(h, _mm_movehdup_ps(h)));
}

#endif
