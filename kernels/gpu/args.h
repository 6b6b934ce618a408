// The batch as kernels see it. Every size of a batch is read from device memory, so that a launch recorded once serves any
// batch up to the one it was made for.
#ifndef INGOT_ARGS_H
#define INGOT_ARGS_H

// One sequence's run of rows, as in kernels/cpu.
struct seq {
	int row0, rows, slot, pos0, plane_in, plane_out;
};

struct batch {
	int rows, outs, seqs, best; // best: how many of the largest logits of each wanted row are taken
	const int *token, *pos; // [rows]
	const int *out;         // [outs], ascending
	const struct seq *seqs_at;     // [seqs], ascending row0, covering all rows
};

enum { ALL_ROWS = 0, OUT_ROWS = 1 }; // what `rows` of a kernel counts

#endif
