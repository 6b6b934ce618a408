// The gated delta rule, in the words of simd_*.h.
//
// Values lie across the lanes, so that no product needs a sum over lanes, and a block of the state (16 KB at dim 128)
// stays in the first cache while some tokens go by. Each passes over it once: the pass that adds the token's change
// also takes the product with the next token's key, in all four operations for a vector of the state.

enum {
	DELTA_FLOATS = 2048,                                    // of q, for some tokens
	DELTA_VECTORS = IG_DELTA_BLOCK / W,                     // of a row of a block
	DELTA_SUMS = DELTA_VECTORS < 4 ? 4 / DELTA_VECTORS : 1, // parts of a sum over the keys, so that none waits for its last addition
};

// Some tokens of one head, ready for the state's blocks: q and k normalized, pad floats each, and one key more.
typedef struct delta_tokens {
	float q[DELTA_FLOATS], k[2 * DELTA_FLOATS];
	float decay[DELTA_FLOATS / W], beta[DELTA_FLOATS / W];
	float seen[DELTA_FLOATS]; // [dim] S^T k of the state so far and the first token's key
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

typedef struct delta_sum { vf part[DELTA_SUMS][DELTA_VECTORS]; } delta_sum;

IG_INLINE void delta_total(const delta_sum *s, vf *total, int V) {
	for (int v = 0; v < V; v++) {
		total[v] = s->part[0][v];
		IG_UNROLL
		for (int u = 1; u < DELTA_SUMS; u++)
			total[v] = total[v] + s->part[u][v];
	}
}

// total = S^T k of the state's first V vectors of values; the last has n. Rows of S are width apart.
IG_INLINE void delta_seen(const float *S, const float *k, int dim, int width, int V, int n, vf *total) {
	delta_sum sum = {{{{0}}}};
	int j = 0;
	for (; j + DELTA_SUMS <= dim; j += DELTA_SUMS)
		IG_UNROLL
		for (int u = 0; u < DELTA_SUMS; u++, S += width)
			for (int v = 0; v < V; v++)
				sum.part[u][v] = v_fma(v_load_upto(S + v * W, n), v_set(k[j + u]), sum.part[u][v]);
	for (; j < dim; j++, S += width)
		for (int v = 0; v < V; v++)
			sum.part[0][v] = v_fma(v_load_upto(S + v * W, n), v_set(k[j]), sum.part[0][v]);
	delta_total(&sum, total, V);
}

// A key's row: S = decay * S + k * change, and what the result adds to the products with q and with the next key. Asks
// for the row that lies `ahead` of it, so that in decode the next block is on its way while this one passes.
IG_INLINE void delta_row(const float *from, float *S, float q, float k, float next, vf decay, const vf *change, int64_t ahead, int V, int n, vf *out,
                         vf *seen) {
	__builtin_prefetch(from + ahead);
	__builtin_prefetch(from + ahead + IG_DELTA_BLOCK / 2);
	vf ks = v_set(k), qs = v_set(q), nexts = v_set(next);
	for (int v = 0; v < V; v++) {
		vf s = v_fma(change[v], ks, decay * v_load_upto(from + v * W, n));
		v_store_upto(S + v * W, s, n);
		out[v] = v_fma(s, qs, out[v]);
		seen[v] = v_fma(s, nexts, seen[v]);
	}
}

// S = decay * S + k change^T, and of the result: out = S^T q, seen = S^T next. from is where S is read.
IG_INLINE void delta_pass(const float *from, float *S, const float *q, const float *k, const float *next, float decay, const vf *change, int dim,
                          int width, int V, int n, vf *out, vf *seen) {
	delta_sum outs = {{{{0}}}}, seens = {{{{0}}}};
	vf keep = v_set(decay);
	int64_t ahead = (int64_t)IG_DELTA_BLOCK * dim;
	int j = 0;
	for (; j + DELTA_SUMS <= dim; j += DELTA_SUMS)
		IG_UNROLL
		for (int u = 0; u < DELTA_SUMS; u++, from += width, S += width)
			delta_row(from, S, q[j + u], k[j + u], next[j + u], keep, change, ahead, V, n, outs.part[u], seens.part[u]);
	for (; j < dim; j++, from += width, S += width)
		delta_row(from, S, q[j], k[j], next[j], keep, change, ahead, V, n, outs.part[0], seens.part[0]);
	delta_total(&outs, out, V);
	delta_total(&seens, seen, V);
}

// Takes V vectors of values, from value `at` of the head on, through all tokens; the last vector has n of them. The
// decay of the state is that of its product with the key too: S^T k of the decayed state is decay times that of the old.
IG_INLINE void delta_values(delta_tokens *t, const float *from, float *S, int dim, int at, int width, int first, int V, int n) {
	vf seen[DELTA_VECTORS], out[DELTA_VECTORS], change[DELTA_VECTORS];
	if (first)
		delta_seen(from, t->k, dim, width, V, n, seen);
	else
		for (int v = 0; v < V; v++)
			seen[v] = v_load_upto(t->seen + at + v * W, n);
	for (int i = 0; i < t->count; i++, from = S) {
		const float *k = t->k + i * t->pad;
		for (int v = 0; v < V; v++)
			change[v] = v_set(t->beta[i]) * (v_load_upto(t->v + i * t->vstride + at + v * W, n) - v_set(t->decay[i]) * seen[v]);
		delta_pass(from, S, t->q + i * t->pad, k, k + t->pad, t->decay[i], change, dim, width, V, n, out, seen);
		for (int v = 0; v < V; v++)
			v_store_upto(t->o + i * t->ostride + at + v * W, out[v], n);
	}
	for (int v = 0; v < V; v++)
		v_store_upto(t->seen + at + v * W, seen[v], n);
}

static void delta_whole_block(delta_tokens *t, const float *from, float *S, int dim, int at, int first) {
	delta_values(t, from, S, dim, at, IG_DELTA_BLOCK, first, DELTA_VECTORS, W);
}

// A block that is no whole one, a vector at a time.
static void delta_last_block(delta_tokens *t, const float *from, float *S, int dim, int at, int first) {
	int width = dim - at;
	for (int v = 0; v < width; v += W)
		delta_values(t, from + v, S + v, dim, at + v, width, first, 1, width - v < W ? width - v : W);
}

// Prepares tokens r .. r+count-1 of a head, and the key of the one after where the run has one.
static void delta_prepare(delta_tokens *t, const ig_delta *a, int64_t h, int64_t r, int64_t end) {
	int n = a->dim, most = DELTA_FLOATS / t->pad;
	int64_t kh = h % a->kheads;
	t->count = end - r < most ? (int)(end - r) : most;
	t->v = a->qkv + r * a->stride + (2 * a->kheads + h) * n;
	t->o = a->dst + r * a->dstride + h * n;
	for (int i = 0; i <= t->count; i++, r++) {
		if (r == end) {
			memset(t->k + i * t->pad, 0, sizeof(float) * (size_t)t->pad);
			break;
		}
		const float *q = a->qkv + r * a->stride + kh * n;
		unit(q + (int64_t)a->kheads * n, t->k + i * t->pad, n, a->eps, 1);
		if (i == t->count)
			break;
		unit(q, t->q + i * t->pad, n, a->eps, 1 / sqrtf((float)n));
		t->decay[i] = a->alpha[r * a->astride + h];
		t->beta[i] = a->beta[r * a->bstride + h];
	}
	for (int i = 0; i < t->count; i += W) {
		int64_t left = t->count - i;
		vf decay = v_exp(v_set(a->a[h]) * v_softplus(v_load_upto(t->decay + i, left) + v_set(a->dt[h])));
		v_store_upto(t->decay + i, decay, left);
		v_store_upto(t->beta + i, v_sigmoid(v_load_upto(t->beta + i, left)), left);
	}
}

static void delta_head(const ig_delta *a, const ig_seq *s, int64_t h) {
	int n = a->dim, whole = n - n % IG_DELTA_BLOCK;
	int64_t size = (int64_t)n * n, end = s->row0 + s->rows;
	float *S = a->state + (s->plane_out * (int64_t)a->vheads + h) * size;
	const float *from = S;
	if (s->plane_in < 0)
		memset(S, 0, (size_t)size * sizeof(float));
	else
		from = a->state + (s->plane_in * (int64_t)a->vheads + h) * size;
	delta_tokens t; // its arrays are filled as far as they are used
	t.pad = (n + W - 1) / W * W;
	t.vstride = a->stride;
	t.ostride = a->dstride;
	for (int64_t r = s->row0; r < end; r += t.count, from = S) {
		delta_prepare(&t, a, h, r, end);
		for (int at = 0; at < whole; at += IG_DELTA_BLOCK)
			delta_whole_block(&t, from + (int64_t)at * n, S + (int64_t)at * n, n, at, r == s->row0);
		if (whole < n)
			delta_last_block(&t, from + (int64_t)whole * n, S + (int64_t)whole * n, n, whole, r == s->row0);
	}
}

// Threads share the value heads of all sequences.
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
