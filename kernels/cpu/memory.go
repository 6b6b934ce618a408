package cpu

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"
)

// ErrMemory is returned when the system does not give the memory asked for.
var ErrMemory = errors.New("not enough memory")

// Memory is a page-aligned block outside Go's heap, zeroed. The system commits a page when it is first written, so
// an unused part of a cache costs only address space.
type Memory struct{ bytes []byte }

// Alloc returns that many bytes of memory, in huge pages where Linux has them to give. Free it when done: the garbage
// collector does not. It wraps ErrMemory.
func Alloc(bytes int64) (*Memory, error) {
	if bytes < 0 || int64(int(bytes)) != bytes {
		return nil, fmt.Errorf("%w: %d bytes", ErrMemory, bytes)
	}
	if bytes == 0 {
		return &Memory{}, nil
	}
	mem, err := syscall.Mmap(-1, 0, int(bytes), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE|mapLazily)
	if err != nil {
		return nil, fmt.Errorf("%w: %d bytes: %w", ErrMemory, bytes, err)
	}
	preferHugePages(mem)
	return &Memory{mem}, nil
}

// Free returns the memory to the system; every pointer into it is dead afterwards. Freeing twice is harmless.
func (m *Memory) Free() {
	if m.bytes != nil {
		syscall.Munmap(m.bytes)
		m.bytes = nil
	}
}

// Len returns the size in bytes.
func (m *Memory) Len() int64 { return int64(len(m.bytes)) }

// Bytes returns the memory itself, not a copy.
func (m *Memory) Bytes() []byte { return m.bytes }

// Pointer returns the address of the first byte; nil for no memory.
func (m *Memory) Pointer() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(m.bytes)) }

// At returns the address of a byte; it panics outside the memory.
func (m *Memory) At(offset int64) unsafe.Pointer { return unsafe.Pointer(&m.bytes[offset]) }

// Float32s returns the whole memory as floats.
func (m *Memory) Float32s() []float32 { return view[float32](m) }

// Float64s returns the whole memory as doubles.
func (m *Memory) Float64s() []float64 { return view[float64](m) }

// Int32s returns the whole memory as 32-bit integers.
func (m *Memory) Int32s() []int32 { return view[int32](m) }

// Uint16s returns the whole memory as 16-bit words, such as F16 and BF16 values.
func (m *Memory) Uint16s() []uint16 { return view[uint16](m) }

func view[T any](m *Memory) []T {
	var one T
	return unsafe.Slice((*T)(m.Pointer()), len(m.bytes)/int(unsafe.Sizeof(one)))
}
