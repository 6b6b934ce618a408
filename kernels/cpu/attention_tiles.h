// How attention is cut up: tiles of queries, sections of cells, and which thread takes which. Plain C, the same at
// every level.
#ifndef INGOT_ATTENTION_TILES_H
#define INGOT_ATTENTION_TILES_H

#include "rows.h"

enum { BLOCK = IG_ATTENTION_BLOCK };

// Queries of rows r0..r1 of a sequence and the heads of one kv head, row by row.
typedef struct tile {
	const ig_attention *a;
	const ig_seq *s;
	int64_t r0, r1;
	int kvh, group, most; // most: rows of a tile
	int n, length;        // queries; cells of a section
	int pad;              // floats of a padded row
	const char *k, *v;    // the head's cells
	int64_t krow, vrow;   // their bytes
	int direct;           // read K and V where they lie, for few queries of one row, rather than unpacked
	float *q;             // [n][pad]
	float *sum, *part;    // [n][pad values, maximum, total, unused], over all sections so far and over one
	float *score;         // [n][BLOCK]
	float *rows;          // [ig_attention_rows]: K or V unpacked
} tile;

static inline int row_end(const tile *t, int64_t r) { return t->s->pos0 + (int)(r - t->s->row0) + 1; }

// The cells that row r attends to.
static inline void cells_of(const tile *t, int64_t r, int *from, int *to) {
	*to = row_end(t, r);
	*from = t->a->window > 0 && *to > t->a->window ? *to - t->a->window : 0;
}

// Cells of a section, for a row that attends to cells ..end. Two sections fewer than there may be, since neither a
// window nor the rows of a tile begin where a section does.
static inline int section_length(const tile *t, int end) {
	int64_t n = t->a->window > 0 && end > t->a->window ? t->a->window : end, unit = BLOCK * (IG_ATTENTION_SECTIONS - 2);
	return (int)((n + unit - 1) / unit * BLOCK);
}

static inline int sections_of(const tile *t) {
	int from, to, none;
	cells_of(t, t->r0, &from, &none);
	cells_of(t, t->r1 - 1, &none, &to);
	return (to - 1) / t->length - from / t->length + 1;
}

// The cells of section i of the tile.
static inline void section_cells(const tile *t, int i, int *from, int *to) {
	int first, none, start;
	cells_of(t, t->r0, &first, &none);
	cells_of(t, t->r1 - 1, &none, to);
	start = (first / t->length + i) * t->length;
	*from = start > first ? start : first;
	*to = *to < start + t->length ? *to : start + t->length;
}

// Tiles come by sequence, then kv head, so that neighbours share K and V. The rows of a tile have sections alike.
static inline tile first_tile(const ig_attention *a, const ig_batch *b) {
	tile t = {.a = a, .s = b->seq, .group = a->heads / a->kv_heads, .pad = (int)ig_attention_pad(a->dim)};
	int unit = t.group % 8 == 0 ? 1 : t.group % 4 == 0 ? 2 : t.group % 2 == 0 ? 4 : 8; // whole registers of queries
	t.most = IG_ATTENTION_QUERIES / t.group;
	t.most = t.most > unit ? t.most / unit * unit : t.most > 0 ? t.most : 1;
	t.krow = ig_kv_row(a->type, a->dim);
	t.vrow = ig_kv_row(a->vtype, a->dim);
	t.r1 = b->seqs > 0 ? b->seq->row0 : 0;
	return t;
}

static inline int next_tile(tile *t, const ig_batch *b) {
	if (b->seqs == 0)
		return 0;
	if (t->r1 == t->s->row0 + t->s->rows) {
		if (++t->kvh == t->a->kv_heads) {
			t->kvh = 0;
			if (++t->s == b->seq + b->seqs)
				return 0;
		}
		t->r1 = t->s->row0;
	}
	int64_t end = t->s->row0 + t->s->rows, cell = ((int64_t)t->s->slot * t->a->kv_heads + t->kvh) * t->a->cells;
	t->r0 = t->r1;
	t->r1 = t->r0 + t->most < end ? t->r0 + t->most : end;
	t->length = section_length(t, row_end(t, t->r0));
	while (section_length(t, row_end(t, t->r1 - 1)) != t->length)
		t->r1--;
	t->n = (int)(t->r1 - t->r0) * t->group;
	t->direct = t->r1 - t->r0 == 1 && t->n <= 4 && t->pad == t->a->dim;
	t->k = (const char *)t->a->kc + cell * t->krow;
	t->v = (const char *)t->a->vc + cell * t->vrow;
	return 1;
}

// What cells cost: arithmetic for each query, and reading them.
static inline int64_t cost_of(const tile *t, int from, int to) { return (int64_t)(to - from) * (t->n + 8); }

static inline int64_t tile_cost(const tile *t) {
	int from, to, none;
	cells_of(t, t->r0, &from, &none);
	cells_of(t, t->r1 - 1, &none, &to);
	return cost_of(t, from, to);
}

// Dealing work to threads: each takes what lies in its share of the whole cost.
typedef struct deal {
	int64_t whole, dealt;
	int64_t pool; // sums that shared tiles have taken
	int shared;   // tiles that are shared
	int ith, nth;
} deal;

static inline int mine(deal *d, int64_t cost) {
	int64_t middle = d->dealt + cost / 2;
	d->dealt += cost;
	return (int)((double)middle / (double)d->whole * d->nth) == d->ith;
}

// A tile is shared where one thread would be long at it alone, while there is room for its sections' sums. No more
// than IG_ATTENTION_SHARED a thread are that large. Returns the place of its sums in the pool, or -1.
static inline int64_t share_tile(deal *d, const tile *t, int64_t cost) {
	int sections = sections_of(t);
	int64_t sums = (int64_t)sections * t->n, at = d->pool;
	if (d->nth == 1 || sections == 1 || cost * IG_ATTENTION_SHARED * d->nth <= d->whole ||
	    at + sums > ig_attention_pool(t->a->heads, t->a->kv_heads) * d->nth)
		return -1;
	d->pool += sums;
	d->shared++;
	return at;
}

#endif
