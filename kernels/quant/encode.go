// Package quant packs f32 values into GGUF's blocks. What it packs, kernels/cpu unpacks: Encode is the inverse of
// cpu.Dequantize, up to the error that a type makes.
//
// For each group of values that shares a scale (and a minimum) the encoders search the scale that leaves the smallest
// plain squared error; no importance matrix is used. The bits are the same at every level and on every machine, and a
// block's depend on its own values alone. quant.h is the contract, search.h the search.
package quant

// #include "quant.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"ingot/kernels/cpu"
)

var (
	// ErrNotFinite is returned when a value is infinite or not a number.
	ErrNotFinite = errors.New("a value is not finite")
	// ErrRange is returned when values are too large for the type: they or their scale would be infinite.
	ErrRange = errors.New("values are too large for the type")
)

// Encode packs src as type t into dst, which must hold exactly that many whole blocks; either slice may be in Go's
// heap. It wraps ErrNotFinite, ErrRange, or cpu.ErrType for a type that is not known; dst is then undefined.
func Encode(level cpu.Level, t cpu.Type, src []float32, dst []byte) error {
	values, bytes := t.Block()
	if values == 0 {
		return fmt.Errorf("encode %v: %w", t, cpu.ErrType)
	}
	if len(src)%values != 0 || len(dst) != len(src)/values*bytes {
		return fmt.Errorf("encode %v: %d bytes do not hold %d values", t, len(dst), len(src))
	}
	if len(src) == 0 {
		return nil
	}
	switch C.ig_encode(C.int(level), C.int(t), (*C.float)(&src[0]), unsafe.Pointer(&dst[0]), C.int64_t(len(src)), C.int(values), C.int(bytes)) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("encode %v: %w", t, ErrNotFinite)
	}
	return fmt.Errorf("encode %v: %w", t, ErrRange)
}
