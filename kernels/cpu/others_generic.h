// The plain kernels, one file an operation family.
#ifndef INGOT_OTHERS_GENERIC_H
#define INGOT_OTHERS_GENERIC_H

#include <math.h>

#include "rows.h"

ig_kernel ig_norm_generic, ig_add_generic, ig_gather_generic;                                   // norm_generic.c
ig_kernel ig_rope_generic;                                                                      // rope_generic.c
ig_kernel ig_kv_store_generic, ig_attention_generic;                                            // attention_generic.c
ig_kernel ig_conv_generic, ig_delta_generic;                                                    // delta_generic.c
ig_kernel ig_glu_generic;                                                                       // glu_generic.c
ig_kernel ig_route_generic, ig_combine_generic;                                                 // route_generic.c
ig_kernel ig_zero_rows, ig_all_reduce_rows, ig_all_gather_rows;                                 // exchange.c, for all levels

static inline float ig_sigmoid(float x) { return 1 / (1 + expf(-x)); }
static inline float ig_silu(float x) { return x / (1 + expf(-x)); }

#endif
