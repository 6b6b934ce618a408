// AMX tiles: eight registers of up to 16 rows of 64 bytes, and the product of two of them. Each word is one instruction,
// in assembler so that every compiler has it; or, given an ig_tiles, what that instruction means, in C: so products by
// tiles are checked on any machine.
#ifndef INGOT_TILE_H
#define INGOT_TILE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "half.h"
#include "target.h"

enum { IG_TILE_REGISTERS = 8, IG_TILE_ROWS = 16, IG_TILE_BYTES = 1024 /* of a whole one, whose rows lie 64 bytes apart */ };

// What ldtilecfg reads. A register has rows[i] rows of colsb[i] bytes.
typedef struct ig_tile_config {
	uint8_t palette, start_row, reserved[14];
	uint16_t colsb[16];
	uint8_t rows[16];
} ig_tile_config;
_Static_assert(sizeof(ig_tile_config) == 64, "what ldtilecfg reads");

// The registers in memory; where a word is given NULL, they are the processor's.
typedef struct ig_tiles {
	ig_tile_config c;
	uint8_t row[IG_TILE_REGISTERS][IG_TILE_ROWS][64];
} ig_tiles;

typedef struct ig_tile_memory { uint8_t b[IG_TILE_BYTES]; } ig_tile_memory;

// Subnormal numbers count as zero, and become it.
static inline float ig_tile_flush(float f) {
	uint32_t u = ig_float_bits(f);
	return u & 0x7f800000 ? f : ig_bits_float(u & 0x80000000);
}

// Row by row as Intel's manual has it (TDPBF16PS): the even and the odd members of all pairs are summed apart, each
// product fused into its sum; then both sums are added, and that to the destination. All round to nearest even.
static inline void ig_tile_dot_meaning(ig_tiles *t, int c, int a, int b) {
	const int pairs = t->c.colsb[a] / 4, columns = t->c.colsb[c] / 4, rows = t->c.rows[c];
	if (t->c.rows[a] != rows || t->c.rows[b] != pairs || t->c.colsb[b] != t->c.colsb[c] || t->c.palette != 1)
		__builtin_trap(); // where the processor would fault
	for (int m = 0; m < rows; m++) {
		float sum[2][16] = {{0}}, to[16];
		for (int k = 0; k < pairs; k++) {
			uint16_t x[2], y[32];
			memcpy(x, t->row[a][m] + 4 * k, sizeof x);
			memcpy(y, t->row[b][k], sizeof y);
			for (int i = 0; i < 2; i++) {
				float from = ig_tile_flush(ig_from_bf16(x[i]));
				for (int n = 0; n < 16; n++)
					sum[i][n] = ig_tile_flush(fmaf(from, ig_tile_flush(ig_from_bf16(y[2 * n + i])), sum[i][n]));
			}
		}
		memcpy(to, t->row[c][m], sizeof to);
		for (int n = 0; n < columns; n++)
			to[n] = ig_tile_flush(ig_tile_flush(to[n]) + ig_tile_flush(sum[0][n] + sum[1][n]));
		memcpy(t->row[c][m], to, sizeof to);
	}
}

// All registers become zero.
IG_INLINE void tile_configure(ig_tiles *t, const ig_tile_config *c) {
	if (t) {
		memset(t, 0, sizeof *t);
		t->c = *c;
		return;
	}
	__asm__ volatile("ldtilecfg %0" : : "m"(*c)); // all 64 bytes are its operand, so no store to them is dropped
}

IG_INLINE void tile_release(ig_tiles *t) {
	if (t)
		memset(t, 0, sizeof *t);
	else
		__asm__ volatile("tilerelease");
}

IG_INLINE void tile_zero(ig_tiles *t, const int i) {
	if (t)
		memset(t->row[i], 0, sizeof t->row[i]);
	else
		__asm__ volatile("tilezero %%tmm%c0" : : "i"(i));
}

// Loads the rows at p, 64 bytes apart.
IG_INLINE void tile_load(ig_tiles *t, const int i, const void *p) {
	if (t) {
		memset(t->row[i], 0, sizeof t->row[i]);
		for (int r = 0; r < t->c.rows[i]; r++)
			memcpy(t->row[i][r], (const uint8_t *)p + 64 * r, t->c.colsb[i]);
		return;
	}
	__asm__ volatile("tileloadd (%1,%2,1), %%tmm%c0" : : "i"(i), "r"(p), "r"((int64_t)64), "m"(*(const ig_tile_memory *)p));
}

IG_INLINE void tile_store(ig_tiles *t, const int i, void *p) {
	if (t) {
		for (int r = 0; r < t->c.rows[i]; r++)
			memcpy((uint8_t *)p + 64 * r, t->row[i][r], t->c.colsb[i]);
		return;
	}
	__asm__ volatile("tilestored %%tmm%c1, (%2,%3,1)" : "=m"(*(ig_tile_memory *)p) : "i"(i), "r"(p), "r"((int64_t)64));
}

// c[m][n] += the sum over pairs k of a[m][2k]*b[k][2n] + a[m][2k+1]*b[k][2n+1]; a and b are bf16, c is f32.
IG_INLINE void tile_dot(ig_tiles *t, const int c, const int a, const int b) {
	if (t)
		ig_tile_dot_meaning(t, c, a, b);
	else
		__asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" : : "i"(c), "i"(a), "i"(b));
}

#endif
