// Which kernel the generic level has for each operation but the products: all of them. They are the plain meaning
// that the other levels are checked against, so nothing but clarity counts in them.
#include "others_generic.h"

#include <stddef.h>

ig_kernel *ig_others_generic(int op, int type) {
	switch (op) {
	case IG_NORM: return ig_norm_generic;
	case IG_ROPE: return ig_rope_generic;
	case IG_KV_STORE: return ig_kv_row(type, 32) ? ig_kv_store_generic : NULL;
	case IG_ATTENTION: return ig_kv_row(type, 32) ? ig_attention_generic : NULL;
	case IG_CONV: return ig_conv_generic;
	case IG_DELTA: return ig_delta_generic;
	case IG_GLU: return ig_glu_generic;
	case IG_ROUTE: return ig_route_generic;
	case IG_COMBINE: return ig_combine_generic;
	case IG_GATHER: return ig_gather_generic;
	case IG_ADD: return ig_add_generic;
	case IG_ZERO: return ig_zero_rows;
	case IG_ALL_REDUCE: return ig_all_reduce_rows;
	case IG_ALL_GATHER: return ig_all_gather_rows;
	}
	return NULL;
}
