// Rotary position embedding, in the words of simd_*.h.

enum { ROPE_PIECE = 128 }; // pairs whose angles are held at once

static void turn_halves(float *x, float *y, const float *cosine, const float *sine, int n) {
	for (int i = 0; i < n; i += W) {
		vf c = v_load(cosine + i), s = v_load(sine + i);
		vf a = v_load_upto(x + i, n - i), b = v_load_upto(y + i, n - i);
		v_store_upto(x + i, v_fma(a, c, v_set(0) - b * s), n - i);
		v_store_upto(y + i, v_fma(b, c, a * s), n - i);
	}
}

// Neighbours turn as x * cos + swapped x * sin, each pair's cosine twice and its sine as -sin, sin.
static void turn_neighbours(float *x, const float *cosine, const float *sine, int n) {
	for (int i = 0; i < 2 * n; i += W) {
		vf v = v_load_upto(x + i, 2 * n - i);
		v_store_upto(x + i, v_fma(v, v_load(cosine + i), v_swap_pairs(v) * v_load(sine + i)), 2 * n - i);
	}
}

// Fills the turns of n pairs, or of neighbours twice each, and zeros up to the next whole vector.
static void turns(double pos, const double *freq, int n, float mag, int neox, float *cosine, float *sine) {
	for (int i = 0; i < n; i += W) {
		double f[W] = {0};
		memcpy(f, freq + i, sizeof(double) * (size_t)(n - i < W ? n - i : W));
		vf s, c;
		v_sincos(pos, f, &s, &c);
		v_store(cosine + i, c * v_set(mag));
		v_store(sine + i, s * v_set(mag));
	}
	if (neox)
		return;
	for (int i = (n + W - 1) / W * W - 1; i >= 0; i--) { // from the end, in place
		float s = sine[i];
		cosine[2 * i] = cosine[2 * i + 1] = cosine[i];
		sine[2 * i] = -s;
		sine[2 * i + 1] = s;
	}
}

static void rope(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_rope *a = args;
	int pairs = a->rot / 2;
	float cosine[2 * ROPE_PIECE], sine[2 * ROPE_PIECE];
	int64_t lo, hi, end;
	ig_share((int64_t)b->rows * a->heads, 1, ith, nth, &lo, &hi);
	for (int64_t i = lo; i < hi; i = end) {
		int64_t r = i / a->heads;
		end = (r + 1) * a->heads < hi ? (r + 1) * a->heads : hi;
		for (int from = 0; from < pairs; from += ROPE_PIECE) {
			int n = pairs - from < ROPE_PIECE ? pairs - from : ROPE_PIECE;
			turns(b->pos[r], a->freq + from, n, a->mag, a->neox, cosine, sine);
			for (int64_t h = i - r * a->heads; h < end - r * a->heads; h++) {
				float *x = a->x + r * a->stride + h * a->gap;
				if (a->neox)
					turn_halves(x + from, x + pairs + from, cosine, sine, n);
				else
					turn_neighbours(x + 2 * from, cosine, sine, n);
			}
		}
	}
}
