// The contract of Ingot's CPU kernels: what every kernel receives and what it must leave behind.
//
// A kernel is a function of its argument struct, of the batch, and of which thread of how many it is. It reads
// its inputs, writes its share of the output and returns; the team puts a barrier between two steps.
//
// Rules that hold for every kernel:
//   - activations are f32, row-major; a stride counts floats from one row to the next
//   - the number of rows is not in the arguments: it is read from the batch, so a program is built once and
//     runs for any number of rows up to the one its buffers were sized for
//   - the bits of a row's result depend neither on the number of threads nor on the other rows of the batch
//   - weights are read packed, in the block format of the file (ig_type), or repacked (repack.c): the same bits in
//     the order in which they are worked on
//   - a kernel never allocates; scratch memory is an argument
//   - pointers are to memory outside Go's heap
#ifndef INGOT_KERNELS_H
#define INGOT_KERNELS_H

#include <stdint.h>

// Element types: GGUF's numbers.
enum ig_type {
	IG_F32 = 0, IG_F16 = 1, IG_Q4_0 = 2, IG_Q4_1 = 3, IG_Q5_0 = 6, IG_Q5_1 = 7, IG_Q8_0 = 8,
	IG_Q2_K = 10, IG_Q3_K = 11, IG_Q4_K = 12, IG_Q5_K = 13, IG_Q6_K = 14,
	IG_IQ4_NL = 20, IG_IQ4_XS = 23, IG_BF16 = 30, IG_MXFP4 = 39,
};

// Instruction-set levels, in the order of preference on one architecture.
enum ig_level { IG_GENERIC = 0, IG_AVX2 = 1, IG_AVX512 = 2, IG_AMX = 3, IG_NEON = 4, IG_I8MM = 5, IG_LEVELS = 6 };

// One sequence's run of rows in a batch: rows row0 .. row0+rows-1 hold its positions pos0 .. pos0+rows-1.
typedef struct ig_seq {
	int32_t row0, rows;
	int32_t slot;      // which part of the KV cache it owns
	int32_t pos0;      // cells 0 .. pos0-1 of the slot hold its earlier positions
	int32_t plane_in;  // plane its recurrent state is read from; -1: the state is zero
	int32_t plane_out; // plane its recurrent state is written to; may equal plane_in
} ig_seq;

typedef struct ig_batch {
	int32_t rows;         // tokens in the batch
	int32_t outs;         // rows whose logits are wanted
	int32_t seqs;         // sequences
	int32_t reserved;
	const int32_t *token; // [rows]
	const int32_t *pos;   // [rows]
	const int32_t *out;   // [outs] row numbers, ascending
	const ig_seq *seq;    // [seqs], ascending row0, covering all rows
} ig_batch;

typedef void ig_kernel(const void *args, const ig_batch *b, int ith, int nth);

// How many rows a kernel works on.
enum ig_rows { IG_ROWS = 0 /* b->rows */, IG_OUTS = 1 /* b->outs */ };

// A row of k activations quantized for integer products (k a multiple of 32), parts one after the other,
// each part starting on a multiple of 64 bytes:
//   int8_t  q[k]     values; x[i] ~ d[i/32] * q[i], |q| <= 127, rounded to nearest even
//   float   d[k/32]  scale: max|x| of the 32 values / 127
//   int16_t s[k/16]  sum of the 16 q's, for weight types with an offset or a minimum
static inline int64_t ig_pad64(int64_t n) { return (n + 63) & ~(int64_t)63; }
static inline int64_t ig_q8_d(int64_t k) { return ig_pad64(k); }
static inline int64_t ig_q8_s(int64_t k) { return ig_q8_d(k) + ig_pad64(k / 32 * 4); }
static inline int64_t ig_q8_row(int64_t k) { return ig_q8_s(k) + ig_pad64(k / 16 * 2); } // bytes a row

// ---- products (matmul_*.c) ----

// dst = the matrix at src, repacked; both have m rows of k values. A group of IG_GROUP rows takes the bytes that its
// rows took: word by word (4 bytes) of a row's blocks the words of all rows, then what blocks hold beside whole words.
// Rows after the last whole group stay as they are, and so do matrices of F32, F16 and BF16.
enum { IG_GROUP = 16 };
typedef struct ig_repack {
	const void *src; void *dst;
	int64_t m;
	int32_t type, k;
} ig_repack;

// dst[r][:] = scale * row token[r] of w.
typedef struct ig_embed {
	const void *w; float *dst; int64_t stride;
	int32_t type, cols, vocab, repacked; float scale;
} ig_embed;

