// Package gguf reads and writes GGUF files, versions 2 and 3, little-endian.
//
//	f, err := gguf.Open("model-00001-of-00003.gguf") // the other parts are found beside it
//	defer f.Close()
//	layers, err := f.Meta().Uint("qwen3.block_count")
//	w, ok := f.Tensor("blk.0.attn_q.weight")
//
// Files are untrusted: every count, length and offset is checked against the limits below and against the
// bytes left before anything is allocated, so a header costs at most a small multiple of its own size.
// The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
package gguf

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"os"
	"slices"

	"ingot/engine/tensor"
)

// Limits on what a file may ask for. Published models stay far below each of them.
const (
	MaxHeader     = 256 << 20 // bytes before the tensor data
	MaxKeys       = 1 << 16
	MaxTensors    = 1 << 16   // over all parts
	MaxArray      = 1 << 24   // elements of an array
	MaxString     = 64 << 20  // bytes
	MaxKey        = 1<<16 - 1 // bytes of a key; the format's own limit
	MaxTensorName = 256       // bytes; the format says 64
	MaxDims       = 4
	MaxParts      = 1 << 10

	DefaultAlignment = 32
	MinAlignment     = 8
	MaxAlignment     = 1 << 24
)

var (
	// ErrNotGGUF is returned when a file does not begin with the format's magic.
	ErrNotGGUF = errors.New("not a GGUF file")
	// ErrUnsupported is returned when a file is GGUF of a version or byte order that is not read.
	ErrUnsupported = errors.New("unsupported GGUF")
	// ErrTruncated is returned when a file ends before its header or its tensors do.
	ErrTruncated = errors.New("truncated GGUF")
	// ErrMalformed is returned when a file contradicts itself, the format or the limits above.
	ErrMalformed = errors.New("malformed GGUF")
	// ErrSplit is returned when the parts of a split file are missing or do not belong together.
	ErrSplit = errors.New("split GGUF")
)

// Tensor is one entry of the tensor table.
type Tensor struct {
	Name   string
	Type   tensor.Type
	Shape  []int64 // fastest dimension first; empty for a scalar
	Data   []byte  // packed, exact size, owned by the File and read-only; nil without a mapping
	Part   int     // index into Parts
	Offset int64   // bytes from the beginning of that part
}

// Bytes returns the packed size, also where Data is nil.
func (t *Tensor) Bytes() int64 {
	n, _ := tensor.Bytes(t.Type, t.Shape) // cannot fail: checked when the file was opened
	return n
}

// File is an open GGUF file, of one part or several. Its methods may be called from several goroutines,
// Close excepted.
type File struct {
	path    string
	mode    Mode
	parts   []string
	size    int64
	meta    *Meta
	tensors []Tensor
	index   map[string]int // name to place in tensors
	maps    []mapping
}

// Open maps the file and, where it is one part of several, all the others: NAME-00001-of-00003.gguf and so
// on in the same folder, whichever of them path names.
func Open(path string) (*File, error) { return open(path, true, Mapped) }

// OpenAs is Open with another way of getting tensor data into memory.
func OpenAs(path string, m Mode) (*File, error) { return open(path, true, m) }

// OpenHeader reads metadata and tensor table only. It checks what Open does, but the data may be missing:
// a file cut anywhere after its tensor table is accepted.
func OpenHeader(path string) (*File, error) { return open(path, false, Mapped) }

