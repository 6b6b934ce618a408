// Choosing experts and adding up what they made, plainly.
#include "others_generic.h"

// A row's logits, and what its softmax needs of them.
typedef struct choice {
	const ig_route *a;
	const float *x;
	float max, total;
} choice;

static float probability(const choice *c, int e) {
	return c->a->sigmoid ? ig_sigmoid(c->x[e]) : expf(c->x[e] - c->max) / c->total;
}

static float score(const choice *c, int e) { return c->a->bias ? probability(c, e) + c->a->bias[e] : c->x[e]; }

// The best expert after (last, at) in the order of falling scores, then rising index; -1 if none, as when all that
// are left are NaN.
static int next(const choice *c, float last, int at) {
	int best = -1;
	float most = 0;
	for (int i = 0; i < c->a->experts; i++) {
		float s = score(c, i);
		if ((s < last || (s == last && i > at)) && (best < 0 || s > most)) {
			best = i;
			most = s;
		}
	}
	return best;
}

static void route(const ig_route *a, const float *x, int32_t *ids, float *weights) {
	choice c = {a, x, -INFINITY, 0};
	int at = -1;
	float kept = 0, last = INFINITY;
	for (int i = 0; i < a->experts; i++)
		c.max = x[i] > c.max ? x[i] : c.max;
	for (int i = 0; i < a->experts; i++)
		c.total += expf(x[i] - c.max);
	for (int s = 0; s < a->used; s++) {
		int e = next(&c, last, at);
		if (e >= 0)
			last = score(&c, at = e);
		else
			e = s; // keeps the experts' kernel inside its weights; the probability shows the NaN
		ids[s] = e;
		weights[s] = probability(&c, e);
		kept += weights[s];
	}
	float scale = a->normalize ? a->scale / (kept > 0x1p-14f ? kept : 0x1p-14f) : a->scale;
	for (int s = 0; s < a->used; s++)
		weights[s] *= a->factors ? scale * a->factors[ids[s]] : scale;
}

// Threads share the rows.
void ig_route_generic(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_route *a = args;
	int64_t lo, hi;
	ig_share(b->rows, 1, ith, nth, &lo, &hi);
	for (int64_t r = lo; r < hi; r++)
		route(a, a->logits + r * a->stride, a->ids + r * a->used, a->weights + r * a->used);
}

// Threads share the columns of each row in pieces of 64.
void ig_combine_generic(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_combine *a = args;
	int64_t lo, hi;
	ig_share(a->cols, 64, ith, nth, &lo, &hi);
	for (int64_t r = 0; r < b->rows; r++) {
		const float *weights = a->weights + r * a->used, *y = a->y + r * a->used * a->ystride;
		float share = !a->shared ? 0 : a->sgate ? ig_sigmoid(a->sgate[r]) : 1;
		for (int64_t c = lo; c < hi; c++) {
			float sum = a->add ? a->add[r * a->addstride + c] : 0;
			for (int s = 0; s < a->used; s++)
				sum += weights[s] * y[s * a->ystride + c];
			if (a->shared)
				sum += share * a->shared[r * a->sstride + c];
			a->dst[r * a->dstride + c] = sum;
		}
	}
}
