package gguf

import (
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openDirect opens a file whose reads bypass the page cache; an error where its file system has no such reads.
func openDirect(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_DIRECT, 0)
}

// hugePage is what a huge page has on most processors.
const hugePage = 2 << 20

// prepare asks for huge pages for what is about to be read: page by page, memory costs more than reading it. Small tensors lie scattered
// among what is never read to its place, and get none. A kernel built without huge pages says no, which is no error.
func (m *mapping) prepare(lo, hi int64) {
	lo, hi = (lo+hugePage-1)/hugePage*hugePage, hi/hugePage*hugePage
	if lo < hi {
		unix.Madvise(m.data[lo:hi], unix.MADV_HUGEPAGE)
	}
}

// mapResident maps the pages from lo to hi that the page cache has. The rest comes when it is touched, as it may never be:
// experts that no token chose, a file larger than memory.
func (m *mapping) mapResident(lo, hi int64) {
	page := int64(os.Getpagesize())
	lo = lo / page * page
	pieces(hi-lo, func(from, to int64) error {
		data := m.data[lo+from : lo+to]
		resident := make([]byte, (to-from+page-1)/page)
		if mincore(data, resident) == nil && !slices.ContainsFunc(resident, func(b byte) bool { return b&1 == 0 }) {
			unix.Madvise(data, unix.MADV_POPULATE_READ) // Linux 5.14; what an older one does not know costs nothing
		}
		return nil
	})
}

// mincore tells in the lowest bit of a byte for each page whether it is in memory.
func mincore(data, resident []byte) error {
	_, _, e := unix.Syscall(unix.SYS_MINCORE, uintptr(unsafe.Pointer(&data[0])), uintptr(len(data)), uintptr(unsafe.Pointer(&resident[0])))
	if e != 0 {
		return e
	}
	return nil
}
