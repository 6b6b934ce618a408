// Arguments of the products, of quantizing what they read, and of putting weights in the order they read fastest.
#ifndef INGOT_ARGS_PRODUCTS_H
#define INGOT_ARGS_PRODUCTS_H

// q8[r] = x[r] quantized (lib/activations.h), `times` rows for each row of the batch. residual: with 16 bits,
// whose low parts follow each row as a second one.
struct quantize_args {
	const struct batch *batch;
	const float *x;
	u8 *q8;
	i64 stride; // floats
	int cols, rows, times, residual;
};

// dst[r][j] = sum over i of w[j][i] * x[r][i], plus bias[j] and add[r][j] where set; w has m rows of k values. x is f32 for
// F32, F16 and BF16 weights and quantized rows for all others. add may be dst.
// With up: dst = the gated unit `act` of w x plus bias and of up x plus upbias; add is not used. Where w is null dst holds the first
// already, and so it does in kernels for prompts, whatever w is.
struct matmul_args {
	const struct batch *batch;
	const u8 *w, *up, *x;
	float *dst;
	const float *bias, *upbias, *add;
	i64 xstride; // bytes from a row of x to the next, a residual included
	i64 dstride, addstride;
	int m, k, rows, residual;
	int lanes; // mat-vec: 2^lanes lanes, up to WAVE, share a row of w
	int act;
};

// For row r and each of its `used` experts e = ids[r * used + s]: dst[r * used + s] = w[e] times a row of x, plus bias[e]; the row is
// r, or r * used + s where per_slot is set. With up: dst = the gated unit `act` of that and of up[e] x plus upbias[e], and as above
// where w is null. A matrix has `of` rows: m, or more, of which w's are the first m and up's the last.
struct experts_args {
	const struct batch *batch;
	const u8 *w, *up, *x;
	float *dst;
	const float *bias, *upbias; // [experts][m]; may be null
	const int *ids;
	const int *order; // of the kernels for prompts: what group.gpu left
	i64 wstride, xstride, dstride; // bytes of an expert; bytes of a row of x; floats
	int m, k, experts, used, per_slot, residual, lanes, act, of, reserved;
};

// order = the slots r * used + s of the batch by expert ids[slot], [rows * used]; behind them the number of tiles, and of each tile of
// up to `tile` slots of one expert: expert, first place in order, count.
struct group_args {
	const struct batch *batch;
	const int *ids;
	int *order;
	int experts, used, tile, reserved;
};

// dst = the matrix src of m rows of k values in the order of lib/planes.h; both take the same bytes.
struct repack_args {
	const u8 *src;
	u8 *dst;
	i64 m;
	int k, reserved;
};

#endif
