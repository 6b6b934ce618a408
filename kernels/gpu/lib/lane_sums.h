// A packed row times one or a few vectors: memory is the limit, so each weight is read once, 16 bytes a lane, while the chunk before
// it is worked on. Several lanes share a row; with n of them each takes every n-th chunk.
#ifndef INGOT_LANE_SUMS_H
#define INGOT_LANE_SUMS_H

#include "lib/blocks_k.h"
#include "lib/planes.h"

// The products of row w with N vectors, summed over this lane's chunks.
template <class T, int N> DEVICE void lane_sums(const typename T::row &w, const u8 *const *x, int chunks, int first, int step, float *sum) {
	for (int v = 0; v < N; v++)
		sum[v] = 0;
	if (first >= chunks)
		return;
	typename T::raw next = T::load(w, first);
	for (int c = first; c < chunks; c += step) {
		typename T::raw now = next;
		if (c + step < chunks)
			next = T::load(w, c + step);
		int q[8];
		float scale[2], min[2];
		T::quants(now, q);
		T::scales(now, scale, min);
		UNROLL for (int v = 0; v < N; v++)
			sum[v] += chunk_dot<T>(q, scale, min, act_load(x[v], chunks, c));
	}
}

// Every lane gets the sum over the lanes that share its row.
template <int N> DEVICE void share_sums(float *sum, int lanes) {
	for (int mask = lanes / 2; mask > 0; mask /= 2)
		UNROLL for (int v = 0; v < N; v++)
			sum[v] += shuffle_xor(sum[v], mask);
}

#endif
