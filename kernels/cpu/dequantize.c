// The plain meaning of every packed block: one unpack function a type, and the conversion of whole rows.
#include "blocks.h"

const int8_t ig_iq4_values[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
const int8_t ig_mxfp4_values[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

static void fill(float *v, float value, int from, int to) {
	for (int i = from; i < to; i++)
		v[i] = value;
}

static void set32(ig_span *s, float scale, float min) {
	fill(s->scale, scale, 0, 2);
	fill(s->min, min, 0, 2);
}

static void unpack_q4_0(const void *block, ig_span *s) {
	const ig_q4_0 *b = block;
	for (int j = 0; j < 16; j++) {
		s->q[j] = (int16_t)((b->qs[j] & 15) - 8);
		s->q[16 + j] = (int16_t)((b->qs[j] >> 4) - 8);
	}
	set32(s, ig_f16(b->d), 0);
}

static void unpack_q4_1(const void *block, ig_span *s) {
	const ig_q4_1 *b = block;
	for (int j = 0; j < 16; j++) {
		s->q[j] = b->qs[j] & 15;
		s->q[16 + j] = b->qs[j] >> 4;
	}
	set32(s, ig_f16(b->d), -ig_f16(b->m));
}

static inline int fifth(const uint8_t qh[4], int j) { return (qh[j / 8] >> j % 8 & 1) << 4; }

static void unpack_q5_0(const void *block, ig_span *s) {
	const ig_q5_0 *b = block;
	for (int j = 0; j < 16; j++) {
		s->q[j] = (int16_t)(((b->qs[j] & 15) | fifth(b->qh, j)) - 16);
		s->q[16 + j] = (int16_t)((b->qs[j] >> 4 | fifth(b->qh, 16 + j)) - 16);
	}
	set32(s, ig_f16(b->d), 0);
}

static void unpack_q5_1(const void *block, ig_span *s) {
	const ig_q5_1 *b = block;
	for (int j = 0; j < 16; j++) {
		s->q[j] = (int16_t)((b->qs[j] & 15) | fifth(b->qh, j));
		s->q[16 + j] = (int16_t)(b->qs[j] >> 4 | fifth(b->qh, 16 + j));
	}
	set32(s, ig_f16(b->d), -ig_f16(b->m));
}

static void unpack_q8_0(const void *block, ig_span *s) {
	const ig_q8_0 *b = block;
	for (int i = 0; i < 32; i++)
		s->q[i] = b->qs[i];
	set32(s, ig_f16(b->d), 0);
}

static void unpack_iq4_nl(const void *block, ig_span *s) {
	const ig_iq4_nl *b = block;
	for (int j = 0; j < 16; j++) {
		s->q[j] = ig_iq4_values[b->qs[j] & 15];
		s->q[16 + j] = ig_iq4_values[b->qs[j] >> 4];
	}
	set32(s, ig_f16(b->d), 0);
}

static void unpack_mxfp4(const void *block, ig_span *s) {
	const ig_mxfp4 *b = block;
	for (int j = 0; j < 16; j++) {
		s->q[j] = ig_mxfp4_values[b->qs[j] & 15];
		s->q[16 + j] = ig_mxfp4_values[b->qs[j] >> 4];
	}
	set32(s, ig_e8m0_half(b->e), 0);
}

// Adds `more` to 256 values where two bits of 64 bytes (Q2_K, Q3_K, Q6_K) or one bit of 32 bytes (Q3_K, Q5_K) are set:
// the first 32 values have the lowest bits of the first 32 bytes, the next 32 the bits above them, and so on.
static void add_two_bits(int16_t *q, const uint8_t *bytes, int more) {
	for (int c = 0; c < 8; c++)
		for (int l = 0; l < 32; l++)
			q[32 * c + l] += (bytes[c / 4 * 32 + l] >> c % 4 * 2 & 3) * more;
}

static void add_one_bit(int16_t *q, const uint8_t *bytes, int more) {
	for (int c = 0; c < 8; c++)
		for (int l = 0; l < 32; l++)
			q[32 * c + l] += (bytes[l] >> c & 1) * more;
}

// Sets 256 values to the nibbles of 128 bytes, less an offset: of each `run` bytes the low nibbles, then the high ones.
static void set_nibbles(int16_t *q, const uint8_t *bytes, int run, int offset) {
	for (int c = 0; c < 128; c += run)
		for (int l = 0; l < run; l++) {
			q[2 * c + l] = (int16_t)((bytes[c + l] & 15) - offset);
			q[2 * c + run + l] = (int16_t)((bytes[c + l] >> 4) - offset);
		}
}

static void set_all(int16_t *q, int value) {
	for (int i = 0; i < 256; i++)
		q[i] = (int16_t)value;
}

static void unpack_q2_k(const void *block, ig_span *s) {
	const ig_q2_k *b = block;
	float d = ig_f16(b->d), dmin = ig_f16(b->dmin);
	set_all(s->q, 0);
	add_two_bits(s->q, b->qs, 1);
	for (int g = 0; g < 16; g++) {
		s->scale[g] = d * (b->scales[g] & 15);
		s->min[g] = dmin * (b->scales[g] >> 4);
	}
}

// Scale g has its low nibble in byte g%8 (g < 8: the low half of
// it) and its high two bits in byte 8 + g%4.
static void unpack_q3_k(const void *block, ig_span *s) {
	const ig_q3_k *b = block;
	float d = ig_f16(b->d);
	set_all(s->q, -4);
	add_two_bits(s->q, b->qs, 1);
	add_one_bit(s->q, b->hmask, 4);
	for (int g = 0; g < 16; g++) {
		int low = b->scales[g % 8] >> g / 8 * 4 & 15, high = b->scales[8 + g % 4] >> g / 4 * 2 & 3;
		s->scale[g] = d * ((low | high << 4) - 32);
	}
	fill(s->min, 0, 0, 16);
}

// Q4_K and Q5_K: the first four scales and minima are the low 6 bits of bytes 0-3 and 4-7; the others have their low
// nibbles in bytes 8-11 (scale low, minimum high) and their high two bits on top of bytes 0-7.
static void scales_k(const uint8_t v[12], float d, float dmin, ig_span *s) {
	for (int c = 0; c < 8; c++) {
		int scale = c < 4 ? v[c] & 63 : (v[4 + c] & 15) | v[c - 4] >> 6 << 4;
		int min = c < 4 ? v[4 + c] & 63 : v[4 + c] >> 4 | v[c] >> 6 << 4;
		fill(s->scale, d * scale, 2 * c, 2 * c + 2);
		fill(s->min, dmin * min, 2 * c, 2 * c + 2);
	}
}

static void unpack_q4_k(const void *block, ig_span *s) {
	const ig_q4_k *b = block;
	set_nibbles(s->q, b->qs, 32, 0);
	scales_k(b->scales, ig_f16(b->d), ig_f16(b->dmin), s);
}

static void unpack_q5_k(const void *block, ig_span *s) {
	const ig_q5_k *b = block;
	set_nibbles(s->q, b->qs, 32, 0);
	add_one_bit(s->q, b->qh, 16);
	scales_k(b->scales, ig_f16(b->d), ig_f16(b->dmin), s);
}

static void unpack_q6_k(const void *block, ig_span *s) {
	const ig_q6_k *b = block;
	float d = ig_f16(b->d);
	set_nibbles(s->q, b->ql, 64, 32);
	add_two_bits(s->q, b->qh, 16);
	for (int g = 0; g < 16; g++)
		s->scale[g] = d * b->scales[g];
	fill(s->min, 0, 0, 16);
}

static void unpack_iq4_xs(const void *block, ig_span *s) {
	const ig_iq4_xs *b = block;
	float d = ig_f16(b->d);
	for (int c = 0; c < 8; c++) {
		int scale = (b->scales_l[c / 2] >> c % 2 * 4 & 15) | (b->scales_h >> 2 * c & 3) << 4;
		for (int j = 0; j < 16; j++) {
			s->q[32 * c + j] = ig_iq4_values[b->qs[16 * c + j] & 15];
			s->q[32 * c + 16 + j] = ig_iq4_values[b->qs[16 * c + j] >> 4];
		}
		fill(s->scale, d * (scale - 32), 2 * c, 2 * c + 2);
	}
	fill(s->min, 0, 0, 16);
}

ig_block ig_block_of(int type) {
	switch (type) {
	case IG_F32: return (ig_block){0, 1, 4};
	case IG_F16: case IG_BF16: return (ig_block){0, 1, 2};
	case IG_Q4_0: return (ig_block){unpack_q4_0, 32, sizeof(ig_q4_0)};
	case IG_Q4_1: return (ig_block){unpack_q4_1, 32, sizeof(ig_q4_1)};
	case IG_Q5_0: return (ig_block){unpack_q5_0, 32, sizeof(ig_q5_0)};
	case IG_Q5_1: return (ig_block){unpack_q5_1, 32, sizeof(ig_q5_1)};
	case IG_Q8_0: return (ig_block){unpack_q8_0, 32, sizeof(ig_q8_0)};
	case IG_IQ4_NL: return (ig_block){unpack_iq4_nl, 32, sizeof(ig_iq4_nl)};
	case IG_MXFP4: return (ig_block){unpack_mxfp4, 32, sizeof(ig_mxfp4)};
	case IG_Q2_K: return (ig_block){unpack_q2_k, 256, sizeof(ig_q2_k)};
	case IG_Q3_K: return (ig_block){unpack_q3_k, 256, sizeof(ig_q3_k)};
	case IG_Q4_K: return (ig_block){unpack_q4_k, 256, sizeof(ig_q4_k)};
	case IG_Q5_K: return (ig_block){unpack_q5_k, 256, sizeof(ig_q5_k)};
	case IG_Q6_K: return (ig_block){unpack_q6_k, 256, sizeof(ig_q6_k)};
	case IG_IQ4_XS: return (ig_block){unpack_iq4_xs, 256, sizeof(ig_iq4_xs)};
	default: return (ig_block){0, 0, 0};
	}
}

void ig_dequantize(int type, const void *src, float *dst, int64_t k) {
	const uint16_t *half = src;
	switch (type) {
	case IG_F32:
		memcpy(dst, src, (size_t)k * 4);
		return;
	case IG_F16:
		for (int64_t i = 0; i < k; i++)
			dst[i] = ig_f16(half[i]);
		return;
	case IG_BF16:
		for (int64_t i = 0; i < k; i++)
			dst[i] = ig_bf16(half[i]);
		return;
	}
	ig_block t = ig_block_of(type);
	const uint8_t *block = src;
	ig_span s;
	for (int64_t i = 0; t.unpack && i < k; i += t.values, block += t.bytes) {
		t.unpack(block, &s);
		for (int j = 0; j < t.values; j++)
			dst[i + j] = s.scale[j / 16] * s.q[j] - s.min[j / 16];
	}
}
