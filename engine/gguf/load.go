package gguf

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Mode says how tensor data gets into memory.
type Mode int

const (
	// Mapped data is the file itself: the system reads a page when it is first touched, keeps it while memory lasts, and
	// shares it with other processes. A file that is cut meanwhile ends the process.
	Mapped Mode = iota
	// Buffered data lies in memory of the process, which Need fills.
	Buffered
	// Direct data is Buffered and read past the system's page cache, where the file system allows it.
	Direct
)

// A read of more than one piece is split among a few readers, for disks that work on several and for the copying itself.
const (
	readPiece = 1 << 20
	readers   = 4
)

// Need makes part of a tensor's data readable where it lies: with Buffered and Direct it is undefined before. Of Mapped data, which
// always is, it maps what is in memory already, in less time than touching it takes. The error wraps ErrTruncated where the file
// has become shorter.
func (f *File) Need(data []byte) error {
	for i := range f.maps {
		m := &f.maps[i]
		lo, hi, ok := m.span(data)
		switch {
		case !ok:
		case m.mode == Mapped:
			m.mapResident(lo, hi)
		default:
			m.prepare(lo, hi)
			if err := m.read(m.data[lo:hi], lo); err != nil {
				return fmt.Errorf("%s: %w", m.path, err)
			}
		}
	}
	return nil
}

// Read copies part of a tensor's data from the file to dst, which is as long, and does not touch it where it lies: what a
// page costs when it is first touched is more than reading it. It fails as Need does.
func (f *File) Read(dst, data []byte) error {
	for i := range f.maps {
		m := &f.maps[i]
		if lo, _, ok := m.span(data); ok {
			if err := m.read(dst[:len(data)], lo); err != nil {
				return fmt.Errorf("%s: %w", m.path, err)
			}
			return nil
		}
	}
	if len(data) > 0 {
		panic("gguf: Read of what is no tensor's data")
	}
	return nil
}

// blocks are buffers for reads of whole blocks, which must begin on one in memory too.
var blocks = sync.Pool{New: func() any {
	page := os.Getpagesize()
	b := make([]byte, readPiece+3*page)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (page - 1)
	b = b[skip : skip+readPiece+2*page]
	return &b
}}

// mapping is a whole file in memory, read-only for its users.
type mapping struct {
	path   string
	mode   Mode
	data   []byte
	file   *os.File
	block  int64 // reads begin and end on multiples of it
	length int64
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

// read fills dst from a place of the file, by several readers where it is long.
func (m *mapping) read(dst []byte, at int64) error {
	return pieces(int64(len(dst)), func(lo, hi int64) error { return m.piece(dst[lo:hi], at+lo) })
}

// pieces shares a piece of work after the other among the readers.
func pieces(size int64, do func(lo, hi int64) error) error {
	if size <= readPiece {
		return do(0, size)
	}
	var (
		wait sync.WaitGroup
		next atomic.Int64
		errs = make([]error, readers)
	)
	for i := range readers {
		wait.Go(func() {
			for errs[i] == nil {
				lo := next.Add(readPiece) - readPiece
				if lo >= size {
					return
				}
				errs[i] = do(lo, min(lo+readPiece, size))
			}
		})
	}
	wait.Wait()
	for _, err := range errs { // one cause tells; the others say the same
		if err != nil {
			return err
		}
	}
	return nil
}

// piece fills dst; where reads are of whole blocks, through a buffer.
func (m *mapping) piece(dst []byte, at int64) error {
	from := at / m.block * m.block
	b := dst
	if m.block > 1 {
		to := (at + int64(len(dst)) + m.block - 1) / m.block * m.block
		whole := blocks.Get().(*[]byte)
		defer blocks.Put(whole)
		b = (*whole)[:to-from]
	}
	n, err := m.file.ReadAt(b, from)
	if err == io.EOF {
		err = nil
		if end := from + int64(n); end < at+int64(len(dst)) {
			return fmt.Errorf("%w: it ends after %d bytes, %d were there when it was opened", ErrTruncated, end, m.length)
		}
	}
	if m.block > 1 {
		copy(dst, b[at-from:])
	}
	return err
}
