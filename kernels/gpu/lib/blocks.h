// Weights as files have them: rows of blocks, which begin at any byte. Blocks of 32 values here, of 256 in blocks_k.h.
// kernels/cpu/blocks.h says what the blocks hold.
#ifndef INGOT_BLOCKS_H
#define INGOT_BLOCKS_H

#include "lib/chunk.h"

DEVICE u32 load_u16(const u8 *p) { return p[0] | (u32)p[1] << 8; }

DEVICE u32x4 load_u32x4(const u8 *p) {
	u32x4 v = {load_u32(p), load_u32(p + 4), load_u32(p + 8), load_u32(p + 12)};
	return v;
}

// A row of blocks of 32 values.
struct block_row { const u8 *p; };

DEVICE block_row block_row_at(const u8 *w, u32 k, u32 j, int values, int bytes) {
	block_row r = {w + j * ((i64)k / values * bytes)};
	return r;
}

// The fifth bits of 32 values in order, bit v of value v, are put beside their nibbles.
DEVICE void fifth_bits_in_order(u32 h, int *q) {
	UNROLL for (int i = 0; i < 8; i++) {
		u32 four = h >> 4 * i & 15;
		q[i] |= (int)((four * 0x204081 & 0x01010101) << 4);
	}
}

// BYTES of a block: a scale d of 2 bytes, with MIN another m, with FIFTH the fifth bits, then 16 bytes of nibbles.
template <int MIN, int FIFTH> struct nibble_blocks {
	enum { HALVES = 1, MINS = MIN, BYTES = 18 + 2 * MIN + 4 * FIFTH };
	typedef block_row row;
	struct raw { u32x4 q; u32 d, m, h; };
	DEVICE row at(const u8 *w, u32, u32 k, u32 j) { return block_row_at(w, k, j, 32, BYTES); }
	DEVICE raw load(const row &r, u32 c) {
		const u8 *p = r.p + c * BYTES;
		raw v = {load_u32x4(p + BYTES - 16), load_u16(p), MIN ? load_u16(p + 2) : 0, FIFTH ? load_u32(p + 2 + 2 * MIN) : 0};
		return v;
	}
	DEVICE void quants(const raw &v, int *q) {
		nibbles(v.q, q);
		if (FIFTH)
			fifth_bits_in_order(v.h, q);
	}
	DEVICE void scales(const raw &v, float *s, float *m) {
		s[0] = f16_to_f32((u16)v.d);
		if (MIN)
			m[0] = -f16_to_f32((u16)v.m);
	}
};

struct q4_0_blocks : nibble_blocks<0, 0> { enum { OFFSET = 8 }; };
struct q4_1_blocks : nibble_blocks<1, 0> { enum { OFFSET = 0 }; };
struct q5_0_blocks : nibble_blocks<0, 1> { enum { OFFSET = 16 }; };
struct q5_1_blocks : nibble_blocks<1, 1> { enum { OFFSET = 0 }; };
struct iq4_nl_blocks : nibble_blocks<0, 0> {
	enum { OFFSET = 0 };
	DEVICE void quants(const raw &v, int *q) {
		nibbles(v.q, q);
		iq4_values(q);
	}
};

struct mxfp4_blocks {
	enum { HALVES = 1, OFFSET = 0, MINS = 0, BYTES = 17 };
	typedef block_row row;
	struct raw { u32x4 q; u32 e; };
	DEVICE row at(const u8 *w, u32, u32 k, u32 j) { return block_row_at(w, k, j, 32, BYTES); }
	DEVICE raw load(const row &r, u32 c) {
		const u8 *p = r.p + c * BYTES;
		raw v = {load_u32x4(p + 1), p[0]};
		return v;
	}
	DEVICE void quants(const raw &v, int *q) {
		nibbles(v.q, q);
		mxfp4_values(q);
	}
	DEVICE void scales(const raw &v, float *s, float *) { s[0] = e8m0_half(v.e); }
};

struct q8_0_blocks {
	enum { HALVES = 1, OFFSET = 0, MINS = 0, BYTES = 34 };
	typedef block_row row;
	struct raw { u32x4 q0, q1; u32 d; };
	DEVICE row at(const u8 *w, u32, u32 k, u32 j) { return block_row_at(w, k, j, 32, BYTES); }
	DEVICE raw load(const row &r, u32 c) {
		const u8 *p = r.p + c * BYTES;
		raw v = {load_u32x4(p + 2), load_u32x4(p + 18), load_u16(p)};
		return v;
	}
	DEVICE void quants(const raw &v, int *q) {
		q[0] = (int)v.q0.x, q[1] = (int)v.q0.y, q[2] = (int)v.q0.z, q[3] = (int)v.q0.w;
		q[4] = (int)v.q1.x, q[5] = (int)v.q1.y, q[6] = (int)v.q1.z, q[7] = (int)v.q1.w;
	}
	DEVICE void scales(const raw &v, float *s, float *) { s[0] = f16_to_f32((u16)v.d); }
};

#endif
