// Arguments of the collectives: what the lanes of a stage exchange over memory that all of them see.
//
// Each lane owns an inbox that the others write into and flags that say how far they are. A message goes in units of `unit`
// floats; block g of every lane takes the units g, g + groups, ... and meets the same block of the other lanes by flags of its
// own, so no block waits for another of its lane. Rounds are counted in `epoch`, one a block, which lives through launches: all
// lanes run the same collectives, so they agree on it. The inbox has two halves, used in turn: a lane that is ahead writes
// into the one that nobody reads, for it cannot be two rounds ahead.
//   inbox: [2][groups][lanes][unit] floats; two-shot: then as many again, for the sums that come back
//   flags: [2][groups][lanes], phase by phase, zero before the first run
//   epoch: [groups], zero before the first run
#ifndef INGOT_ARGS_LANES_H
#define INGOT_ARGS_LANES_H

enum { MAX_LANES = 16 };

struct exchange {
	float *inbox[MAX_LANES]; // of each lane, as this lane reaches it
	u32 *flags[MAX_LANES];
	u32 *epoch;              // this lane's
	int lane, lanes, groups, unit;
};

// dst = x of lane 0 + x of lane 1 + ... (+ add, once): the same bits in every lane. dst may be x or add.
struct all_reduce_args {
	const struct batch *batch;
	const float *x, *add; // add: may be null
	float *dst;
	i64 xstride, addstride, dstride;
	int cols, rows, times, reserved; // rows: what is counted, times rows each
	exchange lanes;
};

// dst = the lanes' columns side by side: this lane's x are the columns at[lane] .. at[lane+1].
struct all_gather_args {
	const struct batch *batch;
	const float *x;
	float *dst;
	i64 xstride, dstride;
	int rows, times;
	int at[MAX_LANES + 2]; // the last is padding
	exchange lanes;
};

#endif
