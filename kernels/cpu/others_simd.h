// Which of the *_simd.h kernels runs an operation; OTHERS is the name to give the answer.

ig_kernel *OTHERS(int op, int type) {
	switch (op) {
	case IG_NORM: return norm;
	case IG_ROPE: return rope;
	case IG_KV_STORE: return ig_kv_row(type, 32) ? kv_store : NULL;
	case IG_ATTENTION: return ig_kv_row(type, 32) ? attention : NULL;
	case IG_CONV: return conv;
	case IG_DELTA: return delta;
	case IG_GLU: return glu;
	case IG_ROUTE: return route;
	case IG_COMBINE: return combine;
	case IG_ADD: return add;
	}
	return NULL;
}
