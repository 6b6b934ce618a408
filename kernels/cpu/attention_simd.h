// Causal attention in the words of simd_*.h: a tile's queries, its sections, and how their sums join.

static void load_queries(tile *t) {
	const ig_attention *a = t->a;
	float *q = t->q;
	for (int64_t r = t->r0; r < t->r1; r++) {
		for (int g = 0; g < t->group; g++, q += t->pad) {
			const float *from = a->q + r * a->qstride + (t->kvh * t->group + g) * a->qgap;
			for (int d = 0; d < t->pad; d += W) {
				vf x = v_set(0);
				if (d < a->dim)
					x = v_load_upto(from + d, a->dim - d) * v_set(a->scale);
				v_store(q + d, x);
			}
		}
	}
}

// Turns the scores of query i against cells from..to of the block into weights relative to its maximum so far, which
// its sum is brought to as well.
static void soften(const tile *t, int i, int from, int to) {
	float *x = t->score + i * BLOCK, *sum = t->part + i * ig_attention_sum(t->a->dim), cap = t->a->cap;
	float *maximum = sum + t->pad, *total = maximum + 1;
	int lo = from / W * W, hi = (to + W - 1) / W * W;
	for (int c = lo; c < from; c++)
		x[c] = -INFINITY;
	for (int c = to; c < hi; c++)
		x[c] = -INFINITY;
	vf top = v_set(*maximum);
	for (int c = lo; c < hi; c += W) {
		vf v = v_load(x + c);
		if (cap > 0) { // leaves -infinity, which tanh would make finite
			v = v_less_than(v_set(-INFINITY), v, v_set(cap) * v_tanh(v / v_set(cap)), v);
			v_store(x + c, v);
		}
		top = v_max(v, top);
	}
	float max = v_top(top);
	vf more = v_set(0);
	for (int c = lo; c < hi; c += W) {
		vf p = v_exp(v_load(x + c) - v_set(max));
		v_store(x + c, p);
		more = more + p;
	}
	float shrink = v_one(v_exp(v_set(*maximum - max)));
	*total = *total * shrink + v_sum(more);
	if (shrink != 1)
		for (int d = 0; d < t->pad; d += W)
			v_store(sum + d, v_load(sum + d) * v_set(shrink));
	*maximum = max;
}

// Sums a section, or what the tile sees of it, into t->part.
static void sum_section(const tile *t, int from, int to) {
	int64_t stride = ig_attention_sum(t->a->dim);
	for (int i = 0; i < t->n; i++) {
		float *sum = t->part + i * stride;
		for (int d = 0; d < t->pad; d += W)
			v_store(sum + d, v_set(0));
		sum[t->pad] = -INFINITY;
		sum[t->pad + 1] = 0;
	}
	for (int c0 = from / BLOCK * BLOCK; c0 < to; c0 += BLOCK) {
		int lo = c0 < from ? from : c0, hi = c0 + BLOCK < to ? c0 + BLOCK : to;
		score_block(t, c0, lo, hi);
		for (int i = 0; i < t->n; i++) {
			int first, last;
			seen(t, i, c0, lo, hi, &first, &last);
			if (first < last)
				soften(t, i, first, last);
		}
		weigh_block(t, c0, lo, hi);
	}
}

// Joins the sums of one more section, in part, to those before it.
static void join(const tile *t, const float *part, int first) {
	int64_t stride = ig_attention_sum(t->a->dim);
	if (first) {
		memcpy(t->sum, part, (size_t)(t->n * stride) * sizeof *part);
		return;
	}
	for (int i = 0; i < t->n; i++, part += stride) {
		float *sum = t->sum + i * stride, *stat = sum + t->pad;
		const float *other = part + t->pad;
		if (other[1] == 0) // the query sees nothing of the section
			continue;
		if (stat[1] == 0) {
			memcpy(sum, part, (size_t)stride * sizeof *part);
			continue;
		}
		float max = other[0] > stat[0] ? other[0] : stat[0];
		float a = v_one(v_exp(v_set(stat[0] - max))), b = v_one(v_exp(v_set(other[0] - max)));
		for (int d = 0; d < t->pad; d += W)
			v_store(sum + d, v_fma(v_load(part + d), v_set(b), v_load(sum + d) * v_set(a)));
		stat[1] = stat[1] * a + other[1] * b;
		stat[0] = max;
	}
}

