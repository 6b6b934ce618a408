// The kernel that puts a row's sections together.
#ifndef INGOT_ATTENTION_JOIN_H
#define INGOT_ATTENTION_JOIN_H

#include "lib/activation.h"
#include "lib/attention_parts.h"

// A thread a dim: the sections of a row's head, in order.
KERNEL(attention_join, attention_args) {
	int h = group_x(), r = group_y(), from, to;
	if (r >= a.batch->rows)
		return;
	int pos = a.batch->pos[r], n = section(window_start(a, pos), pos + 1, a.sections, 0, &from, &to);
	const float *part = part_of(a, r, h, 0);
	float max = -INFINITY, total = 0;
	for (int s = 0; s < n; s++)
		max = fmaxf(max, part[s * PART + DIM]);
	for (int d = thread(); d < DIM; d += THREADS) {
		float sum = 0;
		total = 0;
		for (int s = 0; s < n; s++) {
			float factor = expf(part[s * PART + DIM] - max);
			total += factor * part[s * PART + DIM + 1];
			sum += factor * part[s * PART + d];
		}
		const float *gate = a.gate ? a.gate + r * a.gstride + h * a.ggap : 0;
		a.dst[r * a.dstride + (i64)h * DIM + d] = sum * share(a, h, max, total) * (gate ? sigmoid(gate[d]) : 1.0f);
	}
}

#endif