// q8[r] = x[r] quantized (see above), for `times` rows for each row of the batch (1, or the experts a token uses).
// With residual: values have 16 bits, the multiple IG_RESIDUAL * high + low of a scale that is IG_RESIDUAL times finer. The
// row holds the highs, a second one behind it the lows; each has its own scale, so the products of both add up to those
// of 16 bits. A row then takes 2 * ig_q8_row(cols) bytes.
enum { IG_RESIDUAL = 254 }; // highs and lows reach from -127 to 127, so every number up to 127 * IG_RESIDUAL is such a pair
typedef struct ig_quantize {
	const float *x; void *q8; int64_t stride;
	int32_t cols, rows, times, residual; // rows: enum ig_rows
} ig_quantize;

// dst[r][j] = sum_i w[j][i] * x[r][i] (+ bias[j]) (+ add[r][j]); w: m rows of k. add may be dst.
// x is f32 for the types F32, F16 and BF16, and the row format above for every quantized type.
typedef struct ig_matmul {
	const void *w; const void *x; float *dst; const float *bias; const float *add;
	int64_t xstride;   // f32 x: floats; q8 x: unused
	int64_t dstride, addstride;
	int32_t type, m, k, rows, residual; // residual: q8 rows have their residual behind them
	int32_t repacked;
} ig_matmul;

// For each row r and each of its `used` experts e = ids[r*used+s]:
//   dst[(r*used+s)*dstride + j] = sum_i w[e][j][i] * x[xr][i] (+ bias[e][j]),  xr = per_slot ? r*used+s : r
typedef struct ig_experts {
	const void *w; const void *x; float *dst; const int32_t *ids;
	const float *bias; // [experts][m], or NULL
	int64_t xstride, dstride;
	int32_t type, m, k, experts, used, per_slot, residual;
	int32_t repacked; // each expert's matrix by itself
} ig_experts;

// ---- everything else (norm_*.c rope_*.c attention_*.c delta_*.c glu_*.c route_*.c) ----

// dst = x / sqrt(mean(x^2) + eps) * w, over each of `heads` groups of cols values, `gap` floats apart in x and
// `dgap` in dst. w (NULL: ones) has cols values, shared by the heads. dst may be x.
// With gate: dst is further multiplied by silu(gate), gate laid out as dst, gstride floats a row.
typedef struct ig_norm {
	const float *x; const float *w; const float *gate; float *dst;
	int64_t stride, gap, dstride, dgap, gstride;
	int32_t heads, cols, rows; float eps;
} ig_norm;

// Rotates the first `rot` of each head's values in place: pair i turns by pos * freq[i], cos and sin times `mag`.
// neox: the pair is (i, i + rot/2); otherwise (2i, 2i+1). The angle is computed in double.
typedef struct ig_rope {
	float *x; const double *freq; // [rot/2]
	int64_t stride, gap;          // floats from row to row, from head to head
	int32_t heads, rot, neox; float mag;
} ig_rope;

// Writes k and v of each row to cell pos of its slot. A cache is [slot][kv head][cell][dim] of `type` (keys) or `vtype`
// (values): F32, F16, BF16, or Q8_0 and Q4_0 in GGUF's blocks along dim, which then is a multiple of 32.
typedef struct ig_kv_store {
	const float *k, *v; void *kc, *vc;
	int64_t kstride, vstride;  // heads lie dim apart
	int32_t type, vtype, heads, dim, cells;
} ig_kv_store;

// Bytes of a row of dim values in a cache; 0 for a type that no cache has.
static inline int64_t ig_kv_row(int32_t type, int32_t dim) {
	return type == IG_F32 ? 4 * (int64_t)dim : type == IG_F16 || type == IG_BF16 ? 2 * (int64_t)dim :
	       type == IG_Q8_0 ? (int64_t)dim / 32 * 34 : type == IG_Q4_0 ? (int64_t)dim / 32 * 18 : 0;
}

