package gguf

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ingot/engine/tensor"
)

// everything has a value of each type that the format knows.
func everything() *Meta {
	m := NewMeta()
	for k, v := range map[string]any{
		"u8": uint8(math.MaxUint8), "i8": int8(math.MinInt8), "u16": uint16(math.MaxUint16), "i16": int16(math.MinInt16),
		"u32": uint32(math.MaxUint32), "i32": int32(math.MinInt32), "u64": uint64(math.MaxUint64), "i64": int64(math.MinInt64),
		"f32": float32(1.5), "f64": math.Pi, "true": true, "false": false, "s": "a\x00\xffß", "empty": "",
		"[]u8": []uint8{1, 255}, "[]i8": []int8{-1}, "[]u16": []uint16{1, 2, 65535}, "[]i16": []int16{-5}, "[]u32": []uint32{7, 1 << 31}, "[]i32": []int32{-7},
		"[]u64": []uint64{1 << 63}, "[]i64": []int64{-1 << 63}, "[]f32": []float32{0.25, float32(math.Inf(1))}, "[]f64": []float64{-0.5}, "[]b": []bool{true, false, true},
		"[]s": []string{"", "a", strings.Repeat("x", 3*window)}, "none": []string{}, "long": strings.Repeat("y", 2*window+1), "many": make([]uint16, window),
	} {
		m.Set(k, v)
	}
	return m
}

func fill(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + seed)
	}
	return b
}

