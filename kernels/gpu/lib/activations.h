// Activations as integer products read them: chunks of 32 values of 8 bits with a scale and the sums of their halves.
//
// A row of k values (a multiple of 32), on a multiple of 64 bytes:
//   i8 q[2][k/32][16]              the first halves of all chunks, then the second: lanes that take neighbouring chunks read
//                                  16 neighbouring bytes each
//   { float d; i16 s0, s1; }[k/32] x[i] ~ d * q[i]; s0 and s1: the sum of the first and of the last 16 q's
#ifndef INGOT_ACTIVATIONS_H
#define INGOT_ACTIVATIONS_H

struct act {
	u32x4 q0, q1;
	float d;
	int s; // s0 in the low half, s1 in the high
};

// With a residual values are RESIDUAL * high + low times a scale: a row of highs, and a second one of lows.
enum { RESIDUAL = 254 };

// Bytes of a row.
DEVICE i64 act_bytes(int k) { return ((i64)k + k / 4 + 63) & ~(i64)63; }

// A T that lies so many bytes, below 4 GB, behind what is the same for all lanes: an address that costs no register.
template <class T> DEVICE T load_at(const u8 *base, u32 bytes) { return *(const T *)(base + bytes); }

DEVICE act act_load(const u8 *row, u32 chunks, u32 c) {
	u32x2 ds = load_at<u32x2>(row, 32 * chunks + 8 * c);
	act x = {load_at<u32x4>(row, 16 * c), load_at<u32x4>(row, 16 * (chunks + c)), bits_float(ds.x), (int)ds.y};
	return x;
}

DEVICE int act_s0(int s) { return (i16)s; }
DEVICE int act_s1(int s) { return s >> 16; }

#endif
