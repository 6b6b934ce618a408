// What the lanes of a stage share to pass values: for each lane two buffers, which alternate from one step to the next, and a
// count a thread of the steps it has reached.
//
// A thread of a lane writes its share of the lane's value to the lane's buffer, raises its count, waits for the threads that
// write what it needs of the other lanes, and reads. The buffer is written again two steps later: whoever read it has
// reached the step between, for which the writer has waited, and between two steps of a lane is its team's barrier.
#ifndef INGOT_EXCHANGE_H
#define INGOT_EXCHANGE_H

#include <stdatomic.h>

#include "kernels.h"

enum { IG_EXCHANGE_LINE = 128 };

typedef struct ig_reached {
	_Alignas(IG_EXCHANGE_LINE) atomic_uint steps; // written by one thread
} ig_reached;

struct ig_exchange {
	_Alignas(IG_EXCHANGE_LINE) atomic_int given_up; // a lane has failed: nobody waits any more, and what is read means nothing
	int32_t lanes, threads; // threads: the most of any lane
	int64_t floats;         // of a buffer
	ig_reached *reached;    // [lanes][threads]
	int32_t *nth;           // [lanes] threads of each lane
	float *buffers;         // [lanes][2][floats]
};

// ig_exchange_new returns an exchange of lanes with nth[l] threads each, for values of up to that many floats; NULL when
// memory runs out.
ig_exchange *ig_exchange_new(int lanes, const int32_t *nth, int64_t floats);
void ig_exchange_free(ig_exchange *e);

// ig_exchange_give_up ends all waiting; ig_exchange_reset makes the exchange usable again once no lane is running.
void ig_exchange_give_up(ig_exchange *e);
void ig_exchange_reset(ig_exchange *e);

#endif
