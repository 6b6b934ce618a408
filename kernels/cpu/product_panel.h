// The products of packed weights at the vector levels. LANES weight rows are worked on at once, one row a lane. With
// few activation rows the weights are multiplied while they are unpacked; with more, 256 unpacked values of each lane
// are kept in a panel, and the panel is taken to all activation rows. Since a lane adds up its row alone,
// chunk by chunk, its bits depend neither on its neighbours nor on that choice.
//
// Weights are read in the layout of repack.h; of a matrix that is not repacked, each thread repacks 256 values of a
// group at a time before it works on them.
//
// A level gives the words in its product_lanes_LEVEL.h:
//   V, F          LANES 32-bit words, LANES floats
//   load          LANES words
//   halves        LANES F16 numbers as floats
//   bytes         LANES bytes, each in a word of its own
//   spread        one word in all lanes; spread_f the same for a float
//   lookup        each byte (0..15) replaced by that byte of the 16 bytes of the table it lies in
//   dots          sum[g][r] += the products of 4n weights of each lane of panel g with 4n activations of row r
//   plus_where    to each byte of q the byte of `more` is added where v has the bit that `bits` names
//   larger        of two signed words
//   prefetch      a line into the first-level cache, at this place of the code
//   raise8        signed bytes as dots wants them, which is raised by OFFSET8
//   keep, kept_dots  where it defines KEEPS_PAIRS: its own order of four words in a panel, and dots from there
//   transpose     four words of each of IG_GROUP rows into the layout of repack.h
#ifndef INGOT_PRODUCT_PANEL_H
#define INGOT_PRODUCT_PANEL_H

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

// Where the unpacked values of a run (16 values of each lane, raised by the form's offset, in four words) go.
typedef void run_fn(void *to, const form f, int run, V a, V b, V c, V d);

// Unpacks one block of each lane, which becomes the chunks from `chunk` on; blocks of 256 are always the whole.
typedef void unpack_fn(const uint8_t *w, const uint8_t *extra, const form f, int chunk, scales *s, run_fn *put, void *to);

enum { STEP = 256 /* values */ };

// Bytes from what is read to what is prefetched. Large blocks are not read from front to back, and take the more.
IG_INLINE int ahead(const form f) { return f.values == STEP ? 8 << 10 : 6 << 10; }

// ---- where a group's words are ----

typedef struct blocks {
	const uint8_t *words, *extra;
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
		return (blocks){group + at.words, group + at.extra};
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
	return (blocks){tmp->words, tmp->extra};
}

// ---- the activations ----

// What the products need of up to 8 chunks of an activation row beside its values.
typedef struct side {
	int32_t start[16]; // -offset * sum, of each chunk or run: what a sum of products starts from
	float fold[16];    // d * sum, what a minimum is multiplied by
	float d[8];
} side;

IG_INLINE void side_of(const form f, const uint8_t *x, int64_t k, int64_t chunk, int chunks, side *s) {
	const float *d = (const float *)(x + ig_q8_d(k)) + chunk;
	const int16_t *sums = (const int16_t *)(x + ig_q8_s(k)) + 2 * chunk;
	for (int c = 0; c < chunks; c++)
		s->d[c] = d[c];
	for (int i = 0; i < (f.by16 ? 2 * chunks : chunks); i++) {
		int32_t sum = f.by16 ? sums[i] : sums[2 * i] + sums[2 * i + 1];
		if (f.offset)
			s->start[i] = -f.offset * sum;
		if (f.mins)
			s->fold[i] = s->d[f.by16 ? i / 2 : i] * (float)sum;
	}
}

IG_INLINE V start_of(const form f, const side *s, int i) { return f.offset ? spread(&s->start[i]) : all(0); }

