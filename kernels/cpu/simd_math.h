// Functions over the vector words of simd_avx2.h, simd_avx512.h and simd_neon.h. Each lane's result depends on that lane
// alone. Polynomials are minimax fits of this project.

// e^x to about one unit in the last place; 0, infinity and NaN where they belong.
IG_INLINE vf v_exp(vf x) {
	x = v_max(v_set(-104), v_min(v_set(89), x));
	vf n = v_round(x * v_set(0x1.715476p0f));
	vf r = v_fma(n, v_set(-0x1.62e43p-1f), x); // ln 2 in two parts
	r = v_fma(n, v_set(0x1.05c61p-29f), r);
	vf p = v_set(0x1.6db5bep-10f);
	p = v_fma(p, r, v_set(0x1.123c78p-7f));
	p = v_fma(p, r, v_set(0x1.55545cp-5f));
	p = v_fma(p, r, v_set(0x1.55548ep-3f));
	p = v_fma(p, r, v_set(0.5f));
	p = v_fma(p, r * r, r) + v_set(1);
	return v_scale(p, n);
}

IG_INLINE vf v_sigmoid(vf x) { return v_set(1) / (v_set(1) + v_exp(v_set(0) - x)); }
IG_INLINE vf v_silu(vf x) { return x / (v_set(1) + v_exp(v_set(0) - x)); }

// The tanh form, as x * sigmoid(2u), which keeps its precision where tanh(u) nears -1.
IG_INLINE vf v_gelu(vf x) {
	vf u = v_fma(x * x * x, v_set(0.044715f), x);
	return x / (v_set(1) + v_exp(u * v_set(-2 * 0.7978845608f)));
}

// The gated unit of gpt-oss.
IG_INLINE vf v_swiglu_oai(vf gate, vf up) {
	vf g = v_min(v_set(7), gate), u = v_max(v_set(-7), v_min(v_set(7), up));
	return g / (v_set(1) + v_exp(g * v_set(-1.702f))) * (u + v_set(1));
}

IG_INLINE vf v_tanh(vf x) {
	vf t = x * x, p = v_set(0x1.0e9eaep-9f), a = v_abs(x);
	p = v_fma(p, t, v_set(-0x1.09285ap-7f));
	p = v_fma(p, t, v_set(0x1.62fb4p-6f));
	p = v_fma(p, t, v_set(-0x1.b9e19p-5f));
	p = v_fma(p, t, v_set(0x1.111026p-3f));
	p = v_fma(p, t, v_set(-0x1.555552p-2f));
	vf small = v_fma(p * t, x, x);
	vf large = v_set(1) - v_set(2) / (v_exp(a + a) + v_set(1));
	return v_less_than(a, v_set(0.625f), small, v_copysign(large, x));
}

// log(1 + e^x) = max(x, 0) + log(1 + y) with y = e^-|x|; the logarithm is the series of 2 atanh(y / (2 + y)).
IG_INLINE vf v_softplus(vf x) {
	vf y = v_exp(v_set(0) - v_abs(x)), s = y / (v_set(2) + y), t = s * s, p = v_set(1.0f / 15);
	p = v_fma(p, t, v_set(1.0f / 13));
	p = v_fma(p, t, v_set(1.0f / 11));
	p = v_fma(p, t, v_set(1.0f / 9));
	p = v_fma(p, t, v_set(1.0f / 7));
	p = v_fma(p, t, v_set(1.0f / 5));
	p = v_fma(p, t, v_set(1.0f / 3));
	return v_max(v_set(0), x) + v_set(2) * v_fma(p * t, s, s);
}

// The sine and cosine of pos * freq[0..W).
IG_INLINE void v_sincos(double pos, const double *freq, vf *sine, vf *cosine) {
	vi n;
	vf r = v_angle(pos, freq, &n), t = r * r;
	vf s = v_set(0x1.6cd5ecp-19f), c = v_set(-0x1.24290ap-22f);
	s = v_fma(s, t, v_set(-0x1.a00f94p-13f));
	s = v_fma(s, t, v_set(0x1.111108p-7f));
	s = v_fma(s, t, v_set(-0x1.555556p-3f));
	s = v_fma(s * t, r, r);
	c = v_fma(c, t, v_set(0x1.a01118p-16f));
	c = v_fma(c, t, v_set(-0x1.6c16b8p-10f));
	c = v_fma(c, t, v_set(0x1.555556p-5f));
	c = v_fma(c, t * t, v_fma(t, v_set(-0.5f), v_set(1)));
	*sine = v_quadrant(n, 0, s, c);
	*cosine = v_quadrant(n, 1, c, s);
}

// n values from p on, W of them if there are as many, else the rest with zeros after them.
IG_INLINE vf v_load_upto(const float *p, int64_t n) { return n >= W ? v_load(p) : v_load_part(p, (int)n); }
IG_INLINE void v_store_upto(float *p, vf x, int64_t n) {
	if (n >= W)
		v_store(p, x);
	else
		v_store_part(p, x, (int)n);
}
