// The dialect's words for the host: what the emulated cards (tests/fakecard) compile kernels with.
//
// A thread of a block is a fiber of its own; barrier() and the shuffles switch to another. Kernels may use these words, the
// types below, and what <math.h> has for float and double under the same names on every target: nothing else.
// The compiler's options give THREADS (the block size the file's kernels are written for) and ARCH_WAVE, ARCH_MMA of the card.
#ifndef INGOT_DIALECT_H
#define INGOT_DIALECT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16; // also an f16 or a bf16 as stored
typedef uint32_t u32;
typedef long long i64;
typedef unsigned long long u64;
struct alignas(8) u32x2 {
	u32 x, y;
};
struct alignas(16) u32x4 {
	u32 x, y, z, w;
};

// What the emulator tells the running fiber, and what it does for it. fake_now changes with every switch; it is read all the time, so it
// lies where no call is needed to find it.
struct fake_lane {
	int thread, block[3], threads, grid[3];
};
extern __thread fake_lane *fake_now __attribute__((tls_model("initial-exec")));
extern "C" {
void fake_barrier(void);
void *fake_shared(const void *key, unsigned long size); // the block's piece of LDS that belongs to a declaration
// Gives size <= 64 bytes of this lane to the others of its wave: returns [WAVE][64] bytes, of the lanes that still run.
const char *fake_exchange(const void *mine, unsigned size);
void fake_fence(void);
void fake_pause(void);
u32 fake_add(u32 *p, u32 v);
u32 fake_load(const u32 *p);
void fake_store(u32 *p, u32 v);
}

