// What products share beside weights: names of entry points, and the activation of a gated unit.
#ifndef INGOT_GLU_H
#define INGOT_GLU_H

#define NAMED_AS(family, weight, n) family##_##weight##_##n
#define NAMED(family, weight, n) NAMED_AS(family, weight, n)
#define NAMED_TILE_AS(family, weight, m, n) family##_##weight##_##m##x##n
#define NAMED_TILE(family, weight, m, n) NAMED_TILE_AS(family, weight, m, n)

// 0: silu; 1: gelu, the tanh form.
DEVICE float activated(float x, int act) {
	return act == 0 ? x / (1 + expf(-x)) : 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
}

#endif
