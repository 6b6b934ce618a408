// Where products put their results.
#ifndef INGOT_RESULTS_H
#define INGOT_RESULTS_H

#include "lib/glu.h"

// y, of row r, which lies at dst, and weight row j. With up, dst holds what the first matrix gave.
DEVICE void put_product(const matmul_args &a, float *dst, i64 r, int j, float y) {
	if (a.up)
		y = gated(dst[j], a.upbias ? y + a.upbias[j] : y, a.act);
	else if (a.bias)
		y += a.bias[j];
	if (a.add)
		y += a.add[r * a.addstride + j];
	dst[j] = y;
}

// y, of expert e and its weight row j, into a slot's row; the same.
DEVICE void put_expert(const experts_args &a, int e, float *dst, int j, float y) {
	if (a.up)
		y = gated(dst[j], a.upbias ? y + a.upbias[(i64)e * a.m + j] : y, a.act);
	else if (a.bias)
		y += a.bias[(i64)e * a.m + j];
	dst[j] = y;
}

#endif
