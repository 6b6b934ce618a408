package gguf

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// valueType is the format's number for a metadata type.
type valueType uint32

const (
	typeUint8 valueType = iota
	typeInt8
	typeUint16
	typeInt16
	typeUint32
	typeInt32
	typeFloat32
	typeBool
	typeString
	typeArray
	typeUint64
	typeInt64
	typeFloat64
)

// width returns the bytes of a value of fixed size; 0 for strings, arrays and unknown types.
func (t valueType) width() int {
	switch t {
	case typeUint8, typeInt8, typeBool:
		return 1
	case typeUint16, typeInt16:
		return 2
	case typeUint32, typeInt32, typeFloat32:
		return 4
	case typeUint64, typeInt64, typeFloat64:
		return 8
	}
	return 0
}

// value reads a value that is no array.
func (d *decoder) value(t valueType) (any, error) {
	if t == typeString {
		return d.string(MaxString)
	}
	w := t.width()
	if w == 0 {
		return nil, fmt.Errorf("%w: unknown value type %d", ErrMalformed, t)
	}
	b, err := d.next(w)
	if err != nil {
		return nil, err
	}
	switch t {
	case typeUint8:
		return b[0], nil
	case typeInt8:
		return int8(b[0]), nil
	case typeUint16:
		return binary.LittleEndian.Uint16(b), nil
	case typeInt16:
		return int16(binary.LittleEndian.Uint16(b)), nil
	case typeUint32:
		return binary.LittleEndian.Uint32(b), nil
	case typeInt32:
		return int32(binary.LittleEndian.Uint32(b)), nil
	case typeFloat32:
		return math.Float32frombits(binary.LittleEndian.Uint32(b)), nil
	case typeUint64:
		return binary.LittleEndian.Uint64(b), nil
	case typeInt64:
		return int64(binary.LittleEndian.Uint64(b)), nil
	case typeFloat64:
		return math.Float64frombits(binary.LittleEndian.Uint64(b)), nil
	}
	if b[0] > 1 { // the one type left is bool
		return nil, fmt.Errorf("%w: a bool is 0 or 1, not %d", ErrMalformed, b[0])
	}
	return b[0] == 1, nil
}

// array reads element type, count and elements.
func (d *decoder) array() (any, error) {
	et, err := d.uint32()
	if err != nil {
		return nil, err
	}
	count, err := d.uint64()
	if err != nil {
		return nil, err
	}
	t := valueType(et)
	width := t.width()
	switch {
	case t == typeString:
		width = 8
	case t == typeArray:
		return nil, fmt.Errorf("%w: an array of arrays is not read", ErrMalformed)
	case width == 0:
		return nil, fmt.Errorf("%w: unknown array element type %d", ErrMalformed, et)
	}
	if count > MaxArray {
		return nil, fmt.Errorf("%w: an array of %d elements, the limit is %d", ErrMalformed, count, MaxArray)
	}
	if err := d.need(int64(count), int64(width)); err != nil {
		return nil, fmt.Errorf("an array of %d elements: %w", count, err)
	}
	n := int(count)
	le := binary.LittleEndian
	switch t {
	case typeString:
		return d.strings(n)
	case typeUint8:
		return elements(d, n, 1, func(b []byte) uint8 { return b[0] })
	case typeInt8:
		return elements(d, n, 1, func(b []byte) int8 { return int8(b[0]) })
	case typeUint16:
		return elements(d, n, 2, le.Uint16)
	case typeInt16:
		return elements(d, n, 2, func(b []byte) int16 { return int16(le.Uint16(b)) })
	case typeUint32:
		return elements(d, n, 4, le.Uint32)
	case typeInt32:
		return elements(d, n, 4, func(b []byte) int32 { return int32(le.Uint32(b)) })
	case typeFloat32:
		return elements(d, n, 4, func(b []byte) float32 { return math.Float32frombits(le.Uint32(b)) })
	case typeUint64:
		return elements(d, n, 8, le.Uint64)
	case typeInt64:
		return elements(d, n, 8, func(b []byte) int64 { return int64(le.Uint64(b)) })
	case typeFloat64:
		return elements(d, n, 8, func(b []byte) float64 { return math.Float64frombits(le.Uint64(b)) })
	}
	raw, err := elements(d, n, 1, func(b []byte) uint8 { return b[0] })
	if err != nil {
		return nil, err
	}
	bools := make([]bool, n)
	for i, b := range raw {
		if b > 1 {
			return nil, fmt.Errorf("%w: a bool is 0 or 1, not %d", ErrMalformed, b)
		}
		bools[i] = b == 1
	}
	return bools, nil
}

// elements reads n values of width bytes; the caller has checked that they are there.
func elements[T any](d *decoder, n, width int, decode func([]byte) T) ([]T, error) {
	out := make([]T, 0, n)
	for len(out) < n {
		b, err := d.next(min(n-len(out), window/width) * width)
		if err != nil {
			return nil, err
		}
		for ; len(b) > 0; b = b[width:] {
			out = append(out, decode(b))
		}
	}
	return out, nil
}

// strings reads n strings into one allocation that all of them share: a vocabulary has 250 thousand.
func (d *decoder) strings(n int) ([]string, error) {
	var text strings.Builder
	text.Grow(8 * n) // the file has that many bytes left, for the lengths alone
	ends := make([]int, n)
	for i := range ends {
		size, err := d.length(MaxString)
		for err == nil && size > 0 {
			var b []byte
			b, err = d.next(min(size, window))
			text.Write(b)
			size -= len(b)
		}
		if err != nil {
			return nil, fmt.Errorf("string %d of %d: %w", i, n, err)
		}
		ends[i] = text.Len()
	}
	all, out, begin := text.String(), make([]string, n), 0
	for i, end := range ends {
		out[i], begin = all[begin:end], end
	}
	return out, nil
}
