package quant

// ISO C rather than GNU C, so that no multiplication is fused with an addition: see quant.h.

// #cgo CFLAGS: -O3 -std=c11 -D_GNU_SOURCE -D_DARWIN_C_SOURCE -Wall -Wextra
// #cgo LDFLAGS: -lm
import "C"
