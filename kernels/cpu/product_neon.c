// Products at the NEON level with dotprod.
#include "product.h"
#include "target.h"

#if defined(__aarch64__)
IG_NEON_BEGIN
#include "product_lanes_neon.h"
#include "product_level.h"

ig_kernel *ig_products_neon(int op, int type) { return kernel_of(op, type); }
IG_TARGET_END
#endif
