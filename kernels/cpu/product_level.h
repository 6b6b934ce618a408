// The row kernels of a vector level, one for each type, and the level's kernels for the program. A level's file
// includes this after its words, between its target's begin and end.
#ifndef INGOT_PRODUCT_LEVEL_H
#define INGOT_PRODUCT_LEVEL_H

#include "product_plain.h"
#include "product_unpack.h"
#include "product_unpack_k.h"
#include "quantize_row.h"

#define ARGS const ig_weights *w, int64_t j, int rows, const void *const *x, int n, int residual, float *acc
#define PLAIN(NAME, SIZE) \
	static void rows_##NAME(ARGS) { (void)rows, (void)residual, plain_rows(w, j, x, n, acc, SIZE, load_##NAME); }
#define PRODUCTS(NAME, ...)                                                                                                   \
	static __attribute__((noinline)) void products_##NAME(const panel *p, int panels, int chunks, int64_t at,                 \
	                                                      const uint8_t *const *x, int64_t low, const side *sides, int n, float *acc, int width) { \
		panel_dots((form){__VA_ARGS__}, p, panels, chunks, at, x, low, sides, n, acc, width);                                        \
	}
PRODUCTS(signed8, .bits = 8, .offset = OFFSET8)
PRODUCTS(offset4, .bits = 4, .offset = 1)
PRODUCTS(offset5, .bits = 5, .offset = 1)
PRODUCTS(mins4, .bits = 4, .mins = 1)
PRODUCTS(mins5, .bits = 5, .mins = 1)
PRODUCTS(offset6_by16, .bits = 6, .offset = 1, .by16 = 1)
PRODUCTS(mins6_by16, .bits = 6, .mins = 1, .by16 = 1)

#define PACKED(NAME, PRODUCTS) \
	static void rows_##NAME(ARGS) { packed_rows(form_##NAME, scales_##NAME, unpack_##NAME, products_##PRODUCTS, w, j, rows, x, n, residual, acc); }
PLAIN(f32, 4)
PLAIN(f16, 2)
PLAIN(bf16, 2)
PACKED(q4_0, offset4)
PACKED(q4_1, mins4)
PACKED(q5_0, offset5)
PACKED(q5_1, mins5)
PACKED(q8_0, signed8)
PACKED(q2_k, mins6_by16)
PACKED(q3_k, offset6_by16)
PACKED(q4_k, mins4)
PACKED(q5_k, mins5)
PACKED(q6_k, offset6_by16)
PACKED(iq4_nl, signed8)
PACKED(iq4_xs, signed8)
PACKED(mxfp4, offset5)

enum { UNITS = IG_STRIP / IG_GROUP };

static ig_product product_of(int type) {
	switch (type) {
	case IG_F32: return (ig_product){rows_f32, ROWS, 1};
	case IG_F16: return (ig_product){rows_f16, ROWS, 1};
	case IG_BF16: return (ig_product){rows_bf16, ROWS, 1};
	case IG_Q4_0: return (ig_product){rows_q4_0, IG_GROUP, UNITS};
	case IG_Q4_1: return (ig_product){rows_q4_1, IG_GROUP, UNITS};
	case IG_Q5_0: return (ig_product){rows_q5_0, IG_GROUP, UNITS};
	case IG_Q5_1: return (ig_product){rows_q5_1, IG_GROUP, UNITS};
	case IG_Q8_0: return (ig_product){rows_q8_0, IG_GROUP, UNITS};
	case IG_Q2_K: return (ig_product){rows_q2_k, IG_GROUP, UNITS};
	case IG_Q3_K: return (ig_product){rows_q3_k, IG_GROUP, UNITS};
	case IG_Q4_K: return (ig_product){rows_q4_k, IG_GROUP, UNITS};
	case IG_Q5_K: return (ig_product){rows_q5_k, IG_GROUP, UNITS};
	case IG_Q6_K: return (ig_product){rows_q6_k, IG_GROUP, UNITS};
	case IG_IQ4_NL: return (ig_product){rows_iq4_nl, IG_GROUP, UNITS};
	case IG_IQ4_XS: return (ig_product){rows_iq4_xs, IG_GROUP, UNITS};
	case IG_MXFP4: return (ig_product){rows_mxfp4, IG_GROUP, UNITS};
	default: return (ig_product){0};
	}
}

static void matmul(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_matmul *a = args;
	ig_drive_matmul(a, b, ith, nth, product_of(a->type));
}

static void experts(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_experts *a = args;
	ig_drive_experts(a, b, ith, nth, product_of(a->type));
}

static void quantize(const void *args, const ig_batch *b, int ith, int nth) { ig_quantize_share(args, b, ith, nth); }

static ig_kernel *kernel_of(int op, int type) {
	if (op == IG_QUANTIZE)
		return quantize;
	if (!product_of(type).fn)
		return 0;
	return op == IG_MATMUL ? matmul : op == IG_EXPERTS ? experts : 0;
}

#endif
