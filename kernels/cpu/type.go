package cpu

// #include "kernels.h"
// #include "repack.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"
)

// Type is the element type of a weight or of a KV cache; the numbers are GGUF's.
type Type int32

// The types that kernels read.
const (
	F32    Type = 0
	F16    Type = 1
	Q4_0   Type = 2
	Q4_1   Type = 3
	Q5_0   Type = 6
	Q5_1   Type = 7
	Q8_0   Type = 8
	Q2_K   Type = 10
	Q3_K   Type = 11
	Q4_K   Type = 12
	Q5_K   Type = 13
	Q6_K   Type = 14
	IQ4_NL Type = 20
	IQ4_XS Type = 23
	BF16   Type = 30
	MXFP4  Type = 39

	untyped Type = -1 // of an operation without weight or cache
)

// ErrType is returned when an element type is not one that the kernels read.
var ErrType = errors.New("no kernel reads this element type")

type typeLayout struct {
	name        string
	block, size int
}

var typeLayouts = map[Type]typeLayout{
	F32: {"F32", 1, 4}, F16: {"F16", 1, 2}, BF16: {"BF16", 1, 2},
	Q4_0: {"Q4_0", 32, 18}, Q4_1: {"Q4_1", 32, 20}, Q5_0: {"Q5_0", 32, 22}, Q5_1: {"Q5_1", 32, 24}, Q8_0: {"Q8_0", 32, 34},
	Q2_K: {"Q2_K", 256, 84}, Q3_K: {"Q3_K", 256, 110}, Q4_K: {"Q4_K", 256, 144}, Q5_K: {"Q5_K", 256, 176}, Q6_K: {"Q6_K", 256, 210},
	IQ4_NL: {"IQ4_NL", 32, 18}, IQ4_XS: {"IQ4_XS", 256, 136}, MXFP4: {"MXFP4", 32, 17},
}

// String returns the type's usual name, such as "Q4_K".
func (t Type) String() string {
	if l, ok := typeLayouts[t]; ok {
		return l.name
	}
	return fmt.Sprintf("type %d", int32(t))
}

// Block returns how many values a block holds and how many bytes it takes; zeros for a type no kernel reads.
func (t Type) Block() (values, bytes int) {
	l := typeLayouts[t]
	return l.block, l.size
}

// Group is how many rows of a matrix Repack interleaves; rows after the last whole group stay in order.
const Group = C.IG_GROUP

// Repacks tells whether products read matrices of this type faster once Repack has put them in order.
func (t Type) Repacks() bool { return C.ig_layout_of(C.int(t)).words != 0 }

// QuantizedRow returns the bytes of a row of k activations quantized for integer products; k is a multiple of 32.
func QuantizedRow(k int) int64 { return int64(C.ig_q8_row(C.int64_t(k))) }

// Dequantize writes the f32 values of packed src to dst. src must hold exactly len(dst) values of type t, in whole
// blocks; either slice may be in Go's heap. An unknown t gives ErrType.
func Dequantize(t Type, src []byte, dst []float32) error {
	values, bytes := t.Block()
	if values == 0 {
		return fmt.Errorf("dequantize %v: %w", t, ErrType)
	}
	if len(dst)%values != 0 || len(src) != len(dst)/values*bytes {
		return fmt.Errorf("dequantize %v: %d bytes do not hold %d values", t, len(src), len(dst))
	}
	if len(dst) > 0 {
		C.ig_dequantize(C.int(t), unsafe.Pointer(&src[0]), (*C.float)(&dst[0]), C.int64_t(len(dst)))
	}
	return nil
}
