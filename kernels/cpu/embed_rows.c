// Token embeddings: rows of a packed matrix, dequantized. One version for all levels: it is a copy, not a product.
#include <math.h>

#include "product.h"

enum { PIECE = 256 }; // columns; a multiple of every block

void ig_embed_rows(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_embed *a = args;
	ig_block t = ig_block_of(a->type);
	int64_t pieces = (a->cols + PIECE - 1) / PIECE, lo, hi;
	ig_share(b->rows * pieces, 1, ith, nth, &lo, &hi);
	for (int64_t item = lo; item < hi; item++) {
		int64_t r = item / pieces, col = item % pieces * PIECE, token = b->token[r];
		int64_t len = a->cols - col < PIECE ? a->cols - col : PIECE;
		float *dst = a->dst + r * a->stride + col;
		if (token < 0 || token >= a->vocab) { // no such row: the result must not look like one
			for (int64_t i = 0; i < len; i++)
				dst[i] = NAN;
			continue;
		}
		ig_dequantize(a->type, (const uint8_t *)a->w + (token * a->cols + col) / t.values * t.bytes, dst, len);
		if (a->scale != 1)
			for (int64_t i = 0; i < len; i++)
				dst[i] *= a->scale;
	}
}
