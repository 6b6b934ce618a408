// Which of the *_simd.h kernels runs an operation; OTHERS is the name to give the answer.

static ig_kernel *by_type(int type, ig_kernel *f32, ig_kernel *f16, ig_kernel *bf16) {
	return type == IG_F32 ? f32 : type == IG_F16 ? f16 : type == IG_BF16 ? bf16 : NULL;
}

ig_kernel *OTHERS(int op, int type) {
	switch (op) {
	case IG_NORM: return norm;
	case IG_ROPE: return rope;
	case IG_KV_STORE: return by_type(type, kv_store_f32, kv_store_f16, kv_store_bf16);
	case IG_ATTENTION: return by_type(type, attention_f32, attention_f16, attention_bf16);
	case IG_CONV: return conv;
	case IG_DELTA: return delta;
	case IG_GLU: return glu;
	case IG_ROUTE: return route;
	case IG_COMBINE: return combine;
	case IG_ADD: return add;
	}
	return NULL;
}
