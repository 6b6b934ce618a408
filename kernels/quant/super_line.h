// Encoders of the blocks of 256 values whose groups have a scale and a minimum each, both of them whole numbers times
// the block's d and dmin: x ~ d scale q - dmin min.

// What the groups of a type look like: n values a group, q from 0 to top, scales and minima from 0 to most.
typedef struct lined { int n; float top, most; } lined;

// One choice for 16 groups. error is squared; the other sums are those of q, q squared, what was lost, and that times q.
typedef struct lines {
	float unit[GROUPS], least[GROUPS]; // d, dmin
	float scale[GROUPS], min[GROUPS];  // whole numbers
	float error[GROUPS], sq[GROUPS], qq[GROUPS], se[GROUPS], eq[GROUPS];
} lines;

// The best scale and minimum of each group among its present ones and those beside them.
IG_INLINE void choose_lines(const float *x, lined s, lines *c) {
	const grid g = {0, s.top, 0};
	for (int l = 0; l < GROUPS; l += W) {
		vf unit = v_load(c->unit + l), below = v_load(c->least + l), scale0 = v_load(c->scale + l), min0 = v_load(c->min + l);
		vf least = v_set(INFINITY), scale = scale0, min = min0;
		for (int i = -1; i <= 1; i++) {
			vf a = v_max(v_min(scale0 + v_set((float)i), v_set(s.most)), v_set(0)), d = unit * a, inverse = v_inverse(d);
			for (int j = -1; j <= 1; j++) {
				vf b = v_max(v_min(min0 + v_set((float)j), v_set(s.most)), v_set(0)), m = below * b, error = v_set(0);
				for (int r = 0; r < s.n; r++) {
					vf v = v_load(x + r * GROUPS + l) + m, e = v - d * v_grid(v * inverse, g);
					error = error + e * e;
				}
				scale = v_less(error, least, a, scale);
				min = v_less(error, least, b, min);
				least = v_min(error, least);
			}
		}
		vf d = unit * scale, m = below * min, inverse = v_inverse(d);
		vf sq = v_set(0), qq = v_set(0), se = v_set(0), eq = v_set(0);
		for (int r = 0; r < s.n; r++) {
			vf v = v_load(x + r * GROUPS + l) + m, q = v_grid(v * inverse, g), e = v - d * q;
			sq = sq + q;
			qq = qq + q * q;
			se = se + e;
			eq = eq + e * q;
		}
		v_store(c->scale + l, scale);
		v_store(c->min + l, min);
		v_store(c->error + l, least);
		v_store(c->sq + l, sq);
		v_store(c->qq + l, qq);
		v_store(c->se + l, se);
		v_store(c->eq + l, eq);
	}
}

// d and dmin of a block that fit the codes of its groups g0..g1 best, in place; the smallest squared error in both.
IG_INLINE void refit_units(lined s, lines *c, int g0, int g1) {
	float aa = 0, ab = 0, bb = 0, ae = 0, be = 0;
	for (int g = g0; g < g1; g++) { // lost ~ more (scale q) - less min
		aa += c->scale[g] * c->scale[g] * c->qq[g];
		ab -= c->scale[g] * c->min[g] * c->sq[g];
		bb += c->min[g] * c->min[g] * (float)s.n;
		ae += c->scale[g] * c->eq[g];
		be -= c->min[g] * c->se[g];
	}
	float det = aa * bb - ab * ab, d = c->unit[g0], m = c->least[g0];
	if (det > 1e-6f * aa * bb) {
		d += (ae * bb - be * ab) / det;
		m += (be * aa - ae * ab) / det;
	} else if (aa > 0) {
		d += ae / aa;
	}
	d = ig_f16(ig_to_f16(d > 0 ? d : 0));
	m = ig_f16(ig_to_f16(m > 0 ? m : 0));
	for (int g = g0; g < g1; g++) {
		c->unit[g] = d;
		c->least[g] = m;
	}
}

// The result for 16 groups: hd and hm the F16 units of each block, scale and min the codes, d and b the line of a group.
typedef struct fitted { uint16_t hd[2], hm[2]; uint8_t scale[GROUPS], min[GROUPS]; float d[GROUPS], b[GROUPS]; } fitted;

