package gguf

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// Mode says how tensor data gets into memory.
type Mode int

const (
	// Mapped data is the file itself: the system reads a page when it is first touched, keeps it while memory lasts, and
	// shares it with other processes. A file that is cut meanwhile ends the process.
	Mapped Mode = iota
	// Read data lies in memory of the process, which Need fills.
	Read
	// Direct data is Read past the system's page cache, where the file system allows it.
	Direct
)

// needPiece is how much one read asks for; a few are under way at once, for disks that work on several.
const (
	needPiece = 4 << 20
	needReads = 4
)

// Need makes part of a tensor's data readable: with Read and Direct it is undefined before, and after Release. The
// error wraps ErrTruncated where the file has become shorter.
func (f *File) Need(data []byte) error {
	for i := range f.maps {
		if err := f.maps[i].need(data); err != nil {
			return fmt.Errorf("%s: %w", f.maps[i].path, err)
		}
	}
	return nil
}

// source is the file that a mapping's data is read from; nil: the mapping is the file.
type source struct {
	file   *os.File
	block  int64 // reads begin and end on multiples of it
	length int64
}

// fill reads the bytes lo to hi-1 of the file to the same place of data, rounded outwards to whole blocks.
func (s *source) fill(data []byte, lo, hi int64) error {
	lo = lo / s.block * s.block
	hi = min((hi+s.block-1)/s.block*s.block, int64(len(data)))
	var (
		wait  sync.WaitGroup
		tasks = make(chan int64)
		errs  = make([]error, needReads)
	)
	for i := range needReads {
		wait.Go(func() {
			for at := range tasks {
				if errs[i] == nil {
					errs[i] = s.piece(data[at:min(at+needPiece, hi)], at)
				}
			}
		})
	}
	for at := lo; at < hi; at += needPiece {
		tasks <- at
	}
	close(tasks)
	wait.Wait()
	return errors.Join(errs...)
}

// piece reads to all of b; its last block may reach beyond the end of the file.
func (s *source) piece(b []byte, at int64) error {
	n, err := s.file.ReadAt(b, at)
	if err == io.EOF && at+int64(n) >= s.length {
		return nil
	}
	if err == io.EOF {
		return fmt.Errorf("%w: it ends after %d bytes, %d were there when it was opened", ErrTruncated, at+int64(n), s.length)
	}
	return err
}
