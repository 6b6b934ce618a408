// Compiling part of a file for an instruction-set level, whatever the flags of the package: everything between
// IG_AVX2_BEGIN (or IG_AVX512_BEGIN) and IG_TARGET_END may use that level's intrinsics. Include this file before.
//
// The levels, which the level's detection must ask the processor for:
//   AVX2:   avx2 fma f16c
//   AVX512: avx2 fma f16c avx512f avx512bw avx512vl avx512dq avx512vnni
//   NEON:   dotprod
//   I8MM:   dotprod i8mm
#ifndef INGOT_TARGET_H
#define INGOT_TARGET_H

#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#define IG_AVX2_BEGIN _Pragma("clang attribute push(__attribute__((target(\"avx2,fma,f16c\"))), apply_to = function)")
#define IG_AVX512_BEGIN                                                                                    \
	_Pragma("clang attribute push(__attribute__((target(\"avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni\"))), apply_to = function)")
#define IG_TARGET_END _Pragma("clang attribute pop")
#else
#define IG_AVX2_BEGIN _Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma,f16c\")")
#define IG_AVX512_BEGIN \
	_Pragma("GCC push_options") _Pragma("GCC target(\"avx2,fma,f16c,avx512f,avx512bw,avx512vl,avx512dq,avx512vnni\")")
#define IG_TARGET_END _Pragma("GCC pop_options")
#endif
#endif

#if defined(__aarch64__)
#include <arm_neon.h>

#if defined(__clang__)
#define IG_NEON_BEGIN _Pragma("clang attribute push(__attribute__((target(\"dotprod\"))), apply_to = function)")
#define IG_I8MM_BEGIN _Pragma("clang attribute push(__attribute__((target(\"dotprod,i8mm\"))), apply_to = function)")
#define IG_TARGET_END _Pragma("clang attribute pop")
#else
// Scheduled before registers are given out, loads go so far ahead of their use that sums are spilled.
#define IG_NEON_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"no-schedule-insns\")") _Pragma("GCC target(\"arch=armv8.2-a+dotprod\")")
#define IG_I8MM_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"no-schedule-insns\")") _Pragma("GCC target(\"arch=armv8.2-a+dotprod+i8mm\")")
#define IG_TARGET_END _Pragma("GCC pop_options")
#endif
#endif

// Before a loop of a few turns that must become straight code.
#if defined(__clang__)
#define IG_UNROLL _Pragma("clang loop unroll(full)")
#else
#define IG_UNROLL _Pragma("GCC unroll 16")
#endif

#define IG_INLINE static inline __attribute__((always_inline))

#endif
