// What products share beside weights: names of entry points, and the activation of a gated unit.
#ifndef INGOT_GLU_H
#define INGOT_GLU_H

#include "lib/activation.h"

#define NAMED_AS(family, weight, n) family##_##weight##_##n
#define NAMED(family, weight, n) NAMED_AS(family, weight, n)
#define NAMED_TILE_AS(family, weight, m, n) family##_##weight##_##m##x##n
#define NAMED_TILE(family, weight, m, n) NAMED_TILE_AS(family, weight, m, n)

// act 0: silu; 1: gelu, the tanh form; 2: that of gpt-oss.
DEVICE float gated(float gate, float up, int act) {
	return act == 2 ? swiglu_oai(gate, up) : (act == 0 ? silu(gate) : gelu(gate)) * up;
}

#endif
