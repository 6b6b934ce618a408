// The dialect's words for CUDA: NVIDIA cards of compute capability 7.0 and later. doc.go says what each word means.
//
// nvrtc knows the built-in variables, the intrinsics and the functions of <math.h>; 16-bit floats are converted by PTX, because
// the header that has them belongs to a toolkit that need not be installed.
#ifndef INGOT_DIALECT_H
#define INGOT_DIALECT_H

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef uint2 u32x2;
typedef uint4 u32x4;

#define DEVICE static __device__ __forceinline__
#define KERNEL(name, type) extern "C" __global__ void __launch_bounds__(THREADS) name(const type a)
#define SHARED(type, name, n) __shared__ __align__(16) type name[n]
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("unroll 1")
#define RESTRICT __restrict__
#define WAVE 32

DEVICE int group_x() { return blockIdx.x; }
DEVICE int group_y() { return blockIdx.y; }
DEVICE int group_z() { return blockIdx.z; }
DEVICE int groups_x() { return gridDim.x; }
DEVICE int groups_y() { return gridDim.y; }
DEVICE int thread() { return threadIdx.x; }
DEVICE int lane_id() { return threadIdx.x & 31; }
DEVICE int wave_id() { return __shfl_sync(__activemask(), (int)threadIdx.x / 32, 0); }
DEVICE void barrier() { __syncthreads(); }

DEVICE void settle() { asm volatile("" ::: "memory"); }

DEVICE float bits_float(u32 u) { return __uint_as_float(u); }
DEVICE u32 float_bits(float f) { return __float_as_uint(f); }

// Lanes that have returned take no part.
DEVICE int shuffle(int v, int lane) { return __shfl_sync(__activemask(), v, lane); }
DEVICE u32 shuffle(u32 v, int lane) { return __shfl_sync(__activemask(), v, lane); }
DEVICE float shuffle(float v, int lane) { return __shfl_sync(__activemask(), v, lane); }
DEVICE int shuffle_xor(int v, int mask) { return __shfl_xor_sync(__activemask(), v, mask); }
DEVICE u32 shuffle_xor(u32 v, int mask) { return __shfl_xor_sync(__activemask(), v, mask); }
DEVICE float shuffle_xor(float v, int mask) { return __shfl_xor_sync(__activemask(), v, mask); }

DEVICE int dot4(int a, int b, int c) { return __dp4a(a, b, c); }

// A permutation takes four bytes of eight by nibbles of its selector, whose bits 3 must be clear here: both halves of
// the table are looked up, then for each byte the one that bit 3 says.
DEVICE u32 lookup4(u32 n, u32 t0, u32 t1, u32 t2, u32 t3) {
	u32 four = n | n >> 4;                     // nibbles 0, 1 in byte 0; 2, 3 in byte 2
	four = __byte_perm(four, 0, 0x4420);       // all four in the low half
	u32 low = four & 0x7777, which = 0x3210 | (four & 0x8888) >> 1;
	return __byte_perm(__byte_perm(t0, t1, low), __byte_perm(t2, t3, low), which);
}

// Four bytes at any address, from the one or two aligned words that hold them.
DEVICE u32 load_u32(const void *p) {
	u64 at = (u64)p;
	const u32 *first = (const u32 *)(at & ~3ull), *last = (const u32 *)(at + 3 & ~3ull);
	return __funnelshift_r(*first, *last, 8 * (u32)(at & 3));
}

DEVICE float no_contraction(float x) {
	asm("" : "+f"(x));
	return x;
}

DEVICE float f16_to_f32(u16 h) {
	float f;
	asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
	return f;
}
DEVICE u16 f32_to_f16(float f) {
	u16 h;
	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
	return h;
}
DEVICE float bf16_to_f32(u16 h) { return bits_float((u32)h << 16); }
DEVICE u16 f32_to_bf16(float f) {
	u32 u = float_bits(f);
	if ((u & 0x7fffffff) > 0x7f800000)
		return (u16)(u >> 16 | 64); // a NaN stays one
	return (u16)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

DEVICE u32 atomic_add_u32(u32 *p, u32 v) { return atomicAdd(p, v); }
DEVICE u32 load_acquire(const u32 *p) {
	u32 v;
	asm volatile("ld.acquire.sys.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}
DEVICE void store_release(u32 *p, u32 v) { asm volatile("st.release.sys.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
DEVICE void fence() { __threadfence_system(); }
DEVICE void spin() { __nanosleep(40); }

#if __CUDA_ARCH__ >= 800
#define HAS_MMA 1
// d += a b of one wave, in PTX's fragments. Volatile, or a compiler may move one behind a branch that not all lanes take.
DEVICE void mma_bf16(float (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
	asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void mma_s8(int (&d)[4], const u32 (&a)[4], const u32 (&b)[2]) {
	asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	    : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void mma_s8_16(int (&d)[4], const u32 (&a)[2], u32 b) {
	asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
	    : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]) : "r"(a[0]), "r"(a[1]), "r"(b));
}
DEVICE u32 bf16_pair(float x, float y) {
	u32 d;
	asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(y), "f"(x));
	return d;
}
#endif

#endif
