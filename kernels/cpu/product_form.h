// The products of packed weights at the vector levels. LANES weight rows are worked on at once, one row a lane. With
// few activation rows weights are multiplied while they are unpacked (product_few.h); with more, 256 unpacked values of
// each lane are kept in a panel, and the panel is taken to all activations (product_panel.h). Since a lane adds up its row
// alone, chunk by chunk, its bits depend neither on its neighbours nor on that choice. Activations of 16 bits are two rows
// of bytes, whose integer sums become one before they are scaled.
//
// This is what both share. Weights are read in the layout of repack.h; of a matrix that is not repacked, each thread repacks 256 values of a
// group at a time before it works on them.
//
// A level gives the words in its product_lanes_LEVEL.h:
//   PANELS, BLOCK  panels that are multiplied together, and activation rows to which they are
//   FEW, PASSES   activation rows that are multiplied together while weights are unpacked, and how often a group is unpacked for
//                 further ones before a panel pays
//   PLAIN_BLOCK   activation rows that plain weights are multiplied with at once
//   V, F          LANES 32-bit words, LANES floats
//   load          LANES words
//   halves        LANES F16 numbers as floats
//   bytes         LANES bytes, each in a word of its own
//   spread        one word in all lanes; spread_f the same for a float
//   lookup        each byte (0..15) replaced by that byte of the 16 bytes of the table it lies in
//   dot           sum += the products of a word of weights in each lane with four activations at x, the i-th of n such that follow
//                 each other; where products add up in fewer bits at first, they do so in `pair`
//   plus_where    to each byte of q the byte of `more` is added where v has the bit that `bits` names
//   larger        of two signed words
//   prefetch      a line into the first-level cache, at this place of the code
//   raise8        signed bytes as dot wants them, which is raised by OFFSET8
//   keep, kept_dots  where it defines KEEPS_PAIRS: its own order of four words in a panel, and dots from there
//   widen, keep_wide, wide_dots  where it defines WIDENS: 16 activations with their residuals as 16-bit numbers, four words of
//                 weights as eight of such, and dots of both
//   transpose     four words of each of IG_GROUP rows into the layout of repack.h
#ifndef INGOT_PRODUCT_FORM_H
#define INGOT_PRODUCT_FORM_H

#include "prefetch.h"
#include "product.h"

// What the blocks of a type look like once they are unpacked. The products of a panel depend on the second part alone.
typedef struct form {
	int type, values, words, extra; // of a block (repack.h)
	int offset;                     // subtracted from q; for the products: whether there is one

	int bits; // of q
	int by16; // a scale for 16 values, not 32
	int mins; // there are minima, one for each scale
} form;

// The scales and minima of up to 8 chunks of 32 values of each lane: of chunk c, or where they are for 16 values, of
// runs 2c and 2c + 1. A chunk's part of the result is, d being the activations' scale,
// d * scale * (dot - offset * sum) - min * (d * sum).
typedef struct scales {
	F scale[16], min[16];
} scales;

// The scales of one block of each lane, which becomes the chunks from `chunk` on; blocks of 256 are always the whole.
typedef void scales_fn(const uint8_t *w, const uint8_t *extra, int chunk, scales *s);

// Four values of each lane, raised by the form's offset: word i of the block's, which has a word for every four.
typedef V unpack_fn(const uint8_t *w, int i);

// Where the unpacked values of a run (16 values of each lane) go.
typedef void run_fn(void *to, const form f, int run, V a, V b, V c, V d);

// Unpacks one block of each lane, run by run.
IG_INLINE void unpack_runs(const uint8_t *w, const uint8_t *extra, const form f, scales_fn *head, unpack_fn *unpack, int chunk, scales *s,
                           run_fn *put, void *to) {
	head(w, extra, chunk, s);
	IG_UNROLL
	for (int i = 0; i < f.values / 4; i += 4)
		put(to, f, 2 * chunk + i / 4, unpack(w, i), unpack(w, i + 1), unpack(w, i + 2), unpack(w, i + 3));
}