// KERNEL(name, type) { ... } is a kernel whose one parameter is `type a`.
#define KERNEL(name, type) KERNEL_AS(name, type) // a name may be made by a macro
#define KERNEL_AS(name, type)                                                                                                  \
	static void name##_body(type a);                                                                                       \
	extern "C" unsigned name##_size(void) { return sizeof(type); }                                                         \
	extern "C" void name(const void *p) { name##_body(*(const type *)p); }                                                 \
	static void name##_body(type a)
#define DEVICE static inline
// SHARED(type, name, n): n elements that the threads of a block share, at the top of a kernel. Not zero at first.
#define SHARED(type, name, n)                                                                                                  \
	static const char name##_key = 0;                                                                                      \
	type(&name)[n] = *(type(*)[n])fake_shared(&name##_key, sizeof(type[n]))
#define WAVE ARCH_WAVE
#define UNROLL // before a loop of fixed length; the host compiles sooner without
#define NO_UNROLL // before a loop that stays one
#define RESTRICT __restrict__

DEVICE int group_x(void) { return fake_now->block[0]; }
DEVICE int group_y(void) { return fake_now->block[1]; }
DEVICE int group_z(void) { return fake_now->block[2]; }
DEVICE int groups_x(void) { return fake_now->grid[0]; }
DEVICE int groups_y(void) { return fake_now->grid[1]; }
DEVICE int thread(void) { return fake_now->thread; }
DEVICE int lane_id(void) { return fake_now->thread % WAVE; }
DEVICE int wave_id(void) { return fake_now->thread / WAVE; }

// All threads of a block meet. A thread that has returned is not waited for.
DEVICE void barrier(void) { fake_barrier(); }

// The value of v in another lane of the wave. All lanes that still run must call it together.
template <class T> DEVICE T fake_of(T v, int lane) {
	static_assert(sizeof(T) == 4, "shuffles take 32 bits");
	T out;
	memcpy(&out, fake_exchange(&v, 4) + 64 * (lane & (WAVE - 1)), 4);
	return out;
}
DEVICE float shuffle(float v, int lane) { return fake_of(v, lane); }
DEVICE int shuffle(int v, int lane) { return fake_of(v, lane); }
DEVICE u32 shuffle(u32 v, int lane) { return fake_of(v, lane); }
DEVICE float shuffle_xor(float v, int mask) { return fake_of(v, lane_id() ^ mask); }
DEVICE int shuffle_xor(int v, int mask) { return fake_of(v, lane_id() ^ mask); }
DEVICE u32 shuffle_xor(u32 v, int mask) { return fake_of(v, lane_id() ^ mask); }

// c + the sum of four products of signed bytes.
DEVICE int dot4(int a, int b, int c) {
	for (int i = 0; i < 4; i++)
		c += (i8)(a >> 8 * i) * (i8)(b >> 8 * i);
	return c;
}

// Four bytes n, each below 16, looked up in a table of sixteen bytes.
DEVICE u32 lookup4(u32 n, u32 t0, u32 t1, u32 t2, u32 t3) {
	u32 t[4] = {t0, t1, t2, t3}, out = 0;
	for (int i = 0; i < 32; i += 8)
		out |= (t[n >> i >> 2 & 3] >> 8 * (n >> i & 3) & 255) << i;
	return out;
}

DEVICE u32 load_u32(const void *p) { // at any address
	u32 v;
	memcpy(&v, p, 4);
	return v;
}

DEVICE float no_contraction(float x) { return x; } // the emulator's compiler is told to make no fused multiply-adds

DEVICE void settle(void) { asm volatile("" ::: "memory"); }

DEVICE u32 float_bits(float f) {
	u32 u;
	memcpy(&u, &f, 4);
	return u;
}
DEVICE float bits_float(u32 u) {
	float f;
	memcpy(&f, &u, 4);
	return f;
}

// Halves as stored, rounded to nearest even.
DEVICE float f16_to_f32(u16 h) {
	_Float16 f;
	memcpy(&f, &h, 2);
	return (float)f;
}
DEVICE u16 f32_to_f16(float f) {
	_Float16 h = (_Float16)f;
	u16 u;
	memcpy(&u, &h, 2);
	return u;
}
DEVICE float bf16_to_f32(u16 h) { return bits_float((u32)h << 16); }
DEVICE u16 f32_to_bf16(float f) {
	u32 u = float_bits(f);
	if ((u & 0x7fffffff) > 0x7f800000)
		return (u16)(u >> 16 | 64); // a NaN stays one
	return (u16)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

DEVICE float rsqrtf(float x) { return 1.0f / sqrtf(x); }

// Memory that others see. atomic_add_u32 is relaxed and returns what was there; load_acquire and store_release order the memory of all
// cards; fence() makes what this thread wrote before visible to all cards before what it writes after. spin() goes into a loop that waits.
DEVICE u32 atomic_add_u32(u32 *p, u32 v) { return fake_add(p, v); }
DEVICE u32 load_acquire(const u32 *p) { return fake_load(p); }
DEVICE void store_release(u32 *p, u32 v) { fake_store(p, v); }
DEVICE void fence(void) { fake_fence(); }
DEVICE void spin(void) { fake_pause(); }

#if ARCH_MMA
#define HAS_MMA 1
// A multiply of one wave of 32, in PTX's fragments: lane 4g+t has in a[0], a[1] word t of the first half of a's rows g and g+8, in a[2], a[3] of the second
// half, and in b[0], b[1] the same of b's column g; of the result rows g (v[0], v[1]) and g+8 at columns 2t and 2t+1. None of it is
// memory of a card: nothing is checked.
#define FAKE_UNCHECKED static __attribute__((no_sanitize("thread"), noinline))
struct fake_words {
	u32 a[4], b[2];
};
struct fake_lane_words : fake_words {
	u32 gap[10]; // an exchange has 64 bytes a lane
};
template <class V> struct fake_four {
	V v[4];
};
// The sum over the words of rows and columns of what `times` makes of two.
template <class V> FAKE_UNCHECKED fake_four<V> fake_mma(fake_words mine, int halves, V (*times)(u32, u32)) {
	const fake_lane_words *all = (const fake_lane_words *)fake_exchange(&mine, sizeof mine);
	int g = lane_id() / 4, t = lane_id() % 4;
	fake_four<V> sum = {};
	for (int i = 0; i < 4; i++)
		for (int h = 0; h < halves; h++)
			for (int w = 0; w < 4; w++)
				sum.v[i] += times(all[4 * g + w].a[i / 2 + 2 * h], all[4 * (2 * t + i % 2) + w].b[h]);
	return sum;
}
FAKE_UNCHECKED float fake_times_bf16(u32 x, u32 y) {
	return bits_float(x << 16) * bits_float(y << 16) + bits_float(x & 0xffff0000) * bits_float(y & 0xffff0000);
}
FAKE_UNCHECKED int fake_times_s8(u32 x, u32 y) {
	return (i8)x * (i8)y + (i8)(x >> 8) * (i8)(y >> 8) + (i8)(x >> 16) * (i8)(y >> 16) + (i8)(x >> 24) * (i8)(y >> 24);
}
template <class V> DEVICE void fake_put(V (&d)[4], fake_four<V> sum) {
	for (int i = 0; i < 4; i++)
		d[i] += sum.v[i];
}

// d += a b: a is 16 x 16 and b 16 x 8 of bf16, d of f32 (mma.m16n8k16); 16 x 32 and 32 x 8 of signed bytes, d whole (mma.m16n8k32); half as
// deep of bytes, a[0], a[1] and b alone (mma.m16n8k16).
DEVICE void mma_bf16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
	fake_words w = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
	fake_put(d, fake_mma(w, 2, fake_times_bf16));
}
DEVICE void mma_s8(int (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
	fake_words w = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
	fake_put(d, fake_mma(w, 2, fake_times_s8));
}
DEVICE void mma_s8_16(int (&d)[4], const u32 (&a)[2], u32 b) {
	fake_words w = {{a[0], a[1], 0, 0}, {b, 0}};
	fake_put(d, fake_mma(w, 1, fake_times_s8));
}

// Two bf16: x in the low half of a word, y in the high.
DEVICE u32 bf16_pair(float x, float y) { return f32_to_bf16(x) | (u32)f32_to_bf16(y) << 16; }
#endif

#endif
