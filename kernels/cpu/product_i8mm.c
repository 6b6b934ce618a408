// Products at the NEON level with dotprod and i8mm.
#include "product.h"
#include "target.h"

#if defined(__aarch64__)
IG_I8MM_BEGIN
#include "product_lanes_i8mm.h"
#include "product_level.h"

ig_kernel *ig_products_i8mm(int op, int type) { return kernel_of(op, type); }
IG_TARGET_END
#endif
