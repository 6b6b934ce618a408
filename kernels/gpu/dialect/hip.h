// The dialect's words for HIP: AMD cards of wave 64 (gfx9) and wave 32 (gfx10 and later). doc.go says what each word means.
//
// Built on the compiler's builtins alone, so that no header of a toolkit is needed; functions of <math.h> are the
// device library's, which hiprtc links.
#ifndef INGOT_DIALECT_H
#define INGOT_DIALECT_H

typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef u32 u32x2 __attribute__((ext_vector_type(2)));
typedef u32 u32x4 __attribute__((ext_vector_type(4)));

#define DEVICE static inline __attribute__((device, always_inline))
#define KERNEL(name, type) extern "C" __attribute__((global, amdgpu_flat_work_group_size(THREADS, THREADS), amdgpu_waves_per_eu(2))) void name(const type a)
#define SHARED(type, name, n) static __attribute__((shared)) type name[n]
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("nounroll")
#define RESTRICT __restrict__

#if defined(__GFX9__) || defined(__GFX8__)
#define WAVE 64
#else
#define WAVE 32
#endif

DEVICE int group_x() { return __builtin_amdgcn_workgroup_id_x(); }
DEVICE int group_y() { return __builtin_amdgcn_workgroup_id_y(); }
DEVICE int group_z() { return __builtin_amdgcn_workgroup_id_z(); }
DEVICE int groups_x() { return __builtin_amdgcn_grid_size_x() / THREADS; }
DEVICE int groups_y() { return __builtin_amdgcn_grid_size_y(); }
DEVICE int thread() { return __builtin_amdgcn_workitem_id_x(); }
DEVICE int lane_id() { return thread() & (WAVE - 1); }
DEVICE int wave_id() { return __builtin_amdgcn_readfirstlane(thread() / WAVE); }

// Bounds of the grid in threads are what hipModuleLaunchKernel makes of blocks; y and z have one thread a block.
DEVICE void barrier() {
	__builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
	__builtin_amdgcn_s_barrier();
	__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

DEVICE void settle() { asm volatile("" ::: "memory"); }

DEVICE float bits_float(u32 u) { return __builtin_bit_cast(float, u); }
DEVICE u32 float_bits(float f) { return __builtin_bit_cast(u32, f); }

DEVICE int shuffle(int v, int lane) { return __builtin_amdgcn_ds_bpermute(lane << 2, v); }
DEVICE u32 shuffle(u32 v, int lane) { return (u32)shuffle((int)v, lane); }
DEVICE float shuffle(float v, int lane) { return __builtin_bit_cast(float, shuffle(__builtin_bit_cast(int, v), lane)); }
DEVICE int shuffle_xor(int v, int mask) { return shuffle(v, lane_id() ^ mask); }
DEVICE u32 shuffle_xor(u32 v, int mask) { return shuffle(v, lane_id() ^ mask); }
DEVICE float shuffle_xor(float v, int mask) { return shuffle(v, lane_id() ^ mask); }

// gfx90a and gfx906 have the instruction, as gfx1011 and later; the sum is exact either way.
DEVICE int dot4(int a, int b, int c) {
#if __has_builtin(__builtin_amdgcn_sdot4) && (defined(__gfx906__) || defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx1011__) || \
	defined(__gfx1012__) || defined(__gfx1030__) || defined(__gfx1031__) || defined(__gfx1032__) || defined(__gfx1034__))
	return __builtin_amdgcn_sdot4(a, b, c, false);
#elif defined(__gfx1100__) || defined(__gfx1101__) || defined(__gfx1102__)
	return __builtin_amdgcn_sudot4(true, a, true, b, c, false);
#else
	for (int i = 0; i < 32; i += 8)
		c += (i8)(a >> i) * (i8)(b >> i);
	return c;
#endif
}

// Two permutations of eight bytes look up both halves of the table, a third takes for each byte the one that bit 3 says.
DEVICE u32 lookup4(u32 n, u32 t0, u32 t1, u32 t2, u32 t3) {
	u32 low = n & 0x07070707;
	return __builtin_amdgcn_perm(__builtin_amdgcn_perm(t3, t2, low), __builtin_amdgcn_perm(t1, t0, low), 0x03020100 | (n & 0x08080808) >> 1);
}

DEVICE u32 load_u32(const void *p) {
	struct any { u32 v; } __attribute__((packed));
	return ((const any *)p)->v;
}

DEVICE float no_contraction(float x) {
	asm("" : "+v"(x));
	return x;
}

DEVICE float f16_to_f32(u16 h) { return (float)__builtin_bit_cast(_Float16, h); }
DEVICE u16 f32_to_f16(float f) { return __builtin_bit_cast(u16, (_Float16)f); }
DEVICE float bf16_to_f32(u16 h) { return bits_float((u32)h << 16); }
DEVICE u16 f32_to_bf16(float f) {
	u32 u = float_bits(f);
	if ((u & 0x7fffffff) > 0x7f800000)
		return (u16)(u >> 16 | 64); // a NaN stays one
	return (u16)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

#ifndef INFINITY
#define INFINITY __builtin_inff()
#endif
#ifndef __HIPCC_RTC__ // hiprtc declares the device library's functions
extern "C" {
__attribute__((device, const)) float __ocml_exp_f32(float);
__attribute__((device, const)) float __ocml_log_f32(float);
__attribute__((device, const)) float __ocml_log1p_f32(float);
__attribute__((device, const)) float __ocml_tanh_f32(float);
__attribute__((device, const)) float __ocml_rsqrt_f32(float);
}
DEVICE float expf(float x) { return __ocml_exp_f32(x); }
DEVICE float logf(float x) { return __ocml_log_f32(x); }
DEVICE float log1pf(float x) { return __ocml_log1p_f32(x); }
DEVICE float tanhf(float x) { return __ocml_tanh_f32(x); }
DEVICE float rsqrtf(float x) { return __ocml_rsqrt_f32(x); }
DEVICE float sqrtf(float x) { return __builtin_sqrtf(x); }
DEVICE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
DEVICE float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
DEVICE float fminf(float x, float y) { return __builtin_fminf(x, y); }
DEVICE float fabsf(float x) { return __builtin_fabsf(x); }
DEVICE float rintf(float x) { return __builtin_rintf(x); }
DEVICE double rint(double x) { return __builtin_rint(x); }
#endif

DEVICE u32 atomic_add_u32(u32 *p, u32 v) { return __hip_atomic_fetch_add(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT); }
DEVICE u32 load_acquire(const u32 *p) { return __hip_atomic_load((u32 *)p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM); }
DEVICE void store_release(u32 *p, u32 v) { __hip_atomic_store(p, v, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM); }
DEVICE void fence() { __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, ""); }
DEVICE void spin() { __builtin_amdgcn_s_sleep(1); }

#endif
