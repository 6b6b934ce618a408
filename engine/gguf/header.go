package gguf

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"ingot/engine/tensor"
)

const magic = "GGUF"

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
