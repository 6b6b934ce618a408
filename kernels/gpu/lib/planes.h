// Weights as repack.gpu leaves them: each part of the blocks in a plane of its own over the whole matrix, so that
// neighbouring lanes read neighbouring 16 bytes. The bits and the size are the file's.
//
// With m rows of c = k/32 chunks, planes in this order, all in rows of chunks:
//   Q8_0          i8 q[m][2][c][16]; f16 d[m][c]             first halves of a row's chunks, then the second
//   Q4_0, IQ4_NL  u8 q[m][c][16]; f16 d[m][c]                byte i: value i below, value 16+i above
//   MXFP4         u8 q[m][c][16]; u8 e[m][c]
//   Q5_1          u8 q[m][c][16]; u32 h[m][c]; f16 dm[m][c][2]    bit 8b+i of h: the fifth bit of value 4i+b
//   Q4_K          u8 q[m][c][16]; u32 s[m][c/8][4]           d, dmin; scales' low nibbles; minima's; their high two bits each
//   Q5_K          u8 q[m][c][16]; u32 s[m][c/8][4]; u32 h[m][c]
//   Q6_K          u8 q[m][c][16]; u32 h[m][c][2]; i8 s[m][c][2]; f16 d[m][c/8]
//                                                            bits 8b+2i of h[j]: the high two bits of value 16j+4i+b
#ifndef INGOT_PLANES_H
#define INGOT_PLANES_H

#include "lib/chunk.h"

// Ors the fifth bits into 32 nibbles.
DEVICE void fifth_bits(u32 h, int *q) {
	UNROLL for (int i = 0; i < 8; i++)
		q[i] |= (int)((i <= 4 ? h << (4 - i) : h >> (i - 4)) & 0x10101010);
}

// Ors the high two bits into 16 nibbles.
DEVICE void sixth_bits(u32 h, int *q) {
	UNROLL for (int i = 0; i < 4; i++)
		q[i] |= (int)((i <= 2 ? h << (4 - 2 * i) : h >> 2) & 0x30303030);
}

struct q8_0_planes {
	enum { HALVES = 1, OFFSET = 0, MINS = 0 };
	struct row { const u32x4 *q0, *q1; const u16 *d; };
	struct raw { u32x4 q0, q1; u32 d; };
	DEVICE row at(const u8 *w, i64 m, int k, i64 j) {
		i64 c = k / 32;
		const u32x4 *q = (const u32x4 *)w + 2 * j * c;
		row r = {q, q + c, (const u16 *)(w + 32 * m * c) + j * c};
		return r;
	}
	DEVICE raw load(const row &r, int c) {
		raw v = {r.q0[c], r.q1[c], r.d[c]};
		return v;
	}
	DEVICE void quants(const raw &v, int *q) {
		q[0] = (int)v.q0.x, q[1] = (int)v.q0.y, q[2] = (int)v.q0.z, q[3] = (int)v.q0.w;
		q[4] = (int)v.q1.x, q[5] = (int)v.q1.y, q[6] = (int)v.q1.z, q[7] = (int)v.q1.w;
	}
	DEVICE void scales(const raw &v, float *s, float *) { s[0] = f16_to_f32((u16)v.d); }
};

// Nibbles and a scale of D.
template <class D> struct nibble_planes {
	struct row { const u32x4 *q; const D *d; };
	struct raw { u32x4 q; u32 d; };
	DEVICE row at(const u8 *w, i64 m, int k, i64 j) {
		i64 c = k / 32;
		row r = {(const u32x4 *)w + j * c, (const D *)(w + 16 * m * c) + j * c};
		return r;
	}
	DEVICE raw load(const row &r, int c) {
		raw v = {r.q[c], r.d[c]};
		return v;
	}
};

struct q4_0_planes : nibble_planes<u16> {
	enum { HALVES = 1, OFFSET = 8, MINS = 0 };
	DEVICE void quants(const raw &v, int *q) { nibbles(v.q, q); }
	DEVICE void scales(const raw &v, float *s, float *) { s[0] = f16_to_f32((u16)v.d); }
};

struct iq4_nl_planes : nibble_planes<u16> {
	enum { HALVES = 1, OFFSET = 0, MINS = 0 };
	DEVICE void quants(const raw &v, int *q) {
		nibbles(v.q, q);
		iq4_values(q);
	}
	DEVICE void scales(const raw &v, float *s, float *) { s[0] = f16_to_f32((u16)v.d); }
};

struct mxfp4_planes : nibble_planes<u8> {
	enum { HALVES = 1, OFFSET = 0, MINS = 0 };
	DEVICE void quants(const raw &v, int *q) {
		nibbles(v.q, q);
		mxfp4_values(q);
	}
	DEVICE void scales(const raw &v, float *s, float *) { s[0] = e8m0_half(v.d); }
};

