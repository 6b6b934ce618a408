// What the products of all levels share: the row kernel that each level provides for each weight type, and the two
// drivers (matmul, experts) that feed it.
#ifndef INGOT_PRODUCT_H
#define INGOT_PRODUCT_H

#include "blocks.h"

enum {
	IG_LANES = 16, // most weight rows a row kernel takes at once
	IG_TILE = 128, // most activation rows a row kernel takes at once
};

// acc[r*lanes + j] = sum_i w[j][i] * x[r][i] for `lanes` weight rows, `stride` bytes apart, and n activation rows.
// The order of the sums is the same for every n. next (or NULL) is the weight group that will be asked for next: it
// is contiguous, and prefetched while this one is worked on.
typedef void ig_rows_fn(const uint8_t *w, int64_t stride, int64_t k, const void *const *x, int n, float *acc, const uint8_t *next);

typedef struct ig_product {
	ig_rows_fn *fn;
	int32_t lanes;
} ig_product;

// The generic level's row kernel of a type: one lane; fn is NULL for a number that is no type.
ig_product ig_product_generic(int type);

// The drivers split weight rows among the threads. A matrix of fewer rows than lanes goes to the generic level.
void ig_drive_matmul(const ig_matmul *a, const ig_batch *b, int ith, int nth, ig_product p);
void ig_drive_experts(const ig_experts *a, const ig_batch *b, int ith, int nth, ig_product p);

// Kernels that have one version for all levels.
ig_kernel ig_embed_rows;
ig_kernel ig_quantize_generic;

static inline int64_t ig_batch_rows(const ig_batch *b, int rows) { return rows == IG_OUTS ? b->outs : b->rows; }

#endif
