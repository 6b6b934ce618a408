// The words of the packed products in NEON with i8mm: those of dotprod, and a panel whose words lie as smmla wants them.
#ifndef INGOT_PRODUCT_LANES_I8MM_H
#define INGOT_PRODUCT_LANES_I8MM_H

#include "product_lanes_neon.h"

#define KEEPS_PAIRS // instead of product_panel.h's plain order

IG_INLINE V low_pairs(V a, V b) { return (V)vtrn1q_u64((uint64x2_t)a, (uint64x2_t)b); }
IG_INLINE V high_pairs(V a, V b) { return (V)vtrn2q_u64((uint64x2_t)a, (uint64x2_t)b); }

// Two words of rows 0 and 1, the same of rows 2 and 3, then the next two words of both.
IG_INLINE void keep(V *q, V a, V b, V c, V d) {
	q[0] = (V)vzip1q_u32((uint32x4_t)a, (uint32x4_t)b);
	q[1] = (V)vzip2q_u32((uint32x4_t)a, (uint32x4_t)b);
	q[2] = (V)vzip1q_u32((uint32x4_t)c, (uint32x4_t)d);
	q[3] = (V)vzip2q_u32((uint32x4_t)c, (uint32x4_t)d);
}

// sum[i][j] + the products of the eight bytes of row i of x with those of row j of q.
IG_INLINE V smmla(V sum, V x, V q) {
	__asm__("smmla %0.4s, %1.16b, %2.16b" : "+w"(sum) : "w"(x), "w"(q));
	return sum;
}

// Two activation rows at a time; a single one is its own partner. Sums of two rows make two blocks of 2 x 2, one for
// weight rows 0 and 1, one for 2 and 3, by the exchange of halves that also leads back.
IG_INLINE void kept_dots(V *sum, const V *q, int gap, const int n, int bits, const uint8_t *const *x, int64_t at, const int rows,
                         const int panels) {
	const int pair = rows > 1;
	V block[PANELS][BLOCK];
	(void)bits;
	for (int g = 0; g < panels; g++)
		for (int r = 0; r < rows; r += 2) {
			block[g][r] = low_pairs(sum[g * rows + r], sum[g * rows + r + pair]);
			block[g][r + 1] = high_pairs(sum[g * rows + r], sum[g * rows + r + pair]);
		}
	IG_UNROLL
	for (int t = 0; t < n; t += 4)
		IG_UNROLL
		for (int r = 0; r < rows; r += 2) {
			V a = load(x[r] + at + 4 * t), b = load(x[r + pair] + at + 4 * t), low = low_pairs(a, b), high = high_pairs(a, b);
			IG_UNROLL
			for (int g = 0; g < panels; g++) {
				const V *w = q + g * gap + t;
				block[g][r] = smmla(smmla(block[g][r], low, w[0]), high, w[2]);
				block[g][r + 1] = smmla(smmla(block[g][r + 1], low, w[1]), high, w[3]);
			}
		}
	for (int g = 0; g < panels; g++)
		for (int r = 0; r < rows; r += 2) {
			sum[g * rows + r] = low_pairs(block[g][r], block[g][r + 1]);
			if (pair)
				sum[g * rows + r + 1] = high_pairs(block[g][r], block[g][r + 1]);
		}
}

#endif
