// The drivers of the products: which weight rows a thread takes, which activation rows it takes them to, and where
// the results go. What a row means is the row kernel's business.
#include "product.h"

// A thread's part of one matrix.
typedef struct part {
	ig_weights w;
	int64_t lo, hi;  // its weight rows
	int64_t units;   // rows of the matrix that are whole units
	int residual;    // activations have one: two rows
	int64_t xbytes;  // from one activation to the next
	ig_product p;
	ig_chunk_fn *chunk; // takes the whole units instead of p; NULL: none
} part;

// Bytes of an activation's one row.
static int64_t x_row(int type, int64_t k, int64_t floats) {
	return ig_block_of(type).values == 1 ? floats * 4 : ig_q8_row(k);
}

static part part_of(ig_weights w, int64_t xstride, int residual, int ith, int nth, ig_product p, ig_chunk_fn *chunk) {
	ig_block t = ig_block_of(w.type);
	int two = residual && t.values > 1;
	w.stride = w.k / t.values * t.bytes;
	part v = {w, 0, 0, w.m / p.unit * p.unit, two, x_row(w.type, w.k, xstride) << two, p, chunk};
	ig_share(w.m, IG_GROUP, ith, nth, &v.lo, &v.hi);
	return v;
}

static void store(const ig_sink *s, const float *acc, int n, int64_t j, int rows) {
	for (int r = 0; r < n; r++) {
		const float *from = acc + r * rows;
		float *to = s->dst[r] + j;
		const float *add = s->add[r];
		for (int i = 0; i < rows; i++) {
			float v = from[i];
			if (s->bias)
				v += s->bias[j + i];
			if (add)
				v += add[j + i];
			to[i] = v;
		}
	}
}

// Brings the lines that store will write while they are computed, for else it would wait for each.
static void fetch(const ig_sink *s, int n, int64_t j, int rows) {
	for (int r = 0; r < n; r++)
		for (int i = 0; i < rows; i += 16)
			__builtin_prefetch(s->dst[r] + j + i, 1);
}

// Takes the part's weight rows to n activation rows.
static void drive(const part *v, const void *const *x, int n, const ig_sink *s) {
	_Alignas(64) float acc[IG_TILE * IG_STRIP];
	_Static_assert(IG_TILE * IG_STRIP >= IG_CHUNK, "the generic level takes a chunk's activations to one weight row");
	int64_t whole = v->hi < v->units ? v->hi : v->units, most = v->p.unit * v->p.units, j = v->lo;
	if (v->chunk && j < whole) {
		v->chunk(&v->w, j, whole, x, n, v->residual, s);
		j = whole;
	}
	for (int64_t rows; j < v->hi; j += rows) {
		ig_rows_fn *fn = v->p.fn;
		if (j < whole) {
			rows = whole - j < most ? whole - j : most;
		} else {
			fn = ig_product_generic(v->w.type).fn;
			rows = 1;
		}
		fetch(s, n, j, (int)rows);
		fn(&v->w, j, (int)rows, x, n, v->residual, acc);
		store(s, acc, n, j, (int)rows);
	}
}

// So many activation rows that they stay in a second-level cache while all weights of the part pass by.
static int tile_rows(const part *v) {
	if (v->chunk)
		return IG_CHUNK >> v->residual;
	int64_t n = (1 << 20) / (v->xbytes + 1) / 6 * 6, most = IG_TILE >> v->residual;
	return n < 6 ? 6 : n > most ? (int)most : (int)n;
}

static void drive_matmul(const ig_matmul *a, const ig_batch *b, int ith, int nth, ig_product p, ig_chunk_fn *chunk) {
	ig_weights w = {.w = a->w, .m = a->m, .k = a->k, .type = a->type, .repacked = a->repacked};
	part v = part_of(w, a->xstride, a->residual, ith, nth, p, chunk);
	int64_t rows = ig_batch_rows(b, a->rows);
	int tile = tile_rows(&v);
	ig_sink s;
	s.bias = a->bias;
	const void *x[IG_CHUNK];
	for (int64_t r = 0; r < rows && v.lo < v.hi; r += tile) {
		int n = rows - r < tile ? (int)(rows - r) : tile;
		for (int i = 0; i < n; i++) {
			x[i] = (const uint8_t *)a->x + (r + i) * v.xbytes;
			s.dst[i] = a->dst + (r + i) * a->dstride;
			s.add[i] = a->add ? a->add + (r + i) * a->addstride : 0;
		}
		drive(&v, x, n, &s);
	}
}

enum { HEADS = 1024, SLOTS = 4096 };

// Slots (row, choice) in chains, one for each expert number modulo HEADS, in ascending order.
typedef struct chains {
	int32_t head[HEADS], next[SLOTS];
} chains;

static void chain(chains *c, const int32_t *ids, int slots) {
	memset(c->head, -1, sizeof c->head);
	for (int i = slots - 1; i >= 0; i--) {
		int32_t *head = &c->head[(uint32_t)ids[i] % HEADS];
		c->next[i] = *head;
		*head = i;
	}
}

// The first slot from i on in its chain that wants expert e; -1: none.
static int seek(const chains *c, const int32_t *ids, int i, int e) {
	while (i >= 0 && ids[i] != e)
		i = c->next[i];
	return i;
}

// Every expert's weights are read once for all the slots that chose it (of at most SLOTS at a time).
static void drive_experts(const ig_experts *a, const ig_batch *b, int ith, int nth, ig_product p, ig_chunk_fn *chunk) {
	ig_weights w = {.m = a->m, .k = a->k, .type = a->type, .repacked = a->repacked};
	part v = part_of(w, a->xstride, a->residual, ith, nth, p, chunk);
	int64_t total = (int64_t)b->rows * a->used, matrix = a->m * v.w.stride;
	int tile = tile_rows(&v);
	ig_sink s;
	const void *x[IG_CHUNK];
	chains c;
	for (int64_t base = 0; base < total && v.lo < v.hi; base += SLOTS) {
		const int32_t *ids = a->ids + base;
		int slots = total - base < SLOTS ? (int)(total - base) : SLOTS;
		chain(&c, ids, slots);
		for (int e = 0; e < a->experts; e++) {
			v.w.w = (const uint8_t *)a->w + e * matrix;
			s.bias = a->bias ? a->bias + (int64_t)e * a->m : 0;
			for (int i = seek(&c, ids, c.head[e % HEADS], e); i >= 0;) {
				int n = 0;
				for (; i >= 0 && n < tile; n++, i = seek(&c, ids, c.next[i], e)) {
					int64_t slot = base + i;
					x[n] = (const uint8_t *)a->x + (a->per_slot ? slot : slot / a->used) * v.xbytes;
					s.dst[n] = a->dst + slot * a->dstride;
					s.add[n] = 0;
				}
				drive(&v, x, n, &s);
			}
		}
	}
}

void ig_drive_matmul(const ig_matmul *a, const ig_batch *b, int ith, int nth, ig_product p) {
	drive_matmul(a, b, ith, nth, p, 0);
}

void ig_drive_experts(const ig_experts *a, const ig_batch *b, int ith, int nth, ig_product p) {
	drive_experts(a, b, ith, nth, p, 0);
}

static const ig_product by_groups = {0, IG_GROUP, 1};

void ig_chunk_matmul(const ig_matmul *a, const ig_batch *b, int ith, int nth, ig_chunk_fn *chunk) {
	drive_matmul(a, b, ith, nth, by_groups, chunk);
}

void ig_chunk_experts(const ig_experts *a, const ig_batch *b, int ith, int nth, ig_chunk_fn *chunk) {
	drive_experts(a, b, ith, nth, by_groups, chunk);
}
