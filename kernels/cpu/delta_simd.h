// The causal convolution and the gated delta rule, in the words of simd_*.h.

enum { CONV_WIDTH = 16, DELTA_ROWS = W / 2, DELTA_FLOATS = 4096 };

// W columns from c on through one sequence; n of them exist.
static void conv_columns(const ig_conv *a, const ig_seq *s, int64_t c, int64_t n) {
	int width = a->width, past = width - 1;
	const float *in = s->plane_in < 0 ? NULL : a->state + ((int64_t)s->plane_in * past) * a->cols + c;
	float *out = a->state + ((int64_t)s->plane_out * past) * a->cols + c;
	const float *x = a->x + s->row0 * a->stride + c;
	float *dst = a->dst + s->row0 * a->dstride + c;
	float taps[CONV_WIDTH][W] = {{0}};
	for (int j = 0; j < width; j++)
		for (int i = 0; i < W && i < n; i++)
			taps[j][i] = a->w[(c + i) * width + j];
	vf before[CONV_WIDTH]; // rows -past .. -1
	for (int j = 0; j < past; j++)
		before[j] = in ? v_load_upto(in + j * a->cols, n) : v_set(0);
	for (int64_t r = 0; r < s->rows; r++) {
		vf sum = v_set(0);
		for (int j = 0; j < width; j++) {
			int64_t at = r - past + j;
			sum = v_fma(v_load(taps[j]), at < 0 ? before[at + past] : v_load_upto(x + at * a->stride, n), sum);
		}
		v_store_upto(dst + r * a->dstride, v_silu(sum), n);
	}
	for (int j = 0; j < past; j++) {
		int64_t at = s->rows - past + j;
		v_store_upto(out + j * a->cols, at < 0 ? before[at + past] : v_load_upto(x + at * a->stride, n), n);
	}
}

static void conv(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_conv *a = args;
	if (a->width > CONV_WIDTH) {
		ig_conv_generic(args, b, ith, nth);
		return;
	}
	int64_t lo, hi;
	ig_share(a->cols, 64, ith, nth, &lo, &hi);
	for (const ig_seq *s = b->seq; s < b->seq + b->seqs; s++)
		for (int64_t c = lo; c < hi; c += W)
			conv_columns(a, s, c, hi - c);
}

// A few tokens of one head, ready for the state's rows: q and k normalized, n floats padded with zeros to whole vectors.
typedef struct delta_tokens {
	float q[DELTA_FLOATS], k[DELTA_FLOATS];
	float decay[DELTA_FLOATS / W], beta[DELTA_FLOATS / W];
	const float *v;
	float *o;
	int64_t vstride, ostride;
	int count, pad;
} delta_tokens;

static void unit(const float *x, float *y, int n, float eps, float scale) {
	vf sum = v_set(0);
	for (int i = 0; i < n; i += W) {
		vf a = v_load_upto(x + i, n - i);
		sum = v_fma(a, a, sum);
	}
	float norm = sqrtf(v_sum(sum));
	vf by = v_set(scale / (norm > eps ? norm : eps));
	for (int i = 0; i < n; i += W)
		v_store(y + i, v_load_upto(x + i, n - i) * by);
}

// Takes R rows of the state, S[value][key], through all tokens. The decay is applied late: S^T k of the decayed state
// is decay times that of the old one. from is where the first token finds the rows, S where they go.
IG_INLINE void delta_rows(const delta_tokens *t, const float *from, float *S, int n, int row, int R) {
	for (int i = 0; i < t->count; i++, from = S) {
		const float *q = t->q + i * t->pad, *k = t->k + i * t->pad;
		vf sum[DELTA_ROWS], change[DELTA_ROWS], decay = v_set(t->decay[i]);
		for (int r = 0; r < R; r++)
			sum[r] = v_set(0);
		for (int j = 0; j < n; j += W)
			for (int r = 0; r < R; r++)
				sum[r] = v_fma(v_load_upto(from + r * n + j, n - j), v_load(k + j), sum[r]);
		for (int r = 0; r < R; r++) {
			change[r] = v_set(t->beta[i] * (t->v[i * t->vstride + row + r] - t->decay[i] * v_sum(sum[r])));
			sum[r] = v_set(0);
		}
		for (int j = 0; j < n; j += W) {
			for (int r = 0; r < R; r++) {
				vf s = v_fma(change[r], v_load(k + j), decay * v_load_upto(from + r * n + j, n - j));
				v_store_upto(S + r * n + j, s, n - j);
				sum[r] = v_fma(s, v_load(q + j), sum[r]);
			}
		}
		for (int r = 0; r < R; r++)
			t->o[i * t->ostride + row + r] = v_sum(sum[r]);
	}
}

static float softplus(float x) { return x > 20 ? x : log1pf(expf(x)); }

static void delta_head(const ig_delta *a, const ig_seq *s, int64_t h) {
	int n = a->dim, pad = (n + W - 1) / W * W, tokens = DELTA_FLOATS / pad;
	int64_t size = (int64_t)n * n, kh = h % a->kheads;
	float *S = a->state + (s->plane_out * (int64_t)a->vheads + h) * size;
	const float *from = S;
	if (s->plane_in < 0)
		memset(S, 0, (size_t)size * sizeof(float));
	else
		from = a->state + (s->plane_in * (int64_t)a->vheads + h) * size;
	delta_tokens t; // its arrays are filled as far as they are used
	t.pad = pad;
	t.vstride = a->stride;
	t.ostride = a->dstride;
	for (int64_t r0 = s->row0, end = s->row0 + s->rows; r0 < end; r0 += t.count, from = S) {
		t.count = end - r0 < tokens ? (int)(end - r0) : tokens;
		for (int i = 0; i < t.count; i++) {
			const float *q = a->qkv + (r0 + i) * a->stride + kh * n;
			unit(q, t.q + i * pad, n, a->eps, 1 / sqrtf((float)n));
			unit(q + (int64_t)a->kheads * n, t.k + i * pad, n, a->eps, 1);
			t.decay[i] = expf(a->a[h] * softplus(a->alpha[(r0 + i) * a->astride + h] + a->dt[h]));
			t.beta[i] = 1 / (1 + expf(-a->beta[(r0 + i) * a->bstride + h]));
		}
		t.v = a->qkv + r0 * a->stride + (2 * a->kheads + h) * n;
		t.o = a->dst + r0 * a->dstride + h * n;
		int row = 0;
		for (; row + DELTA_ROWS <= n; row += DELTA_ROWS)
			delta_rows(&t, from + (int64_t)row * n, S + (int64_t)row * n, n, row, DELTA_ROWS);
		for (; row < n; row++)
			delta_rows(&t, from + (int64_t)row * n, S + (int64_t)row * n, n, row, 1);
	}
}

static void delta(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_delta *a = args;
	if (a->dim > DELTA_FLOATS) {
		ig_delta_generic(args, b, ith, nth);
		return;
	}
	int64_t lo, hi;
	ig_share((int64_t)b->seqs * a->vheads, 1, ith, nth, &lo, &hi);
	for (int64_t i = lo; i < hi; i++)
		delta_head(a, b->seq + i / a->vheads, i % a->vheads);
}