static void finish(const tile *t) {
	const ig_attention *a = t->a;
	const float *sum = t->sum;
	for (int64_t r = t->r0; r < t->r1; r++) {
		for (int g = 0; g < t->group; g++, sum += ig_attention_sum(a->dim)) {
			int h = t->kvh * t->group + g;
			float *dst = a->dst + r * a->dstride + (int64_t)h * a->dim;
			const float *gate = a->gate ? a->gate + r * a->gstride + h * a->ggap : NULL;
			float max = sum[t->pad], total = sum[t->pad + 1], shrink = 1;
			if (a->sinks) {
				float top = a->sinks[h] > max ? a->sinks[h] : max;
				shrink = v_one(v_exp(v_set(max - top)));
				total = total * shrink + v_one(v_exp(v_set(a->sinks[h] - top)));
			}
			for (int d = 0; d < a->dim; d += W) {
				vf x = v_load(sum + d) * v_set(shrink) / v_set(total);
				if (gate)
					x = x * v_sigmoid(v_load_upto(gate + d, a->dim - d));
				v_store_upto(dst + d, x, a->dim - d);
			}
		}
	}
}

static void attend(const tile *t) {
	int sections = sections_of(t);
	load_queries((tile *)t);
	for (int i = 0; i < sections; i++) {
		int from, to;
		section_cells(t, i, &from, &to);
		sum_section(t, from, to);
		join(t, t->part, i == 0);
	}
	finish(t);
}

// This thread's sections of a shared tile, whose sums lie in the pool. Whoever ends the last of all joins them, in order.
static void attend_shared(tile t, deal *d, float *pool) {
	int sections = sections_of(&t);
	int64_t size = t.n * ig_attention_sum(t.a->dim);
	uint32_t *done = t.a->done + d->shared - 1;
	for (int i = 0, loaded = 0; i < sections; i++) {
		int from, to;
		section_cells(&t, i, &from, &to);
		if (!mine(d, cost_of(&t, from, to)))
			continue;
		if (!loaded++)
			load_queries(&t);
		t.part = pool + i * size;
		sum_section(&t, from, to);
		if (__atomic_add_fetch(done, 1, __ATOMIC_ACQ_REL) < (uint32_t)sections)
			continue;
		__atomic_store_n(done, 0, __ATOMIC_RELAXED);
		for (int j = 0; j < sections; j++)
			join(&t, pool + j * size, j == 0);
		finish(&t);
	}
}

static void attention(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_attention *a = args;
	int64_t queries = ig_attention_tile(a->heads, a->kv_heads), stride = ig_attention_sum(a->dim);
	float *pool = a->scratch + nth * ig_attention_work(a->heads, a->kv_heads, a->dim);
	deal d = {.ith = ith, .nth = nth};
	for (tile t = first_tile(a, b); next_tile(&t, b);)
		d.whole += tile_cost(&t);
	tile t = first_tile(a, b);
	t.q = a->scratch + ith * ig_attention_work(a->heads, a->kv_heads, a->dim);
	t.sum = t.q + queries * t.pad;
	t.part = t.sum + queries * stride;
	t.score = t.part + queries * stride;
	t.rows = t.score + queries * BLOCK;
	while (next_tile(&t, b)) {
		int64_t cost = tile_cost(&t), at = share_tile(&d, &t, cost);
		if (at >= 0)
			attend_shared(t, &d, pool + at * stride);
		else if (mine(&d, cost))
			attend(&t);
	}
}
