// The causal convolution, in the words of simd_*.h.

enum { CONV_COLS = 512, CONV_WIDTH = 16 }; // columns taken through a sequence at once: their rows stay in the first cache

// n columns of a row from those of the rows in its window. Taps are cols apart.
IG_INLINE void conv_row(const float *const *row, const float *taps, int64_t cols, float *dst, int64_t n, int from, int width) {
	for (int64_t c = 0; c < n; c += W) {
		vf sum = v_set(0);
		for (int j = from; j < width; j++)
			sum = v_fma(v_load_upto(taps + j * cols + c, n - c), v_load_upto(row[j] + c, n - c), sum);
		v_store_upto(dst + c, v_silu(sum), n - c);
	}
}

// n columns from c on through one sequence.
static void conv_columns(const ig_conv *a, const ig_seq *s, int64_t c, int64_t n) {
	int width = a->width, past = width - 1;
	const float *in = s->plane_in < 0 ? NULL : a->state + (int64_t)s->plane_in * past * a->cols + c;
	float *out = a->state + (int64_t)s->plane_out * past * a->cols + c;
	const float *x = a->x + s->row0 * a->stride + c;
	for (int64_t r = 0; r < s->rows; r++) {
		const float *row[CONV_WIDTH];
		int from = r >= past || in ? 0 : (int)(past - r); // what was never seen adds nothing
		for (int j = from; j < width; j++) {
			int64_t at = r - past + j;
			row[j] = at < 0 ? in + (at + past) * a->cols : x + at * a->stride;
		}
		float *dst = a->dst + (s->row0 + r) * a->dstride + c;
		if (from == 0 && width == 4)
			conv_row(row, a->w + c, a->cols, dst, n, 0, 4);
		else
			conv_row(row, a->w + c, a->cols, dst, n, from, width);
	}
	for (int j = 0; j < past; j++) { // ascending, since the planes may be one
		int64_t at = s->rows - past + j;
		const float *row = at >= 0 ? x + at * a->stride : in ? in + (at + past) * a->cols : NULL;
		if (row)
			memmove(out + j * a->cols, row, (size_t)n * sizeof(float));
		else
			memset(out + j * a->cols, 0, (size_t)n * sizeof(float));
	}
}

// Threads share the columns; each goes through every sequence.
static void conv(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_conv *a = args;
	if (a->width > CONV_WIDTH) {
		ig_conv_generic(args, b, ith, nth);
		return;
	}
	int64_t lo, hi;
	ig_share(a->cols, 64, ith, nth, &lo, &hi);
	for (const ig_seq *s = b->seq; s < b->seq + b->seqs; s++)
		for (int64_t c = lo; c < hi; c += CONV_COLS)
			conv_columns(a, s, c, hi - c < CONV_COLS ? hi - c : CONV_COLS);
}
