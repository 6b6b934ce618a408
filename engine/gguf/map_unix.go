//go:build linux || darwin

package gguf

import (
	"fmt"
	"math"
	"os"
	"unsafe"

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

// release lets the system take back the memory of whole pages inside data; reading them again reads the file.
func (m mapping) release(data []byte) {
	if len(data) == 0 || len(m.data) == 0 {
		return
	}
	page := uintptr(os.Getpagesize())
	base := uintptr(unsafe.Pointer(unsafe.SliceData(m.data)))
	lo := uintptr(unsafe.Pointer(unsafe.SliceData(data))) - base // wraps where data is elsewhere
	hi := lo + uintptr(len(data))
	if lo > uintptr(len(m.data)) || hi > uintptr(len(m.data)) {
		return
	}
	if lo, hi = (lo+page-1)/page*page, hi/page*page; lo < hi {
		unix.Madvise(m.data[lo:hi], unix.MADV_DONTNEED)
	}
}
