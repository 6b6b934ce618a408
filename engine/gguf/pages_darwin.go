package gguf

import (
	"os"

	"golang.org/x/sys/unix"
)

// openDirect opens a file whose reads bypass the page cache.
func openDirect(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if _, err := unix.FcntlInt(f.Fd(), unix.F_NOCACHE, 1); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// prepare does nothing: macOS chooses its page sizes by itself.
func (m *mapping) prepare(lo, hi int64) {}

// mapResident does nothing: macOS has no call for it.
func (m *mapping) mapResident(lo, hi int64) {}