// Causal attention of each row over cells 0..pos of its slot; query head h reads kv head h / (heads/kv_heads).
// score = scale * q.k, through cap*tanh(score/cap) if cap > 0; window > 0 keeps the last `window` cells.
// With gate: the result is multiplied by sigmoid(gate), [heads][dim] a row, ggap floats from head to head.
// With sinks: a query of head h has one more score, sinks[h], whose value is zero: it takes its share of the softmax alone.
//
// Cells are read in blocks of IG_ATTENTION_BLOCK. A row's cells make at most IG_ATTENTION_SECTIONS sections of whole
// blocks, counted from cell 0, whose length the row's position alone decides; each section is summed by itself and then
// joins the sections before it. So threads may share a row's sections and the bits stay the same.
//
// A tile of queries (the heads of one kv head, of one or more neighbouring rows) goes over the cells together, so that
// K and V stream once a tile. A thread's scratch holds, for a tile, the queries, two sums, the scores of a block, and
// some K or V as f32; and its share of the sections of tiles that threads share (844 KB in all at 16 heads of 256 over 4 kv heads).
enum { IG_ATTENTION_BLOCK = 256, IG_ATTENTION_SECTIONS = 32, IG_ATTENTION_QUERIES = 128, IG_ATTENTION_SHARED = 4 };
static inline int64_t ig_attention_pad(int64_t dim) { return (dim + 15) & ~(int64_t)15; }
static inline int64_t ig_attention_sum(int64_t dim) { return ig_attention_pad(dim) + 16; } // a sum, its maximum and total
static inline int64_t ig_attention_tile(int32_t heads, int32_t kv_heads) { // queries
	return heads / kv_heads > IG_ATTENTION_QUERIES ? heads / kv_heads : IG_ATTENTION_QUERIES;
}
static inline int64_t ig_attention_rows(int64_t dim) { // floats for K or V
	return dim > 256 ? 16 * ig_attention_pad(dim) : 16 * 256;
}
static inline int64_t ig_attention_work(int32_t heads, int32_t kv_heads, int32_t dim) { // floats a thread for its tile
	return ig_attention_tile(heads, kv_heads) * (ig_attention_pad(dim) + 2 * ig_attention_sum(dim) + IG_ATTENTION_BLOCK) + ig_attention_rows(dim);
}
static inline int64_t ig_attention_pool(int32_t heads, int32_t kv_heads) { // sums a thread for shared tiles
	return (int64_t)IG_ATTENTION_SHARED * IG_ATTENTION_SECTIONS * (heads / kv_heads);
}
static inline int64_t ig_attention_scratch(int32_t heads, int32_t kv_heads, int32_t dim) { // floats a thread
	return ig_attention_work(heads, kv_heads, dim) + ig_attention_pool(heads, kv_heads) * ig_attention_sum(dim);
}
typedef struct ig_attention {
	const float *q; const void *kc, *vc; const float *gate; const float *sinks; float *dst;
	float *scratch;               // [threads][ig_attention_scratch]
	uint32_t *done;               // [threads][IG_ATTENTION_SHARED], zero before the first run; left zero by each
	int64_t qstride, qgap, gstride, ggap, dstride;
	int32_t type, vtype, heads, kv_heads, dim, cells, window; float scale, cap;
} ig_attention;

// Causal depthwise convolution over a sequence, then silu: dst[r][c] = silu(sum_j w[j][c] * x[r-width+1+j][c]).
// The width-1 rows before a sequence's first row come from its plane: state [plane][width-1][cols], oldest first;
// the last width-1 inputs are left in plane_out.
typedef struct ig_conv {
	const float *x; const float *w; float *state; float *dst;
	int64_t stride, dstride;
	int32_t cols, width;
} ig_conv;

// Gated delta rule (Yang et al. 2024, arXiv 2412.06464), per value head h with key head h % kheads:
//   q, k = l2norm(q), l2norm(k)  (divided by max(norm, eps));  q *= 1/sqrt(dim)
//   g = exp(a[h] * softplus(alpha + dt[h]));  beta = sigmoid(beta)
//   S *= g;  S += k (beta * (v - S^T k))^T;  o = S^T q
// qkv row: q[kheads][dim] k[kheads][dim] v[vheads][dim]; alpha, beta rows: [vheads]; state [plane][vheads][dim*dim],
// where ig_delta_at(dim, k, v) is the place of S[k][v]: blocks of IG_DELTA_BLOCK values (the last has what is left), in
// each a row a key.
enum { IG_DELTA_BLOCK = 32 };
static inline int64_t ig_delta_at(int64_t dim, int64_t key, int64_t value) {
	int64_t in = value % IG_DELTA_BLOCK, first = value - in;
	return first * dim + key * (dim - first < IG_DELTA_BLOCK ? dim - first : IG_DELTA_BLOCK) + in;
}
typedef struct ig_delta {
	const float *qkv, *alpha, *beta, *dt, *a; float *state; float *dst;
	int64_t stride, astride, bstride, dstride;
	int32_t kheads, vheads, dim; float eps;
} ig_delta;

// dst = act(gate) * up, over cols. act: 0 silu, 1 gelu (tanh form), 2 that of gpt-oss, where with g = min(gate, 7) and
// u = max(-7, min(up, 7)) dst = g * sigmoid(1.702 g) * (u + 1). dst may be gate.
typedef struct ig_glu {
	const float *gate, *up; float *dst;
	int64_t gstride, ustride, dstride;
	int32_t cols, act, rows;      // rows of the batch, each counted `times` times (expert slots)
	int32_t times;
} ig_glu;

