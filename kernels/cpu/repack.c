// Repacking: the rows of a group are interleaved word by word. repack.h has the layout.
#include "repack.h"

void ig_block_from(const ig_layout *l, const uint8_t *group, int64_t blocks, int row, int64_t b, uint8_t *block) {
	ig_place at = ig_place_of(l, blocks, b);
	for (int i = 0; i < l->words; i++)
		memcpy(block + l->words_at + 4 * i, group + at.words + (IG_GROUP * i + row) * 4, 4);
	memcpy(block + l->extra_at, group + at.extra + row * l->extra, (size_t)l->extra);
}

// A block of each row is read before the next one: the group's rows stream side by side.
static void repack_group(const ig_layout *l, const uint8_t *src, int64_t stride, int bytes, int64_t blocks, uint8_t *dst) {
	for (int64_t b = 0; b < blocks; b++, src += bytes) {
		ig_place at = ig_place_of(l, blocks, b);
		uint8_t *to = dst + at.words, *extra = dst + at.extra;
		for (int r = 0; r < IG_GROUP; r++) {
			const uint8_t *block = src + r * stride, *words = block + l->words_at;
			for (int i = 0; i < l->words; i++)
				memcpy(to + (i * IG_GROUP + r) * 4, words + 4 * i, 4);
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
