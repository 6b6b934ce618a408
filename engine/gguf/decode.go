package gguf

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// window is how many bytes are read at a time, and the most that next hands out.
const window = 256 << 10

// decoder reads a header front to back. It reads instead of mapping, so that a file cut while it is being
// read gives an error and not a fault, and so that nothing it returns points into the file.
type decoder struct {
	r     io.ReaderAt
	size  int64  // of the file
	limit int64  // where the header must have ended
	buf   []byte // read ahead, from pos on not yet handed out
	pos   int
	read  int64 // file offset after buf
}

func newDecoder(r io.ReaderAt, size int64) *decoder {
	return &decoder{r: r, size: size, limit: min(size, MaxHeader), buf: make([]byte, 0, min(size, window))}
}

// offset returns where in the file the next byte is.
func (d *decoder) offset() int64 { return d.read - int64(len(d.buf)-d.pos) }

// need fails where fewer than n*width bytes are left; n*width must fit int64.
func (d *decoder) need(n, width int64) error {
	left := d.limit - d.offset()
	if n*width <= left {
		return nil
	}
	if d.limit < d.size {
		return fmt.Errorf("%w: the header is longer than %d bytes", ErrMalformed, d.limit)
	}
	return fmt.Errorf("%w: %d bytes or more needed at byte %d, %d left", ErrTruncated, n*width, d.offset(), left)
}

// next returns the next n bytes, at most window; they are valid until the next call.
func (d *decoder) next(n int) ([]byte, error) {
	if d.pos+n > len(d.buf) {
		if err := d.need(int64(n), 1); err != nil {
			return nil, err
		}
		kept := copy(d.buf[:cap(d.buf)], d.buf[d.pos:])
		fill := d.buf[kept:min(int64(cap(d.buf)), int64(kept)+d.limit-d.read)]
		d.buf, d.pos = d.buf[:kept], 0
		got, err := d.r.ReadAt(fill, d.read)
		if got < len(fill) {
			if err == nil || errors.Is(err, io.EOF) {
				err = fmt.Errorf("%w: the file became shorter while it was read", ErrTruncated)
			}
			return nil, err
		}
		d.buf = d.buf[:kept+got]
		d.read += int64(got)
	}
	b := d.buf[d.pos : d.pos+n]
	d.pos += n
	return b, nil
}

func (d *decoder) uint32() (uint32, error) {
	b, err := d.next(4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(b), nil
}

func (d *decoder) uint64() (uint64, error) {
	b, err := d.next(8)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(b), nil
}

// length reads the length of a string of at most limit bytes that the file still has.
func (d *decoder) length(limit int) (int, error) {
	n, err := d.uint64()
	if err != nil {
		return 0, err
	}
	if n > uint64(limit) {
		return 0, fmt.Errorf("%w: a string of %d bytes, the limit is %d", ErrMalformed, n, limit)
	}
	if err := d.need(int64(n), 1); err != nil {
		return 0, fmt.Errorf("a string of %d bytes: %w", n, err)
	}
	return int(n), nil
}

// string reads a string of at most limit bytes.
func (d *decoder) string(limit int) (string, error) {
	n, err := d.length(limit)
	if err != nil {
		return "", err
	}
	if n <= window {
		b, err := d.next(n)
		return string(b), err
	}
	all := make([]byte, 0, n)
	for len(all) < n {
		b, err := d.next(min(n-len(all), window))
		if err != nil {
			return "", err
		}
		all = append(all, b...)
	}
	return string(all), nil
}