// Probabilities p of `experts` logits, their softmax or, with sigmoid, each by itself; then the `used` best (ties: the
// lower index) with their probabilities, best first: the largest logits or, with bias, the largest p[e] + bias[e].
// normalize: divided by their sum (at least 6.1e-5), then times scale, then times factors[e] where there are any.
typedef struct ig_route {
	const float *logits, *bias, *factors; int32_t *ids; float *weights; // bias, factors: [experts], or NULL
	int64_t stride;
	int32_t experts, used, normalize, sigmoid; float scale;
} ig_route;

// dst[r] = (add ? add[r] : 0) + sum_s weights[r*used+s] * y[r*used+s] (+ sigmoid(sgate[r]) * shared[r] when shared is set;
// sgate NULL: factor 1). dst may be add.
typedef struct ig_combine {
	const float *y, *weights, *shared, *sgate, *add; float *dst;
	int64_t ystride, sstride, addstride, dstride;
	int32_t cols, used;
} ig_combine;

// dst[o] = x[out[o]].
typedef struct ig_gather { const float *x; float *dst; int64_t stride, dstride; int32_t cols; } ig_gather;

// dst = scale * x (+ y), then cap*tanh(dst/cap) if cap > 0. y may be NULL; dst may be x or y. factor, if not NULL, is one
// value that multiplies scale.
typedef struct ig_add {
	const float *x, *y, *factor; float *dst;
	int64_t xstride, ystride, dstride;
	int32_t cols, rows; float scale, cap;
} ig_add;

// ---- between lanes (exchange.c) ----

// dst = 0, cols of each row.
typedef struct ig_zero { float *dst; int64_t dstride; int32_t cols, rows; } ig_zero;

// Memory through which the lanes of a stage, each with a team of its own, pass values; see exchange.h.
typedef struct ig_exchange ig_exchange;

// dst[r] = x[r] of lane 0 + x[r] of lane 1 + ..., in that order (+ add[r]). Every lane of the exchange runs the same such steps in
// the same order with the same rows and cols; add and dst are the lane's own. dst may be x or add.
typedef struct ig_all_reduce {
	ig_exchange *exchange; const float *x, *add; float *dst;
	int64_t xstride, addstride, dstride;
	int32_t lane, cols, rows;
} ig_all_reduce;

// dst[r][from[l] .. from[l+1]-1] = x[r] of lane l, for each lane l; x is NULL where a lane has no columns. `times` rows for
// each row of the batch. As with the sum, the steps of all lanes correspond.
typedef struct ig_all_gather {
	ig_exchange *exchange; const float *x; float *dst; const int32_t *from; // [lanes+1]
	int64_t xstride, dstride;
	int32_t lane, rows, times;
} ig_all_gather;

// Operations, in the order of the structs above.
enum ig_op {
	IG_EMBED, IG_QUANTIZE, IG_MATMUL, IG_EXPERTS, IG_NORM, IG_ROPE, IG_KV_STORE, IG_ATTENTION, IG_CONV, IG_DELTA,
	IG_GLU, IG_ROUTE, IG_COMBINE, IG_GATHER, IG_ADD, IG_REPACK, IG_ZERO, IG_ALL_REDUCE, IG_ALL_GATHER, IG_OPS,
};

// ig_products_LEVEL and ig_others_LEVEL return the kernel of an operation and weight (or cache) type at a level,
// or NULL where that level has none of its own; the caller then takes the next lower level. The generic level has all.
ig_kernel *ig_products_generic(int op, int type);
ig_kernel *ig_others_generic(int op, int type);
#if defined(__x86_64__)
ig_kernel *ig_products_avx2(int op, int type);
ig_kernel *ig_others_avx2(int op, int type);
ig_kernel *ig_products_avx512(int op, int type);
ig_kernel *ig_others_avx512(int op, int type);
ig_kernel *ig_products_amx(int op, int type);
#endif
#if defined(__aarch64__)
ig_kernel *ig_products_neon(int op, int type);
ig_kernel *ig_others_neon(int op, int type);
ig_kernel *ig_products_i8mm(int op, int type);
#endif

// dst[k] = the f32 values of a packed row; k is a multiple of the type's block.
void ig_dequantize(int type, const void *src, float *dst, int64_t k);

// The share [*lo, *hi) of n items, in units of `unit`, that thread ith of nth takes.
static inline void ig_share(int64_t n, int64_t unit, int ith, int nth, int64_t *lo, int64_t *hi) {
	int64_t u = (n + unit - 1) / unit;
	*lo = u * ith / nth * unit;
	*hi = u * (ith + 1) / nth * unit;
	if (*hi > n) *hi = n;
	if (*lo > n) *lo = n;
}

#endif
