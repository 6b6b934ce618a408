// The words over the four lanes that are left of a vector, which AVX2 and AVX-512 have alike.

IG_INLINE void v_store4(float *p, __m128 x) { _mm_storeu_ps(p, x); }

// (x0+x2) + (x1+x3) of each; the single sum has the same order.
IG_INLINE __m128 v_sum4(vf a, vf b, vf c, vf d) {
	__m128 qa = v_quarter(a), qb = v_quarter(b), qc = v_quarter(c), qd = v_quarter(d);
	__m128 ab = _mm_add_ps(_mm_unpacklo_ps(qa, qb), _mm_unpackhi_ps(qa, qb));
	__m128 cd = _mm_add_ps(_mm_unpacklo_ps(qc, qd), _mm_unpackhi_ps(qc, qd));
	return _mm_add_ps(_mm_movelh_ps(ab, cd), _mm_movehl_ps(cd, ab));
}
IG_INLINE float v_sum(vf x) {
	__m128 q = v_quarter(x), h = _mm_add_ps(q, _mm_movehl_ps(q, q));
	return _mm_cvtss_f32(_mm_add_ss(h, _mm_shuffle_ps(h, h, 1)));
}
IG_INLINE float v_top(vf x) {
	__m128 q = v_quarter_max(x), h = _mm_max_ps(q, _mm_movehl_ps(q, q));
	return _mm_cvtss_f32(_mm_max_ss(h, _mm_shuffle_ps(h, h, 1)));
}
