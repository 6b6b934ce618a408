// Blocks of 256 values as files have them; a chunk is the c%8-th of its block. kernels/cpu/blocks.h says what they hold.
#ifndef INGOT_BLOCKS_K_H
#define INGOT_BLOCKS_K_H

#include "lib/blocks.h"

// 32 bytes.
struct wide { u32x4 a, b; };

DEVICE wide load_wide(const u8 *p) {
	wide v = {load_u32x4(p), load_u32x4(p + 16)};
	return v;
}

// q |= (32 bytes >> shift & mask) << up.
DEVICE void or_bits(const wide &v, int shift, u32 mask, int up, int *q) {
	const u32 w[8] = {v.a.x, v.a.y, v.a.z, v.a.w, v.b.x, v.b.y, v.b.z, v.b.w};
	UNROLL for (int i = 0; i < 8; i++)
		q[i] |= (int)((w[i] >> shift & mask) << up);
}

DEVICE void clear(int *q) {
	UNROLL for (int i = 0; i < 8; i++)
		q[i] = 0;
}

// The scale and minimum of chunk i in the 12 bytes of Q4_K and Q5_K.
DEVICE void scales_k(u32 v0, u32 v1, u32 v2, int i, u32 *scale, u32 *min) {
	int shift = i % 4 * 8;
	u32 a = v0 >> shift, b = v1 >> shift, c = v2 >> shift;
	*scale = i < 4 ? a & 63 : (c & 15) | (a >> 6 & 3) << 4;
	*min = i < 4 ? b & 63 : (c >> 4 & 15) | (b >> 6 & 3) << 4;
}

// Q4_K and, with FIFTH, Q5_K: d, dmin, 12 bytes of scales, fifth bits, nibbles; chunks 2i and 2i+1 share 32 bytes of nibbles.
template <int FIFTH> struct k_blocks {
	enum { HALVES = 1, OFFSET = 0, MINS = 1, BYTES = 144 + 32 * FIFTH };
	typedef block_row row;
	struct raw { wide q, h; u32 dm, s0, s1, s2; int i; };
	DEVICE row at(const u8 *w, u32, u32 k, u32 j) { return block_row_at(w, k, j, 256, BYTES); }
	DEVICE raw load(const row &r, u32 c) {
		const u8 *p = r.p + c / 8 * BYTES;
		raw v;
		v.q = load_wide(p + 16 + 32 * FIFTH + c % 8 / 2 * 32);
		if (FIFTH)
			v.h = load_wide(p + 16);
		v.dm = load_u32(p), v.s0 = load_u32(p + 4), v.s1 = load_u32(p + 8), v.s2 = load_u32(p + 12);
		v.i = (int)(c % 8);
		return v;
	}
	DEVICE void quants(const raw &v, int *q) {
		clear(q);
		or_bits(v.q, v.i % 2 * 4, 0x0f0f0f0f, 0, q);
		if (FIFTH)
			or_bits(v.h, v.i, 0x01010101, 4, q);
	}
	DEVICE void scales(const raw &v, float *s, float *m) {
		u32 scale, min;
		scales_k(v.s0, v.s1, v.s2, v.i, &scale, &min);
		s[0] = f16_to_f32((u16)v.dm) * (float)scale;
		m[0] = f16_to_f32((u16)(v.dm >> 16)) * (float)min;
	}
};

struct q4_k_blocks : k_blocks<0> {};
struct q5_k_blocks : k_blocks<1> {};

// 128 bytes of nibbles, 64 of two bits, 16 scales, d. Of each 64 bytes of nibbles the low halves are chunks 0 and 1 of four.
struct q6_k_blocks {
	enum { HALVES = 2, OFFSET = 32, MINS = 0, BYTES = 210 };
	typedef block_row row;
	struct raw { wide q, h; u32 s, d; int i; };
	DEVICE row at(const u8 *w, u32, u32 k, u32 j) { return block_row_at(w, k, j, 256, BYTES); }
	DEVICE raw load(const row &r, u32 c) {
		int i = (int)(c % 8);
		const u8 *p = r.p + c / 8 * BYTES;
		raw v = {load_wide(p + i / 4 * 64 + i % 2 * 32), load_wide(p + 128 + i / 4 * 32), load_u16(p + 192 + 2 * i), load_u16(p + 208), i % 4};
		return v;
	}
	DEVICE void quants(const raw &v, int *q) {
		clear(q);
		or_bits(v.q, v.i / 2 * 4, 0x0f0f0f0f, 0, q);
		or_bits(v.h, v.i * 2, 0x03030303, 4, q);
	}
	DEVICE void scales(const raw &v, float *s, float *) {
		float d = f16_to_f32((u16)v.d);
		s[0] = d * (float)(i8)v.s;
		s[1] = d * (float)(i8)(v.s >> 8);
	}
};

