// Fits of 16 groups at once, one a lane: x[i * 16 + g] is value i of group g, n values a group. Included once a level,
// after its lanes_*.h.
//
// Every fit looks for the smallest plain squared error. For a trial scale, t = x * inverse scale is rounded to q with
// the residual r = t - q; how the best straight line through the (q, t) departs from t = q follows from the sums of q
// and r, in numbers near 1 whatever the size of x.

enum { GROUPS = 16 };
#define TINY 0x1p-100f // groups that stay below are zero: their scales are far below the smallest F16

// What values are rounded to: whole numbers from lo to hi, or IQ4's 16 levels.
typedef struct grid { float lo, hi; int iq4; } grid;

// To the nearest whole number, even ones between two; |x| < 2^22.
IG_INLINE vf v_round(vf x) { return (x + v_set(0x1.8p23f)) - v_set(0x1.8p23f); }

// The same for one number.
IG_INLINE float round_even(float x) { return (x + 0x1.8p23f) - 0x1.8p23f; }
IG_INLINE float clamp(float x, float lo, float hi) { return x < lo ? lo : x > hi ? hi : x; }

IG_INLINE vf v_grid(vf t, grid g) {
	return g.iq4 ? v_iq4(t) : v_round(v_max(v_min(t, v_set(g.hi)), v_set(g.lo)));
}

// 1/x, 0 for 0.
IG_INLINE vf v_inverse(vf x) { return v_less(v_set(0), v_abs(x), v_set(1) / x, v_set(0)); }

// The scales d of x ~ d q. ends[tries]: what the largest value of a group, by magnitude, is tried as.
IG_INLINE void fit_scale(const float *x, int n, grid g, const float *ends, int tries, float *d) {
	for (int l = 0; l < GROUPS; l += W) {
		vf top = v_set(0);
		for (int i = 0; i < n; i++) {
			vf v = v_load(x + i * GROUPS + l);
			top = v_less(v_abs(top), v_abs(v), v, top);
		}
		top = v_less(v_abs(top), v_set(TINY), v_set(0), top);
		vf over = v_inverse(top), least = v_set(INFINITY), best = v_set(0);
		for (int c = 0; c < tries; c++) {
			vf inverse = over * v_set(ends[c]), qq = v_set(0), qr = v_set(0), rr = v_set(0);
			for (int i = 0; i < n; i++) {
				vf t = v_load(x + i * GROUPS + l) * inverse, q = v_grid(t, g), r = t - q;
				qq = qq + q * q;
				qr = qr + q * r;
				rr = rr + r * r;
			}
			vf slope = qr / v_max(qq, v_set(1));
			vf error = (rr - qr * slope) * v_set(1 / (ends[c] * ends[c]));
			best = v_less(error, least, top * v_set(1 / ends[c]) * (v_set(1) + slope), best);
			least = v_min(error, least);
		}
		v_store(d + l, best);
	}
}

// The scales d and offsets b of x ~ d q + b, q from 0 to top; below: b is at most 0. wide[tries]: the range from the
// least to the largest value of a group is tried as that many steps, in the middle of 0..top.
IG_INLINE void fit_line(const float *x, int n, float top, int below, const float *wide, int tries, float *d, float *b) {
	const grid g = {0, top, 0};
	for (int l = 0; l < GROUPS; l += W) {
		vf lo = v_load(x + l), hi = lo;
		for (int i = 1; i < n; i++) {
			vf v = v_load(x + i * GROUPS + l);
			lo = v_min(v, lo);
			hi = v_max(v, hi);
		}
		if (below) {
			lo = v_min(lo, v_set(0));
			hi = v_max(hi, lo);
		}
		vf range = hi - lo, count = v_set((float)n);
		range = v_less(range, v_set(TINY), v_set(0), range);
		vf over = v_inverse(range), least = v_set(INFINITY), best = v_set(0), base = lo;
		for (int c = 0; c < tries; c++) {
			vf inverse = over * v_set(wide[c]), shift = v_set((wide[c] - top) * 0.5f);
			vf sq = v_set(0), sr = v_set(0), qq = v_set(0), qr = v_set(0), rr = v_set(0);
			for (int i = 0; i < n; i++) {
				vf t = (v_load(x + i * GROUPS + l) - lo) * inverse - shift, q = v_grid(t, g), r = t - q;
				sq = sq + q;
				sr = sr + r;
				qq = qq + q * q;
				qr = qr + q * r;
				rr = rr + r * r;
			}
			// t ~ (1 + slope) q + rise
			vf slope = (count * qr - sq * sr) / v_max(count * qq - sq * sq, v_set(1));
			vf rise = (sr - slope * sq) * v_set(1 / (float)n);
			vf error = rr - slope * qr - rise * sr;
			vf unit = range * v_set(1 / wide[c]);
			vf offset = lo + (shift + rise) * unit;
			if (below) { // where the line would begin above 0, the best line through 0
				vf zero = v_set(0) - lo * inverse - shift;
				vf slope0 = (qr - zero * sq) / v_max(qq, v_set(1));
				vf error0 = rr - v_set(2) * zero * sr + count * zero * zero - slope0 * (qr - zero * sq);
				error = v_less(v_set(0), offset, error0, error);
				slope = v_less(v_set(0), offset, slope0, slope);
				offset = v_min(offset, v_set(0));
			}
			error = error * v_set(1 / (wide[c] * wide[c]));
			best = v_less(error, least, unit * (v_set(1) + slope), best);
			base = v_less(error, least, offset, base);
			least = v_min(error, least);
		}
		v_store(d + l, best);
		v_store(b + l, base);
	}
}

// x as codes of n bytes a group, group by group: the nearest of grid g to (x - b) / d, less `from`. b NULL: 0.
IG_INLINE void codes(const float *x, int n, grid g, const float *d, const float *b, float from, uint8_t *out) {
	uint8_t q[32 * GROUPS];
	for (int l = 0; l < GROUPS; l += W) {
		vf inverse = v_inverse(v_load(d + l)), offset = b ? v_load(b + l) : v_set(0);
		for (int i = 0; i < n; i++)
			v_store_bytes(q + i * GROUPS + l, v_grid((v_load(x + i * GROUPS + l) - offset) * inverse, g) - v_set(from));
	}
	for (int l = 0; l < GROUPS; l++)
		for (int i = 0; i < n; i++)
			out[l * n + i] = q[i * GROUPS + l];
}

// Lays 16 groups of n values side by side; groups that are not there are zero.
IG_INLINE void gather(const float *x, int n, int groups, float *out) {
	if (groups < GROUPS)
		memset(out, 0, sizeof(float) * GROUPS * n);
	for (int l = 0; l < groups; l++)
		for (int i = 0; i < n; i++)
			out[i * GROUPS + l] = x[l * n + i];
}