enum { STEP = 256 /* values */ };

// Bytes from what is read to what is prefetched. Large blocks are not read from front to back, and take the more.
IG_INLINE int ahead(const form f) { return f.values == STEP ? 8 << 10 : 6 << 10; }

// ---- where a group's words are ----

typedef struct blocks {
	const uint8_t *words, *extra;
	int ahead; // bytes to what is prefetched; 0 for copies, for what lies behind them may not be there, and costs a walk each time
} blocks;

typedef struct room { // for 256 values of a group that is not repacked
	_Alignas(64) uint8_t words[IG_GROUP * 8 * 34], extra[IG_GROUP * 8 * 2];
} room;

// Words i to i+3 of a block of each row; rows lie `stride` apart.
IG_INLINE void move_words(const form f, const uint8_t *block, int64_t stride, uint8_t *words) {
	int i = 0;
	for (; i + 4 <= f.words; i += 4)
		transpose(block + 4 * i, stride, words + 4 * IG_GROUP * i);
	for (; i < f.words; i++)
		for (int r = 0; r < IG_GROUP; r++)
			memcpy(words + 4 * (IG_GROUP * i + r), block + r * stride + 4 * i, 4);
}

// Blocks b to b+n-1 of the group of rows from j on.
IG_INLINE blocks blocks_at(const ig_weights *w, const form f, int64_t j, int64_t b, int n, room *tmp) {
	const ig_layout l = ig_layout_of(f.type);
	const uint8_t *group = w->w + j * w->stride;
	if (w->repacked) {
		ig_place at = ig_place_of(&l, w->k / f.values, b);
		return (blocks){group + at.words, group + at.extra, ahead(f)};
	}
	const int bytes = 4 * f.words + f.extra;
	for (int i = 0; i < n; i++) {
		const uint8_t *block = group + (b + i) * bytes;
		move_words(f, block + l.words_at, w->stride, tmp->words + i * f.words * 4 * IG_GROUP);
		for (int r = 0; r < IG_GROUP; r++) {
			prefetch(block + r * w->stride + (1 << 10));
			memcpy(tmp->extra + (i * IG_GROUP + r) * f.extra, block + r * w->stride + l.extra_at, (size_t)f.extra);
		}
	}
	return (blocks){tmp->words, tmp->extra, 0};
}

// ---- the activations ----

// What the products need of up to 8 chunks of an activation beside its values: of the halves of a chunk where scales are for 16 values,
// else of the whole as if it were the first half.
typedef struct side {
	int32_t start[2][8]; // -offset * sum: what a sum of products starts from
	float d[8];
	float fold[2][8]; // d * sum, what a minimum is multiplied by
} side;

// A number of each of 8 chunks.
typedef int32_t W8 __attribute__((vector_size(32)));
typedef float F8 __attribute__((vector_size(32)));

// sums is where the sums of the chunks' halves are, two to a word; those of a residual are `low` bytes behind them.
IG_INLINE void side_of_chunks(const form f, const float *d, const uint8_t *sums, int64_t low, const size_t chunks, side *s) {
	W8 both = {0}, more = {0};
	F8 scale = {0};
	memcpy(&both, sums, 4 * chunks);
	if (low)
		memcpy(&more, sums + low, 4 * chunks);
	memcpy(&scale, d, 4 * chunks);
	W8 sum[2] = {both << 16 >> 16, both >> 16};
	if (low) {
		sum[0] = sum[0] * IG_RESIDUAL + (more << 16 >> 16), sum[1] = sum[1] * IG_RESIDUAL + (more >> 16);
	}
	if (!f.by16)
		sum[0] += sum[1];
	memcpy(s->d, &scale, sizeof scale);
	for (int half = 0; half <= f.by16; half++) {
		W8 start = -f.offset * sum[half];
		F8 fold = scale * __builtin_convertvector(sum[half], F8);
		if (f.offset)
			memcpy(s->start[half], &start, sizeof start);
		if (f.mins)
			memcpy(s->fold[half], &fold, sizeof fold);
	}
}

