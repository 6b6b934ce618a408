// Threads, the barrier between steps, and how idle workers wait.
//
// Between two steps a thread spins for at most some tens of microseconds, then yields its core: on a machine shared with
// others the thread it waits for may need it. Between two runs a worker spins as long, then sleeps on a condition
// variable, so an idle team costs nothing.
#include "team.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { LINE = 128, SPINS = 1000, STACK = 4 << 20 };

typedef struct worker {
	ig_team *team;
	pthread_t thread;
	int ith, cpu; // cpu -1: not pinned
} worker;

// A word that one thread writes and another waits for, on a cache line of its own.
typedef struct flag {
	_Alignas(LINE) atomic_uint passed;
} flag;

struct ig_team {
	_Alignas(LINE) atomic_uint runs; // runs started, ever
	atomic_int sleepers;
	atomic_int stop;
	// the run in progress; written before runs is raised
	const ig_step *steps;
	const ig_batch *batch;
	int64_t *ns;
	int n;
	unsigned passed; // barriers passed before this run, ever

	int threads, rounds; // rounds: least with 2^rounds >= threads
	flag *flags;         // [threads][rounds]
	worker *workers;     // [threads-1]
	pthread_mutex_t mutex;
	pthread_cond_t wake;
};

static inline void relax(void) {
#if defined(__x86_64__)
	_mm_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

// Waits until own was raised to number or beyond. patience is how often the caller looks before it yields its core. It
// shrinks when that was in vain: where threads share cores the awaited one runs only once this one does not.
static void until(const flag *own, unsigned number, int *patience) {
	for (int spin = 0; spin < *patience; spin++) {
		if ((int)(atomic_load_explicit(&own->passed, memory_order_acquire) - number) >= 0) {
			*patience = *patience < SPINS / 2 ? *patience * 2 : SPINS;
			return;
		}
		relax();
	}
	*patience = *patience / 4 + 1;
	while ((int)(atomic_load_explicit(&own->passed, memory_order_acquire) - number) < 0)
		sched_yield();
}

// Dissemination (Hensgen, Finkel and Manber 1988): in round r each thread tells the one 2^r further on that it has
// arrived, and with it all it has heard of, and waits to be told. Nothing is written by two threads, and two threads
// exchange one line each. number counts barriers from 1; a thread may be told of the next one before it left this one.
static void barrier(ig_team *t, int ith, unsigned number, int *patience) {
	for (int r = 0, distance = 1; r < t->rounds; r++, distance *= 2) {
		int to = ith + distance;
		if (to >= t->threads)
			to -= t->threads;
		atomic_store_explicit(&t->flags[to * t->rounds + r].passed, number, memory_order_release);
		until(&t->flags[ith * t->rounds + r], number, patience);
	}
}

static void run(ig_team *t, int ith) {
	const ig_step *steps = t->steps;
	const ig_batch *b = t->batch;
	int64_t *ns = ith == 0 ? t->ns : NULL;
	int n = t->n, nth = t->threads;
	int patience = SPINS;
	unsigned passed = t->passed;
	int64_t last = ns ? now() : 0;
	for (int i = 0; i < n; i++) {
		steps[i].fn(steps[i].args, b, ith, nth);
		if (nth > 1)
			barrier(t, ith, ++passed, &patience);
		if (ns) {
			int64_t at = now();
			ns[i] += at - last;
			last = at;
		}
	}
}

static unsigned await(ig_team *t, unsigned seen) {
	unsigned runs;
	for (int spin = 0; spin < SPINS; spin++) {
		runs = atomic_load_explicit(&t->runs, memory_order_acquire);
		if (runs != seen)
			return runs;
		relax();
	}
	pthread_mutex_lock(&t->mutex);
	// Sequentially consistent, as is the raise of runs: either the runner sees the sleeper, or the sleeper the run.
	atomic_fetch_add(&t->sleepers, 1);
	while ((runs = atomic_load(&t->runs)) == seen)
		pthread_cond_wait(&t->wake, &t->mutex);
	atomic_fetch_sub(&t->sleepers, 1);
	pthread_mutex_unlock(&t->mutex);
	return runs;
}

static void raise_runs(ig_team *t) {
	atomic_fetch_add(&t->runs, 1);
	if (atomic_load(&t->sleepers) > 0) {
		pthread_mutex_lock(&t->mutex);
		pthread_cond_broadcast(&t->wake);
		pthread_mutex_unlock(&t->mutex);
	}
}

static void *work(void *arg) {
	worker *w = arg;
	ig_team *t = w->team;
	if (w->cpu >= 0)
		ig_pin(w->cpu); // a refused pin costs speed, not correctness
	for (unsigned seen = 0;;) {
		seen = await(t, seen);
		if (atomic_load(&t->stop))
			return NULL;
		run(t, w->ith);
	}
}

// Workers take no signals: those belong to the Go runtime's own threads. Faults stay open so that they are reported.
static int start(worker *w) {
	sigset_t all, old;
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGILL);
	pthread_attr_t attr;
	if (pthread_attr_init(&attr))
		return -1;
	pthread_attr_setstacksize(&attr, STACK);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int err = pthread_create(&w->thread, &attr, work, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return err;
}

ig_team *ig_team_new(int threads, const int32_t *cpus) {
	void *mem;
	if (threads < 1 || posix_memalign(&mem, LINE, sizeof(ig_team)))
		return NULL;
	ig_team *t = mem;
	*t = (ig_team){.threads = threads};
	while (1 << t->rounds < threads)
		t->rounds++;
	atomic_init(&t->runs, 0);
	atomic_init(&t->sleepers, 0);
	atomic_init(&t->stop, 0);
	pthread_mutex_init(&t->mutex, NULL);
	pthread_cond_init(&t->wake, NULL);
	t->workers = calloc((size_t)threads, sizeof(worker));
	size_t flags = (size_t)threads * (size_t)t->rounds;
	if (!t->workers || posix_memalign(&mem, LINE, (flags + 1) * sizeof(flag))) {
		t->threads = 1;
		ig_team_free(t);
		return NULL;
	}
	t->flags = mem;
	for (size_t i = 0; i < flags; i++)
		atomic_init(&t->flags[i].passed, 0);
	for (int i = 1; i < threads; i++) {
		worker *w = &t->workers[i - 1];
		*w = (worker){.team = t, .ith = i, .cpu = cpus ? cpus[i] : -1};
		if (start(w)) {
			t->threads = i; // those that did start and wait for a run
			ig_team_free(t);
			return NULL;
		}
	}
	return t;
}

void ig_team_run(ig_team *t, const ig_step *steps, int n, const ig_batch *b, int64_t *ns) {
	if (n == 0)
		return; // no barrier would hold the workers to this run
	t->steps = steps;
	t->batch = b;
	t->ns = ns;
	t->n = n;
	if (t->threads > 1)
		raise_runs(t);
	run(t, 0);
	t->passed += (unsigned)n;
}

void ig_team_free(ig_team *t) {
	atomic_store(&t->stop, 1);
	raise_runs(t);
	for (int i = 1; i < t->threads; i++)
		pthread_join(t->workers[i - 1].thread, NULL);
	pthread_cond_destroy(&t->wake);
	pthread_mutex_destroy(&t->mutex);
	free(t->workers);
	free(t->flags);
	free(t);
}
