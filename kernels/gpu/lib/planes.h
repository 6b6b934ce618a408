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
	struct row { const u8 *q, *d; u32 chunks, first; };
	struct raw { u32x4 q0, q1; u32 d; };
	DEVICE row at(const u8 *w, u32 m, u32 k, u32 j) {
		u32 c = k / 32;
		row r = {w, w + 32 * (i64)m * c, c, j * c};
		return r;
	}
	DEVICE raw load(const row &r, u32 c) {
		u32 at = 2 * r.first + c;
		raw v = {load_at<u32x4>(r.q, 16 * at), load_at<u32x4>(r.q, 16 * (at + r.chunks)), load_at<u16>(r.d, 2 * (r.first + c))};
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
	struct row { const u8 *q, *d; u32 first; };
	struct raw { u32x4 q; u32 d; };
	DEVICE row at(const u8 *w, u32 m, u32 k, u32 j) {
		u32 c = k / 32;
		row r = {w, w + 16 * (i64)m * c, j * c};
		return r;
	}
	DEVICE raw load(const row &r, u32 c) {
		c += r.first;
		raw v = {load_at<u32x4>(r.q, 16 * c), load_at<D>(r.d, (u32)sizeof(D) * c)};
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
	struct row { const u8 *q, *h, *dm; u32 first; };
	struct raw { u32x4 q; u32 h, dm; };
	DEVICE row at(const u8 *w, u32 m, u32 k, u32 j) {
		u32 c = k / 32;
		const u8 *h = w + 16 * (i64)m * c;
		row r = {w, h, h + 4 * (i64)m * c, j * c};
		return r;
	}
	DEVICE raw load(const row &r, u32 c) {
		c += r.first;
		raw v = {load_at<u32x4>(r.q, 16 * c), load_at<u32>(r.h, 4 * c), load_at<u32>(r.dm, 4 * c)};
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
	struct row { const u8 *q, *s; u32 first; };
	struct raw { u32x4 q, s; int i; };
	DEVICE row at(const u8 *w, u32 m, u32 k, u32 j) {
		u32 c = k / 32;
		row r = {w, w + 16 * (i64)m * c, j * c};
		return r;
	}
	DEVICE raw load(const row &r, u32 c) {
		c += r.first; // a row begins with a whole block
		raw v = {load_at<u32x4>(r.q, 16 * c), load_at<u32x4>(r.s, 16 * (c / 8)), (int)(c % 8)};
		return v;
	}
	DEVICE void quants(const raw &v, int *q) { nibbles(v.q, q); }
	DEVICE void scales(const raw &v, float *s, float *m) { record_scales(v.s, v.i, s, m); }
};

struct q5_k_planes {
	enum { HALVES = 1, OFFSET = 0, MINS = 1 };
	struct row { const u8 *q, *s, *h; u32 first; };
	struct raw { u32x4 q, s; u32 h; int i; };
	DEVICE row at(const u8 *w, u32 m, u32 k, u32 j) {
		u32 c = k / 32;
		const u8 *s = w + 16 * (i64)m * c;
		row r = {w, s, s + 2 * (i64)m * c, j * c};
		return r;
	}
	DEVICE raw load(const row &r, u32 c) {
		c += r.first;
		raw v = {load_at<u32x4>(r.q, 16 * c), load_at<u32x4>(r.s, 16 * (c / 8)), load_at<u32>(r.h, 4 * c), (int)(c % 8)};
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
	struct row { const u8 *q, *h, *s, *d; u32 first; };
	struct raw { u32x4 q; u32x2 h; u32 s, d; };
	DEVICE row at(const u8 *w, u32 m, u32 k, u32 j) {
		u32 c = k / 32;
		i64 all = (i64)m * c;
		row r = {w, w + 16 * all, w + 24 * all, w + 26 * all, j * c};
		return r;
	}
	DEVICE raw load(const row &r, u32 c) {
		c += r.first;
		raw v = {load_at<u32x4>(r.q, 16 * c), load_at<u32x2>(r.h, 8 * c), load_at<u16>(r.s, 2 * c), load_at<u16>(r.d, 2 * (c / 8))};
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
