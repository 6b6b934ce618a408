// Finding one's way in a batch.
#ifndef INGOT_ROWS_H
#define INGOT_ROWS_H

DEVICE int rows_of(const batch *b, int rows) { return rows == OUT_ROWS ? b->outs : b->rows; }

#endif
