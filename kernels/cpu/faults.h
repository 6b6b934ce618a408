// Reads that the system cannot serve: what is told of them before the process ends.
#ifndef INGOT_FAULTS_H
#define INGOT_FAULTS_H

#include <stddef.h>

typedef struct ig_watch ig_watch;

// ig_watch_reads makes a failed read of memory from..from+bytes end the process with status 1 and that line on standard
// error. Returns NULL when memory runs out, or where the system takes no handler.
ig_watch *ig_watch_reads(const void *from, size_t bytes, const char *line);

// ig_watch_end ends a watch; NULL is none.
void ig_watch_end(ig_watch *w);

#endif