func TestWriteThenOpen(t *testing.T) {
	for _, align := range []int64{0, 8, 64, 1 << 16} {
		m := everything()
		if align != 0 {
			m.Set("general.alignment", uint32(align))
		} else {
			align = DefaultAlignment
		}
		data := [][]byte{fill(4*3*5, 1), fill(34*2, 2), fill(2, 3), fill(144*3, 4)}
		tensors := []WriteTensor{
			{Name: "a", Type: tensor.F32, Shape: []int64{3, 5}, Data: data[0]},
			{Name: "b.weight", Type: tensor.Q8_0, Shape: []int64{32, 1, 2}, From: func(w io.Writer) error {
				for _, b := range data[1] { // in pieces
					if _, err := w.Write([]byte{b}); err != nil {
						return err
					}
				}
				return nil
			}},
			{Name: "scalar", Type: tensor.F16, Data: data[2]},
			{Name: "four", Type: tensor.Q4_K, Shape: []int64{256, 1, 1, 3}, Data: data[3]},
		}
		var buf bytes.Buffer
		if err := Write(&buf, m, tensors); err != nil {
			t.Fatal(err)
		}
		if int64(buf.Len())%align != 0 {
			t.Errorf("alignment %d: the file has %d bytes", align, buf.Len())
		}
		path := filepath.Join(t.TempDir(), "w.gguf")
		if err := os.WriteFile(path, buf.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if f.Path() != path || !reflect.DeepEqual(f.Parts(), []string{path}) || f.Size() != int64(buf.Len()) {
			t.Error(f.Path(), f.Parts(), f.Size())
		}
		if len(f.Tensors()) != len(tensors) {
			t.Fatal(f.Tensors())
		}
		for i, w := range tensors {
			g := f.Tensors()[i]
			if g.Name != w.Name || g.Type != w.Type || len(g.Shape) != len(w.Shape) || !bytes.Equal(g.Data, data[i]) || g.Offset%align != 0 || cap(g.Data) != len(g.Data) {
				t.Errorf("alignment %d: %+v, expected %+v", align, g, w)
			}
			for j := range w.Shape {
				if g.Shape[j] != w.Shape[j] {
					t.Errorf("%s has shape %v", g.Name, g.Shape)
				}
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Error("second Close:", err)
		}
		if !reflect.DeepEqual(f.Meta(), m) {
			t.Errorf("alignment %d: metadata differs after Close", align)
		}
	}
}

// Version 2 differs from 3 in nothing but its number.
func TestVersion2(t *testing.T) {
	var buf bytes.Buffer
	if err := Write(&buf, everything(), []WriteTensor{{Name: "a", Type: tensor.F32, Shape: []int64{1}, Data: fill(4, 0)}}); err != nil {
		t.Fatal(err)
	}
	b := buf.Bytes()
	b[4] = 2
	h, err := readHeader(bytes.NewReader(b), int64(len(b)))
	if err != nil || !reflect.DeepEqual(h.meta, everything().sortedAs(h.meta)) || len(h.tensors) != 1 {
		t.Error(err)
	}
}

// sortedAs returns m with its keys in the order of other: everything fills from a map.
func (m *Meta) sortedAs(other *Meta) *Meta {
	out := NewMeta()
	for _, k := range other.keys {
		out.Set(k, m.values[k])
	}
	return out
}

func TestWriteRefuses(t *testing.T) {
	one := func(w WriteTensor) []WriteTensor { return []WriteTensor{w} }
	with := func(key string, v any) *Meta {
		m := NewMeta()
		m.Set(key, v)
		return m
	}
	broken := errors.New("disk on fire")
	for _, c := range []struct {
		says    string
		m       *Meta
		tensors []WriteTensor
	}{
		{"type int cannot be written", with("k", 1), nil},
		{"type [][]int32 cannot be written", with("k", [][]int32{{1}}), nil},
		{"type <nil> cannot be written", with("k", nil), nil},
		{"key of 0 bytes", with("", uint8(1)), nil},
		{"key of 65536 bytes", with(strings.Repeat("k", MaxKey+1), uint8(1)), nil},
		{"a string of 67108865 bytes", with("k", strings.Repeat("k", MaxString+1)), nil},
		{"an array of 16777217 elements", with("k", make([]uint8, MaxArray+1)), nil},
		{"general.alignment is 3", with("general.alignment", uint32(3)), nil},
		{`tensor name ""`, NewMeta(), one(WriteTensor{Type: tensor.F32, Data: fill(4, 0)})},
		{"tensor name \"nnn", NewMeta(), one(WriteTensor{Name: strings.Repeat("n", 257), Type: tensor.F32, Data: fill(4, 0)})},
		{"5 dimensions", NewMeta(), one(WriteTensor{Name: "w", Type: tensor.F32, Shape: []int64{1, 1, 1, 1, 1}, Data: fill(4, 0)})},
		{"dimension 0", NewMeta(), one(WriteTensor{Name: "w", Type: tensor.F32, Shape: []int64{0}})},
		{"unknown type 77", NewMeta(), one(WriteTensor{Name: "w", Type: 77, Shape: []int64{1}})},
		{"5 bytes given, [1] of F32 takes 4", NewMeta(), one(WriteTensor{Name: "w", Type: tensor.F32, Shape: []int64{1}, Data: fill(5, 0)})},
		{"3 bytes given, [1] of F32 takes 4", NewMeta(), one(WriteTensor{Name: "w", Type: tensor.F32, Shape: []int64{1}, From: func(w io.Writer) error {
			_, err := w.Write(fill(3, 0))
			return err
		}})},
		{`tensor "w": disk on fire`, NewMeta(), one(WriteTensor{Name: "w", Type: tensor.F32, Shape: []int64{1}, From: func(io.Writer) error { return broken }})},
		{`two tensors are named "w"`, NewMeta(), []WriteTensor{{Name: "w", Type: tensor.F32, Data: fill(4, 0)}, {Name: "w", Type: tensor.F32, Data: fill(4, 0)}}},
	} {
		if err := Write(io.Discard, c.m, c.tensors); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, expected %q", err, c.says)
		}
	}
	full := errors.New("no space left")
	big := one(WriteTensor{Name: "w", Type: tensor.F32, Shape: []int64{window}, Data: fill(4*window, 0)})
	if err := Write(failing{full}, NewMeta(), big); !errors.Is(err, full) {
		t.Error(err)
	}
	if err := Write(failing{full}, NewMeta(), nil); !errors.Is(err, full) {
		t.Error(err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }
