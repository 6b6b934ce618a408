// Weak stand-ins for the products, which their own files replace.
#include "kernels.h"

#define WEAK __attribute__((weak))
WEAK ig_kernel *ig_products_generic(int op, int type) { (void)op; (void)type; return 0; }
#if defined(__x86_64__)
WEAK ig_kernel *ig_products_avx2(int op, int type) { (void)op; (void)type; return 0; }
WEAK ig_kernel *ig_products_avx512(int op, int type) { (void)op; (void)type; return 0; }
#endif
WEAK void ig_dequantize(int type, const void *src, float *dst, int64_t k) { (void)type; (void)src; (void)dst; (void)k; }
