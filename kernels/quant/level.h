// What every encode_LEVEL.c begins with.
#include <math.h>
#include <stddef.h>

#include "../cpu/half.h"
#include "../cpu/target.h"
#include "quant.h"

// Sums are the same at every level only if no multiplication is fused with an addition; gcc does not in ISO C.
#if defined(__clang__)
#pragma clang fp contract(off)
#endif

// IQ4's levels, and the middles between neighbours; the last is never reached.
static const float iq4_levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
static const float iq4_middles[16] = {-115.5f, -93.5f, -74, -57, -42, -28.5f, -16, -4.5f, 7, 19, 31.5f, 45.5f, 61, 79, 101, 200};
