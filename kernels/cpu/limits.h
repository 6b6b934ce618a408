// What this machine does at most: kernels that only read memory, or only multiply in registers. They are run by a team
// like any other, so the figures hold for the same threads as a model's.
#ifndef INGOT_LIMITS_H
#define INGOT_LIMITS_H

#include "team.h"

// The instructions whose rate is measured, lowest level first.
enum ig_rate {
	IG_RATE_AVX2_INT8, IG_RATE_AVX2_F32,                      // vpmaddubsw with vpmaddwd and vpaddd; vfmadd
	IG_RATE_AVX512_INT8, IG_RATE_AVX512_BF16, IG_RATE_AVX512_F32, // vpdpbusd; vdpbf16ps; vfmadd
	IG_RATE_AMX_INT8, IG_RATE_AMX_BF16,                       // tdpbssd; tdpbf16ps
	IG_RATES,
};

// Reads bytes of mem once, all threads together, in one of IG_READ_PATTERNS ways: pieces of `chunk` bytes in turn (a
// multiple of IG_READ_UNIT), each as `streams` (1 to 8) runs side by side, prefetched `ahead` bytes
// before, after their pages where `pages` is set (prefetch.h).
enum { IG_READ_UNIT = 2048 };
typedef struct ig_read { const uint8_t *mem; int64_t bytes, chunk; int32_t streams, ahead, pages; } ig_read;

// Each thread issues `turns` times IG_CHAINS independent multiply-adds.
enum { IG_CHAINS = 12 };
typedef struct ig_rate_args { int64_t turns; } ig_rate_args;

// The kernel that reads with the widest loads this machine has; args: ig_read.
ig_kernel *ig_read_kernel(void);

// The kernel of an instruction, NULL where this machine or its system does not run it; args: ig_rate_args. *macs is
// set to the multiply-adds of one instruction.
ig_kernel *ig_rate_kernel(int rate, int *macs);

// Runs one kernel on a team without a batch; nanoseconds.
int64_t ig_run_once(ig_team *t, ig_kernel *fn, const void *args);

// Writes to every page of mem, each thread to the part that it reads.
void ig_read_fill(const void *args, const ig_batch *b, int ith, int nth);

#endif
