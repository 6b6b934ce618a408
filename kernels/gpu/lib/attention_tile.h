// A tile of CELLS rows of keys or values: fetched into registers, kept in LDS, and summed over. Values of 16 bits stay as they are; those
// of Q8_0 and Q4_0 become f16, exactly, with the scales of their blocks beside them; f32 stays f32.
#ifndef INGOT_ATTENTION_TILE_H
#define INGOT_ATTENTION_TILE_H

#define QUANTIZED(type) ((type) == T_Q8_0 || (type) == T_Q4_0)
#define ROW_BYTES(type) ((type) == T_F32 ? 4 * DIM : (type) == T_Q8_0 ? DIM / 32 * 34 : (type) == T_Q4_0 ? DIM / 32 * 18 : 2 * DIM)
// Words of a row in LDS, four more than the values take, so that neighbouring rows begin at other banks.
#define ROW_WORDS(type) ((type) == T_F32 ? DIM + 4 : DIM / 2 + 4)
#define TILE_WORDS (CELLS * (KT == T_F32 || VT == T_F32 ? ROW_WORDS(T_F32) : ROW_WORDS(T_F16)))
#define TILE_SCALES (QUANTIZED(KT) || QUANTIZED(VT) ? DIM / 32 : 1)
// A tile in pieces of 16 bytes, or for quantized types of 16 values; how many a thread has.
#define ROW_PIECES(type) ((type) == T_F32 ? DIM / 4 : QUANTIZED(type) ? DIM / 16 : DIM / 8)
#define EACH(type) ((CELLS * ROW_PIECES(type) + THREADS - 1) / THREADS)

// Part of a tile, on its way from memory to LDS.
template <int TYPE> struct pieces {
	u32x4 v[EACH(TYPE)];
	float d[QUANTIZED(TYPE) ? EACH(TYPE) : 1];
};

DEVICE u32x4 load_any(const char *p) {
	u32x4 v = {load_u32(p), load_u32(p + 4), load_u32(p + 8), load_u32(p + 12)};
	return v;
}

// Starts reading `cells` rows at src; rows after them become zeros.
template <int TYPE> DEVICE void fetch(const char *src, int cells, pieces<TYPE> &p) {
	UNROLL
	for (int k = 0; k < EACH(TYPE); k++) {
		int i = thread() + k * THREADS, c = i / ROW_PIECES(TYPE), at = i % ROW_PIECES(TYPE);
		u32x4 zero = {0, 0, 0, 0};
		p.v[k] = zero;
		if (QUANTIZED(TYPE))
			p.d[k] = 0;
		if (c >= cells)
			continue;
		const char *row = src + (i64)c * ROW_BYTES(TYPE);
		if (QUANTIZED(TYPE)) {
			const char *block = row + at / 2 * (TYPE == T_Q8_0 ? 34 : 18);
			p.v[k] = load_any(block + 2 + (TYPE == T_Q8_0 ? at % 2 * 16 : 0));
			p.d[k] = f16_to_f32(*(const u16 *)block);
		} else
			p.v[k] = ((const u32x4 *)row)[at];
	}
}

DEVICE u32 f16_pair(float x, float y) { return f32_to_f16(x) | (u32)f32_to_f16(y) << 16; }

// Four bytes as four halves: signed ones, or nibbles less 8 of the half of each byte that shift chooses.
template <int TYPE> DEVICE u32x2 halves(u32 v, int shift) {
	u32x2 out;
	if (TYPE == T_Q8_0) {
		out.x = f16_pair((i8)v, (i8)(v >> 8));
		out.y = f16_pair((i8)(v >> 16), (i8)(v >> 24));
	} else {
		v >>= shift;
		out.x = f16_pair((float)(int)(v & 15) - 8, (float)(int)(v >> 8 & 15) - 8);
		out.y = f16_pair((float)(int)(v >> 16 & 15) - 8, (float)(int)(v >> 24 & 15) - 8);
	}
	return out;
}

// Puts what was fetched into LDS.
template <int TYPE> DEVICE void keep(const pieces<TYPE> &p, u32 *tile, float *scales) {
	UNROLL
	for (int k = 0; k < EACH(TYPE); k++) {
		int i = thread() + k * THREADS, c = i / ROW_PIECES(TYPE), at = i % ROW_PIECES(TYPE);
		if (CELLS * ROW_PIECES(TYPE) % THREADS != 0 && c >= CELLS)
			continue;
		u32 *row = tile + c * ROW_WORDS(TYPE);
		if (!QUANTIZED(TYPE)) {
			((u32x4 *)row)[at] = p.v[k];
			continue;
		}
		u32x2 a = halves<TYPE>(p.v[k].x, at % 2 * 4), b = halves<TYPE>(p.v[k].y, at % 2 * 4);
		u32x2 e = halves<TYPE>(p.v[k].z, at % 2 * 4), f = halves<TYPE>(p.v[k].w, at % 2 * 4);
		u32x4 first = {a.x, a.y, b.x, b.y}, second = {e.x, e.y, f.x, f.y};
		((u32x4 *)row)[2 * at] = first;
		((u32x4 *)row)[2 * at + 1] = second;
		if (at % 2 == 0)
			scales[c * (DIM / 32) + at / 2] = p.d[k];
	}
}