// Adds chunk c of the scales, chunk `at` of the activations, to a result.
IG_INLINE F finish(const form f, const scales *s, int c, V dot0, V dot1, const side *x, int at, F result) {
	F part = to_float(dot0) * s->scale[f.by16 ? 2 * c : c];
	if (f.by16)
		part = muladd(to_float(dot1), s->scale[2 * c + 1], part);
	result = muladd(part, spread_f(&x->d[at]), result);
	if (f.mins && f.by16) {
		result = mulsub(s->min[2 * c], spread_f(&x->fold[2 * at]), result);
		result = mulsub(s->min[2 * c + 1], spread_f(&x->fold[2 * at + 1]), result);
	} else if (f.mins) {
		result = mulsub(s->min[c], spread_f(&x->fold[at]), result);
	}
	return result;
}

// What part `part` of a group's rows prefetches while it unpacks a block: its share of the block that lies ahead.
IG_INLINE const uint8_t *ahead_of(const form f, blocks b, int part) { return b.words + ahead(f) + 4 * f.words * LANES * part; }

// A run's part of the lines ahead: a burst for a whole block would keep other loads waiting.
IG_INLINE void look_ahead(const uint8_t *next, const form f, int run) {
	const int bytes = f.words * 4 * LANES * 16 / f.values;
	IG_UNROLL
	for (int line = (run * bytes + 63) / 64; line < ((run + 1) * bytes + 63) / 64; line++)
		prefetch(next + 64 * line);
}

// ---- up to FEW activation rows ----

enum { FEW = 4 };

typedef struct few {
	V dot[16][FEW]; // of each run and row; of each chunk in dot[2c] where the runs of a chunk share a scale
	const uint8_t *x[FEW], *next;
} few;

IG_INLINE void run_dot(few *to, const form f, int run, V a, V b, V c, V d, const int n) {
	V q[4] = {a, b, c, d};
	dots(to->dot[f.by16 ? run : run & ~1], q, 4, 4, f.bits, to->x, 16 * run, n, 1);
	look_ahead(to->next, f, run);
}

IG_INLINE void run_dot1(void *to, const form f, int run, V a, V b, V c, V d) { run_dot(to, f, run, a, b, c, d, 1); }
IG_INLINE void run_dot2(void *to, const form f, int run, V a, V b, V c, V d) { run_dot(to, f, run, a, b, c, d, 2); }
IG_INLINE void run_dot4(void *to, const form f, int run, V a, V b, V c, V d) { run_dot(to, f, run, a, b, c, d, 4); }

// One block of part `part` of a group's rows, the first of whose chunks is chunk `at` of x.
IG_INLINE void few_block(const form f, unpack_fn *unpack, blocks b, int part, const side *x, const uint8_t *const *q, int at, F *result,
                         const int n) {
	const int chunks = f.values / 32;
	scales s;
	few o;
	o.next = ahead_of(f, b, part);
	if (f.extra && part == 0)
		prefetch(b.extra + ahead(f));
	b.words += 4 * LANES * part;
	b.extra += f.extra * LANES * part;
	for (int r = 0; r < n; r++)
		o.x[r] = q[r];
	IG_UNROLL
	for (int c = 0; c < chunks; c++)
		for (int r = 0; r < n; r++) {
			o.dot[2 * c][r] = start_of(f, &x[r], f.by16 ? 2 * (at + c) : at + c);
			o.dot[2 * c + 1][r] = f.by16 ? start_of(f, &x[r], 2 * (at + c) + 1) : all(0);
		}
	unpack(b.words, b.extra, f, 0, &s, n == 1 ? run_dot1 : n == 2 ? run_dot2 : run_dot4, &o);
	IG_UNROLL
	for (int c = 0; c < chunks; c++)
		for (int r = 0; r < n; r++)
			result[r] = finish(f, &s, c, o.dot[2 * c][r], o.dot[2 * c + 1][r], &x[r], at + c, result[r]);
}