// 16 scales and minima of 4 bits, 64 bytes of two bits, d, dmin.
struct q2_k_blocks {
	enum { HALVES = 2, OFFSET = 0, MINS = 1, BYTES = 84 };
	typedef block_row row;
	struct raw { wide q; u32 s, dm; int i; };
	DEVICE row at(const u8 *w, u32, u32 k, u32 j) { return block_row_at(w, k, j, 256, BYTES); }
	DEVICE raw load(const row &r, u32 c) {
		int i = (int)(c % 8);
		const u8 *p = r.p + c / 8 * BYTES;
		raw v = {load_wide(p + 16 + i / 4 * 32), load_u16(p + 2 * i), load_u32(p + 80), i % 4};
		return v;
	}
	DEVICE void quants(const raw &v, int *q) {
		clear(q);
		or_bits(v.q, v.i * 2, 0x03030303, 0, q);
	}
	DEVICE void scales(const raw &v, float *s, float *m) {
		float d = f16_to_f32((u16)v.dm), dmin = f16_to_f32((u16)(v.dm >> 16));
		s[0] = d * (float)(v.s & 15);
		s[1] = d * (float)(v.s >> 8 & 15);
		m[0] = dmin * (float)(v.s >> 4 & 15);
		m[1] = dmin * (float)(v.s >> 12 & 15);
	}
};

// 32 bytes of third bits, 64 of two bits, 16 scales of 6 bits scattered over 12 bytes, d.
struct q3_k_blocks {
	enum { HALVES = 2, OFFSET = 4, MINS = 0, BYTES = 110 };
	typedef block_row row;
	struct raw { wide q, h; u32 low, high, d; int i; };
	DEVICE row at(const u8 *w, u32, u32 k, u32 j) { return block_row_at(w, k, j, 256, BYTES); }
	DEVICE raw load(const row &r, u32 c) {
		int i = (int)(c % 8);
		const u8 *p = r.p + c / 8 * BYTES, *s = p + 96;
		// scale g has its low nibble in byte g%8, its high two bits in byte 8 + g%4; here g is 2i and 2i+1
		raw v = {load_wide(p + 32 + i / 4 * 32), load_wide(p), load_u16(s + 2 * i % 8), load_u16(s + 8 + 2 * i % 4), load_u16(p + 108), i};
		return v;
	}
	DEVICE void quants(const raw &v, int *q) {
		clear(q);
		or_bits(v.q, v.i % 4 * 2, 0x03030303, 0, q);
		or_bits(v.h, v.i, 0x01010101, 2, q);
	}
	DEVICE void scales(const raw &v, float *s, float *) {
		float d = f16_to_f32((u16)v.d);
		u32 low = v.low >> v.i / 4 * 4, high = v.high >> v.i / 2 * 2;
		s[0] = d * (float)((int)((low & 15) | (high & 3) << 4) - 32);
		s[1] = d * (float)((int)((low >> 8 & 15) | (high >> 8 & 3) << 4) - 32);
	}
};

// d, the scales' high two bits, their low nibbles, 16 bytes of nibbles for each chunk.
struct iq4_xs_blocks {
	enum { HALVES = 1, OFFSET = 0, MINS = 0, BYTES = 136 };
	typedef block_row row;
	struct raw { u32x4 q; u32 dh, low; int i; };
	DEVICE row at(const u8 *w, u32, u32 k, u32 j) { return block_row_at(w, k, j, 256, BYTES); }
	DEVICE raw load(const row &r, u32 c) {
		int i = (int)(c % 8);
		const u8 *p = r.p + c / 8 * BYTES;
		raw v = {load_u32x4(p + 8 + 16 * i), load_u32(p), load_u32(p + 4), i};
		return v;
	}
	DEVICE void quants(const raw &v, int *q) {
		nibbles(v.q, q);
		iq4_values(q);
	}
	DEVICE void scales(const raw &v, float *s, float *) {
		u32 scale = (v.low >> 4 * v.i & 15) | (v.dh >> (16 + 2 * v.i) & 3) << 4;
		s[0] = f16_to_f32((u16)v.dh) * (float)((int)scale - 32);
	}
};

#endif