// low is the bytes to the row of a residual; 0: there is none.
IG_INLINE void side_of(const form f, const uint8_t *x, int64_t low, int64_t k, int64_t chunk, int chunks, side *s) {
	const float *d = (const float *)(x + low + ig_q8_d(k)) + chunk;
	const uint8_t *sums = x + ig_q8_s(k) + 4 * chunk;
	if (chunks == 8)
		side_of_chunks(f, d, sums, low, 8, s);
	else
		side_of_chunks(f, d, sums, low, (size_t)chunks, s);
	__asm__("" : "+m"(*s)); // words are read from memory, not taken out of the vectors that were written there
}

// Where the sum of chunk c starts, or of one half of it.
IG_INLINE V start_of(const form f, const side *s, int half, int c) { return f.offset ? spread(&s->start[half][c]) : all(0); }

// IG_RESIDUAL times v.
IG_INLINE V raised(V v) { return (v << 8) - (v << 1); }

// A chunk's sums by the weights' scales: of the whole chunk c, or of its first half, to which the second is added.
IG_INLINE F scaled(const form f, const scales *s, int c, int half, V dot, F first) {
	if (half)
		return muladd(to_float(dot), s->scale[2 * c + 1], first);
	return to_float(dot) * s->scale[f.by16 ? 2 * c : c];
}

// Adds chunk c of the scales, chunk `at` of the activations, to a result.
IG_INLINE F add_chunk(const form f, const scales *s, int c, F part, const side *x, int at, F result) {
	result = muladd(part, spread_f(&x->d[at]), result);
	if (f.mins && f.by16) {
		result = mulsub(s->min[2 * c], spread_f(&x->fold[0][at]), result);
		result = mulsub(s->min[2 * c + 1], spread_f(&x->fold[1][at]), result);
	} else if (f.mins) {
		result = mulsub(s->min[c], spread_f(&x->fold[0][at]), result);
	}
	return result;
}

// The same from the chunk's sums: of the whole, or where scales are for 16 values, of both halves.
IG_INLINE F finish(const form f, const scales *s, int c, V dot0, V dot1, const side *x, int at, F result) {
	F part = scaled(f, s, c, 0, dot0, (F)all(0));
	if (f.by16)
		part = scaled(f, s, c, 1, dot1, part);
	return add_chunk(f, s, c, part, x, at, result);
}

// What part `part` of a group's rows prefetches while it unpacks a block: its share of the block that lies ahead.
IG_INLINE const uint8_t *ahead_of(const form f, blocks b, int part) { return b.words + b.ahead + 4 * f.words * LANES * part; }

// Step `step` of `steps` prefetches its part of `bytes` bytes ahead: a burst for a whole block would keep other loads waiting.
IG_INLINE void look_ahead(const uint8_t *next, int bytes, int step, int steps) {
	IG_UNROLL
	for (int line = (step * bytes / steps + 63) / 64; line < ((step + 1) * bytes / steps + 63) / 64; line++)
		prefetch(next + 64 * line);
}

// The same for a run of one part's values.
IG_INLINE void look_ahead_run(const uint8_t *next, const form f, int run) {
	const int runs = f.values / 16;
	look_ahead(next, f.words * 4 * LANES, run % runs, runs);
}

// sum[g][r] += the products of 4n weights of each lane of panel g with 4n activations of row r.
IG_INLINE void dots(V *sum, const V *q, int gap, const int n, const int bits, const uint8_t *const *x, int64_t at, const int rows,
                    const int panels) {
	V pair[PANELS * BLOCK];
	IG_UNROLL
	for (int t = 0; t < n; t++)
		IG_UNROLL
		for (int r = 0; r < rows; r++)
			IG_UNROLL
			for (int g = 0; g < panels; g++)
				dot(&sum[g * rows + r], &pair[g * rows + r], q[g * gap + t], x[r] + at + 4 * t, bits, t, n);
}

#endif
