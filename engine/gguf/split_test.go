package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"ingot/engine/tensor"
)

// part is one file of a split model; a nil value leaves the key out.
type part struct {
	file             string // ends in .gguf
	no, count, total any
	tensors          []string
}

func threeParts() []part {
	return []part{
		{"m-00001-of-00003.gguf", uint16(0), uint16(3), int32(4), []string{"a"}},
		{"m-00002-of-00003.gguf", uint16(1), uint16(3), int32(4), []string{"b", "c"}},
		{"m-00003-of-00003.gguf", uint16(2), uint16(3), int32(4), []string{"d"}},
	}
}

func (p part) write(t *testing.T, dir string) {
	t.Helper()
	m := NewMeta()
	m.Set("who", p.file)
	for _, kv := range []struct {
		key string
		v   any
	}{{keySplitNo, p.no}, {keySplitCount, p.count}, {keySplitTensors, p.total}} {
		if kv.v != nil {
			m.Set(kv.key, kv.v)
		}
	}
	var ts []WriteTensor
	for _, n := range p.tensors {
		ts = append(ts, WriteTensor{Name: n, Type: tensor.F32, Shape: []int64{1}, Data: []byte(n + "123")})
	}
	var b bytes.Buffer
	if err := Write(&b, m, ts); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, p.file), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSplit(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	size := int64(0)
	for _, p := range threeParts() {
		p.write(t, dir)
		paths = append(paths, filepath.Join(dir, p.file))
		st, err := os.Stat(paths[len(paths)-1])
		if err != nil {
			t.Fatal(err)
		}
		size += st.Size()
	}
	t.Chdir(dir)
	for _, given := range append(paths, "m-00002-of-00003.gguf") {
		f, err := Open(given)
		if err != nil {
			t.Fatal(err)
		}
		want := paths
		if !filepath.IsAbs(given) {
			want = []string{"m-00001-of-00003.gguf", given, "m-00003-of-00003.gguf"}
		}
		if f.Path() != given || !reflect.DeepEqual(f.Parts(), want) || f.Size() != size {
			t.Error(f.Path(), f.Parts(), f.Size())
		}
		if who, _ := f.Meta().String("who"); who != "m-00001-of-00003.gguf" {
			t.Errorf("metadata is that of %s", who)
		}
		names, parts := "", []int{}
		for _, w := range f.Tensors() {
			names += w.Name
			parts = append(parts, w.Part)
			if string(w.Data) != w.Name+"123" {
				t.Errorf("%s holds %q", w.Name, w.Data)
			}
		}
		if names != "abcd" || !reflect.DeepEqual(parts, []int{0, 1, 1, 2}) {
			t.Error(names, parts)
		}
		if w, ok := f.Tensor("d"); !ok || w.Name != "d" {
			t.Error(w, ok)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		h, err := OpenHeader(given)
		if err != nil || len(h.Tensors()) != 4 || len(h.Parts()) != 3 {
			t.Error(err)
		}
	}
}

func TestSplitOfOne(t *testing.T) {
	dir := t.TempDir()
	part{"any name.gguf", uint16(0), uint16(1), int32(1), []string{"a"}}.write(t, dir)
	f, err := Open(filepath.Join(dir, "any name.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

func TestSplitMalformed(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(ps []part) []part
		is    error
		says  string
	}{
		{"first part missing", func(ps []part) []part { return ps[1:] }, ErrSplit, "part 1 of 3 is missing: m-00001-of-00003.gguf"},
		{"last part missing", func(ps []part) []part { return ps[:2] }, ErrSplit, "part 3 of 3 is missing: m-00003-of-00003.gguf"},
		{"same number twice", func(ps []part) []part { ps[2].no = uint16(1); return ps }, ErrSplit, "split.no is 1, expected 2"},
		{"a part is a copy of the first", func(ps []part) []part { ps[2] = ps[0]; ps[2].file = "m-00003-of-00003.gguf"; return ps }, ErrSplit, "split.no is 0, expected 2"},
		{"counts differ", func(ps []part) []part { ps[2].count = uint16(4); return ps }, ErrSplit, "split.count is 4, expected 3"},
		{"part without a number", func(ps []part) []part { ps[2].no = nil; return ps }, ErrNoKey, `"split.no"`},
		{"part without a count", func(ps []part) []part { ps[2].count = nil; return ps }, ErrNoKey, `"split.count"`},
		{"part whose number is a string", func(ps []part) []part { ps[2].no = "2"; return ps }, ErrSplit, "is string, expected an integer"},
		{"part without a total", func(ps []part) []part { ps[2].total = nil; return ps }, ErrNoKey, `"split.tensors.count"`},
		{"totals differ", func(ps []part) []part { ps[2].total = int32(5); return ps }, ErrSplit, "split.tensors.count is 5, expected 4"},
		{"tensor missing", func(ps []part) []part { ps[2].tensors = nil; return ps }, ErrSplit, "split.tensors.count is 4, the parts have 3"},
		{"tensor in two parts", func(ps []part) []part { ps[2].tensors = []string{"a"}; return ps }, ErrMalformed, `two tensors are named "a"`},
		{"count above the limit", func(ps []part) []part { ps[1].count = uint32(1025); return ps }, ErrSplit, "1025 parts"},
		{"count of 64 bits", func(ps []part) []part { ps[1].count = uint64(1<<64 - 1); return ps }, ErrSplit, "18446744073709551615 parts"},
		{"negative count", func(ps []part) []part { ps[1].count = int16(-3); return ps }, ErrSplit, "int16 -3"},
		{"number beyond the count", func(ps []part) []part { ps[1].no = uint16(3); return ps }, ErrSplit, "split.no is 3 of 3 parts"},
		{"given part without a number", func(ps []part) []part { ps[1].no = nil; return ps }, ErrNoKey, `"split.no"`},
		{"given part without a total", func(ps []part) []part { ps[1].total = nil; return ps }, ErrNoKey, `"split.tensors.count"`},
		{"name of another part", func(ps []part) []part { ps[1].no = uint16(2); return ps }, ErrSplit, "part 3 of 3 must have a name that ends in -00003-of-00003.gguf"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, p := range c.spoil(threeParts()) {
				p.write(t, dir)
			}
			for _, open := range []func(string) (*File, error){Open, OpenHeader} {
				_, err := open(filepath.Join(dir, "m-00002-of-00003.gguf"))
				if !errors.Is(err, c.is) || !strings.Contains(fmt.Sprint(err), c.says) {
					t.Errorf("%v\nexpected %v with %q", err, c.is, c.says)
				}
			}
		})
	}
}

// A link that leads a later part back to the first is seen by its number.
func TestSplitCycle(t *testing.T) {
	dir := t.TempDir()
	for _, p := range threeParts()[:2] {
		p.write(t, dir)
	}
	if err := os.Symlink("m-00001-of-00003.gguf", filepath.Join(dir, "m-00003-of-00003.gguf")); err != nil {
		t.Skip("no links here: ", err)
	}
	if _, err := Open(filepath.Join(dir, "m-00001-of-00003.gguf")); !errors.Is(err, ErrSplit) || !strings.Contains(err.Error(), "split.no is 0, expected 2") {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, "m-00003-of-00003.gguf")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("m-00003-of-00003.gguf", filepath.Join(dir, "m-00003-of-00003.gguf")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, "m-00001-of-00003.gguf")); err == nil {
		t.Error("a link to itself opens")
	}
}

func TestSplitTruncatedPart(t *testing.T) {
	dir := t.TempDir()
	for _, p := range threeParts() {
		p.write(t, dir)
	}
	path := filepath.Join(dir, "m-00003-of-00003.gguf")
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, st.Size()-30); err != nil {
		t.Fatal(err)
	}
	first := filepath.Join(dir, "m-00001-of-00003.gguf")
	if _, err := Open(first); !errors.Is(err, ErrTruncated) || !strings.HasPrefix(err.Error(), path) || !strings.Contains(err.Error(), ": 2 bytes are missing") {
		t.Error(err)
	}
	if _, err := OpenHeader(first); err != nil {
		t.Error(err)
	}
}
