package gguf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Keys that a part of a split file carries. llama.cpp's gguf-split writes them.
const (
	keySplitNo      = "split.no"            // from 0
	keySplitCount   = "split.count"         // parts
	keySplitTensors = "split.tensors.count" // tensors over all parts
)

// split says which part of how many a file is.
type split struct {
	prefix    string // path up to "-00001-of-00003.gguf"
	no, count int
}

// part returns the path of part no, counted from 0.
func (s split) part(no int) string {
	return fmt.Sprintf("%s-%05d-of-%05d.gguf", s.prefix, no+1, s.count)
}

// splitOf reads the split keys of the file at path; count is 1 for a file that is not split.
func splitOf(path string, m *Meta) (split, error) {
	s := split{count: 1}
	fail := func(err error) (split, error) { return s, fmt.Errorf("%s: %w: %w", path, ErrSplit, err) }
	count, err := m.Uint(keySplitCount)
	if errors.Is(err, ErrNoKey) {
		return s, nil
	}
	if err != nil {
		return fail(err)
	}
	if count > MaxParts {
		return fail(fmt.Errorf("%d parts, the limit is %d", count, MaxParts))
	}
	if count <= 1 {
		return s, nil
	}
	no, err := m.Uint(keySplitNo)
	if err != nil {
		return fail(err)
	}
	if no >= count {
		return fail(fmt.Errorf("%s is %d of %d parts", keySplitNo, no, count))
	}
	s.no, s.count = int(no), int(count)
	ending := s.part(s.no)
	prefix, ok := strings.CutSuffix(path, ending)
	if !ok {
		return fail(fmt.Errorf("part %d of %d must have a name that ends in %s", no+1, count, ending))
	}
	s.prefix = prefix
	return s, nil
}

// addSplit replaces what f holds, the part given, by all parts in order.
func (f *File) addSplit(s split, given *header, withData bool) error {
	total, err := given.meta.Uint(keySplitTensors)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", f.path, ErrSplit, err)
	}
	if s.no != 0 {
		if err := f.Close(); err != nil {
			return err
		}
		*f = File{path: f.path, index: map[string]int{}}
	}
	for no := len(f.parts); no < s.count; no++ {
		path := s.part(no)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s: %w: part %d of %d is missing: %s", f.path, ErrSplit, no+1, s.count, filepath.Base(path))
		}
		_, err := f.addPart(path, withData, func(h *header) error { return s.check(no, total, h.meta) })
		if err != nil {
			return err
		}
	}
	if uint64(len(f.tensors)) != total {
		return fmt.Errorf("%s: %w: %s is %d, the parts have %d tensors", f.path, ErrSplit, keySplitTensors, total, len(f.tensors))
	}
	return nil
}

// check fails where m is not that of part no of the file that the given part belongs to.
func (s split) check(no int, total uint64, m *Meta) error {
	for _, k := range []struct {
		key  string
		want uint64
	}{{keySplitCount, uint64(s.count)}, {keySplitNo, uint64(no)}, {keySplitTensors, total}} {
		have, err := m.Uint(k.key)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrSplit, err)
		}
		if have != k.want {
			return fmt.Errorf("%w: %s is %d, expected %d", ErrSplit, k.key, have, k.want)
		}
	}
	return nil
}
