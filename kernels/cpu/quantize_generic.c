// Quantization of activations, plain C.
#include "quantize_row.h"

void ig_quantize_generic(const void *args, const ig_batch *b, int ith, int nth) { ig_quantize_share(args, b, ith, nth); }
