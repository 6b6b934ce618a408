// The sequences of a batch cut into pieces of rows, without a table.
//
// Sequence s has the pieces from row0 / most + s on: numbers are spread so that its pieces always fit before the next
// sequence's, and there are at most rows / most + seqs of them. Pieces of one row are the batch's rows.
#ifndef INGOT_PIECES_H
#define INGOT_PIECES_H

DEVICE int first_piece(const batch *b, int s, int most) {
	int row0 = b->seqs_at[s].row0;
	return most == 1 ? row0 : row0 / most + s;
}

// The sequence that piece i is of, or the last one.
DEVICE int seq_of(const batch *b, int i, int most) {
	int lo = 0, hi = b->seqs - 1;
	while (lo < hi) {
		int mid = (lo + hi + 1) / 2;
		if (first_piece(b, mid, most) <= i)
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

#endif
