package gguf

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"ingot/engine/tensor"
)

// WriteTensor is a tensor to write. Its bytes are Data, or what From writes where From is set; either way
// exactly the packed size of Shape.
type WriteTensor struct {
	Name  string
	Type  tensor.Type
	Shape []int64 // fastest dimension first
	Data  []byte
	From  func(io.Writer) error
}

// Write writes a version 3 file. Data is aligned to general.alignment where m has that key, else to
// DefaultAlignment; the last tensor is padded too. What Write accepts, Open reads.
func Write(w io.Writer, m *Meta, tensors []WriteTensor) error {
	align, err := alignment(m)
	if err != nil {
		return err
	}
	sizes, err := checkTensors(tensors)
	if err != nil {
		return err
	}
	out := &counter{w: bufio.NewWriterSize(w, window)}
	head, err := encodeHeader(m, tensors, sizes, align)
	if err != nil {
		return err
	}
	if _, err := out.Write(head); err != nil {
		return err
	}
	for i, t := range tensors {
		if err := out.pad(align); err != nil {
			return err
		}
		begin := out.n
		if t.From != nil {
			err = t.From(out)
		} else {
			_, err = out.Write(t.Data)
		}
		if err != nil {
			return fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		if got := out.n - begin; got != sizes[i] {
			return fmt.Errorf("tensor %q: %d bytes given, %v of %v takes %d", t.Name, got, t.Shape, t.Type, sizes[i])
		}
	}
	if len(tensors) > 0 {
		if err := out.pad(align); err != nil {
			return err
		}
	}
	return out.w.Flush()
}

// checkTensors returns the packed sizes of tensors that the format can hold.
func checkTensors(tensors []WriteTensor) ([]int64, error) {
	if len(tensors) > MaxTensors {
		return nil, fmt.Errorf("%d tensors, the limit is %d", len(tensors), MaxTensors)
	}
	sizes := make([]int64, len(tensors))
	names := make(map[string]bool, len(tensors))
	for i, t := range tensors {
		switch {
		case t.Name == "" || len(t.Name) > MaxTensorName:
			return nil, fmt.Errorf("tensor name %q: from 1 to %d bytes are written", t.Name, MaxTensorName)
		case names[t.Name]:
			return nil, fmt.Errorf("two tensors are named %q", t.Name)
		case len(t.Shape) > MaxDims:
			return nil, fmt.Errorf("tensor %q: %d dimensions, the limit is %d", t.Name, len(t.Shape), MaxDims)
		}
		names[t.Name] = true
		n, err := tensor.Bytes(t.Type, t.Shape)
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
		}
		if t.From == nil && int64(len(t.Data)) != n {
			return nil, fmt.Errorf("tensor %q: %d bytes given, %v of %v takes %d", t.Name, len(t.Data), t.Shape, t.Type, n)
		}
		sizes[i] = n
	}
	return sizes, nil
}

func encodeHeader(m *Meta, tensors []WriteTensor, sizes []int64, align int64) ([]byte, error) {
	le := binary.LittleEndian
	b := append([]byte(nil), magic...)
	b = le.AppendUint32(b, 3)
	b = le.AppendUint64(b, uint64(len(tensors)))
	b = le.AppendUint64(b, uint64(len(m.keys)))
	if len(m.keys) > MaxKeys {
		return nil, fmt.Errorf("%d keys, the limit is %d", len(m.keys), MaxKeys)
	}
	for _, key := range m.keys {
		if key == "" || len(key) > MaxKey {
			return nil, fmt.Errorf("key of %d bytes: from 1 to %d are written", len(key), MaxKey)
		}
		b = appendString(b, key)
		var err error
		if b, err = appendValue(b, m.values[key]); err != nil {
			return nil, fmt.Errorf("key %q: %w", key, err)
		}
	}
	offset := int64(0)
	for i, t := range tensors {
		b = appendString(b, t.Name)
		b = le.AppendUint32(b, uint32(len(t.Shape)))
		for _, n := range t.Shape {
			b = le.AppendUint64(b, uint64(n))
		}
		b = le.AppendUint32(b, uint32(t.Type))
		b = le.AppendUint64(b, uint64(offset))
		end, ok := alignUp(sizes[i], align)
		if !ok || offset > math.MaxInt64-end {
			return nil, fmt.Errorf("tensor %q: more bytes in all than 63 bits count", t.Name)
		}
		offset += end
	}
	if len(b) > MaxHeader {
		return nil, fmt.Errorf("a header of %d bytes, the limit is %d", len(b), MaxHeader)
	}
	return b, nil
}

