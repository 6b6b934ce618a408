package gguf

import (
	"fmt"

	"ingot/engine/tensor"
)

// Described returns a File that is on no disk: metadata and a tensor table without data, checked as a header's is. path is
// what it calls itself.
func Described(path string, m *Meta, tensors []Tensor) (*File, error) {
	h := header{meta: m, tensors: make([]Tensor, len(tensors))}
	align, err := alignment(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var at int64
	for i, t := range tensors {
		size, err := tensor.Bytes(t.Type, t.Shape)
		if err != nil {
			return nil, fmt.Errorf("%s: tensor %q: %w: %w", path, t.Name, ErrMalformed, err)
		}
		next, ok := alignUp(size, align)
		if !ok || next > 1<<62-at {
			return nil, fmt.Errorf("%s: tensor %q: %w: the tensors have more bytes than 64 bits count", path, t.Name, ErrMalformed)
		}
		h.tensors[i] = Tensor{Name: t.Name, Type: t.Type, Shape: t.Shape, Offset: at}
		at += next
	}
	if err := h.place(0, align); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f := &File{path: path, parts: []string{path}, size: at, meta: m, tensors: h.tensors, index: map[string]int{}}
	for i, t := range f.tensors {
		f.index[t.Name] = i
	}
	return f, nil
}
