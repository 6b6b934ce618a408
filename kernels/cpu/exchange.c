// Sums and joins of what the lanes of a stage have, and zeros for a lane that has nothing; one kernel for all levels.
#include "exchange.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "others_generic.h"

enum { CHUNK = 64 /* columns of a share */, SPINS = 1000 };

static inline void relax(void) {
#if defined(__x86_64__)
	_mm_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

ig_exchange *ig_exchange_new(int lanes, const int32_t *nth, int64_t floats) {
	void *mem;
	if (posix_memalign(&mem, IG_EXCHANGE_LINE, sizeof(ig_exchange)))
		return NULL;
	ig_exchange *e = mem;
	*e = (ig_exchange){.lanes = lanes, .floats = (floats + 1023) & ~(int64_t)1023}; // a page is one lane's
	for (int l = 0; l < lanes; l++)
		e->threads = nth[l] > e->threads ? nth[l] : e->threads;
	size_t flags = (size_t)(lanes * e->threads), bytes = (size_t)lanes * 2 * (size_t)e->floats * sizeof(float);
	e->nth = malloc((size_t)lanes * sizeof *nth);
	e->reached = posix_memalign(&mem, IG_EXCHANGE_LINE, flags * sizeof(ig_reached)) ? NULL : mem;
	// Pages come to be where they are first written: beside the lane whose buffer they are.
	e->buffers = mmap(NULL, bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
	if (e->buffers == MAP_FAILED)
		e->buffers = NULL;
	if (!e->nth || !e->reached || !e->buffers) {
		ig_exchange_free(e);
		return NULL;
	}
	memcpy(e->nth, nth, (size_t)lanes * sizeof *nth);
	ig_exchange_reset(e);
	return e;
}

void ig_exchange_free(ig_exchange *e) {
	if (e->buffers)
		munmap(e->buffers, (size_t)e->lanes * 2 * (size_t)e->floats * sizeof(float) + 1);
	free(e->reached);
	free(e->nth);
	free(e);
}

void ig_exchange_give_up(ig_exchange *e) { atomic_store(&e->given_up, 1); }

void ig_exchange_reset(ig_exchange *e) {
	for (int i = 0; i < e->lanes * e->threads; i++)
		atomic_init(&e->reached[i].steps, 0);
	atomic_init(&e->given_up, 0);
}

static void await(ig_exchange *e, const ig_reached *r, unsigned step) {
	for (int spin = 0; (int)(atomic_load_explicit(&r->steps, memory_order_acquire) - step) < 0; spin++) {
		if (spin < SPINS) {
			relax();
			continue;
		}
		if (atomic_load_explicit(&e->given_up, memory_order_relaxed))
			return;
		sched_yield(); // the thread awaited may need this core
	}
}

// Tells the others that this thread has written its share, and waits for the shares it needs: those of the same thread of
// each lane where all lanes have as many threads and so the same shares, otherwise everybody's.
static void meet(ig_exchange *e, int lane, int ith, unsigned step, int all) {
	atomic_store_explicit(&e->reached[lane * e->threads + ith].steps, step, memory_order_release);
	for (int l = 0; l < e->lanes; l++) {
		if (l == lane)
			continue;
		if (!all && e->nth[l] == e->nth[lane]) {
			await(e, &e->reached[l * e->threads + ith], step);
			continue;
		}
		for (int i = 0; i < e->nth[l]; i++)
			await(e, &e->reached[l * e->threads + i], step);
	}
}

static inline unsigned next(const ig_exchange *e, int lane, int ith) {
	return atomic_load_explicit(&e->reached[lane * e->threads + ith].steps, memory_order_relaxed) + 1;
}

static inline float *buffer(const ig_exchange *e, int lane, unsigned step) {
	return e->buffers + (2 * (int64_t)lane + (step & 1)) * e->floats;
}

void ig_zero_rows(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_zero *a = args;
	int64_t lo, hi, rows = ig_count(b, a->rows), chunks = (a->cols + CHUNK - 1) / CHUNK;
	ig_share(rows * chunks, 1, ith, nth, &lo, &hi);
	for (int64_t i = lo; i < hi; i++) {
		int64_t c = i % chunks * CHUNK, n = a->cols - c < CHUNK ? a->cols - c : CHUNK;
		memset(a->dst + i / chunks * a->dstride + c, 0, (size_t)n * sizeof(float));
	}
}

void ig_all_reduce_rows(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_all_reduce *a = args;
	ig_exchange *e = a->exchange;
	unsigned step = next(e, a->lane, ith);
	int64_t lo, hi, rows = ig_count(b, a->rows), chunks = (a->cols + CHUNK - 1) / CHUNK;
	ig_share(rows * chunks, 1, ith, nth, &lo, &hi);
	float *own = buffer(e, a->lane, step);
	for (int64_t i = lo; i < hi; i++) {
		int64_t r = i / chunks, c = i % chunks * CHUNK, n = a->cols - c < CHUNK ? a->cols - c : CHUNK;
		memcpy(own + r * a->cols + c, a->x + r * a->xstride + c, (size_t)n * sizeof(float));
	}
	meet(e, a->lane, ith, step, 0);
	for (int64_t i = lo; i < hi; i++) {
		int64_t r = i / chunks, c = i % chunks * CHUNK, n = a->cols - c < CHUNK ? a->cols - c : CHUNK;
		float sum[CHUNK];
		memcpy(sum, buffer(e, 0, step) + r * a->cols + c, (size_t)n * sizeof(float));
		for (int l = 1; l < e->lanes; l++) {
			const float *x = buffer(e, l, step) + r * a->cols + c;
			for (int64_t j = 0; j < n; j++)
				sum[j] += x[j];
		}
		if (a->add)
			for (int64_t j = 0; j < n; j++)
				sum[j] += a->add[r * a->addstride + c + j];
		memcpy(a->dst + r * a->dstride + c, sum, (size_t)n * sizeof(float));
	}
}

void ig_all_gather_rows(const void *args, const ig_batch *b, int ith, int nth) {
	const ig_all_gather *a = args;
	ig_exchange *e = a->exchange;
	unsigned step = next(e, a->lane, ith);
	int64_t lo, hi, rows = ig_count(b, a->rows) * a->times;
	int64_t mine = a->from[a->lane + 1] - a->from[a->lane], chunks = (mine + CHUNK - 1) / CHUNK;
	float *own = buffer(e, a->lane, step);
	ig_share(rows * chunks, 1, ith, nth, &lo, &hi);
	for (int64_t i = lo; i < hi; i++) {
		int64_t r = i / chunks, c = i % chunks * CHUNK, n = mine - c < CHUNK ? mine - c : CHUNK;
		memcpy(own + r * mine + c, a->x + r * a->xstride + c, (size_t)n * sizeof(float));
	}
	meet(e, a->lane, ith, step, 1); // shares of lanes of other widths are other shares
	for (int l = 0; l < e->lanes; l++) {
		int64_t width = a->from[l + 1] - a->from[l];
		chunks = (width + CHUNK - 1) / CHUNK;
		ig_share(rows * chunks, 1, ith, nth, &lo, &hi);
		for (int64_t i = lo; i < hi; i++) {
			int64_t r = i / chunks, c = i % chunks * CHUNK, n = width - c < CHUNK ? width - c : CHUNK;
			memcpy(a->dst + r * a->dstride + a->from[l] + c, buffer(e, l, step) + r * width + c, (size_t)n * sizeof(float));
		}
	}
}
