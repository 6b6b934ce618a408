// Repacking: the rows of a group are interleaved word by word. repack.h has the layout.
#include "repack.h"

ig_layout ig_layout_of(int type) {
	switch (type) {
	case IG_Q4_0: case IG_IQ4_NL: return (ig_layout){4, 2, 2, 0};
	case IG_Q4_1: return (ig_layout){5, 0, 0, 0};
	case IG_Q5_0: return (ig_layout){5, 2, 2, 0};
	case IG_Q5_1: return (ig_layout){6, 0, 0, 0};
	case IG_Q8_0: return (ig_layout){8, 2, 2, 0};
	case IG_MXFP4: return (ig_layout){4, 1, 1, 0};
	case IG_Q2_K: return (ig_layout){21, 0, 0, 0};
	case IG_Q3_K: return (ig_layout){27, 0, 2, 108};
	case IG_Q4_K: return (ig_layout){36, 0, 0, 0};
	case IG_Q5_K: return (ig_layout){44, 0, 0, 0};
	case IG_Q6_K: return (ig_layout){52, 0, 2, 208};
	case IG_IQ4_XS: return (ig_layout){34, 0, 0, 0};
	default: return (ig_layout){0, 0, 0, 0};
	}
}

void ig_block_from(const ig_layout *l, const uint8_t *group, int64_t blocks, int row, int64_t b, uint8_t *block) {
	const uint8_t *words = group + (b * l->words * IG_GROUP + row) * 4;
	const uint8_t *extra = group + blocks * l->words * IG_GROUP * 4 + (b * IG_GROUP + row) * l->extra;
	for (int i = 0; i < l->words; i++)
		memcpy(block + l->words_at + 4 * i, words + 4 * IG_GROUP * i, 4);
	memcpy(block + l->extra_at, extra, (size_t)l->extra);
}

// A block of each row is read before the next one: the group's rows stream side by side.
static void repack_group(const ig_layout *l, const uint8_t *src, int64_t stride, int bytes, int64_t blocks, uint8_t *dst) {
	uint8_t *extra = dst + blocks * l->words * IG_GROUP * 4;
	for (int64_t b = 0; b < blocks; b++, src += bytes, dst += l->words * IG_GROUP * 4, extra += IG_GROUP * l->extra) {
		for (int r = 0; r < IG_GROUP; r++) {
			const uint8_t *block = src + r * stride, *words = block + l->words_at;
			for (int i = 0; i < l->words; i++)
				memcpy(dst + (i * IG_GROUP + r) * 4, words + 4 * i, 4);
			for (int i = 0; i < l->extra; i++)
				extra[r * l->extra + i] = block[l->extra_at + i];
		}
	}
}

void ig_repack_matrix(const void *args, const ig_batch *b, int ith, int nth) {
	(void)b;
	const ig_repack *a = args;
	ig_block t = ig_block_of(a->type);
	ig_layout l = ig_layout_of(a->type);
	int64_t blocks = a->k / t.values, stride = blocks * t.bytes, lo, hi;
	ig_share(a->m, IG_GROUP, ith, nth, &lo, &hi);
	for (int64_t j = lo; j < hi; j += IG_GROUP) {
		const uint8_t *src = (const uint8_t *)a->src + j * stride;
		uint8_t *dst = (uint8_t *)a->dst + j * stride;
		if (l.words && j + IG_GROUP <= a->m)
			repack_group(&l, src, stride, t.bytes, blocks, dst);
		else
			memcpy(dst, src, (size_t)((a->m - j < IG_GROUP ? a->m - j : IG_GROUP) * stride));
	}
}
