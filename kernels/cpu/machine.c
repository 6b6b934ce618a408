// What this machine is: instruction-set levels, cores, pinning; and which kernel a level has for an operation.
#include "team.h"

#include <errno.h>
#include <stddef.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif
#if defined(__linux__)
#include <sched.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

int ig_pin(int cpu) {
#if defined(__linux__)
	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return EINVAL;
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof set, &set) ? errno : 0;
#else
	(void)cpu;
	return 0;
#endif
}

#if defined(__APPLE__)
// What the system says of the machine under that name; 0: nothing.
static int told(const char *name) {
	int n = 0;
	size_t size = sizeof n;
	return sysctlbyname(name, &n, &size, NULL, 0) == 0 && n > 0 ? n : 0;
}
#endif

int ig_performance_cores(void) {
#if defined(__APPLE__)
	int n = told("hw.perflevel0.physicalcpu");
	return n ? n : told("hw.physicalcpu");
#else
	return 0;
#endif
}

#if defined(__aarch64__)
static int has_dotprod(void) {
#if defined(__linux__)
	return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#elif defined(__APPLE__)
	return told("hw.optional.arm.FEAT_DotProd");
#else
	return 0;
#endif
}

static int has_i8mm(void) {
#if defined(__linux__)
	return (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
#elif defined(__APPLE__)
	return told("hw.optional.arm.FEAT_I8MM");
#else
	return 0;
#endif
}
#endif

int ig_supported(int level) {
	if (level == IG_GENERIC)
		return 1;
#if defined(__x86_64__)
	if (level == IG_AMX)
		return ig_supported(IG_AVX512) && __builtin_cpu_supports("avx512bf16") && (ig_amx_emulated || ig_amx_usable());
	// The compiler's runtime asks cpuid and xgetbv, so an operating system that does not save the registers counts as no.
	__builtin_cpu_init();
	unsigned a, b, c = 0, d;
	int f16c = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C); // not every compiler's runtime knows its name
	int avx2 = f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
	if (level == IG_AVX2)
		return avx2;
	if (level == IG_AVX512)
		return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
		       __builtin_cpu_supports("avx512vnni");
#elif defined(__aarch64__)
	if (level == IG_NEON)
		return has_dotprod();
	if (level == IG_I8MM)
		return has_dotprod() && has_i8mm();
#endif
	return 0;
}

ig_kernel *ig_find(int level, int op, int type, int *at) {
	static ig_kernel *(*const products[IG_LEVELS])(int, int) = {
		[IG_GENERIC] = ig_products_generic,
#if defined(__x86_64__)
		[IG_AVX2] = ig_products_avx2,
		[IG_AVX512] = ig_products_avx512,
		[IG_AMX] = ig_products_amx,
#elif defined(__aarch64__)
		[IG_NEON] = ig_products_neon,
		[IG_I8MM] = ig_products_i8mm,
#endif
	};
	static ig_kernel *(*const others[IG_LEVELS])(int, int) = {
		[IG_GENERIC] = ig_others_generic,
#if defined(__x86_64__)
		[IG_AVX2] = ig_others_avx2,
		[IG_AVX512] = ig_others_avx512,
#elif defined(__aarch64__)
		[IG_NEON] = ig_others_neon,
#endif
	};
	for (*at = level; *at >= IG_GENERIC; --*at) {
		ig_kernel *(*find)(int, int) = op <= IG_EXPERTS || op == IG_REPACK ? products[*at] : others[*at];
		ig_kernel *fn = find ? find(op, type) : NULL;
		if (fn)
			return fn;
	}
	return NULL;
}
