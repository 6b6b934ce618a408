// A tile of a product for prompts on matrix units: 16 * RM weight rows times 16 * RN vectors (lib/lines.h).
//
// A chunk of 32 is one multiply, or two where its halves have scales of their own. Its whole numbers get their scales in f32 at once, in the
// order of lib/tile.h: both give the same bits. While STEP chunks of all rows are multiplied from one half of
// LDS, the next ones come into registers and then, unpacked once for all vectors, into the other half.
#ifndef INGOT_TILE_MMA_H
#define INGOT_TILE_MMA_H

#include "lib/chunk.h"
#include "lib/lines.h"

enum { STEP = 2 };

// Where a half of LDS has what: words of all rows' lines, and the scales of chunks (s, h) by row or vector.
template <class T, int RM, int RN> struct halves_of_lds {
	enum {
		M = 16 * RM, N = 16 * RN,
		WORDS = (M + N) * LINE,
		WEIGHTS = M * STEP * T::HALVES, MINS_AT = WEIGHTS,                                // weights' scales, and their minima
		VECTORS_AT = WEIGHTS * (1 + T::MINS), SUMS_AT = VECTORS_AT + N * STEP,            // vectors' scales, one a chunk; sums times scale
		FLOATS = SUMS_AT + T::MINS * N * STEP * T::HALVES
	};
};
#define MMA_WORDS(T, RM, RN) (2 * halves_of_lds<T, RM, RN>::WORDS)
#define MMA_FLOATS(T, RM, RN) (2 * halves_of_lds<T, RM, RN>::FLOATS)

// What a thread brings of a step: weight chunks (row, s), and pieces of 16 activations (vector, s, half).
template <class T, int RM, int RN> struct mma_bringing {
	typedef halves_of_lds<T, RM, RN> L;
	enum { CHUNKS = (L::M * STEP + THREADS - 1) / THREADS, PIECES = (L::N * STEP * 2 + THREADS - 1) / THREADS };
	typename T::row row[CHUNKS];
	typename T::raw raw[CHUNKS];
	u32 from[PIECES];
	u32x4 piece[PIECES];
	u32x2 ds[PIECES];
};

// Starts reading the step from chunk c0 on; behind the last chunk that one again.
template <class T, int RM, int RN, class X> DEVICE void fetch(mma_bringing<T, RM, RN> &b, const X &x, int chunks, int c0) {
	typedef mma_bringing<T, RM, RN> B;
	UNROLL for (int i = 0; i < B::CHUNKS; i++) {
		int c = c0 + (thread() + i * THREADS) % STEP;
		b.raw[i] = T::load(b.row[i], c < chunks ? c : chunks - 1);
	}
	UNROLL for (int i = 0; i < B::PIECES; i++) {
		int at = thread() + i * THREADS, c = c0 + at / 2 % STEP;
		c = c < chunks ? c : chunks - 1;
		b.piece[i] = load_at<u32x4>(x.x, b.from[i] + 16 * (u32)(at % 2 * chunks + c));
		b.ds[i] = load_at<u32x2>(x.x, b.from[i] + (u32)(32 * chunks + 8 * c));
	}
}

// Unpacks what was read into a half of LDS; chunks behind the last have scales of zero.
template <class T, int RM, int RN> DEVICE void keep(const mma_bringing<T, RM, RN> &b, int chunks, int c0, u32 *lines, float *scales) {
	typedef mma_bringing<T, RM, RN> B;
	typedef halves_of_lds<T, RM, RN> L;
	UNROLL for (int i = 0; i < B::CHUNKS; i++) {
		int at = thread() + i * THREADS, r = at / STEP, s = at % STEP;
		if (B::CHUNKS * THREADS > L::M * STEP && r >= L::M)
			continue;
		int q[8];
		float scale[2] = {0, 0}, min[2] = {0, 0};
		T::quants(b.raw[i], q);
		if (c0 + s < chunks)
			T::scales(b.raw[i], scale, min);
		UNROLL for (int h = 0; h < 2; h++) {
			u32x4 v = {(u32)less_offset<T>(q[4 * h]), (u32)less_offset<T>(q[4 * h + 1]), (u32)less_offset<T>(q[4 * h + 2]), (u32)less_offset<T>(q[4 * h + 3])};
			*(u32x4 *)(lines + line_at(r, s * 8 + 4 * h)) = v;
		}
		UNROLL for (int h = 0; h < T::HALVES; h++) {
			int to = (s * T::HALVES + h) * L::M + r;
			scales[to] = scale[h];
			if (T::MINS)
				scales[L::MINS_AT + to] = min[h];
		}
	}
	UNROLL for (int i = 0; i < B::PIECES; i++) {
		int at = thread() + i * THREADS, v = at / (2 * STEP), s = at / 2 % STEP, h = at % 2;
		if (B::PIECES * THREADS > L::N * STEP * 2 && v >= L::N)
			continue;
		*(u32x4 *)(lines + line_at(L::M + v, s * 8 + 4 * h)) = b.piece[i];
		float d = c0 + s < chunks ? bits_float(b.ds[i].x) : 0;
		int s0 = act_s0((int)b.ds[i].y), s1 = act_s1((int)b.ds[i].y);
		if (h == 0)
			scales[L::VECTORS_AT + s * L::N + v] = d;
		if (T::MINS && h < T::HALVES)
			scales[L::SUMS_AT + (s * T::HALVES + h) * L::N + v] = d * (float)(T::HALVES == 1 ? s0 + s1 : h ? s1 : s0);
	}
}