IG_INLINE void fit_lines(const float *x, lined s, const float *wide, int tries, int turns, fitted *f) {
	const int per = 256 / s.n;
	lines c;
	float least[GROUPS] = {0};
	fit_line(x, s.n, s.top, 1, wide, tries, f->d, f->b);
	for (int b = 0; b < GROUPS; b += per) {
		float d = 0, m = 0;
		for (int g = b; g < b + per; g++) {
			d = f->d[g] > d ? f->d[g] : d;
			m = -f->b[g] > m ? -f->b[g] : m;
		}
		d = ig_f16(ig_to_f16(d / s.most));
		m = ig_f16(ig_to_f16(m / s.most));
		for (int g = b; g < b + per; g++) {
			c.unit[g] = d;
			c.least[g] = m;
			c.scale[g] = clamp(round_even(d > 0 ? f->d[g] / d : 0), 0, s.most);
			c.min[g] = clamp(round_even(m > 0 ? -f->b[g] / m : 0), 0, s.most);
		}
	}
	for (int turn = 0;; turn++) {
		choose_lines(x, s, &c);
		for (int b = 0; b < GROUPS; b += per) {
			float error = 0;
			for (int g = b; g < b + per; g++)
				error += c.error[g];
			if (turn == 0 || error < least[b]) {
				least[b] = error;
				f->hd[b / per] = ig_to_f16(c.unit[b]);
				f->hm[b / per] = ig_to_f16(c.least[b]);
				for (int g = b; g < b + per; g++) {
					f->scale[g] = (uint8_t)(int)c.scale[g];
					f->min[g] = (uint8_t)(int)c.min[g];
					f->d[g] = c.unit[g] * c.scale[g];
					f->b[g] = -(c.least[g] * c.min[g]);
				}
			}
			refit_units(s, &c, b, b + per);
		}
		if (turn == turns)
			return;
	}
}

static const float wide_q2[] = {2, 2.25f, 2.5f, 2.75f, 3, 3.25f, 3.5f, 3.75f, 4, 4.4f};

static void encode_q2_k(const float *v, void *dst, int64_t k) {
	const lined s = {16, 3, 15};
	fitted f = {0};
	SUPERS(ig_q2_k, 16) {
		fit_lines(x, s, wide_q2, COUNT(wide_q2), 3, &f);
		codes(x, 16, (grid){0, 3, 0}, f.d, f.b, 0, q);
		out->d = f.hd[0];
		out->dmin = f.hm[0];
		for (int g = 0; g < 16; g++)
			out->scales[g] = (uint8_t)(f.scale[g] | f.min[g] << 4);
		for (int half = 0; half < 2; half++)
			for (int l = 0; l < 32; l++) {
				const uint8_t *a = q + 128 * half + l;
				out->qs[32 * half + l] = (uint8_t)(a[0] | a[32] << 2 | a[64] << 4 | a[96] << 6);
			}
	}
}

// The codes of 8 scales and 8 minima, 6 bits each, in 12 bytes; kernels/cpu/dequantize.c says where each lies.
IG_INLINE void pack_scales(const uint8_t *scale, const uint8_t *min, uint8_t *out) {
	for (int c = 0; c < 4; c++) {
		out[c] = (uint8_t)(scale[c] | scale[4 + c] >> 4 << 6);
		out[4 + c] = (uint8_t)(min[c] | min[4 + c] >> 4 << 6);
		out[8 + c] = (uint8_t)((scale[4 + c] & 15) | min[4 + c] << 4);
	}
}

// Of each 64 codes the first 32 are the low nibbles of 32 bytes, the others the high ones.
IG_INLINE void pack_halves(const uint8_t *q, uint8_t *qs) {
	for (int c = 0; c < 4; c++)
		for (int l = 0; l < 32; l++)
			qs[32 * c + l] = (uint8_t)((q[64 * c + l] & 15) | q[64 * c + 32 + l] << 4);
}

static void encode_q4_k(const float *v, void *dst, int64_t k) {
	const lined s = {32, 15, 63};
	fitted f = {0};
	SUPERS(ig_q4_k, 32) {
		fit_lines(x, s, wide_4, COUNT(wide_4), 3, &f);
		codes(x, 32, (grid){0, 15, 0}, f.d, f.b, 0, q);
		for (int b = 0; b < here / 8; b++) {
			out[b].d = f.hd[b];
			out[b].dmin = f.hm[b];
			pack_scales(f.scale + 8 * b, f.min + 8 * b, out[b].scales);
			pack_halves(q + 256 * b, out[b].qs);
		}
	}
}

static void encode_q5_k(const float *v, void *dst, int64_t k) {
	const lined s = {32, 31, 63};
	fitted f = {0};
	SUPERS(ig_q5_k, 32) {
		fit_lines(x, s, wide_5, COUNT(wide_5), 2, &f);
		codes(x, 32, (grid){0, 31, 0}, f.d, f.b, 0, q);
		for (int b = 0; b < here / 8; b++) {
			out[b].d = f.hd[b];
			out[b].dmin = f.hm[b];
			pack_scales(f.scale + 8 * b, f.min + 8 * b, out[b].scales);
			pack_halves(q + 256 * b, out[b].qs);
			for (int l = 0; l < 32; l++) {
				int bits = 0;
				for (int c = 0; c < 8; c++)
					bits |= (q[256 * b + 32 * c + l] >> 4) << c;
				out[b].qh[l] = (uint8_t)bits;
			}
		}
	}
}
