// Package tensor names the element types of GGUF tensors and computes sizes from shapes.
//
// A shape lists dimensions fastest first, as GGUF does: a weight that maps k inputs to m outputs has
// shape [k, m], and its row is k values long.
package tensor

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Type is a GGUF element type; the values are the format's own.
type Type uint32

// Types that Ingot reads. A block of a quantized type holds Block() values in Size() bytes.
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
)

type layout struct {
	name  string
	block int // values
	size  int // bytes
	read  bool
}

// The types that are named but not read yet keep their true sizes, so that a header can be checked and shown.
var layouts = map[Type]layout{
	F32: {"F32", 1, 4, true}, F16: {"F16", 1, 2, true}, BF16: {"BF16", 1, 2, true},
	Q4_0: {"Q4_0", 32, 18, true}, Q4_1: {"Q4_1", 32, 20, true},
	Q5_0: {"Q5_0", 32, 22, true}, Q5_1: {"Q5_1", 32, 24, true},
	Q8_0: {"Q8_0", 32, 34, true}, 9: {"Q8_1", 32, 36, false},
	Q2_K: {"Q2_K", 256, 84, true}, Q3_K: {"Q3_K", 256, 110, true}, Q4_K: {"Q4_K", 256, 144, true},
	Q5_K: {"Q5_K", 256, 176, true}, Q6_K: {"Q6_K", 256, 210, true}, 15: {"Q8_K", 256, 292, false},
	16: {"IQ2_XXS", 256, 66, false}, 17: {"IQ2_XS", 256, 74, false}, 18: {"IQ3_XXS", 256, 98, false},
	19: {"IQ1_S", 256, 50, false}, IQ4_NL: {"IQ4_NL", 32, 18, true}, 21: {"IQ3_S", 256, 110, false},
	22: {"IQ2_S", 256, 82, false}, IQ4_XS: {"IQ4_XS", 256, 136, true},
	24: {"I8", 1, 1, false}, 25: {"I16", 1, 2, false}, 26: {"I32", 1, 4, false}, 27: {"I64", 1, 8, false},
	28: {"F64", 1, 8, false}, 29: {"IQ1_M", 256, 56, false},
	34: {"TQ1_0", 256, 54, false}, 35: {"TQ2_0", 256, 66, false}, MXFP4: {"MXFP4", 32, 17, true},
	40: {"NVFP4", 64, 36, false},
}

// String returns the type's usual name, such as "Q4_K", or "type 77" for a number without one.
func (t Type) String() string {
	if l, ok := layouts[t]; ok {
		return l.name
	}
	return fmt.Sprintf("type %d", uint32(t))
}

// Known tells whether the size of a block of t is known.
func (t Type) Known() bool { _, ok := layouts[t]; return ok }

// Readable tells whether the engine has kernels for t.
func (t Type) Readable() bool { return layouts[t].read }

// Quantized tells whether t stores several values in one block.
func (t Type) Quantized() bool { return layouts[t].block > 1 }

// Block returns how many values a block of t holds; 0 for an unknown type.
func (t Type) Block() int { return layouts[t].block }

// Size returns how many bytes a block of t takes; 0 for an unknown type.
func (t Type) Size() int { return layouts[t].size }

// Parse returns the type of that name, in any case.
func Parse(name string) (Type, error) {
	for t, l := range layouts {
		if strings.EqualFold(l.name, name) {
			return t, nil
		}
	}
	return 0, fmt.Errorf("unknown tensor type %q", name)
}

// Readables lists the types the engine has kernels for, in the order of their numbers.
func Readables() []Type {
	var ts []Type
	for t, l := range layouts {
		if l.read {
			ts = append(ts, t)
		}
	}
	slices.Sort(ts)
	return ts
}

// Elements returns the product of the dimensions; it fails on a dimension below 1 and on overflow.
func Elements(shape []int64) (int64, error) {
	n := uint64(1)
	for _, d := range shape {
		if d < 1 {
			return 0, fmt.Errorf("dimension %d in %v", d, shape)
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > 1<<62 {
			return 0, fmt.Errorf("shape %v has more elements than 64 bits count", shape)
		}
		n = lo
	}
	return int64(n), nil
}

// Bytes returns the packed size of a tensor. It fails where a row is not a whole number of blocks.
func Bytes(t Type, shape []int64) (int64, error) {
	if !t.Known() {
		return 0, fmt.Errorf("unknown %v", t)
	}
	n, err := Elements(shape)
	if err != nil {
		return 0, err
	}
	row := int64(1)
	if len(shape) > 0 {
		row = shape[0]
	}
	b := int64(t.Block())
	if row%b != 0 {
		return 0, fmt.Errorf("a row of %d values is not a multiple of the %d values in a block of %v", row, b, t)
	}
	hi, lo := bits.Mul64(uint64(n/b), uint64(t.Size()))
	if hi != 0 || lo > 1<<62 {
		return 0, fmt.Errorf("shape %v of %v has more bytes than 64 bits count", shape, t)
	}
	return int64(lo), nil
}

// RowBytes returns the packed size of a row of k values; k must be a multiple of t.Block().
func RowBytes(t Type, k int) int { return k / t.Block() * t.Size() }
