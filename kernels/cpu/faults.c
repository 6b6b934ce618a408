// A handler of SIGBUS before the Go runtime's: it knows the memory that is watched and leaves the rest to the runtime.
#include "faults.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ig_watch {
	_Atomic uintptr_t from, to; // from == to: ended, and free for another
	char *line;
	struct ig_watch *next;
};

static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
static ig_watch *_Atomic watches; // only ever grows, so that the handler may walk it at any time
static struct sigaction before;
static int installed;
static atomic_flag told = ATOMIC_FLAG_INIT;

static void handle(int signal, siginfo_t *info, void *context) {
	uintptr_t at = (uintptr_t)info->si_addr;
	for (ig_watch *w = atomic_load(&watches); w; w = w->next) {
		if (at < atomic_load(&w->from) || at >= atomic_load(&w->to))
			continue;
		if (atomic_flag_test_and_set(&told))
			for (;;)
				pause(); // another thread is ending the process
		if (write(STDERR_FILENO, w->line, strlen(w->line)) < 0)
			_exit(2);
		_exit(1);
	}
	if (before.sa_flags & SA_SIGINFO)
		before.sa_sigaction(signal, info, context);
	else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN)
		before.sa_handler(signal);
	else
		sigaction(signal, &before, NULL); // the read fails again and is then dealt with as before
}

static int install(void) {
	if (installed)
		return 0;
	struct sigaction ours = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
	sigfillset(&ours.sa_mask);
	if (sigaction(SIGBUS, NULL, &before) || sigaction(SIGBUS, &ours, NULL))
		return -1;
	installed = 1;
	return 0;
}

ig_watch *ig_watch_reads(const void *from, size_t bytes, const char *line) {
	char *copy = strdup(line);
	if (!copy)
		return NULL;
	pthread_mutex_lock(&changing);
	ig_watch *w = atomic_load(&watches);
	while (w && w->from != w->to)
		w = w->next;
	int failed = install();
	if (!failed && !w && (w = calloc(1, sizeof *w))) {
		w->next = atomic_load(&watches);
		atomic_store(&watches, w);
	}
	if (failed || !w) {
		pthread_mutex_unlock(&changing);
		free(copy);
		return NULL;
	}
	w->line = copy;
	atomic_store(&w->from, (uintptr_t)from);
	atomic_store(&w->to, (uintptr_t)from + bytes);
	pthread_mutex_unlock(&changing);
	return w;
}

void ig_watch_end(ig_watch *w) {
	if (!w)
		return;
	pthread_mutex_lock(&changing);
	atomic_store(&w->to, 0);
	atomic_store(&w->from, 0);
	free(w->line);
	w->line = NULL;
	pthread_mutex_unlock(&changing);
}
