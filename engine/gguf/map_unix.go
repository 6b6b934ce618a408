//go:build linux || darwin

package gguf

import (
	"errors"
	"fmt"
	"math"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapping is a whole file in memory, read-only for its users.
type mapping struct {
	path string
	data []byte
	from *source // of Read and Direct; nil: data is the file
}

func mapFile(f *os.File, path string, size int64, mode Mode) (mapping, error) {
	page := int64(os.Getpagesize())
	if size > math.MaxInt-page {
		return mapping{}, fmt.Errorf("%d bytes are more than this machine addresses", size)
	}
	if mode == Mapped {
		data, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
		if err != nil {
			return mapping{}, fmt.Errorf("map %d bytes: %w", size, err)
		}
		return mapping{path: path, data: data}, nil
	}
	// Memory is taken when it is written to, so this costs addresses alone.
	data, err := unix.Mmap(-1, 0, int((size+page-1)/page*page), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return mapping{}, fmt.Errorf("reserve %d bytes: %w", size, err)
	}
	s := &source{length: size, block: 1}
	if mode == Direct {
		if s.file, err = openDirect(path); s.file != nil {
			s.block = page
		}
	}
	if s.file == nil {
		s.file, err = os.Open(path)
	}
	if err != nil {
		return mapping{}, errors.Join(err, unix.Munmap(data))
	}
	return mapping{path, data, s}, nil
}

func (m *mapping) unmap() error {
	err := unix.Munmap(m.data)
	if m.from != nil {
		err = errors.Join(err, m.from.file.Close())
	}
	return err
}

// span is where data lies in the mapping; ok is false where it lies elsewhere.
func (m *mapping) span(data []byte) (lo, hi int64, ok bool) {
	if len(data) == 0 || len(m.data) == 0 {
		return 0, 0, false
	}
	base := uintptr(unsafe.Pointer(unsafe.SliceData(m.data)))
	from := uintptr(unsafe.Pointer(unsafe.SliceData(data))) - base // wraps where data is before
	to := from + uintptr(len(data))
	return int64(from), int64(to), from <= uintptr(len(m.data)) && to <= uintptr(len(m.data))
}

func (m *mapping) need(data []byte) error {
	lo, hi, ok := m.span(data)
	if !ok || m.from == nil {
		return nil
	}
	return m.from.fill(m.data, lo, hi)
}

// release lets the system take back the memory of whole pages inside data.
func (m *mapping) release(data []byte) {
	lo, hi, ok := m.span(data)
	page := int64(os.Getpagesize())
	if lo, hi = (lo+page-1)/page*page, hi/page*page; ok && lo < hi {
		unix.Madvise(m.data[lo:hi], unix.MADV_DONTNEED)
	}
}