struct q5_1_planes {
	enum { HALVES = 1, OFFSET = 0, MINS = 1 };
	struct row { const u32x4 *q; const u32 *h, *dm; };
	struct raw { u32x4 q; u32 h, dm; };
	DEVICE row at(const u8 *w, i64 m, int k, i64 j) {
		i64 c = k / 32;
		const u32 *h = (const u32 *)(w + 16 * m * c);
		row r = {(const u32x4 *)w + j * c, h + j * c, h + m * c + j * c};
		return r;
	}
	DEVICE raw load(const row &r, int c) {
		raw v = {r.q[c], r.h[c], r.dm[c]};
		return v;
	}
	DEVICE void quants(const raw &v, int *q) {
		nibbles(v.q, q);
		fifth_bits(v.h, q);
	}
	DEVICE void scales(const raw &v, float *s, float *m) {
		s[0] = f16_to_f32((u16)v.dm);
		m[0] = -f16_to_f32((u16)(v.dm >> 16));
	}
};

// The scale and minimum of chunk i of 8, whose record is s.
DEVICE void record_scales(u32x4 s, int i, float *scale, float *min) {
	u32 high = s.w >> 4 * i;
	u32 sc = (s.y >> 4 * i & 15) | (high & 3) << 4, mn = (s.z >> 4 * i & 15) | (high & 12) << 2;
	scale[0] = f16_to_f32((u16)s.x) * (float)sc;
	min[0] = f16_to_f32((u16)(s.x >> 16)) * (float)mn;
}

struct q4_k_planes {
	enum { HALVES = 1, OFFSET = 0, MINS = 1 };
	struct row { const u32x4 *q, *s; };
	struct raw { u32x4 q, s; int i; };
	DEVICE row at(const u8 *w, i64 m, int k, i64 j) {
		i64 c = k / 32;
		row r = {(const u32x4 *)w + j * c, (const u32x4 *)w + m * c + j * (c / 8)};
		return r;
	}
	DEVICE raw load(const row &r, int c) {
		raw v = {r.q[c], r.s[c / 8], c % 8};
		return v;
	}
	DEVICE void quants(const raw &v, int *q) { nibbles(v.q, q); }
	DEVICE void scales(const raw &v, float *s, float *m) { record_scales(v.s, v.i, s, m); }
};

struct q5_k_planes {
	enum { HALVES = 1, OFFSET = 0, MINS = 1 };
	struct row { const u32x4 *q, *s; const u32 *h; };
	struct raw { u32x4 q, s; u32 h; int i; };
	DEVICE row at(const u8 *w, i64 m, int k, i64 j) {
		i64 c = k / 32;
		const u32x4 *s = (const u32x4 *)w + m * c;
		row r = {(const u32x4 *)w + j * c, s + j * (c / 8), (const u32 *)(s + m * (c / 8)) + j * c};
		return r;
	}
	DEVICE raw load(const row &r, int c) {
		raw v = {r.q[c], r.s[c / 8], r.h[c], c % 8};
		return v;
	}
	DEVICE void quants(const raw &v, int *q) {
		nibbles(v.q, q);
		fifth_bits(v.h, q);
	}
	DEVICE void scales(const raw &v, float *s, float *m) { record_scales(v.s, v.i, s, m); }
};

struct q6_k_planes {
	enum { HALVES = 2, OFFSET = 32, MINS = 0 };
	struct row { const u32x4 *q; const u32x2 *h; const u16 *s, *d; };
	struct raw { u32x4 q; u32x2 h; u32 s, d; };
	DEVICE row at(const u8 *w, i64 m, int k, i64 j) {
		i64 c = k / 32;
		const u32x2 *h = (const u32x2 *)(w + 16 * m * c);
		const u16 *s = (const u16 *)(h + m * c);
		row r = {(const u32x4 *)w + j * c, h + j * c, s + j * c, s + m * c + j * (c / 8)};
		return r;
	}
	DEVICE raw load(const row &r, int c) {
		raw v = {r.q[c], r.h[c], r.s[c], r.d[c / 8]};
		return v;
	}
	DEVICE void quants(const raw &v, int *q) {
		nibbles(v.q, q);
		sixth_bits(v.h.x, q);
		sixth_bits(v.h.y, q + 4);
	}
	DEVICE void scales(const raw &v, float *s, float *) {
		float d = f16_to_f32((u16)v.d);
		s[0] = d * (float)(i8)v.s;
		s[1] = d * (float)(i8)(v.s >> 8);
	}
};

#endif
