//go:build !linux && !darwin

package gguf

import (
	"fmt"
	"io"
	"math"
	"os"
)

// mapping is a whole file in memory. On this system it is read at once, whatever the mode.
type mapping struct {
	path string
	data []byte
}

func mapFile(f *os.File, path string, size int64, _ Mode) (mapping, error) {
	if size > math.MaxInt {
		return mapping{}, fmt.Errorf("%d bytes are more than this machine addresses", size)
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil && err != io.EOF {
		return mapping{}, err
	}
	return mapping{path, data}, nil
}

func (m *mapping) unmap() error      { return nil }
func (m *mapping) need([]byte) error { return nil }
func (m *mapping) release([]byte)    {}
