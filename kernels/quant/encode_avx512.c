// The encoders at the avx512 level.
#include "level.h"

#if defined(__x86_64__)
IG_AVX512_BEGIN
#include "lanes_avx512.h"

#define ENCODERS ig_encoder_avx512
#include "encoders.h"
IG_TARGET_END
#endif
