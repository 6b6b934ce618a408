package gguf

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"ingot/engine/tensor"
)

const magic = "GGUF"

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

// Least bytes an entry takes; counts are checked against them before anything is allocated.
const (
	minKeyBytes    = 8 + 1 + 4 + 1     // key length, key, type, value
	minTensorBytes = 8 + 1 + 4 + 4 + 8 // name length, name, dimension count, type, offset
)

// header is what stands before the tensor data of one part.
type header struct {
	meta    *Meta
	tensors []Tensor // Offset is absolute, Data nil
}

// readHeader reads and checks everything that does not depend on the data being there.
func readHeader(r io.ReaderAt, size int64) (*header, error) {
	d := newDecoder(r, size)
	keys, tensors, err := d.preamble()
	if err != nil {
		return nil, err
	}
	h := &header{meta: &Meta{make([]string, 0, keys), make(map[string]any, keys)}}
	for i := range keys {
		if err := d.pair(h.meta, i); err != nil {
			return nil, err
		}
	}
	align, err := alignment(h.meta)
	if err != nil {
		return nil, err
	}
	if err := d.need(int64(tensors), minTensorBytes); err != nil {
		return nil, fmt.Errorf("%d tensors: %w", tensors, err)
	}
	h.tensors = make([]Tensor, 0, tensors)
	for i := range tensors {
		t, err := d.tensor(i)
		if err != nil {
			return nil, err
		}
		h.tensors = append(h.tensors, t)
	}
	return h, h.place(d.offset(), align)
}

// preamble reads magic, version and counts.
func (d *decoder) preamble() (keys, tensors int, err error) {
	b, err := d.next(4)
	if err != nil || string(b) != magic {
		if err == nil {
			err = fmt.Errorf("%w: it begins with %q", ErrNotGGUF, b)
		} else if d.size < 4 {
			err = fmt.Errorf("%w: it has %d bytes", ErrNotGGUF, d.size)
		}
		return 0, 0, err
	}
	version, err := d.uint32()
	if err != nil {
		return 0, 0, err
	}
	switch {
	case version == 2 || version == 3:
	case version&0xffff == 0 && version != 0:
		return 0, 0, fmt.Errorf("%w: the file is big-endian, only little-endian files are read", ErrUnsupported)
	default:
		return 0, 0, fmt.Errorf("%w: the file has version %d, versions 2 and 3 are read", ErrUnsupported, version)
	}
	nt, err := d.uint64()
	if err != nil {
		return 0, 0, err
	}
	nk, err := d.uint64()
	if err != nil {
		return 0, 0, err
	}
	if nt > MaxTensors {
		return 0, 0, fmt.Errorf("%w: %d tensors, the limit is %d", ErrMalformed, nt, MaxTensors)
	}
	if nk > MaxKeys {
		return 0, 0, fmt.Errorf("%w: %d keys, the limit is %d", ErrMalformed, nk, MaxKeys)
	}
	if err := d.need(int64(nk), minKeyBytes); err != nil {
		return 0, 0, fmt.Errorf("%d keys: %w", nk, err)
	}
	return int(nk), int(nt), nil
}

// pair reads one key and its value into m.
func (d *decoder) pair(m *Meta, i int) error {
	key, err := d.string(MaxKey)
	if err != nil {
		return fmt.Errorf("key %d: %w", i, err)
	}
	if key == "" {
		return fmt.Errorf("%w: key %d is empty", ErrMalformed, i)
	}
	if _, dup := m.values[key]; dup {
		return fmt.Errorf("%w: key %q stands twice", ErrMalformed, key)
	}
	t, err := d.uint32()
	if err != nil {
		return fmt.Errorf("key %q: %w", key, err)
	}
	var v any
	if valueType(t) == typeArray {
		v, err = d.array()
	} else {
		v, err = d.value(valueType(t))
	}
	if err != nil {
		return fmt.Errorf("key %q: %w", key, err)
	}
	m.Set(key, v)
	return nil
}

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

