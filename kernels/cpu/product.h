// What the products of all levels share: the row kernel that each level provides for each weight type, and the two
// drivers (matmul, experts) that feed it.
#ifndef INGOT_PRODUCT_H
#define INGOT_PRODUCT_H

#include "repack.h"

enum {
	IG_STRIP = 8 * IG_GROUP, // most weight rows a row kernel takes at once
	IG_TILE = 128,           // most activation rows a row kernel takes at once, residuals counted
	IG_CHUNK = 512,          // the same of a chunk kernel
};

// A matrix of m rows of k values, `stride` bytes apart where it is not repacked.
typedef struct ig_weights {
	const uint8_t *w;
	int64_t m, k, stride;
	int32_t type, repacked;
} ig_weights;

// acc[r*rows + i] = sum over the columns of w[j+i] * x[r], for `rows` weight rows from j on and n activations, each of one
// row or, with a residual, of two. The order of the sums is the same for every n and every j.
typedef void ig_rows_fn(const ig_weights *w, int64_t j, int rows, const void *const *x, int n, int residual, float *acc);

// What is done with the n results of a weight row.
typedef struct ig_sink {
	float *dst[IG_CHUNK];
	const float *add[IG_CHUNK]; // NULL: nothing
	const float *bias;          // NULL: none
} ig_sink;

// A chunk kernel takes all weight rows from lo to hi, whole groups, to n activations and hands the results to the sink.
typedef void ig_chunk_fn(const ig_weights *w, int64_t lo, int64_t hi, const void *const *x, int n, int residual, const ig_sink *s);

typedef struct ig_product {
	ig_rows_fn *fn;
	int32_t unit;  // j and rows are multiples of it
	int32_t units; // most that rows has of it
} ig_product;

// The generic level's row kernel of a type: one row; fn is NULL for a number that is no type.
ig_product ig_product_generic(int type);

// The drivers split weight rows among the threads. Rows after the last whole unit go to the generic level.
void ig_drive_matmul(const ig_matmul *a, const ig_batch *b, int ith, int nth, ig_product p);
void ig_drive_experts(const ig_experts *a, const ig_batch *b, int ith, int nth, ig_product p);
void ig_chunk_matmul(const ig_matmul *a, const ig_batch *b, int ith, int nth, ig_chunk_fn *chunk);
void ig_chunk_experts(const ig_experts *a, const ig_batch *b, int ith, int nth, ig_chunk_fn *chunk);

// Kernels that have one version for all levels.
ig_kernel ig_embed_rows;
ig_kernel ig_quantize_generic;

static inline int64_t ig_batch_rows(const ig_batch *b, int rows) { return rows == IG_OUTS ? b->outs : b->rows; }

#endif
