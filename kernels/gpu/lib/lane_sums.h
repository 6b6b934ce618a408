// A packed row times one or a few vectors: memory is the limit, so each weight is read once, 16 bytes a lane, while the chunk before
// it is worked on. Several lanes share a row; with n of them each takes every n-th chunk.
#ifndef INGOT_LANE_SUMS_H
#define INGOT_LANE_SUMS_H

#include "lib/blocks_k.h"
#include "lib/planes.h"

// The products of row w with N vectors, summed over this lane's chunks. Reads come back in the order in which they were asked for:
// of one or two vectors the next activations are asked for before the next weights; of more, there is work to cover the wait.
template <class T, int N> DEVICE void lane_sums(const typename T::row &w, const u8 *const *x, u32 chunks, u32 first, u32 step, float *sum) {
	for (int v = 0; v < N; v++)
		sum[v] = 0;
	if (first >= chunks)
		return;
	const int AHEAD = N <= 2 ? N : 0;
	act ax[AHEAD + 1]; // one more, for an array has at least one
	UNROLL for (int v = 0; v < AHEAD; v++)
		ax[v] = act_load(x[v], chunks, first);
	typename T::raw next = T::load(w, first);
	settle(); // or compilers make one load, in the next round, of this one and the one below
	for (u32 c = first; c < chunks; c += step) {
		typename T::raw now = next;
		act bx[AHEAD + 1];
		u32 n = c + step < chunks ? c + step : chunks - 1; // the last is read again, for nothing
		UNROLL for (int v = 0; v < AHEAD; v++) {
			bx[v] = ax[v];
			ax[v] = act_load(x[v], chunks, n);
		}
		settle();
		next = T::load(w, n);
		settle();
		int q[8];
		float scale[2], min[2];
		T::quants(now, q);
		T::scales(now, scale, min);
		UNROLL for (int v = 0; v < N; v++)
			sum[v] += chunk_dot<T>(q, scale, min, v < AHEAD ? bx[v < AHEAD ? v : 0] : act_load(x[v], chunks, c));
	}
}

// Every lane gets the sum over the lanes that share its row, 2^bits.
template <int N> DEVICE void share_sums(float *sum, int bits) {
	for (int mask = 1 << bits >> 1; mask > 0; mask >>= 1)
		UNROLL for (int v = 0; v < N; v++)
			sum[v] += shuffle_xor(sum[v], mask);
}

#endif
