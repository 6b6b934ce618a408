//go:build linux || darwin

package gguf

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// mapFile makes a mapping that owns the file.
func mapFile(f *os.File, path string, size int64, mode Mode) (mapping, error) {
	if size > math.MaxInt {
		return mapping{}, fmt.Errorf("%d bytes are more than this machine addresses", size)
	}
	m := mapping{path: path, mode: mode, file: f, block: 1, length: size}
	var err error
	if mode == Mapped {
		if m.data, err = unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED); err != nil {
			return mapping{}, fmt.Errorf("map %d bytes: %w", size, err)
		}
		return m, nil
	}
	// Memory is taken when it is written to, so this costs addresses alone.
	if m.data, err = unix.Mmap(-1, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON); err != nil {
		return mapping{}, fmt.Errorf("reserve %d bytes: %w", size, err)
	}
	if mode == Direct {
		if past, err := openDirect(path); err == nil {
			if !same(past, f) {
				return mapping{}, errors.Join(errors.New("another file has taken its place"), past.Close(), unix.Munmap(m.data))
			}
			f.Close()
			m.file, m.block = past, int64(os.Getpagesize())
		}
	}
	return m, nil
}

// same tells whether both are one file: a name may have been given to another meanwhile.
func same(a, b *os.File) bool {
	x, err := a.Stat()
	y, other := b.Stat()
	return err == nil && other == nil && os.SameFile(x, y)
}

func (m *mapping) unmap() error { return errors.Join(unix.Munmap(m.data), m.file.Close()) }