// tensor reads entry i of the tensor table. Its Offset is still relative to the data.
func (d *decoder) tensor(i int) (Tensor, error) {
	var t Tensor
	name, err := d.string(MaxTensorName)
	if err != nil {
		return t, fmt.Errorf("tensor %d: %w", i, err)
	}
	if name == "" {
		return t, fmt.Errorf("%w: tensor %d has no name", ErrMalformed, i)
	}
	fail := func(err error) (Tensor, error) { return t, fmt.Errorf("tensor %q: %w", name, err) }
	dims, err := d.uint32()
	if err != nil {
		return fail(err)
	}
	if dims > MaxDims {
		return fail(fmt.Errorf("%w: %d dimensions, the limit is %d", ErrMalformed, dims, MaxDims))
	}
	b, err := d.next(8*int(dims) + 4 + 8)
	if err != nil {
		return fail(err)
	}
	t = Tensor{Name: name, Shape: make([]int64, dims)}
	for j := range t.Shape {
		n := binary.LittleEndian.Uint64(b[8*j:])
		if n > math.MaxInt64 {
			return fail(fmt.Errorf("%w: dimension %d is %d", ErrMalformed, j, n))
		}
		t.Shape[j] = int64(n)
	}
	b = b[8*dims:]
	t.Type = tensor.Type(binary.LittleEndian.Uint32(b))
	offset := binary.LittleEndian.Uint64(b[4:])
	if _, err := tensor.Bytes(t.Type, t.Shape); err != nil {
		return fail(fmt.Errorf("%w: %w", ErrMalformed, err))
	}
	if offset > math.MaxInt64 {
		return fail(fmt.Errorf("%w: offset %d", ErrMalformed, offset))
	}
	t.Offset = int64(offset)
	return t, nil
}

// place makes offsets absolute and refuses those that are unaligned, wrap, or share bytes, and names that
// stand twice. end is where the tensor table ends.
func (h *header) place(end, align int64) error {
	data, _ := alignUp(end, align) // cannot wrap: end is below MaxHeader
	names := make(map[string]bool, len(h.tensors))
	order := make([]*Tensor, len(h.tensors))
	for i := range h.tensors {
		t := &h.tensors[i]
		if names[t.Name] {
			return fmt.Errorf("%w: two tensors are named %q", ErrMalformed, t.Name)
		}
		names[t.Name] = true
		if t.Offset%align != 0 {
			return fmt.Errorf("tensor %q: %w: offset %d is not a multiple of the alignment %d", t.Name, ErrMalformed, t.Offset, align)
		}
		if t.Offset > math.MaxInt64-data || t.Offset+data > math.MaxInt64-t.Bytes() {
			return fmt.Errorf("tensor %q: %w: offset %d wraps", t.Name, ErrMalformed, t.Offset)
		}
		t.Offset += data
		order[i] = t
	}
	slices.SortFunc(order, func(a, b *Tensor) int { return cmp.Compare(a.Offset, b.Offset) })
	for i := 1; i < len(order); i++ {
		if a, b := order[i-1], order[i]; a.Offset+a.Bytes() > b.Offset {
			return fmt.Errorf("%w: tensors %q and %q overlap", ErrMalformed, a.Name, b.Name)
		}
	}
	return nil
}

// checkData fails where a file of size bytes ends before its tensors do.
func (h *header) checkData(size int64) error {
	var last *Tensor
	end := size
	for i := range h.tensors {
		if t := &h.tensors[i]; t.Offset+t.Bytes() > end {
			last, end = t, t.Offset+t.Bytes()
		}
	}
	if last != nil {
		return fmt.Errorf("%w: %d bytes are missing (tensor %q ends at byte %d, the file at %d)", ErrTruncated, end-size, last.Name, end, size)
	}
	return nil
}
