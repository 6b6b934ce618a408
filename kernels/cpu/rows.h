// Finding one's way in a batch and sharing its work; for the kernels that are not products.
#ifndef INGOT_ROWS_H
#define INGOT_ROWS_H

#include "kernels.h"

static inline int64_t ig_count(const ig_batch *b, int32_t rows) { return rows == IG_OUTS ? b->outs : b->rows; }

// The sequence that row r belongs to, searched from s on; rows are visited in ascending order.
static inline const ig_seq *ig_seq_of(const ig_seq *s, int64_t r) {
	while (r >= s->row0 + s->rows)
		s++;
	return s;
}

#endif
