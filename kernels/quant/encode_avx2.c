// The encoders at the avx2 level.
#include "level.h"

#if defined(__x86_64__)
IG_AVX2_BEGIN
#include "lanes_avx2.h"

#define ENCODERS ig_encoder_avx2
#include "encoders.h"
IG_TARGET_END
#endif