// Two neighbours.
struct two { float v[2]; };

DEVICE two two_at(const float *p) {
	u32x2 v = *(const u32x2 *)p;
	two f = {{bits_float(v.x), bits_float(v.y)}};
	return f;
}

// Adds the products of a half of LDS.
template <class T, int RM, int RN> DEVICE void multiply(const lane_part &p, const u32 *lines, const float *scales, float (*sum)[4][4]) {
	typedef waves<RM, RN> S;
	typedef halves_of_lds<T, RM, RN> L;
	UNROLL for (int s = 0; s < STEP; s++) {
		u32x2 x[4];
		two d[4], sums[4 * T::HALVES];
		UNROLL for (int n = 0; n < 4; n++) {
			x[n] = lane_words<T::HALVES>(lines, L::M + p.line + 8 * n, s, p.t);
			int v = p.vector + 8 * n;
			d[n] = two_at(scales + L::VECTORS_AT + s * L::N + v);
			if (T::MINS)
				UNROLL for (int h = 0; h < T::HALVES; h++)
					sums[n * T::HALVES + h] = two_at(scales + L::SUMS_AT + (s * T::HALVES + h) * L::N + v);
		}
		UNROLL for (int i = 0; i < S::ROWS; i++) {
			settle(); // or all rows' words are read ahead, into registers that there are not
			int r = p.row + 16 * i;
			u32x2 w0 = lane_words<T::HALVES>(lines, r, s, p.t), w1 = lane_words<T::HALVES>(lines, r + 8, s, p.t);
			two scale[T::HALVES], min[T::HALVES];
			UNROLL for (int h = 0; h < T::HALVES; h++) {
				const float *at = scales + (s * T::HALVES + h) * L::M + r;
				scale[h].v[0] = at[0], scale[h].v[1] = at[8];
				if (T::MINS)
					min[h].v[0] = at[L::MINS_AT], min[h].v[1] = at[L::MINS_AT + 8];
			}
			UNROLL for (int n = 0; n < 4; n++) {
				int whole[T::HALVES][4] = {};
				if (T::HALVES == 1) {
					const u32 a[4] = {w0.x, w1.x, w0.y, w1.y}, b[2] = {x[n].x, x[n].y};
					mma_s8(whole[0], a, b);
				} else {
					const u32 a0[2] = {w0.x, w1.x}, a1[2] = {w0.y, w1.y};
					mma_s8_16(whole[0], a0, x[n].x);
					mma_s8_16(whole[T::HALVES - 1], a1, x[n].y);
				}
				UNROLL for (int e = 0; e < 4; e++) {
					float *y = &sum[i][n][e];
					UNROLL for (int h = 0; h < T::HALVES; h++)
						*y = fmaf((float)whole[h][e], scale[h].v[e / 2] * d[n].v[e % 2], *y);
					if (T::MINS)
						UNROLL for (int h = 0; h < T::HALVES; h++)
							*y = fmaf(-min[h].v[e / 2], sums[n * T::HALVES + h].v[e % 2], *y);
				}
			}
		}
	}
}

// The sums of one tile, a lane's part. w: the matrix; j: its first row; x: the vectors (lib/vectors.h).
template <class T, int RM, int RN, class X> DEVICE void mma_sums(const lane_part &p, const u8 *w, int m, int k, int j, const X &x, u32 *words, float *scales, float (*sum)[4][4]) {
	typedef mma_bringing<T, RM, RN> B;
	typedef halves_of_lds<T, RM, RN> L;
	int chunks = k / 32;
	UNROLL for (int i = 0; i < waves<RM, RN>::ROWS; i++)
		UNROLL for (int n = 0; n < 4; n++)
			UNROLL for (int e = 0; e < 4; e++)
				sum[i][n][e] = 0;
	B b;
	UNROLL for (int i = 0; i < B::CHUNKS; i++) {
		int r = (thread() + i * THREADS) / STEP;
		r = j + (r < L::M ? r : L::M - 1);
		b.row[i] = T::at(w, m, k, r < m ? r : m - 1);
	}
	UNROLL for (int i = 0; i < B::PIECES; i++) {
		int v = (thread() + i * THREADS) / (2 * STEP);
		b.from[i] = vector_at(x, v < L::N ? v : L::N - 1);
	}
	fetch(b, x, chunks, 0);
	keep(b, chunks, 0, words, scales);
	barrier();
	for (int c0 = 0, half = 0; c0 < chunks; c0 += STEP, half ^= 1) {
		bool more = c0 + STEP < chunks;
		if (more)
			fetch(b, x, chunks, c0 + STEP);
		multiply<T, RM, RN>(p, words + half * L::WORDS, scales + half * L::FLOATS, sum);
		if (more)
			keep(b, chunks, c0 + STEP, words + (half ^ 1) * L::WORDS, scales + (half ^ 1) * L::FLOATS);
		barrier();
	}
}

#endif
