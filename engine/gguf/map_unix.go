//go:build linux || darwin

package gguf

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// mapping is a whole file in memory, read-only. A file cut by another program while it is mapped makes
// reads beyond its new end fault: nothing can be checked against that.
type mapping struct{ data []byte }

func mapFile(f *os.File, size int64) (mapping, error) {
	if size > math.MaxInt {
		return mapping{}, fmt.Errorf("%d bytes are more than this machine addresses", size)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return mapping{}, fmt.Errorf("map %d bytes: %w", size, err)
	}
	return mapping{data}, nil
}

func (m mapping) unmap() error { return unix.Munmap(m.data) }
