// Gated linear units, plainly.
#include "others_generic.h"

static float gelu(float x) { return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x))); }

// What gpt-oss has: both are clamped, and 1 is added to what the gate multiplies.
static float swiglu_oai(float gate, float up) {
	float g = fminf(gate, 7), u = fmaxf(-7, fminf(up, 7));
	return g * ig_sigmoid(1.702f * g) * (u + 1);
}

// Threads share the columns of each row in pieces of 64.
void ig_glu_generic(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_glu *a = args;
	int64_t lo, hi;
	ig_share(a->cols, 64, ith, nth, &lo, &hi);
	for (int64_t r = 0; r < ig_count(b, a->rows) * a->times; r++) {
		const float *gate = a->gate + r * a->gstride, *up = a->up + r * a->ustride;
		float *dst = a->dst + r * a->dstride;
		for (int64_t c = lo; c < hi; c++)
			dst[c] = a->act == 2 ? swiglu_oai(gate[c], up[c]) : (a->act == 0 ? ig_silu(gate[c]) : gelu(gate[c])) * up[c];
	}
}
