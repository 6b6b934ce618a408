// Rotary position embedding, plainly.
#include "others_generic.h"

// Threads share the heads of all rows. Angles are taken a piece of a head at a time, once a row for all its heads.
void ig_rope_generic(const void *args, const ig_batch *b, int ith, int nth) {
	enum { PIECE = 128 };
	const ig_rope *a = args;
	int pairs = a->rot / 2, first = a->neox ? 1 : 2, second = a->neox ? pairs : 1;
	int64_t lo, hi, end;
	ig_share((int64_t)b->rows * a->heads, 1, ith, nth, &lo, &hi);
	for (int64_t i = lo; i < hi; i = end) {
		int64_t r = i / a->heads;
		end = (r + 1) * a->heads < hi ? (r + 1) * a->heads : hi;
		for (int from = 0; from < pairs; from += PIECE) {
			int n = pairs - from < PIECE ? pairs - from : PIECE;
			float c[PIECE], s[PIECE];
			for (int p = 0; p < n; p++) {
				double angle = b->pos[r] * a->freq[from + p];
				c[p] = (float)cos(angle) * a->mag;
				s[p] = (float)sin(angle) * a->mag;
			}
			for (int64_t h = i - r * a->heads; h < end - r * a->heads; h++) {
				float *x = a->x + r * a->stride + h * a->gap + (int64_t)from * first;
				for (int p = 0; p < n; p++) {
					float x0 = x[p * first], x1 = x[p * first + second];
					x[p * first] = x0 * c[p] - x1 * s[p];
					x[p * first + second] = x0 * s[p] + x1 * c[p];
				}
			}
		}
	}
}
