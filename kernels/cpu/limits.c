// Kernels that find out what memory and multipliers give at most. limits.h says what each does.
//
// Instructions are written in assembler so that no compiler drops, fuses or reorders work whose result nobody needs.
#include "limits.h"
#include "prefetch.h"
#include "target.h"

#include <stddef.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { ORDINARY = 0x3f /* every byte of the factors: 63, or 0.75 as a float of any width */ };

void ig_read_fill(const void *args, const ig_batch *b, int ith, int nth) {
	(void)b;
	const ig_read *a = args;
	for (int64_t at = a->chunk * ith; at < a->bytes; at += a->chunk * nth)
		for (int64_t i = at; i < at + a->chunk && i < a->bytes; i += IG_PAGE)
			*(volatile uint8_t *)(a->mem + i) = 1;
}

// A line of 64 bytes is loaded as vectors of type V, which the empty assembler makes the compiler keep.
#define READER(NAME, V, REGISTER)                                                               \
	static void NAME(const void *args, const ig_batch *b, int ith, int nth) {                    \
		(void)b;                                                                                   \
		const ig_read *a = args;                                                                   \
		int64_t run = a->chunk / a->streams, step = IG_READ_UNIT / 8;                              \
		for (int64_t at = a->chunk * ith; at + a->chunk <= a->bytes; at += a->chunk * nth)         \
			for (int64_t i = 0; i < run; i += step)                                                  \
				for (int s = 0; s < a->streams; s++) {                                                 \
					const uint8_t *p = a->mem + at + s * run + i;                                        \
					if (a->pages)                                                                        \
						ig_open_page(p);                                                                   \
					for (int64_t line = 0; line < step; line += 64) {                                    \
						if (a->ahead)                                                                      \
							__builtin_prefetch(p + line + a->ahead);                                         \
						for (int64_t k = 0; k < 64; k += (int64_t)sizeof(V)) {                             \
							V v = *(const V *)(p + line + k);                                                \
							__asm__ volatile("" : : REGISTER(v));                                            \
						}                                                                                  \
					}                                                                                    \
				}                                                                                      \
	}

// One turn is IG_CHAINS times INSTRUCTION on sums that do not depend on each other. The sums are of type V.
#define RATE(NAME, V, REGISTER, INSTRUCTION)                                                    \
	static void NAME(const void *args, const ig_batch *b, int ith, int nth) {                    \
		(void)b, (void)ith, (void)nth;                                                             \
		V sum[IG_CHAINS], t, x, y;                                                                 \
		__builtin_memset(&x, ORDINARY, sizeof x);                                                  \
		__builtin_memset(&y, ORDINARY, sizeof y);                                                  \
		IG_UNROLL                                                                                  \
		for (int i = 0; i < IG_CHAINS; i++)                                                        \
			sum[i] = x;                                                                              \
		for (int64_t n = ((const ig_rate_args *)args)->turns; n > 0; n--) {                        \
			IG_UNROLL                                                                                \
			for (int i = 0; i < IG_CHAINS; i++)                                                      \
				__asm__ volatile(INSTRUCTION : "+" REGISTER(sum[i]), "=&" REGISTER(t) : REGISTER(x), REGISTER(y)); \
		}                                                                                          \
	}

typedef uint64_t pair __attribute__((vector_size(16)));
#if defined(__x86_64__)
READER(read_generic, pair, "x")
#elif defined(__aarch64__)
READER(read_generic, pair, "w")
#else
READER(read_generic, uint64_t, "r")
#endif

#if defined(__x86_64__)
IG_AVX2_BEGIN
READER(read_avx2, __m256i, "x")
RATE(int8_avx2, __m256i, "x", "vpmaddubsw %3, %2, %1\n\tvpmaddwd %3, %1, %1\n\tvpaddd %1, %0, %0")
RATE(f32_avx2, __m256i, "x", "vfmadd231ps %3, %2, %0")
IG_TARGET_END

IG_AVX512_BEGIN
READER(read_avx512, __m512i, "v")
RATE(int8_avx512, __m512i, "v", "vpdpbusd %3, %2, %0")
RATE(f32_avx512, __m512i, "v", "vfmadd231ps %3, %2, %0")
IG_TARGET_END

// gcc checks the operands only, clang also whether the target has the instruction.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bf16"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bf16")
#endif
RATE(bf16_avx512, __m512i, "v", "vdpbf16ps %3, %2, %0")
IG_TARGET_END

// Eight tiles: six sums and two factors, 16 rows of 64 bytes each.
typedef struct tiles { uint8_t palette, start_row, reserved[14]; uint16_t colsb[16]; uint8_t rows[16]; } tiles;
_Static_assert(sizeof(tiles) == 64, "what ldtilecfg reads");

