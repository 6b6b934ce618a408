// Fetching what a kernel reads later.
#ifndef INGOT_PREFETCH_H
#define INGOT_PREFETCH_H

#include <stdint.h>

enum { IG_PAGE = 4 << 10 };

// Fetches the first line of the page that a stream now at p reads 16 KiB later, so that its address is translated before
// its lines are fetched; on a virtual machine that is a walk through two tables. RESULTS.md says what it gains.
static inline __attribute__((always_inline)) void ig_open_page(const void *p) {
	__builtin_prefetch((const void *)(((uintptr_t)p + (16 << 10)) & ~(uintptr_t)(IG_PAGE - 1)));
}

#endif
