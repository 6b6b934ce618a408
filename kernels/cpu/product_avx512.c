// Products at the AVX-512 VNNI level.
#include "product.h"
#include "target.h"

#if defined(__x86_64__)
IG_AVX512_BEGIN
#include "product_lanes_avx512.h"
#include "product_level.h"

ig_kernel *ig_products_avx512(int op, int type) { return kernel_of(op, type); }
IG_TARGET_END
#endif
