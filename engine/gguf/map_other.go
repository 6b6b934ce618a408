//go:build !linux && !darwin

package gguf

import (
	"fmt"
	"math"
	"os"
)

// mapFile makes a mapping that owns the file. On this system it is read at once, whatever the mode.
func mapFile(f *os.File, path string, size int64, _ Mode) (mapping, error) {
	if size > math.MaxInt {
		return mapping{}, fmt.Errorf("%d bytes are more than this machine addresses", size)
	}
	m := mapping{path: path, mode: Mapped, data: make([]byte, size), file: f, block: 1, length: size}
	return m, m.read(m.data, 0)
}

func (m *mapping) unmap() error { return m.file.Close() }

func (m *mapping) mapResident(lo, hi int64) {}
func (m *mapping) prepare(lo, hi int64)     {}
