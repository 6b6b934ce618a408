// Products at the AVX2 level.
#include "product.h"
#include "target.h"

#if defined(__x86_64__)
IG_AVX2_BEGIN
#include "product_lanes_avx2.h"
#include "product_level.h"

ig_kernel *ig_products_avx2(int op, int type) { return kernel_of(op, type); }
IG_TARGET_END
#endif
