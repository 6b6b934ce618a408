// Arguments of the kernels that are not products. Their meaning is that of kernels/cpu's arguments of the same names; what
// differs is said here. Strides and gaps count floats.
#ifndef INGOT_ARGS_LAYERS_H
#define INGOT_ARGS_LAYERS_H

enum { T_F32 = 0, T_F16 = 1, T_Q4_0 = 2, T_Q8_0 = 8, T_BF16 = 30 }; // element types of a cache, GGUF's numbers

struct norm_args {
	const struct batch *batch;
	const float *x, *w, *gate; // w, gate: may be null
	float *dst;
	i64 stride, gap, dstride, dgap, gstride;
	int heads, cols, rows;
	float eps;
};

struct rope_args {
	const struct batch *batch;
	float *x;
	const double *freq; // [rot/2]
	i64 stride, gap;
	int heads, rot, neox;
	float mag;
};

struct kv_store_args {
	const struct batch *batch;
	const float *k, *v;
	void *kc, *vc;
	i64 kstride, vstride;
	int type, vtype, heads, dim, cells, reserved;
};

// part: where sections > 1, [rows][heads][sections] results of PART_FLOATS(dim) floats.
struct attention_args {
	const struct batch *batch;
	const float *q;
	const void *kc, *vc;
	const float *gate, *sinks; // may be null; sinks: [heads]
	float *dst, *part;
	i64 qstride, qgap, gstride, ggap, dstride;
	int heads, kv_heads, cells, window, sections;
	float scale, cap;
	int reserved;
};

struct conv_args {
	const struct batch *batch;
	const float *x, *w;
	float *state, *dst;
	i64 stride, dstride;
	int cols, width;
};

// state: [plane][vheads][value][key], the matrices of kernels/cpu turned.
struct delta_args {
	const struct batch *batch;
	const float *qkv, *alpha, *beta, *dt, *a;
	float *state, *dst;
	i64 stride, astride, bstride, dstride;
	int kheads, vheads;
	float eps;
	int reserved;
};

struct glu_args {
	const struct batch *batch;
	const float *gate, *up;
	float *dst;
	i64 gstride, ustride, dstride;
	int cols, act, rows, times;
};

struct add_args {
	const struct batch *batch;
	const float *x, *y, *factor; // y, factor: may be null
	float *dst;
	i64 xstride, ystride, dstride;
	int cols, rows;
	float scale, cap;
};

struct zero_args {
	const struct batch *batch;
	float *dst;
	i64 dstride;
	int cols, rows, times, reserved;
};

struct gather_args {
	const struct batch *batch;
	const float *x;
	float *dst;
	i64 stride, dstride;
	int cols, reserved;
};

struct route_args {
	const struct batch *batch;
	const float *logits, *bias, *factors; // bias, factors: may be null; [experts]
	int *ids;
	float *weights;
	i64 stride;
	int experts, used, normalize, sigmoid;
	float scale;
	int reserved;
};

struct combine_args {
	const struct batch *batch;
	const float *y, *weights, *shared, *sgate, *add; // shared, sgate, add: may be null
	float *dst;
	i64 ystride, sstride, addstride, dstride;
	int cols, used;
};

enum { TOP_K_GROUPS = 64 }; // most stretches of a row

// The batch's `best` largest of each row of x (rows of the wanted logits). dst: for each row log(sum(exp(x - max(x)))), then pairs of a
// value and its index, best first, ties to the lower index, ended by -1 where there are fewer. No gaps.
// parts: [outs][groups][best] pairs of a value and its index; from [outs][groups][k] pairs on, [outs][groups] pairs of a maximum and a sum.
struct top_k_args {
	const struct batch *batch;
	const float *x;
	float *parts, *dst;
	i64 stride;
	int cols, k, groups, outs; // k, outs: the most that parts has room for
};

#endif