// The two values of a word of the tile; of f32, word w and the one behind it.
template <int TYPE> DEVICE void two(u32 w, float *x, float *y) {
	if (TYPE == T_BF16) {
		*x = bits_float(w << 16);
		*y = bits_float(w & 0xffff0000u);
	} else {
		*x = f16_to_f32((u16)(w & 0xffff));
		*y = f16_to_f32((u16)(w >> 16));
	}
}

// Eight values of a row from a multiple of eight on.
template <int TYPE> DEVICE void eight(const u32 *row, int at, float *x) {
	if (TYPE == T_F32) {
		u32x4 a = ((const u32x4 *)row)[2 * at], b = ((const u32x4 *)row)[2 * at + 1];
		x[0] = bits_float(a.x), x[1] = bits_float(a.y), x[2] = bits_float(a.z), x[3] = bits_float(a.w);
		x[4] = bits_float(b.x), x[5] = bits_float(b.y), x[6] = bits_float(b.z), x[7] = bits_float(b.w);
	} else {
		u32x4 a = ((const u32x4 *)row)[at];
		two<TYPE>(a.x, x, x + 1);
		two<TYPE>(a.y, x + 2, x + 3);
		two<TYPE>(a.z, x + 4, x + 5);
		two<TYPE>(a.w, x + 6, x + 7);
	}
}

// sum[i][j] = query i times the key at cell tc + j * TC.
template <int TYPE, int SQ, int SC, int TC>
DEVICE void dot_tile(const float *q, const u32 *tile, const float *scales, int tc, float (&sum)[SQ][SC]) {
	const int span = QUANTIZED(TYPE) ? 4 : DIM / 8; // steps of one scale
	NO_UNROLL
	for (int block = 0; block < DIM / 8 / span; block++) {
		float part[SQ][SC] = {};
		NO_UNROLL
		for (int s = block * span; s < (block + 1) * span; s++) {
			float k[SC][8], v[8];
			UNROLL
			for (int j = 0; j < SC; j++)
				eight<TYPE>(tile + (tc + j * TC) * ROW_WORDS(TYPE), s, k[j]);
			UNROLL
			for (int i = 0; i < SQ; i++) {
				eight<T_F32>((const u32 *)(q + i * DIM), s, v);
				UNROLL
				for (int j = 0; j < SC; j++)
					UNROLL
					for (int e = 0; e < 8; e++)
						part[i][j] = fmaf(v[e], k[j][e], part[i][j]);
			}
		}
		UNROLL
		for (int i = 0; i < SQ; i++)
			UNROLL
			for (int j = 0; j < SC; j++)
				sum[i][j] += QUANTIZED(TYPE) ? part[i][j] * scales[(tc + j * TC) * (DIM / 32) + block] : part[i][j];
	}
}

// acc[i][j] += p[i][c] times pair lane + j * LANES of the value at cell c, over the fours of cells first, first + STEP, ... below
// cells, after which p is zero.
template <int TYPE, int QV, int NP, int LANES, int STEP>
DEVICE void sum_tile(const float *p, int prow, const u32 *tile, const float *scales, int lane, int first, int cells, float (&acc)[QV][NP][2]) {
	NO_UNROLL
	for (int c = 4 * first; c < cells; c += 4 * STEP) {
		float w[QV][4];
		UNROLL
		for (int i = 0; i < QV; i++) {
			u32x4 v = *(const u32x4 *)(p + i * prow + c);
			w[i][0] = bits_float(v.x), w[i][1] = bits_float(v.y), w[i][2] = bits_float(v.z), w[i][3] = bits_float(v.w);
		}
		UNROLL
		for (int j = 0; j < NP; j++) {
			int at = lane + j * LANES;
			if (DIM / 2 % LANES != 0 && at >= DIM / 2)
				continue;
			UNROLL
			for (int n = 0; n < 4; n++) {
				const u32 *row = tile + (c + n) * ROW_WORDS(TYPE);
				float x, y;
				if (TYPE == T_F32) {
					x = bits_float(row[2 * at]);
					y = bits_float(row[2 * at + 1]);
				} else
					two<TYPE>(row[at], &x, &y);
				if (QUANTIZED(TYPE)) {
					float scale = scales[(c + n) * (DIM / 32) + at / 16];
					x *= scale;
					y *= scale;
				}
				UNROLL
				for (int i = 0; i < QV; i++) {
					acc[i][j][0] = fmaf(w[i][n], x, acc[i][j][0]);
					acc[i][j][1] = fmaf(w[i][n], y, acc[i][j][1]);
				}
			}
		}
	}
}

#endif
