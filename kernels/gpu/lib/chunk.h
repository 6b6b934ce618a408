// What the packed weight types have in common, and a chunk's product.
//
// A chunk is 32 neighbouring values of a row. A type T tells how to read one:
//
//   T::HALVES   1: one scale for the 32 values; 2: one for each 16
//   T::OFFSET   what is taken from each q
//   T::MINS     1: there are minima beside the scales
//   T::row      where the parts of one row lie;       T::at(w, m, k, j) of row j of a matrix of m rows of k
//   T::raw      what was loaded of a chunk;           T::load(row, c) of chunk c
//   T::quants(raw, q)      the q's, four to a word, in order
//   T::scales(raw, s, m)   the scales and minima of the halves
//
// and value i means s[i/16] * (q[i] - OFFSET) - m[i/16]. Loading and unpacking are apart so that the next chunk can be on
// its way while one is worked on.
#ifndef INGOT_CHUNK_H
#define INGOT_CHUNK_H

#include "lib/activations.h"

DEVICE int dot16(const int *q, u32x4 x, int sum) {
	sum = dot4(q[0], (int)x.x, sum);
	sum = dot4(q[1], (int)x.y, sum);
	sum = dot4(q[2], (int)x.z, sum);
	return dot4(q[3], (int)x.w, sum);
}

// The product of a chunk whose integer sums over its halves are i0 and i1, with activations of sums s and scale 1.
template <class T> DEVICE float chunk_scaled(int i0, int i1, const float *scale, const float *min, int s) {
	int s0 = act_s0(s), s1 = act_s1(s);
	if (T::HALVES == 1) {
		int sum = i0 + i1 - T::OFFSET * (s0 + s1);
		float t = scale[0] * (float)sum;
		return T::MINS ? t - min[0] * (float)(s0 + s1) : t;
	}
	float t = scale[0] * (float)(i0 - T::OFFSET * s0) + scale[1] * (float)(i1 - T::OFFSET * s1);
	return T::MINS ? t - (min[0] * (float)s0 + min[1] * (float)s1) : t;
}

template <class T> DEVICE float chunk_dot(const int *q, const float *scale, const float *min, const act &x) {
	int i0 = dot16(q, x.q0, 0);
	if (T::HALVES == 1)
		return x.d * chunk_scaled<T>(dot16(q + 4, x.q1, i0), 0, scale, min, x.s);
	return x.d * chunk_scaled<T>(i0, dot16(q + 4, x.q1, 0), scale, min, x.s);
}

// Takes OFFSET from four bytes that are below 128.
template <class T> DEVICE int less_offset(int q) {
	const u32 top = 0x80808080u;
	return T::OFFSET ? (int)((((u32)q | top) - T::OFFSET * 0x01010101u) ^ top) : q;
}

// The four words of 16 nibbles' low halves, then those of their high halves.
DEVICE void nibbles(u32x4 v, int *q) {
	const u32 low = 0x0f0f0f0f;
	q[0] = v.x & low, q[1] = v.y & low, q[2] = v.z & low, q[3] = v.w & low;
	q[4] = v.x >> 4 & low, q[5] = v.y >> 4 & low, q[6] = v.z >> 4 & low, q[7] = v.w >> 4 & low;
}

// Each of 32 numbers below 16, looked up.
DEVICE void look_up(int *q, u32 t0, u32 t1, u32 t2, u32 t3) {
	UNROLL for (int i = 0; i < 8; i++)
		q[i] = (int)lookup4((u32)q[i], t0, t1, t2, t3);
}

// -127 -104 -83 -65, -49 -35 -22 -10, 1 13 25 38, 53 69 89 113.
DEVICE void iq4_values(int *q) { look_up(q, 0xbfad9881, 0xf6eaddcf, 0x26190d01, 0x71594535); }
// 0 1 2 3, 4 6 8 12, and their negatives: twice what MXFP4's codes mean.
DEVICE void mxfp4_values(int *q) { look_up(q, 0x03020100, 0x0c080604, 0xfdfeff00, 0xf4f8fafc); }

// 2^(e-128): half of what MXFP4's scale means. The two smallest are subnormal.
DEVICE float e8m0_half(u32 e) { return bits_float(e < 2 ? 0x00200000u << e : (e - 1) << 23); }

#endif
