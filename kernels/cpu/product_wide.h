// Panels for activations of 16 bits, where a level multiplies 16-bit numbers: weights and activations are kept as such, and one
// product does what takes two of bytes. A part of product_panel.h; nothing where the level does not define WIDENS.
#ifndef INGOT_PRODUCT_WIDE_H
#define INGOT_PRODUCT_WIDE_H

#ifdef WIDENS

// STEP values of each activation, and where they are.
typedef struct widened {
	_Alignas(64) int16_t values[IG_TILE / 2][STEP];
	const uint8_t *x[IG_TILE / 2];
} widened;

// The chunks from `at` on of n activations, whose residuals lie `low` bytes behind them.
IG_INLINE void widen_rows(widened *to, const uint8_t *const *x, int64_t low, int64_t at, int chunks, int n) {
	for (int r = 0; r < n; r++) {
		to->x[r] = (const uint8_t *)to->values[r];
		for (int i = 0; i < 32 * chunks; i += 16)
			widen(x[r] + 32 * at + i, x[r] + low + 32 * at + i, to->values[r] + i);
	}
}

IG_INLINE void run_store_wide(void *to, const form f, int run, V a, V b, V c, V d) {
	many *m = to;
	keep_wide(m->q + 8 * run, a, b, c, d, f.bits);
	look_ahead_run(m->next, f, run);
}

// Takes `chunks` chunks of a wide panel to the same chunks of `rows` activations.
IG_INLINE void wide_dot(const panel *p, const form f, int chunks, const uint8_t *const *x, const side *sides, float *acc, int width,
                        const int rows) {
	F result[BLOCK];
	for (int r = 0; r < rows; r++)
		result[r] = *(const F *)(acc + r * width);
	for (int c = 0; c < chunks; c++) {
		F first[BLOCK];
		for (int half = 0; half <= f.by16; half++) {
			V dot[BLOCK];
			for (int r = 0; r < rows; r++)
				dot[r] = start_of(f, &sides[r], half, c);
			wide_dots(dot, p->q[0] + 16 * c + 8 * half, f.by16 ? 8 : 16, x, 64 * c + 32 * half, rows);
			for (int r = 0; r < rows; r++) {
				first[r] = scaled(f, &p->s[0], c, half, dot[r], first[r]);
				if (half == f.by16)
					result[r] = add_chunk(f, &p->s[0], c, first[r], &sides[r], c, result[r]);
			}
		}
	}
	for (int r = 0; r < rows; r++)
		*(F *)(acc + r * width) = result[r];
}

IG_INLINE void wide_panel_dots(const form f, const panel *p, int chunks, const uint8_t *const *x, const side *sides, int n, float *acc,
                               int width) {
	_Static_assert(PANELS == 1, "wide panels go alone");
	int r = 0;
	for (; r + BLOCK <= n; r += BLOCK)
		wide_dot(p, f, chunks, x + r, sides + r, acc + r * width, width, BLOCK);
	for (; r < n; r++)
		wide_dot(p, f, chunks, x + r, sides + r, acc + r * width, width, 1);
}

#else

typedef struct widened {
	const uint8_t *x[1];
} widened;

#define widen_rows(...) (void)0
#define run_store_wide run_store
#define wide_panel_dots(...) (void)0

#endif

#endif
