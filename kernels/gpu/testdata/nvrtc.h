// What nvrtc knows without a header, as far as dialect/cuda.h uses it, for clang's own CUDA: the test compiles kernels behind this text.
//
// nvrtc (NVRTC User Guide, Language) has what nvcc's implicit headers declare: the words of CUDA, threadIdx and its like, vector types such
// as uint4, the intrinsics, and the functions of <math.h>. It has no file to include, so no <cuda_fp16.h>, no <stdint.h> and no
// INFINITY. Its functions are of the card only where they are marked so. C++17 is its language from 12.0 on, C++14 in 11.
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __align__(n) __attribute__((aligned(n)))
#define BUILTIN static __device__ __forceinline__

// Structs in nvrtc, which loads and stores them whole nevertheless; clang does so with vectors only. dialect/host.h has structs, so that
// kernels do no more with them than those allow.
typedef unsigned uint2 __attribute__((ext_vector_type(2)));
typedef unsigned uint4 __attribute__((ext_vector_type(4)));

// Registers of the card, read through members as those of nvrtc are.
struct of_thread { __declspec(property(get = x_)) unsigned x; BUILTIN unsigned x_() { return __nvvm_read_ptx_sreg_tid_x(); } };
struct of_block {
	__declspec(property(get = x_)) unsigned x;
	__declspec(property(get = y_)) unsigned y;
	__declspec(property(get = z_)) unsigned z;
	BUILTIN unsigned x_() { return __nvvm_read_ptx_sreg_ctaid_x(); }
	BUILTIN unsigned y_() { return __nvvm_read_ptx_sreg_ctaid_y(); }
	BUILTIN unsigned z_() { return __nvvm_read_ptx_sreg_ctaid_z(); }
};
struct of_grid {
	__declspec(property(get = x_)) unsigned x;
	__declspec(property(get = y_)) unsigned y;
	BUILTIN unsigned x_() { return __nvvm_read_ptx_sreg_nctaid_x(); }
	BUILTIN unsigned y_() { return __nvvm_read_ptx_sreg_nctaid_y(); }
};
extern const __device__ of_thread threadIdx;
extern const __device__ of_block blockIdx;
extern const __device__ of_grid gridDim;

BUILTIN float __uint_as_float(unsigned u) { return __builtin_bit_cast(float, u); }
BUILTIN float __int_as_float(int i) { return __builtin_bit_cast(float, i); }
BUILTIN unsigned __float_as_uint(float f) { return __builtin_bit_cast(unsigned, f); }

BUILTIN unsigned __activemask() {
	unsigned m;
	asm volatile("activemask.b32 %0;" : "=r"(m));
	return m;
}
BUILTIN int __shfl_sync(unsigned mask, int v, int lane) { return __nvvm_shfl_sync_idx_i32(mask, v, lane, 31); }
BUILTIN unsigned __shfl_sync(unsigned mask, unsigned v, int lane) { return __shfl_sync(mask, (int)v, lane); }
BUILTIN float __shfl_sync(unsigned mask, float v, int lane) { return __nvvm_shfl_sync_idx_f32(mask, v, lane, 31); }
BUILTIN int __shfl_xor_sync(unsigned mask, int v, int with) { return __nvvm_shfl_sync_bfly_i32(mask, v, with, 31); }
BUILTIN unsigned __shfl_xor_sync(unsigned mask, unsigned v, int with) { return __shfl_xor_sync(mask, (int)v, with); }
BUILTIN float __shfl_xor_sync(unsigned mask, float v, int with) { return __nvvm_shfl_sync_bfly_f32(mask, v, with, 31); }

BUILTIN int __dp4a(int a, int b, int c) {
	int d;
	asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(c));
	return d;
}
BUILTIN unsigned __byte_perm(unsigned x, unsigned y, unsigned s) { return __nvvm_prmt(x, y, s); }
BUILTIN unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
	unsigned d;
	asm("shf.r.wrap.b32 %0, %1, %2, %3;" : "=r"(d) : "r"(low), "r"(high), "r"(by));
	return d;
}

BUILTIN unsigned atomicAdd(unsigned *p, unsigned v) { return (unsigned)__nvvm_atom_add_gen_i((int *)p, (int)v); }
BUILTIN void __threadfence_system() { __nvvm_membar_sys(); }
BUILTIN void __nanosleep(unsigned ns) { asm volatile("nanosleep.u32 %0;" ::"r"(ns)); }

// Of libdevice, which nvrtc links, calls are left.
extern "C" {
__device__ float expf(float) noexcept;
__device__ float logf(float) noexcept;
__device__ float log1pf(float) noexcept;
__device__ float tanhf(float) noexcept;
}
BUILTIN float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
BUILTIN float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
BUILTIN float fmaf(float x, float y, float z) { return __nvvm_fma_rn_f(x, y, z); }
BUILTIN float fmaxf(float x, float y) { return __nvvm_fmax_f(x, y); }
BUILTIN float fminf(float x, float y) { return __nvvm_fmin_f(x, y); }
BUILTIN float fabsf(float x) { return __builtin_fabsf(x); }
BUILTIN float rintf(float x) { return __builtin_rintf(x); }
BUILTIN double rint(double x) { return __builtin_rint(x); }
#undef BUILTIN
