// A tile of a product for prompts: 16 * RM weight rows times 16 * RN vectors, by 256 threads, each of which sums RM x RN results.
//
// STEP chunks of all rows and vectors are in LDS at a time, the weights unpacked once for all vectors; while they are multiplied,
// the next ones are on their way into registers. A row of LDS has four words more than it needs, so that eight rows
// read by neighbouring lanes lie in different banks.
#ifndef INGOT_TILE_H
#define INGOT_TILE_H

#include "lib/chunk.h"

enum { STEP = 2, LINE = STEP * 8 + 4 };

// The words of LDS and the floats that a kernel gives a tile.
#define TILE_WORDS(RM, RN) (16 * ((RM) + (RN)) * LINE)
#define TILE_SCALES(RM, RN, MINS) (16 * ((RM) + (RN)) * STEP * 2 * (1 + (MINS)))

template <class T, int RM, int RN> struct tile {
	enum {
		M = 16 * RM, N = 16 * RN,
		CHUNKS = (M * STEP + THREADS - 1) / THREADS,     // of weights, a thread
		PIECES = (N * STEP * 2 + THREADS - 1) / THREADS, // of 16 activations, a thread
	};
};

// A scale, and with T::MINS the minimum beside it; of activations, their sum times the scale.
struct pair { float scale, min; };

template <class T> DEVICE void put_scale(float *scales, int at, float scale, float min) {
	scales[at << T::MINS] = scale;
	if (T::MINS)
		scales[(at << T::MINS) + 1] = min;
}

template <class T> DEVICE pair get_scale(const float *scales, int at) {
	pair p = {scales[at << T::MINS], T::MINS ? scales[(at << T::MINS) + 1] : 0};
	return p;
}

