// The KV cache's writer and causal attention, plainly, for caches of f32, f16 and bf16.
#include "others_generic.h"

#include "half.h"

static inline float from_f32(float v) { return v; }
static inline float to_f32(float v) { return v; }

// Threads share the heads of all rows.
#define KV_STORE(NAME, T, TO)                                                                                          \
	void NAME(const void *args, const ig_batch *b, int ith, int nth) {                                                 \
		const ig_kv_store *a = args;                                                                                   \
		const ig_seq *s = b->seq;                                                                                      \
		int64_t lo, hi;                                                                                                \
		ig_share((int64_t)b->rows * a->heads, 1, ith, nth, &lo, &hi);                                                  \
		for (int64_t i = lo; i < hi; i++) {                                                                            \
			int64_t r = i / a->heads, h = i % a->heads;                                                                \
			s = ig_seq_of(s, r);                                                                                       \
			int64_t at = (((int64_t)s->slot * a->heads + h) * a->cells + b->pos[r]) * a->dim;                          \
			for (int d = 0; d < a->dim; d++) {                                                                         \
				((T *)a->kc)[at + d] = TO(a->k[r * a->kstride + h * a->dim + d]);                                      \
				((T *)a->vc)[at + d] = TO(a->v[r * a->vstride + h * a->dim + d]);                                      \
			}                                                                                                          \
		}                                                                                                              \
	}

KV_STORE(ig_kv_store_f32_generic, float, to_f32)
KV_STORE(ig_kv_store_f16_generic, uint16_t, ig_to_f16)
KV_STORE(ig_kv_store_bf16_generic, uint16_t, ig_to_bf16)

// Softmax over blocks of cells: acc and total are relative to the running maximum. Blocks are counted from cell 0,
// so a row's sum is in the same order in any batch. Threads share the heads of all rows.
#define ATTENTION(NAME, T, FROM)                                                                                       \
	void NAME(const void *args, const ig_batch *b, int ith, int nth) {                                                 \
		enum { CELLS = IG_ATTENTION_CELLS };                                                                           \
		const ig_attention *a = args;                                                                                  \
		const ig_seq *s = b->seq;                                                                                      \
		float *score = a->scratch + ith * ig_attention_scratch(a->heads, a->kv_heads, a->dim);                         \
		float *acc = score + CELLS;                                                                                    \
		int64_t lo, hi;                                                                                                \
		ig_share((int64_t)b->rows * a->heads, 1, ith, nth, &lo, &hi);                                                  \
		for (int64_t i = lo; i < hi; i++) {                                                                            \
			int64_t r = i / a->heads, h = i % a->heads, kvh = h / (a->heads / a->kv_heads);                            \
			s = ig_seq_of(s, r);                                                                                       \
			int64_t base = ((int64_t)s->slot * a->kv_heads + kvh) * a->cells * a->dim;                                 \
			const T *k = (const T *)a->kc + base, *v = (const T *)a->vc + base;                                        \
			const float *q = a->q + r * a->qstride + h * a->qgap;                                                      \
			int end = b->pos[r] + 1, start = a->window > 0 && end > a->window ? end - a->window : 0;                   \
			float max = -INFINITY, total = 0;                                                                          \
			for (int d = 0; d < a->dim; d++)                                                                           \
				acc[d] = 0;                                                                                            \
			for (int c0 = start / CELLS * CELLS; c0 < end; c0 += CELLS) {                                              \
				int from = c0 < start ? start : c0, to = c0 + CELLS < end ? c0 + CELLS : end;                          \
				float before = max;                                                                                    \
				for (int c = from; c < to; c++) {                                                                      \
					double dot = 0;                                                                                    \
					for (int d = 0; d < a->dim; d++)                                                                   \
						dot += (double)q[d] * FROM(k[(int64_t)c * a->dim + d]);                                        \
					float x = a->scale * (float)dot;                                                                   \
					score[c - c0] = a->cap > 0 ? a->cap * tanhf(x / a->cap) : x;                                       \
					max = score[c - c0] > max ? score[c - c0] : max;                                                   \
				}                                                                                                      \
				float shrink = expf(before - max);                                                                     \
				total *= shrink;                                                                                       \
				for (int d = 0; d < a->dim; d++)                                                                       \
					acc[d] *= shrink;                                                                                  \
				for (int c = from; c < to; c++) {                                                                      \
					float p = expf(score[c - c0] - max);                                                               \
					total += p;                                                                                        \
					for (int d = 0; d < a->dim; d++)                                                                   \
						acc[d] += p * FROM(v[(int64_t)c * a->dim + d]);                                                \
				}                                                                                                      \
			}                                                                                                          \
			float *dst = a->dst + r * a->dstride + h * a->dim;                                                         \
			const float *gate = a->gate ? a->gate + r * a->gstride + h * a->ggap : NULL;                               \
			for (int d = 0; d < a->dim; d++)                                                                           \
				dst[d] = acc[d] / total * (gate ? ig_sigmoid(gate[d]) : 1);                                            \
		}                                                                                                              \
	}

ATTENTION(ig_attention_f32_generic, float, from_f32)
ATTENTION(ig_attention_f16_generic, uint16_t, ig_from_f16)
ATTENTION(ig_attention_bf16_generic, uint16_t, ig_from_bf16)
