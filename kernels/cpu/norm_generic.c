// Norm, add and gather, plainly.
#include "others_generic.h"

#include <string.h>

static void norm(const float *x, const float *w, const float *gate, float *dst, int n, float eps) {
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += (double)x[i] * x[i];
	float scale = 1 / sqrtf((float)(sum / n) + eps);
	for (int i = 0; i < n; i++) {
		float y = x[i] * scale * (w ? w[i] : 1);
		dst[i] = gate ? y * ig_silu(gate[i]) : y;
	}
}

// Threads share the groups of all rows.
void ig_norm_generic(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_norm *a = args;
	int64_t lo, hi;
	ig_share(ig_count(b, a->rows) * a->heads, 1, ith, nth, &lo, &hi);
	for (int64_t i = lo; i < hi; i++) {
		int64_t r = i / a->heads, h = i % a->heads;
		norm(a->x + r * a->stride + h * a->gap, a->w, a->gate ? a->gate + r * a->gstride + h * a->dgap : NULL,
		     a->dst + r * a->dstride + h * a->dgap, a->cols, a->eps);
	}
}

// Threads share the columns of each row in pieces of 64, so that the one row of a decode step is shared too.
void ig_add_generic(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_add *a = args;
	int64_t lo, hi;
	ig_share(a->cols, 64, ith, nth, &lo, &hi);
	for (int64_t r = 0; r < ig_count(b, a->rows); r++) {
		const float *x = a->x + r * a->xstride, *y = a->y ? a->y + r * a->ystride : NULL;
		float *dst = a->dst + r * a->dstride, scale = a->factor ? a->scale * *a->factor : a->scale;
		for (int64_t c = lo; c < hi; c++) {
			float v = scale * x[c] + (y ? y[c] : 0);
			dst[c] = a->cap > 0 ? a->cap * tanhf(v / a->cap) : v;
		}
	}
}

void ig_gather_generic(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_gather *a = args;
	int64_t lo, hi;
	ig_share(b->outs, 1, ith, nth, &lo, &hi);
	for (int64_t o = lo; o < hi; o++)
		memcpy(a->dst + o * a->dstride, a->x + b->out[o] * a->stride, (size_t)a->cols * sizeof(float));
}
