package gpu

import (
	"errors"
	"fmt"
	"strings"
)

// Type is the element type of a weight; the numbers are GGUF's.
type Type int32

// The types that products read.
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

// ErrUnsupported is returned when no kernel reads weights of a type; the message names it.
var ErrUnsupported = errors.New("no kernel of the cards reads this type")

// types says how many values a block of a type holds, in how many bytes, and whether lib/planes.h has an order for it.
var types = map[Type]struct {
	name          string
	values, bytes int
	planes        bool
}{
	F32: {"F32", 1, 4, false}, F16: {"F16", 1, 2, false}, BF16: {"BF16", 1, 2, false},
	Q4_0: {"Q4_0", 32, 18, true}, Q4_1: {"Q4_1", 32, 20, false}, Q5_0: {"Q5_0", 32, 22, false}, Q5_1: {"Q5_1", 32, 24, true},
	Q8_0: {"Q8_0", 32, 34, true}, IQ4_NL: {"IQ4_NL", 32, 18, true}, MXFP4: {"MXFP4", 32, 17, true},
	Q2_K: {"Q2_K", 256, 84, false}, Q3_K: {"Q3_K", 256, 110, false}, Q4_K: {"Q4_K", 256, 144, true}, Q5_K: {"Q5_K", 256, 176, true},
	Q6_K: {"Q6_K", 256, 210, true}, IQ4_XS: {"IQ4_XS", 256, 136, false},
}

// String returns the type's usual name, such as "Q4_K".
func (t Type) String() string {
	if l, ok := types[t]; ok {
		return l.name
	}
	return fmt.Sprintf("type %d", int32(t))
}

// plain tells whether products with weights of the type read f32 activations.
func (t Type) plain() bool { return types[t].values == 1 }

// size is the bytes of a matrix of m rows of k values.
func (t Type) size(m, k int) int64 {
	return int64(m) * int64(k/types[t].values) * int64(types[t].bytes)
}

// Repacks tells whether a matrix of m rows of k values has an order that products read faster, which is the same size. Of
// several matrices one after the other, each must begin on 16 bytes.
func (t Type) Repacks(m, k int) bool {
	return types[t].planes && k%types[t].values == 0 && t.size(m, k)%16 == 0
}

// weight is the type's name in lib/: how a module reads it.
func (t Type) weight(m, k int, repacked bool) (string, error) {
	l, ok := types[t]
	if !ok || repacked && !l.planes {
		return "", fmt.Errorf("%w: %v", ErrUnsupported, t)
	}
	if l.values > 1 && k%l.values != 0 || k < 1 {
		return "", fmt.Errorf("%v weights of %d values a row, which are no whole blocks", t, k)
	}
	if t.size(m, k) >= 1<<32 {
		return "", fmt.Errorf("%v weights of %d x %d: kernels address 4 GB of a matrix", t, m, k)
	}
	name := strings.ToLower(l.name)
	switch {
	case l.values == 1:
		return name, nil
	case repacked:
		return name + "_planes", nil
	}
	return name + "_blocks", nil
}