// The group of rows from j on; acc holds `width` floats a row.
IG_INLINE void few_rows(const form f, unpack_fn *unpack, const ig_weights *w, int64_t j, const uint8_t *const *x, float *acc,
                        int width, const int n) {
	enum { PARTS = IG_GROUP / LANES };
	const int step = f.values / 32;
	F result[PARTS][FEW];
	for (int i = 0; i < PARTS; i++)
		for (int r = 0; r < n; r++)
			result[i][r] = (F)all(0);
	for (int64_t at = 0; at < w->k / 32; at += STEP / 32) {
		int chunks = f.values == STEP || w->k / 32 - at > STEP / 32 ? STEP / 32 : (int)(w->k / 32 - at);
		side sides[FEW];
		room tmp;
		for (int r = 0; r < n; r++)
			side_of(f, x[r], w->k, at, chunks, &sides[r]);
		blocks b = blocks_at(w, f, j, at / step, chunks / step, &tmp);
		if (w->repacked)
			ig_open_page(b.words);
		for (int c = 0; c < chunks; c += step) {
			const uint8_t *q[FEW];
			for (int r = 0; r < n; r++)
				q[r] = x[r] + 32 * (at + c);
			for (int i = 0; i < PARTS; i++)
				few_block(f, unpack, b, i, sides, q, c, result[i], n);
			b.words += f.words * 4 * IG_GROUP;
			b.extra += f.extra * IG_GROUP;
		}
	}
	for (int r = 0; r < n; r++)
		for (int i = 0; i < PARTS; i++)
			*(F *)(acc + r * width + i * LANES) = result[i][r];
}

// ---- several activation rows ----

typedef struct panel {
	V q[PANELS][STEP / 4]; // word 8c + t: values 32c + 4t .. 32c + 4t + 3, in the order of keep
	scales s[PANELS];
} panel;

typedef struct many {
	V *q; // of a panel
	const uint8_t *next;
} many;

#ifndef KEEPS_PAIRS
IG_INLINE void keep(V *q, V a, V b, V c, V d) { q[0] = a, q[1] = b, q[2] = c, q[3] = d; }
#define kept_dots dots
#endif

IG_INLINE void run_store(void *to, const form f, int run, V a, V b, V c, V d) {
	many *m = to;
	keep(m->q + 4 * run, a, b, c, d);
	look_ahead(m->next, f, f.values == STEP ? run : run & 1);
}

// Takes `chunks` chunks of `panels` panels, the first of which is chunk `at` of the row, to `rows` activation rows;
// acc holds `width` floats a row.
IG_INLINE void panel_dot(const panel *p, const form f, int chunks, int64_t at, const uint8_t *const *x, const side *sides,
                         float *acc, int width, const int rows, const int panels) {
	F result[PANELS * BLOCK];
	for (int g = 0; g < panels; g++)
		for (int r = 0; r < rows; r++)
			result[g * rows + r] = *(const F *)(acc + r * width + g * LANES);
	for (int c = 0; c < chunks; c++) {
		V dot[2][PANELS * BLOCK];
		for (int half = 0; half < (f.by16 ? 2 : 1); half++) {
			for (int g = 0; g < panels; g++)
				for (int r = 0; r < rows; r++)
					dot[half][g * rows + r] = start_of(f, &sides[r], f.by16 ? 2 * c + half : c);
			kept_dots(dot[half], p->q[0] + 8 * c + 4 * half, STEP / 4, f.by16 ? 4 : 8, f.bits, x, 32 * (at + c) + 16 * half, rows, panels);
		}
		for (int g = 0; g < panels; g++)
			for (int r = 0; r < rows; r++) {
				int i = g * rows + r;
				result[i] = finish(f, &p->s[g], c, dot[0][i], f.by16 ? dot[1][i] : all(0), &sides[r], c, result[i]);
			}
	}
	for (int g = 0; g < panels; g++)
		for (int r = 0; r < rows; r++)
			*(F *)(acc + r * width + g * LANES) = result[g * rows + r];
}

// Takes `panels` panels to all activation rows. One such function serves all types whose products go alike.
typedef void panel_fn(const panel *p, int panels, int chunks, int64_t at, const uint8_t *const *x, const side *sides, int n,
                      float *acc, int width);

