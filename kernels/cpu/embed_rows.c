// Token embeddings: rows of a packed matrix, dequantized. One version for all levels: it is a copy, not a product.
#include <math.h>

#include "product.h"

enum { PIECE = 256 }; // columns; a multiple of every block

// Columns col to col+len-1 of a row.
static void embed(const ig_embed *a, const ig_block *t, int64_t token, int64_t col, int64_t len, float *dst) {
	int64_t blocks = a->cols / t->values, first = token / IG_GROUP * IG_GROUP, b = col / t->values;
	const uint8_t *w = a->w;
	ig_layout l = ig_layout_of(a->type);
	if (!a->repacked || !l.words || first + IG_GROUP > a->vocab) {
		ig_dequantize(a->type, w + (token * blocks + b) * t->bytes, dst, len);
		return;
	}
	for (; len > 0; b++, dst += t->values, len -= t->values) {
		uint8_t block[IG_BLOCK_BYTES];
		ig_block_from(&l, w + first * blocks * t->bytes, blocks, (int)(token - first), b, block);
		ig_dequantize(a->type, block, dst, t->values);
	}
}

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
		embed(a, &t, token, col, len, dst);
		if (a->scale != 1)
			for (int64_t i = 0; i < len; i++)
				dst[i] *= a->scale;
	}
}
