// How a repacked matrix lies in memory (repack.c makes it).
//
// A block of a type is `words` 4-byte words and up to two bytes beside them. Of each group of IG_GROUP rows there lie,
// at the place of these rows, pieces of `blocks` blocks (the last may have fewer), each
//   words  [blocks][words][IG_GROUP] of 4 bytes
//   extra  [blocks][IG_GROUP] of `extra` bytes
// So a vector load takes the same word of neighbouring rows, one row a lane; a group is read from front to back, in one
// stream; and words lie on lines of 64 bytes.
#ifndef INGOT_REPACK_H
#define INGOT_REPACK_H

#include "blocks.h"

typedef struct ig_layout {
	int32_t words, words_at; // of a block; the offset of the first
	int32_t extra, extra_at; // bytes beside the words, and their offset
	int32_t blocks;          // of a piece
} ig_layout;

// All zero for the plain types, which are not repacked.
static inline __attribute__((always_inline)) ig_layout ig_layout_of(int type) {
	switch (type) {
	case IG_Q4_0: case IG_IQ4_NL: return (ig_layout){4, 2, 2, 0, 8};
	case IG_Q4_1: return (ig_layout){5, 0, 0, 0, 8};
	case IG_Q5_0: return (ig_layout){5, 2, 2, 0, 8};
	case IG_Q5_1: return (ig_layout){6, 0, 0, 0, 8};
	case IG_Q8_0: return (ig_layout){8, 2, 2, 0, 8};
	case IG_MXFP4: return (ig_layout){4, 1, 1, 0, 8};
	case IG_Q2_K: return (ig_layout){21, 0, 0, 0, 2};
	case IG_Q3_K: return (ig_layout){27, 0, 2, 108, 2};
	case IG_Q4_K: return (ig_layout){36, 0, 0, 0, 2};
	case IG_Q5_K: return (ig_layout){44, 0, 0, 0, 2};
	case IG_Q6_K: return (ig_layout){52, 0, 2, 208, 2};
	case IG_IQ4_XS: return (ig_layout){34, 0, 0, 0, 2};
	default: return (ig_layout){0, 0, 0, 0, 0};
	}
}

// Where block b of a group of rows of `blocks` blocks has its words and what is beside them.
typedef struct ig_place { int64_t words, extra; } ig_place;
static inline __attribute__((always_inline)) ig_place ig_place_of(const ig_layout *l, int64_t blocks, int64_t b) {
	int64_t before = b % l->blocks, first = b - before, n = blocks - first < l->blocks ? blocks - first : l->blocks;
	int64_t piece = first * (l->words * 4 + l->extra) * IG_GROUP, words = l->words * 4 * IG_GROUP;
	return (ig_place){piece + before * words, piece + n * words + before * l->extra * IG_GROUP};
}

enum { IG_BLOCK_BYTES = 212 }; // room for any block

// Copies block b of row `row` of a group of rows of `blocks` blocks to `block`.
void ig_block_from(const ig_layout *l, const uint8_t *group, int64_t blocks, int row, int64_t b, uint8_t *block);

// One kernel for all levels: a thread repacks its share of the groups.
void ig_repack_matrix(const void *args, const ig_batch *b, int ith, int nth);

static inline uint32_t ig_word(const void *p) { uint32_t v; memcpy(&v, p, 4); return v; }

#endif