// The sums of one tile. w: the matrix; j: its first row; vector_at(x, v): where vector v's quantized row begins, in bytes behind x.x, for all v below 16 * RN.
template <class T, int RM, int RN, class X> DEVICE void tile_sums(const u8 *w, int m, int k, int j, X x, u32 *words, float *scales, float *sum) {
	typedef tile<T, RM, RN> S;
	int chunks = k / 32, tm = thread() % 16, tn = thread() / 16;
	u32 *wq = words, *xq = words + S::M * LINE;
	float *ws = scales, *xs = ws + S::M * STEP * T::HALVES * (1 + T::MINS);
	UNROLL for (int i = 0; i < RM * RN; i++)
		sum[i] = 0;

	// What this thread brings: weight chunks (row, s), and pieces of activations (vector, s, half).
	typename T::row row[S::CHUNKS];
	typename T::raw raw[S::CHUNKS];
	u32 from[S::PIECES];
	u32x4 piece[S::PIECES];
	u32x2 ds[S::PIECES];
	UNROLL for (int i = 0; i < S::CHUNKS; i++) {
		int r = j + (thread() + i * THREADS) / STEP;
		row[i] = T::at(w, m, k, r < m ? r : m - 1);
	}
	UNROLL for (int i = 0; i < S::PIECES; i++) {
		int v = (thread() + i * THREADS) / (2 * STEP);
		from[i] = vector_at(x, v < S::N ? v : S::N - 1);
	}

	for (int c0 = 0; c0 < chunks + STEP; c0 += STEP) {
		// c0 is what is being loaded; STEP before it is what is in registers and will be multiplied.
		if (c0) {
			barrier();
			UNROLL for (int i = 0; i < S::CHUNKS; i++) {
				int at = thread() + i * THREADS, r = at / STEP, s = at % STEP;
				if (S::CHUNKS * THREADS > S::M * STEP && r >= S::M)
					continue;
				int q[8];
				float scale[2] = {0, 0}, min[2] = {0, 0};
				T::quants(raw[i], q);
				if (c0 - STEP + s < chunks)
					T::scales(raw[i], scale, min);
				UNROLL for (int h = 0; h < 2; h++) {
					u32x4 v = {(u32)less_offset<T>(q[4 * h]), (u32)less_offset<T>(q[4 * h + 1]), (u32)less_offset<T>(q[4 * h + 2]),
					           (u32)less_offset<T>(q[4 * h + 3])};
					*(u32x4 *)(wq + r * LINE + s * 8 + 4 * h) = v;
				}
				UNROLL for (int h = 0; h < T::HALVES; h++)
					put_scale<T>(ws, (s * T::HALVES + h) * S::M + r, scale[h], min[h]);
			}
			UNROLL for (int i = 0; i < S::PIECES; i++) {
				int at = thread() + i * THREADS, v = at / (2 * STEP), s = at / 2 % STEP, h = at % 2;
				if (S::PIECES * THREADS > S::N * STEP * 2 && v >= S::N)
					continue;
				*(u32x4 *)(xq + v * LINE + s * 8 + 4 * h) = piece[i];
				float d = c0 - STEP + s < chunks ? bits_float(ds[i].x) : 0;
				int s0 = act_s0((int)ds[i].y), s1 = act_s1((int)ds[i].y);
				if (h < T::HALVES)
					put_scale<T>(xs, (s * T::HALVES + h) * S::N + v, d, d * (float)(T::HALVES == 1 ? s0 + s1 : h ? s1 : s0));
			}
			barrier();
		}
		if (c0 < chunks) {
			UNROLL for (int i = 0; i < S::CHUNKS; i++) {
				int c = c0 + (thread() + i * THREADS) % STEP;
				raw[i] = T::load(row[i], c < chunks ? c : chunks - 1);
			}
			UNROLL for (int i = 0; i < S::PIECES; i++) {
				int at = thread() + i * THREADS, c = c0 + at / 2 % STEP;
				c = c < chunks ? c : chunks - 1;
				piece[i] = load_at<u32x4>(x.x, from[i] + 16 * (u32)(at % 2 * chunks + c));
				ds[i] = load_at<u32x2>(x.x, from[i] + (u32)(32 * chunks + 8 * c));
			}
		}
		if (!c0)
			continue;
		UNROLL for (int s = 0; s < STEP; s++) {
			u32x4 x0[RN], x1[RN];
			pair d[RN * T::HALVES];
			UNROLL for (int n = 0; n < RN; n++) {
				const u32 *line = xq + (tn * RN + n) * LINE + s * 8;
				x0[n] = *(const u32x4 *)line;
				x1[n] = *(const u32x4 *)(line + 4);
				UNROLL for (int h = 0; h < T::HALVES; h++)
					d[n * T::HALVES + h] = get_scale<T>(xs, (s * T::HALVES + h) * S::N + tn * RN + n);
			}
			UNROLL for (int i = 0; i < RM; i++) {
				settle(); // or all rows' words are read ahead, into registers that there are not
				const u32 *line = wq + (tm + 16 * i) * LINE + s * 8;
				u32x4 w0 = *(const u32x4 *)line, w1 = *(const u32x4 *)(line + 4);
				const int q[8] = {(int)w0.x, (int)w0.y, (int)w0.z, (int)w0.w, (int)w1.x, (int)w1.y, (int)w1.z, (int)w1.w};
				pair scale[T::HALVES];
				UNROLL for (int h = 0; h < T::HALVES; h++)
					scale[h] = get_scale<T>(ws, (s * T::HALVES + h) * S::M + tm + 16 * i);
				UNROLL for (int n = 0; n < RN; n++) {
					float *y = sum + i * RN + n;
					if (T::HALVES == 1) {
						*y = fmaf((float)dot16(q + 4, x1[n], dot16(q, x0[n], 0)), scale[0].scale * d[n].scale, *y);
					} else {
						*y = fmaf((float)dot16(q, x0[n], 0), scale[0].scale * d[2 * n].scale, *y);
						*y = fmaf((float)dot16(q + 4, x1[n], 0), scale[T::HALVES - 1].scale * d[2 * n].scale, *y);
					}
					if (T::MINS)
						UNROLL for (int h = 0; h < T::HALVES; h++)
							*y = fmaf(-scale[h].min, d[n * T::HALVES + h].min, *y);
				}
			}
		}
	}
}

#endif
