// A tile of CELLS rows of keys or values in LDS, and the sums over it. Values of 16 bits stay as they are; those of Q8_0
// and Q4_0 become f16, exactly, with the scales of their blocks beside them; f32 stays f32.
#ifndef INGOT_ATTENTION_TILE_H
#define INGOT_ATTENTION_TILE_H

#define QUANTIZED(type) ((type) == T_Q8_0 || (type) == T_Q4_0)
#define ROW_BYTES(type) ((type) == T_F32 ? 4 * DIM : (type) == T_Q8_0 ? DIM / 32 * 34 : (type) == T_Q4_0 ? DIM / 32 * 18 : 2 * DIM)
// Words of a row in LDS: one over a multiple of 32 apart, so that lanes at different rows use different banks.
#define ROW_WORDS(type) ((type) == T_F32 ? DIM + 1 : DIM / 2 + 1)
#define TILE_WORDS (CELLS * (KT == T_F32 || VT == T_F32 ? ROW_WORDS(T_F32) : ROW_WORDS(T_F16)))
#define TILE_SCALES (QUANTIZED(KT) || QUANTIZED(VT) ? DIM / 32 : 1)

DEVICE u32 f16_pair(float x, float y) { return f32_to_f16(x) | (u32)f32_to_f16(y) << 16; }

// Fills the tile from `cells` rows at src; the rest is zeros.
template <int TYPE> DEVICE void load_tile(const char *src, int cells, u32 *tile, float *scales) {
	const int words = TYPE == T_F32 ? DIM : DIM / 2;
	for (int i = thread(); i < CELLS * words; i += THREADS) {
		int c = i / words, w = i % words, block = w / 16, in = w % 16;
		u32 value = 0;
		const char *row = src + (i64)c * ROW_BYTES(TYPE);
		if (c >= cells)
			value = 0;
		else if (TYPE == T_Q8_0) {
			const u16 *b = (const u16 *)(row + 34 * block);
			value = f16_pair((i8)(b[1 + in] & 255), (i8)(b[1 + in] >> 8));
			if (in == 0)
				scales[c * (DIM / 32) + block] = f16_to_f32(b[0]);
		} else if (TYPE == T_Q4_0) {
			const u16 *b = (const u16 *)(row + 18 * block);
			u32 two = b[1 + in % 8] >> (in < 8 ? 0 : 4);
			value = f16_pair((float)(int)(two & 15) - 8, (float)(int)(two >> 8 & 15) - 8);
			if (in == 0)
				scales[c * (DIM / 32) + block] = f16_to_f32(b[0]);
		} else
			value = ((const u32 *)row)[w];
		tile[c * ROW_WORDS(TYPE) + w] = value;
	}
}

// Pair p of a row of the tile.
template <int TYPE> DEVICE void tile_pair(const u32 *row, int p, float *x, float *y) {
	if (TYPE == T_F32) {
		*x = bits_float(row[2 * p]);
		*y = bits_float(row[2 * p + 1]);
	} else if (TYPE == T_BF16) {
		*x = bits_float(row[p] << 16);
		*y = bits_float(row[p] & 0xffff0000u);
	} else {
		*x = f16_to_f32(row[p] & 0xffff);
		*y = f16_to_f32(row[p] >> 16);
	}
}

// sum[i][j] = query i times the key at cell tc + j * TC.
template <int TYPE, int SQ, int SC, int TC>
DEVICE void dot_tile(const float *q, const u32 *tile, const float *scales, int tc, float sum[SQ][SC]) {
	const int span = QUANTIZED(TYPE) ? 16 : DIM / 2; // pairs of one scale
	for (int block = 0; block < DIM / 2 / span; block++) {
		float part[SQ][SC] = {};
		for (int p = block * span; p < (block + 1) * span; p++) {
			float x[SC], y[SC];
			for (int j = 0; j < SC; j++)
				tile_pair<TYPE>(tile + (tc + j * TC) * ROW_WORDS(TYPE), p, x + j, y + j);
			for (int i = 0; i < SQ; i++) {
				float q0 = q[i * DIM + 2 * p], q1 = q[i * DIM + 2 * p + 1];
				for (int j = 0; j < SC; j++)
					part[i][j] = fmaf(q1, y[j], fmaf(q0, x[j], part[i][j]));
			}
		}
		for (int i = 0; i < SQ; i++)
			for (int j = 0; j < SC; j++)
				sum[i][j] += QUANTIZED(TYPE) ? part[i][j] * scales[(tc + j * TC) * (DIM / 32) + block] : part[i][j];
	}
}

// acc[i][j] += p[i][c] times pair lane + j * LANES of the value at cell c, over the cells first, first + STEP, ...
template <int TYPE, int QV, int NP, int LANES, int STEP>
DEVICE void sum_tile(const float *p, int prow, const u32 *tile, const float *scales, int lane, int first, int cells, float acc[QV][NP][2]) {
	for (int c = first; c < cells; c += STEP) {
		float w[QV];
		for (int i = 0; i < QV; i++)
			w[i] = p[i * prow + c];
		for (int j = 0; j < NP; j++) {
			int at = lane + j * LANES;
			if (DIM / 2 % LANES != 0 && at >= DIM / 2)
				continue;
			float x, y;
			tile_pair<TYPE>(tile + c * ROW_WORDS(TYPE), at, &x, &y);
			if (QUANTIZED(TYPE)) {
				float scale = scales[c * (DIM / 32) + at / 16];
				x *= scale;
				y *= scale;
			}
			for (int i = 0; i < QV; i++) {
				acc[i][j][0] = fmaf(w[i], x, acc[i][j][0]);
				acc[i][j][1] = fmaf(w[i], y, acc[i][j][1]);
			}
		}
	}
}

#endif
