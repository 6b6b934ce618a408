//go:build !linux && !darwin

package gguf

import (
	"fmt"
	"io"
	"math"
	"os"
)

// mapping is a whole file in memory. On this system it is read, not mapped.
type mapping struct{ data []byte }

func mapFile(f *os.File, size int64) (mapping, error) {
	if size > math.MaxInt {
		return mapping{}, fmt.Errorf("%d bytes are more than this machine addresses", size)
	}
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil && err != io.EOF {
		return mapping{}, err
	}
	return mapping{data}, nil
}

func (m mapping) unmap() error { return nil }

func (m mapping) release([]byte) {}