// The configuration is an operand of all its 64 bytes, so that no store to it is dropped.
#define TILE_RATE(NAME, INSTRUCTION)                                                            \
	__attribute__((target("amx-tile,amx-int8,amx-bf16")))                                        \
	static void NAME(const void *args, const ig_batch *b, int ith, int nth) {                    \
		(void)b, (void)ith, (void)nth;                                                             \
		tiles c = {.palette = 1};                                                                  \
		for (int i = 0; i < 8; i++)                                                                \
			c.colsb[i] = 64, c.rows[i] = 16;                                                         \
		uint8_t factor[1024];                                                                      \
		__builtin_memset(factor, ORDINARY, sizeof factor);                                         \
		__asm__ volatile("ldtilecfg %0\n\t"                                                        \
		                 "tilezero %%tmm0\n\ttilezero %%tmm1\n\ttilezero %%tmm2\n\t"              \
		                 "tilezero %%tmm3\n\ttilezero %%tmm4\n\ttilezero %%tmm5\n\t"              \
		                 "tileloadd (%2,%3,1), %%tmm6\n\ttileloadd (%2,%3,1), %%tmm7"              \
		                 : : "m"(c), "m"(factor), "r"(factor), "r"((int64_t)64));                 \
		for (int64_t n = ((const ig_rate_args *)args)->turns; n > 0; n--)                          \
			__asm__ volatile(INSTRUCTION " %tmm7, %tmm6, %tmm0\n\t" INSTRUCTION " %tmm7, %tmm6, %tmm1\n\t" \
			                 INSTRUCTION " %tmm7, %tmm6, %tmm2\n\t" INSTRUCTION " %tmm7, %tmm6, %tmm3\n\t" \
			                 INSTRUCTION " %tmm7, %tmm6, %tmm4\n\t" INSTRUCTION " %tmm7, %tmm6, %tmm5\n\t" \
			                 INSTRUCTION " %tmm7, %tmm6, %tmm0\n\t" INSTRUCTION " %tmm7, %tmm6, %tmm1\n\t" \
			                 INSTRUCTION " %tmm7, %tmm6, %tmm2\n\t" INSTRUCTION " %tmm7, %tmm6, %tmm3\n\t" \
			                 INSTRUCTION " %tmm7, %tmm6, %tmm4\n\t" INSTRUCTION " %tmm7, %tmm6, %tmm5"); \
		__asm__ volatile("tilerelease");                                                            \
	}
TILE_RATE(int8_amx, "tdpbssd")
TILE_RATE(bf16_amx, "tdpbf16ps")

static int has_avx512_bf16(void) { // leaf 7.1, EAX bit 5
	unsigned a, b, c, d;
	return ig_supported(IG_AVX512) && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
}
#endif

int64_t ig_run_once(ig_team *t, ig_kernel *fn, const void *args) {
	int64_t ns = 0;
	ig_step step = {fn, args};
	ig_team_run(t, &step, 1, NULL, &ns);
	return ns;
}

ig_kernel *ig_read_kernel(void) {
#if defined(__x86_64__)
	if (ig_supported(IG_AVX512))
		return read_avx512;
	if (ig_supported(IG_AVX2))
		return read_avx2;
#endif
	return read_generic;
}

ig_kernel *ig_rate_kernel(int rate, int *macs) {
	*macs = 0;
#if defined(__x86_64__)
	switch (rate) {
	case IG_RATE_AVX2_INT8:
		*macs = 32;
		return ig_supported(IG_AVX2) ? int8_avx2 : NULL;
	case IG_RATE_AVX2_F32:
		*macs = 8;
		return ig_supported(IG_AVX2) ? f32_avx2 : NULL;
	case IG_RATE_AVX512_INT8:
		*macs = 64;
		return ig_supported(IG_AVX512) ? int8_avx512 : NULL;
	case IG_RATE_AVX512_BF16:
		*macs = 32;
		return has_avx512_bf16() ? bf16_avx512 : NULL;
	case IG_RATE_AVX512_F32:
		*macs = 16;
		return ig_supported(IG_AVX512) ? f32_avx512 : NULL;
	case IG_RATE_AMX_INT8:
		*macs = 16 * 16 * 64;
		return ig_amx_usable() ? int8_amx : NULL;
	case IG_RATE_AMX_BF16:
		*macs = 16 * 16 * 32;
		return ig_amx_usable() ? bf16_amx : NULL;
	}
#else
	(void)rate;
#endif
	return NULL;
}
