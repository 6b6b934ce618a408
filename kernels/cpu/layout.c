// The layout of every argument struct, for the test that compares it with its Go mirror.
#include "team.h"

#include <stddef.h>

#define F(FIELD) offsetof(T, FIELD)

// Size, then the offsets of the fields in order; zeros after the last.
const uint16_t ig_layouts[IG_OPS][IG_FIELDS] = {
#define T ig_embed
	[IG_EMBED] = {sizeof(T), F(w), F(dst), F(stride), F(type), F(cols), F(vocab), F(repacked), F(scale)},
#undef T
#define T ig_quantize
	[IG_QUANTIZE] = {sizeof(T), F(x), F(q8), F(stride), F(cols), F(rows), F(times), F(residual)},
#undef T
#define T ig_matmul
	[IG_MATMUL] = {sizeof(T), F(w), F(x), F(dst), F(bias), F(add), F(xstride), F(dstride), F(addstride), F(type), F(m), F(k),
	               F(rows), F(residual), F(repacked)},
#undef T
#define T ig_experts
	[IG_EXPERTS] = {sizeof(T), F(w), F(x), F(dst), F(ids), F(bias), F(xstride), F(dstride), F(type), F(m), F(k), F(experts),
	                F(used), F(per_slot), F(residual), F(repacked)},
#undef T
#define T ig_norm
	[IG_NORM] = {sizeof(T), F(x), F(w), F(gate), F(dst), F(stride), F(gap), F(dstride), F(dgap), F(gstride), F(heads), F(cols),
	             F(rows), F(eps)},
#undef T
#define T ig_rope
	[IG_ROPE] = {sizeof(T), F(x), F(freq), F(stride), F(gap), F(heads), F(rot), F(neox), F(mag)},
#undef T
#define T ig_kv_store
	[IG_KV_STORE] = {sizeof(T), F(k), F(v), F(kc), F(vc), F(kstride), F(vstride), F(type), F(vtype), F(heads), F(dim), F(cells)},
#undef T
#define T ig_attention
	[IG_ATTENTION] = {sizeof(T), F(q), F(kc), F(vc), F(gate), F(sinks), F(dst), F(scratch), F(done), F(qstride), F(qgap), F(gstride),
	                  F(ggap), F(dstride), F(type), F(vtype), F(heads), F(kv_heads), F(dim), F(cells), F(window), F(scale), F(cap)},
#undef T
#define T ig_conv
	[IG_CONV] = {sizeof(T), F(x), F(w), F(state), F(dst), F(stride), F(dstride), F(cols), F(width)},
#undef T
#define T ig_delta
	[IG_DELTA] = {sizeof(T), F(qkv), F(alpha), F(beta), F(dt), F(a), F(state), F(dst), F(stride), F(astride), F(bstride),
	              F(dstride), F(kheads), F(vheads), F(dim), F(eps)},
#undef T
#define T ig_glu
	[IG_GLU] = {sizeof(T), F(gate), F(up), F(dst), F(gstride), F(ustride), F(dstride), F(cols), F(act), F(rows), F(times)},
#undef T
#define T ig_route
	[IG_ROUTE] = {sizeof(T), F(logits), F(bias), F(factors), F(ids), F(weights), F(stride), F(experts), F(used), F(normalize), F(sigmoid),
	              F(scale)},
#undef T
#define T ig_combine
	[IG_COMBINE] = {sizeof(T), F(y), F(weights), F(shared), F(sgate), F(add), F(dst), F(ystride), F(sstride), F(addstride),
	                F(dstride), F(cols), F(used)},
#undef T
#define T ig_gather
	[IG_GATHER] = {sizeof(T), F(x), F(dst), F(stride), F(dstride), F(cols)},
#undef T
#define T ig_add
	[IG_ADD] = {sizeof(T), F(x), F(y), F(factor), F(dst), F(xstride), F(ystride), F(dstride), F(cols), F(rows), F(scale), F(cap)},
#undef T
#define T ig_repack
	[IG_REPACK] = {sizeof(T), F(src), F(dst), F(m), F(type), F(k)},
#undef T
#define T ig_zero
	[IG_ZERO] = {sizeof(T), F(dst), F(dstride), F(cols), F(rows)},
#undef T
#define T ig_all_reduce
	[IG_ALL_REDUCE] = {sizeof(T), F(exchange), F(x), F(add), F(dst), F(xstride), F(addstride), F(dstride), F(lane), F(cols), F(rows)},
#undef T
#define T ig_all_gather
	[IG_ALL_GATHER] = {sizeof(T), F(exchange), F(x), F(dst), F(from), F(xstride), F(dstride), F(lane), F(rows), F(times)},
#undef T
};
