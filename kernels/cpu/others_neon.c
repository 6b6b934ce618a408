// The kernels but the products at the neon level: the *_simd.h kernels in the words of simd_neon.h.
#include <math.h>
#include <string.h>

#include "attention_tiles.h"
#include "kv_quantize.h"
#include "others_generic.h"
#include "target.h"

#if defined(__aarch64__)
IG_NEON_BEGIN
#include "simd_neon.h"
#include "simd_math.h"
#include "norm_simd.h"
#include "rope_simd.h"
#include "kv_store_simd.h"
#include "attention_block.h"
#include "attention_simd.h"
#include "conv_simd.h"
#include "delta_simd.h"
#include "route_simd.h"
IG_TARGET_END

#define OTHERS ig_others_neon
#include "others_simd.h"
#endif
