// Sums and maxima over a wave or a block, in an order that only the sizes decide.
#ifndef INGOT_REDUCE_H
#define INGOT_REDUCE_H

// Over N neighbouring lanes, from a multiple of N on; the result is in all of them.
template <int N> DEVICE float lanes_sum(float v) {
	for (int mask = N / 2; mask > 0; mask /= 2)
		v += shuffle_xor(v, mask);
	return v;
}

template <int N> DEVICE float lanes_max(float v) {
	for (int mask = N / 2; mask > 0; mask /= 2)
		v = fmaxf(v, shuffle_xor(v, mask));
	return v;
}

DEVICE float wave_sum(float v) { return lanes_sum<WAVE>(v); }
DEVICE float wave_max(float v) { return lanes_max<WAVE>(v); }

// The sum of all threads' v, in every thread. waves: THREADS / WAVE floats of LDS, free again after the next barrier.
DEVICE float block_sum(float v, float *waves) {
	v = wave_sum(v);
	if (lane_id() == 0)
		waves[wave_id()] = v;
	barrier();
	v = waves[0];
	for (int i = 1; i < THREADS / WAVE; i++)
		v += waves[i];
	return v;
}

#endif
