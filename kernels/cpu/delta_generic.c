// The causal convolution and the gated delta rule, plainly.
#include "others_generic.h"

#include <string.h>

// Threads share the columns; each goes through every sequence.
void ig_conv_generic(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_conv *a = args;
	int64_t lo, hi, past = a->width - 1;
	ig_share(a->cols, 64, ith, nth, &lo, &hi);
	for (const ig_seq *s = b->seq; s < b->seq + b->seqs; s++) {
		const float *x = a->x + s->row0 * a->stride;
		const float *in = s->plane_in < 0 ? NULL : a->state + s->plane_in * past * a->cols;
		float *out = a->state + s->plane_out * past * a->cols;
		for (int64_t c = lo; c < hi; c++) {
			for (int64_t r = 0; r < s->rows; r++) {
				float sum = 0;
				for (int64_t j = 0; j <= past; j++) {
					int64_t at = r - past + j; // before the sequence: the state's rows, oldest first
					float v = at >= 0 ? x[at * a->stride + c] : in ? in[(at + past) * a->cols + c] : 0;
					sum += a->w[j * a->cols + c] * v;
				}
				a->dst[(s->row0 + r) * a->dstride + c] = ig_silu(sum);
			}
			for (int64_t j = 0; j < past; j++) { // ascending, since the planes may be one
				int64_t at = s->rows - past + j;
				out[j * a->cols + c] = at >= 0 ? x[at * a->stride + c] : in ? in[(at + past) * a->cols + c] : 0;
			}
		}
	}
}

static float norm_of(const float *x, int n, float eps) {
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += (double)x[i] * x[i];
	return fmaxf(sqrtf((float)sum), eps);
}

static float softplus(float x) { return x > 20 ? x : log1pf(expf(x)); }

// One token of one head: S *= g; S += k (beta * (v - S^T k))^T; o = S^T q.
static void step(float *S, const float *q, const float *k, const float *v, float g, float beta, float *o, int n, float eps) {
	float qscale = 1 / (norm_of(q, n, eps) * sqrtf((float)n)), kscale = 1 / norm_of(k, n, eps);
	for (int i = 0; i < n; i++) {
		double seen = 0, sum = 0;
		for (int j = 0; j < n; j++) {
			float *s = S + ig_delta_at(n, j, i);
			*s *= g;
			seen += (double)*s * (k[j] * kscale);
		}
		float change = beta * (v[i] - (float)seen);
		for (int j = 0; j < n; j++) {
			float *s = S + ig_delta_at(n, j, i);
			*s += k[j] * kscale * change;
			sum += (double)*s * (q[j] * qscale);
		}
		o[i] = (float)sum;
	}
}

// Threads share the value heads of all sequences.
void ig_delta_generic(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_delta *a = args;
	int n = a->dim;
	int64_t lo, hi, size = (int64_t)n * n;
	ig_share((int64_t)b->seqs * a->vheads, 1, ith, nth, &lo, &hi);
	for (int64_t i = lo; i < hi; i++) {
		const ig_seq *s = b->seq + i / a->vheads;
		int64_t h = i % a->vheads, kh = h % a->kheads;
		float *S = a->state + (s->plane_out * (int64_t)a->vheads + h) * size;
		if (s->plane_in < 0)
			memset(S, 0, (size_t)size * sizeof(float));
		else if (s->plane_in != s->plane_out)
			memcpy(S, a->state + (s->plane_in * (int64_t)a->vheads + h) * size, (size_t)size * sizeof(float));
		for (int64_t r = s->row0; r < s->row0 + s->rows; r++) {
			const float *q = a->qkv + r * a->stride + kh * n, *k = q + (int64_t)a->kheads * n;
			const float *v = a->qkv + r * a->stride + (2 * a->kheads + h) * n;
			float g = expf(a->a[h] * softplus(a->alpha[r * a->astride + h] + a->dt[h]));
			float beta = ig_sigmoid(a->beta[r * a->bstride + h]);
			step(S, q, k, v, g, beta, a->dst + r * a->dstride + h * n, n, a->eps);
		}
	}
}
