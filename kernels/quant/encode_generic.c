// The encoders in plain C: what every other level must equal bit for bit.
#include "level.h"

#include "lanes_generic.h"

#define ENCODERS ig_encoder_generic
#include "encoders.h"
