// Activation functions.
#ifndef INGOT_ACTIVATION_H
#define INGOT_ACTIVATION_H

DEVICE float sigmoid(float x) { return 1 / (1 + expf(-x)); }
DEVICE float silu(float x) { return x / (1 + expf(-x)); }
DEVICE float gelu(float x) { return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x))); }
DEVICE float softplus(float x) { return x > 20 ? x : log1pf(expf(x)); }
// What gpt-oss has: both are clamped, and 1 is added to what the gate multiplies.
DEVICE float swiglu_oai(float gate, float up) {
	float g = fminf(gate, 7.0f), u = fmaxf(-7.0f, fminf(up, 7.0f));
	return g * sigmoid(1.702f * g) * (u + 1);
}

#endif