func appendString(b []byte, s string) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(len(s)))
	return append(b, s...)
}

// appendValue appends type and value of one of the types listed at Meta.
func appendValue(b []byte, v any) ([]byte, error) {
	le := binary.LittleEndian
	if t, n, ok := typeOf(v); !ok {
		return nil, fmt.Errorf("a value of type %T cannot be written", v)
	} else if n < 0 {
		b = le.AppendUint32(b, uint32(t))
	} else {
		if n > MaxArray {
			return nil, fmt.Errorf("an array of %d elements, the limit is %d", n, MaxArray)
		}
		b = le.AppendUint32(b, uint32(typeArray))
		b = le.AppendUint32(b, uint32(t))
		b = le.AppendUint64(b, uint64(n))
	}
	switch v := v.(type) {
	case string:
		if len(v) > MaxString {
			return nil, fmt.Errorf("a string of %d bytes, the limit is %d", len(v), MaxString)
		}
		return appendString(b, v), nil
	case []string:
		for _, s := range v {
			if len(s) > MaxString {
				return nil, fmt.Errorf("a string of %d bytes, the limit is %d", len(s), MaxString)
			}
			b = appendString(b, s)
		}
		return b, nil
	}
	return binary.Append(b, le, v) // all that is left has a fixed size
}

// typeOf returns the format's type of a value, for a slice that of its elements and its length, else -1.
func typeOf(v any) (t valueType, n int, ok bool) {
	switch v := v.(type) {
	case uint8:
		return typeUint8, -1, true
	case int8:
		return typeInt8, -1, true
	case uint16:
		return typeUint16, -1, true
	case int16:
		return typeInt16, -1, true
	case uint32:
		return typeUint32, -1, true
	case int32:
		return typeInt32, -1, true
	case uint64:
		return typeUint64, -1, true
	case int64:
		return typeInt64, -1, true
	case float32:
		return typeFloat32, -1, true
	case float64:
		return typeFloat64, -1, true
	case bool:
		return typeBool, -1, true
	case string:
		return typeString, -1, true
	case []uint8:
		return typeUint8, len(v), true
	case []int8:
		return typeInt8, len(v), true
	case []uint16:
		return typeUint16, len(v), true
	case []int16:
		return typeInt16, len(v), true
	case []uint32:
		return typeUint32, len(v), true
	case []int32:
		return typeInt32, len(v), true
	case []uint64:
		return typeUint64, len(v), true
	case []int64:
		return typeInt64, len(v), true
	case []float32:
		return typeFloat32, len(v), true
	case []float64:
		return typeFloat64, len(v), true
	case []bool:
		return typeBool, len(v), true
	case []string:
		return typeString, len(v), true
	}
	return 0, 0, false
}

// counter counts the bytes that pass, so that padding and sizes can be checked.
type counter struct {
	w *bufio.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

var zeros = bytes.Repeat([]byte{0}, 4096)

// pad writes zeros up to the next multiple of align.
func (c *counter) pad(align int64) error {
	end, _ := alignUp(c.n, align) // cannot wrap: encodeHeader added everything up
	for c.n < end {
		if _, err := c.Write(zeros[:min(end-c.n, int64(len(zeros)))]); err != nil {
			return err
		}
	}
	return nil
}
