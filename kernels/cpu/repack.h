// How a repacked matrix lies in memory (repack.c makes it).
//
// A block of a type is `words` 4-byte words and up to two bytes beside them. Of each group of IG_GROUP rows there lie,
// at the place of these rows:
//   words  [blocks][words][IG_GROUP] of 4 bytes
//   extra  [blocks][IG_GROUP] of `extra` bytes
// So a vector load takes the same word of neighbouring rows, one row a lane, and both parts are read from front to back.
#ifndef INGOT_REPACK_H
#define INGOT_REPACK_H

#include "blocks.h"

typedef struct ig_layout {
	int32_t words, words_at; // of a block; the offset of the first
	int32_t extra, extra_at; // bytes beside the words, and their offset
} ig_layout;

// All zero for the plain types, which are not repacked.
ig_layout ig_layout_of(int type);

enum { IG_BLOCK_BYTES = 212 }; // room for any block

// Copies block b of row `row` of a group of rows of `blocks` blocks to `block`.
void ig_block_from(const ig_layout *l, const uint8_t *group, int64_t blocks, int row, int64_t b, uint8_t *block);

// One kernel for all levels: a thread repacks its share of the groups.
void ig_repack_matrix(const void *args, const ig_batch *b, int ith, int nth);

static inline uint32_t ig_word(const void *p) { uint32_t v; memcpy(&v, p, 4); return v; }

#endif