IG_INLINE void panel_dots(const form f, const panel *p, int panels, int chunks, int64_t at, const uint8_t *const *x,
                          const side *sides, int n, float *acc, int width) {
	int r = 0;
#define TAKE(ROWS, PANELS) panel_dot(p, f, chunks, at, x + r, sides + r, acc + r * width, width, ROWS, PANELS), r += ROWS
	if (PANELS > 1 && panels == PANELS) {
		while (r + BLOCK <= n)
			TAKE(BLOCK, PANELS);
		while (r + 2 <= n)
			TAKE(2, PANELS);
		if (r < n)
			TAKE(1, PANELS);
		return;
	}
	while (r + 4 <= n)
		TAKE(4, 1);
	while (r < n)
		TAKE(1, 1);
#undef TAKE
}

// `groups` groups of rows from j on, PANELS panels at a time.
IG_INLINE void many_rows(const form f, unpack_fn *unpack, panel_fn *products, const ig_weights *w, int64_t j, int groups, const uint8_t *const *x,
                         int n, float *acc) {
	enum { PARTS = IG_GROUP / LANES };
	const int step = f.values / 32, width = groups * IG_GROUP;
	panel p;
	side sides[IG_TILE];
	memset(acc, 0, (size_t)(n * width) * sizeof *acc);
	for (int64_t at = 0; at < w->k / 32; at += STEP / 32) {
		int chunks = f.values == STEP || w->k / 32 - at > STEP / 32 ? STEP / 32 : (int)(w->k / 32 - at);
		for (int r = 0; r < n; r++)
			side_of(f, x[r], w->k, at, chunks, &sides[r]);
		room tmp;
		blocks group = {0};
		for (int part = 0; part < groups * PARTS;) {
			int panels = part + PANELS <= groups * PARTS ? PANELS : 1;
			for (int g = 0; g < panels; g++) {
				int i = (part + g) % PARTS;
				if (i == 0) // once for all parts of its rows
					group = blocks_at(w, f, j + (part + g) / PARTS * IG_GROUP, at / step, chunks / step, &tmp);
				blocks b = group;
				for (int c = 0; c < chunks; c += step) {
					many m = {p.q[g], ahead_of(f, b, i)};
					unpack(b.words + 4 * LANES * i, b.extra + f.extra * LANES * i, f, c, &p.s[g], run_store, &m);
					b.words += f.words * 4 * IG_GROUP;
					b.extra += f.extra * IG_GROUP;
				}
			}
			products(&p, panels, chunks, at, x, sides, n, acc + part * LANES, width);
			part += panels;
		}
	}
}

// A row kernel (product.h), for any type.
IG_INLINE void packed_rows(const form f, unpack_fn *unpack, panel_fn *products, const ig_weights *w, int64_t j, int rows, const void *const *x,
                           int n, float *acc) {
	const uint8_t *const *q = (const uint8_t *const *)x;
	if (n > FEW) {
		many_rows(f, unpack, products, w, j, rows / IG_GROUP, q, n, acc);
		return;
	}
	// Three rows are taken as four, the last of them twice.
	const uint8_t *four[FEW] = {q[0], q[n > 1], q[n > 2 ? 2 : 0], q[n - 1]};
	float spare[FEW * IG_GROUP];
	for (int i = 0; i < rows; i += IG_GROUP)
		if (n == 1) {
			few_rows(f, unpack, w, j + i, q, acc + i, rows, 1);
		} else if (n == 2) {
			few_rows(f, unpack, w, j + i, q, acc + i, rows, 2);
		} else {
			few_rows(f, unpack, w, j + i, four, spare, IG_GROUP, 4);
			for (int r = 0; r < n; r++)
				memcpy(acc + r * rows + i, spare + r * IG_GROUP, sizeof(float) * IG_GROUP);
		}
}

#endif
