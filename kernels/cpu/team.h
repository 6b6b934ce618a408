// A team of threads that runs programs: arrays of kernel calls with a barrier after each.
#ifndef INGOT_TEAM_H
#define INGOT_TEAM_H

#include "kernels.h"

// One step of a program. The program owns args; they live as long as it.
typedef struct ig_step {
	ig_kernel *fn;
	const void *args;
} ig_step;

typedef struct ig_team ig_team;

// ig_team_new starts threads-1 workers; thread 0 is whoever calls ig_team_run. cpus (NULL: no pinning) holds one
// CPU number a thread; cpus[0] is the caller's affair. Returns NULL when memory or threads run out.
ig_team *ig_team_new(int threads, const int32_t *cpus);

// ig_team_run runs every step on every thread and returns when all are done. One run at a time.
// ns (NULL: untimed) has a counter a step to which the step's nanoseconds, barrier included, are added.
void ig_team_run(ig_team *t, const ig_step *steps, int n, const ig_batch *b, int64_t *ns);

// ig_team_free stops and joins the workers. No run may be in progress.
void ig_team_free(ig_team *t);

// ig_pin binds the calling thread to one CPU; 0 or an errno. Where the system has no such call it does nothing.
int ig_pin(int cpu);

// ig_performance_cores returns the number of fast physical cores where the system tells (macOS), otherwise 0.
int ig_performance_cores(void);

// ig_supported tells whether this processor and system run a level.
int ig_supported(int level);

// ig_amx_usable tells whether an x86 processor has AMX tiles and the system grants them, for which it is asked.
int ig_amx_usable(void);

// Set by tests: the AMX level's tiles are in memory, and the level counts as supported where only they are missing.
extern int ig_amx_emulated;

// ig_find returns the kernel of an operation and type at the highest level not above level, and that level in *at;
// NULL if there is none.
ig_kernel *ig_find(int level, int op, int type, int *at);

// The size of each operation's argument struct and the offsets of its fields, for a test of the Go mirror.
enum { IG_FIELDS = 24 };
extern const uint16_t ig_layouts[IG_OPS][IG_FIELDS];

#endif
