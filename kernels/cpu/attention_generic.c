// The KV cache's writer and causal attention, plainly, for caches of every type.
#include "others_generic.h"

#include "kv_quantize.h"

static void store(int type, void *row, const float *x, int dim) {
	for (int d = 0; d < dim; d++) {
		switch (type) {
		case IG_F32: ((float *)row)[d] = x[d]; break;
		case IG_F16: ((uint16_t *)row)[d] = ig_to_f16(x[d]); break;
		case IG_BF16: ((uint16_t *)row)[d] = ig_to_bf16(x[d]); break;
		case IG_Q8_0:
			if (d % 32 == 0)
				ig_to_q8_0(x + d, (ig_q8_0 *)row + d / 32);
			break;
		case IG_Q4_0:
			if (d % 32 == 0)
				ig_to_q4_0(x + d, (ig_q4_0 *)row + d / 32);
			break;
		}
	}
}

// Threads share the heads of all rows.
void ig_kv_store_generic(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_kv_store *a = args;
	const ig_seq *s = b->seq;
	int64_t lo, hi;
	ig_share((int64_t)b->rows * a->heads, 1, ith, nth, &lo, &hi);
	for (int64_t i = lo; i < hi; i++) {
		int64_t r = i / a->heads, h = i % a->heads;
		s = ig_seq_of(s, r);
		int64_t cell = ((int64_t)s->slot * a->heads + h) * a->cells + b->pos[r];
		store(a->type, (char *)a->kc + cell * ig_kv_row(a->type, a->dim), a->k + r * a->kstride + h * a->dim, a->dim);
		store(a->vtype, (char *)a->vc + cell * ig_kv_row(a->vtype, a->dim), a->v + r * a->vstride + h * a->dim, a->dim);
	}
}

// Softmax over blocks of cells: acc and total are relative to the running maximum. Blocks are counted from cell 0,
// so a row's sum is in the same order in any batch. Threads share the heads of all rows.
void ig_attention_generic(const void *args, const ig_batch *b, int ith, int nth) {
	enum { CELLS = 64 };
	const ig_attention *a = args;
	const ig_seq *s = b->seq;
	float score[CELLS], *acc = a->scratch + ith * ig_attention_scratch(a->heads, a->kv_heads, a->dim), *row = acc + a->dim;
	int64_t krow = ig_kv_row(a->type, a->dim), vrow = ig_kv_row(a->vtype, a->dim), lo, hi;
	ig_share((int64_t)b->rows * a->heads, 1, ith, nth, &lo, &hi);
	for (int64_t i = lo; i < hi; i++) {
		int64_t r = i / a->heads, h = i % a->heads, kvh = h / (a->heads / a->kv_heads);
		s = ig_seq_of(s, r);
		int64_t cell = ((int64_t)s->slot * a->kv_heads + kvh) * a->cells;
		const char *k = (const char *)a->kc + cell * krow, *v = (const char *)a->vc + cell * vrow;
		const float *q = a->q + r * a->qstride + h * a->qgap;
		int end = b->pos[r] + 1, start = a->window > 0 && end > a->window ? end - a->window : 0;
		float max = -INFINITY, total = 0;
		for (int d = 0; d < a->dim; d++)
			acc[d] = 0;
		for (int c0 = start / CELLS * CELLS; c0 < end; c0 += CELLS) {
			int from = c0 < start ? start : c0, to = c0 + CELLS < end ? c0 + CELLS : end;
			float before = max;
			for (int c = from; c < to; c++) {
				double dot = 0;
				ig_dequantize(a->type, k + c * krow, row, a->dim);
				for (int d = 0; d < a->dim; d++)
					dot += (double)q[d] * row[d];
				float x = a->scale * (float)dot;
				score[c - c0] = a->cap > 0 ? a->cap * tanhf(x / a->cap) : x;
				max = score[c - c0] > max ? score[c - c0] : max;
			}
			float shrink = expf(before - max);
			total *= shrink;
			for (int d = 0; d < a->dim; d++)
				acc[d] *= shrink;
			for (int c = from; c < to; c++) {
				float p = expf(score[c - c0] - max);
				total += p;
				ig_dequantize(a->vtype, v + c * vrow, row, a->dim);
				for (int d = 0; d < a->dim; d++)
					acc[d] += p * row[d];
			}
		}
		if (a->sinks) {
			float top = a->sinks[h] > max ? a->sinks[h] : max, shrink = expf(max - top);
			total = total * shrink + expf(a->sinks[h] - top);
			for (int d = 0; d < a->dim; d++)
				acc[d] *= shrink;
		}
		float *dst = a->dst + r * a->dstride + h * a->dim;
		const float *gate = a->gate ? a->gate + r * a->gstride + h * a->ggap : NULL;
		for (int d = 0; d < a->dim; d++)
			dst[d] = acc[d] / total * (gate ? ig_sigmoid(gate[d]) : 1);
	}
}