func open(path string, withData bool, mode Mode) (_ *File, err error) {
	f := &File{path: path, mode: mode, index: map[string]int{}}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	first, err := f.addPart(path, withData, nil)
	if err != nil {
		return nil, err
	}
	s, err := splitOf(path, first.meta)
	if err != nil {
		return nil, err
	}
	if s.count > 1 {
		if err := f.addSplit(s, first, withData); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// addPart reads the file at path and appends its tensors, mapped if withData. check, if not nil, sees the
// header before anything is mapped.
func (f *File) addPart(path string, withData bool, check func(*header) error) (*header, error) {
	fail := func(err error) (*header, error) { return nil, fmt.Errorf("%s: %w", path, err) }
	// Opening a pipe would wait for a writer.
	if st, err := os.Stat(path); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() {
		return fail(fmt.Errorf("%w: not a regular file", ErrNotGGUF))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	mapped := false
	defer func() {
		if !mapped {
			file.Close()
		}
	}()
	st, err := file.Stat()
	if err != nil {
		return nil, err
	}
	h, err := readHeader(file, st.Size())
	if err == nil && withData {
		err = h.checkData(st.Size())
	}
	if err == nil && check != nil {
		err = check(h)
	}
	if err != nil {
		return fail(err)
	}
	part := len(f.parts)
	f.parts = append(f.parts, path)
	f.size += st.Size()
	if part == 0 {
		f.meta = h.meta
	}
	if len(f.tensors)+len(h.tensors) > MaxTensors {
		return fail(fmt.Errorf("%w: more than %d tensors over all parts", ErrMalformed, MaxTensors))
	}
	var data []byte
	if withData && len(h.tensors) > 0 {
		m, err := mapFile(file, path, st.Size(), f.mode)
		if err != nil {
			return fail(err)
		}
		mapped = true
		f.maps = append(f.maps, m)
		data = m.data
	}
	for _, t := range h.tensors {
		if _, dup := f.index[t.Name]; dup {
			return fail(fmt.Errorf("%w: two tensors are named %q", ErrMalformed, t.Name))
		}
		t.Part = part
		if data != nil {
			end := t.Offset + t.Bytes()
			t.Data = data[t.Offset:end:end]
		}
		f.index[t.Name] = len(f.tensors)
		f.tensors = append(f.tensors, t)
	}
	return h, nil
}

// Close removes the mapping; every Tensor's Data is invalid from here on. Meta stays usable.
func (f *File) Close() error {
	for i := range f.tensors {
		f.tensors[i].Data = nil
	}
	var errs []error
	for i := range f.maps {
		errs = append(errs, f.maps[i].unmap())
	}
	f.maps = nil
	return errors.Join(errs...)
}

// Mapped yields the parts that are mapped, rather than read, with their bytes.
func (f *File) Mapped() iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, m := range f.maps {
			if m.mode == Mapped && !yield(m.path, m.data) {
				return
			}
		}
	}
}

// Path returns the path that was opened.
func (f *File) Path() string { return f.path }

// Parts returns the paths of all parts in order; one for a file that is not split.
func (f *File) Parts() []string { return slices.Clone(f.parts) }

// Size returns the bytes of all parts on disk.
func (f *File) Size() int64 { return f.size }

// Meta returns the metadata, the first part's where there are several. It stays valid after Close.
func (f *File) Meta() *Meta { return f.meta }

// Tensors returns the tensor table in the order of the file. The slice is the File's own.
func (f *File) Tensors() []Tensor { return f.tensors }

// Tensor returns the tensor of that name. The pointer is into Tensors.
func (f *File) Tensor(name string) (*Tensor, bool) {
	i, ok := f.index[name]
	if !ok {
		return nil, false
	}
	return &f.tensors[i], true
}

// alignment returns the boundary tensor data starts at.
func alignment(m *Meta) (int64, error) {
	const key = "general.alignment"
	a, err := m.Uint(key)
	switch {
	case errors.Is(err, ErrNoKey):
		return DefaultAlignment, nil
	case err != nil:
		return 0, fmt.Errorf("%w: %w", ErrMalformed, err)
	case a < MinAlignment || a > MaxAlignment || a&(a-1) != 0:
		return 0, fmt.Errorf("%w: %s is %d, not a power of two from %d to %d", ErrMalformed, key, a, MinAlignment, MaxAlignment)
	}
	return int64(a), nil
}

// alignUp rounds n up to a multiple of a, a power of two; false where that leaves int64.
func alignUp(n, a int64) (int64, bool) {
	if n > math.MaxInt64-(a-1) {
		return 0, false
	}
	return (n + a - 1) &^ (a - 1), true
}
