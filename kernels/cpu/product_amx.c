// Products at the AMX level: prompts by bf16 tiles, fewer rows and weights that are not packed at the AVX-512 level.
#include <math.h>

#include "product.h"
#include "target.h"
#include "team.h"

int ig_amx_emulated;

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

// Leaf 7: AMX-BF16, AMX-TILE and AMX-INT8 are bits 22, 24 and 25 of EDX; the system saves tile registers where bits 17
// and 18 of XCR0 are set, and Linux wants to be asked for them once in a process.
int ig_amx_usable(void) {
#if defined(__linux__)
	enum { OSXSAVE = 1 << 27, TILES = 3 << 17, REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
	const unsigned all = 1u << 22 | 1u << 24 | 1u << 25;
	unsigned a, b, c, d, low, high;
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & OSXSAVE) || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || (d & all) != all)
		return 0;
	__asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return (low & TILES) == TILES && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
#else
	return 0;
#endif
}

// clang's assembler knows tiles where the target has them; gcc leaves that to the assembler.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512bf16,amx-tile,amx-bf16"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni,avx512bf16")
#endif
#include "product_lanes_avx512.h"
#include "product_tiles.h"

// From so many rows on tiles are used; of experts, rows of the batch.
enum { LEAST_ROWS = 32 };

#define UNPACKED(NAME)                                                                                                       \
	static __attribute__((noinline)) void unpack_group_##NAME(const ig_weights *w, int64_t j, int64_t at, int chunks,         \
	                                                          int64_t next_j, int64_t next_at, weave *to) {                   \
		unpack_group(form_##NAME, scales_##NAME, unpack_##NAME, w, j, at, chunks, next_j, next_at, to);                         \
	}
UNPACKED(q4_0)
UNPACKED(q4_1)
UNPACKED(q5_0)
UNPACKED(q5_1)
UNPACKED(q8_0)
UNPACKED(q2_k)
UNPACKED(q3_k)
UNPACKED(q4_k)
UNPACKED(q5_k)
UNPACKED(q6_k)
UNPACKED(iq4_nl)
UNPACKED(iq4_xs)
UNPACKED(mxfp4)

static unpack_group_fn *unpack_of(int type) {
	switch (type) {
	case IG_Q4_0: return unpack_group_q4_0;
	case IG_Q4_1: return unpack_group_q4_1;
	case IG_Q5_0: return unpack_group_q5_0;
	case IG_Q5_1: return unpack_group_q5_1;
	case IG_Q8_0: return unpack_group_q8_0;
	case IG_Q2_K: return unpack_group_q2_k;
	case IG_Q3_K: return unpack_group_q3_k;
	case IG_Q4_K: return unpack_group_q4_k;
	case IG_Q5_K: return unpack_group_q5_k;
	case IG_Q6_K: return unpack_group_q6_k;
	case IG_IQ4_NL: return unpack_group_iq4_nl;
	case IG_IQ4_XS: return unpack_group_iq4_xs;
	case IG_MXFP4: return unpack_group_mxfp4;
	default: return 0;
	}
}

static void chunk_by_tiles(const ig_weights *w, int64_t lo, int64_t hi, const void *const *x, int n, int residual, const ig_sink *s) {
	chunk(unpack_of(w->type), w, lo, hi, x, n, residual, s);
}

static void matmul(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_matmul *a = args;
	if (ig_batch_rows(b, a->rows) >= LEAST_ROWS)
		ig_chunk_matmul(a, b, ith, nth, chunk_by_tiles);
	else
		ig_products_avx512(IG_MATMUL, a->type)(args, b, ith, nth);
}

static void experts(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_experts *a = args;
	if (b->rows >= LEAST_ROWS)
		ig_chunk_experts(a, b, ith, nth, chunk_by_tiles);
	else
		ig_products_avx512(IG_EXPERTS, a->type)(args, b, ith, nth);
}
IG_TARGET_END

ig_kernel *ig_products_amx(int op, int type) {
	if (!unpack_of(type))
		return 0;
	return op == IG_MATMUL ? matmul : op == IG_EXPERTS ? experts : 0;
}
#endif
