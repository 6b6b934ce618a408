package cpu

// #include <stdlib.h>
// #include "kernels.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Seq is one sequence's run of rows in a batch: rows Row0 .. Row0+Rows-1 hold its positions Pos0 .. Pos0+Rows-1.
type Seq struct {
	Row0, Rows int32
	Slot       int32 // which part of the KV cache it owns
	Pos0       int32 // cells 0 .. Pos0-1 of the slot hold its earlier positions
	PlaneIn    int32 // plane its recurrent state is read from; -1: the state is zero
	PlaneOut   int32 // plane its recurrent state is written to; may equal PlaneIn
}

// Batch is the rows of one run, in C memory. It is filled in place, so a token costs no allocation.
type Batch struct {
	c                *C.ig_batch
	maxRows, maxSeqs int
	token, pos, out  *int32
	seq              *Seq
}

// NewBatch returns an empty batch with room for maxRows rows, as many outputs, and maxSeqs sequences.
func NewBatch(maxRows, maxSeqs int) *Batch {
	if maxRows < 1 || maxSeqs < 1 {
		panic(fmt.Sprintf("cpu: a batch of %d rows and %d sequences", maxRows, maxSeqs))
	}
	head := unsafe.Sizeof(C.ig_batch{})
	rows, seqs := uintptr(maxRows)*4, uintptr(maxSeqs)*unsafe.Sizeof(Seq{})
	mem := C.calloc(1, C.size_t(head+3*rows+seqs))
	if mem == nil {
		panic("cpu: out of memory")
	}
	b := &Batch{
		c: (*C.ig_batch)(mem), maxRows: maxRows, maxSeqs: maxSeqs,
		token: (*int32)(unsafe.Add(mem, head)),
		pos:   (*int32)(unsafe.Add(mem, head+rows)),
		out:   (*int32)(unsafe.Add(mem, head+2*rows)),
		seq:   (*Seq)(unsafe.Add(mem, head+3*rows)),
	}
	b.c.token, b.c.pos = (*C.int32_t)(b.token), (*C.int32_t)(b.pos)
	b.c.out, b.c.seq = (*C.int32_t)(b.out), (*C.ig_seq)(unsafe.Pointer(b.seq))
	return b
}

// Resize sets the numbers of rows, outputs and sequences; what the slices held stays. It panics beyond the maxima.
func (b *Batch) Resize(rows, outs, seqs int) {
	if rows < 0 || rows > b.maxRows || outs < 0 || outs > rows || seqs < 0 || seqs > b.maxSeqs {
		panic(fmt.Sprintf("cpu: batch of %d rows, %d outputs, %d sequences, where %d rows and %d sequences fit",
			rows, outs, seqs, b.maxRows, b.maxSeqs))
	}
	b.c.rows, b.c.outs, b.c.seqs = C.int32_t(rows), C.int32_t(outs), C.int32_t(seqs)
}

// MaxRows returns how many rows fit.
func (b *Batch) MaxRows() int { return b.maxRows }

// MaxSeqs returns how many sequences fit.
func (b *Batch) MaxSeqs() int { return b.maxSeqs }

// Rows returns the number of rows.
func (b *Batch) Rows() int { return int(b.c.rows) }

// Tokens is the token of each row, to be filled in.
func (b *Batch) Tokens() []int32 { return unsafe.Slice(b.token, b.c.rows) }

// Pos is the position of each row in its sequence, to be filled in.
func (b *Batch) Pos() []int32 { return unsafe.Slice(b.pos, b.c.rows) }

// Outs is the rows whose logits are wanted, ascending, to be filled in.
func (b *Batch) Outs() []int32 { return unsafe.Slice(b.out, b.c.outs) }

// Seqs is the sequences, in the order of their rows and covering all of them, to be filled in.
func (b *Batch) Seqs() []Seq { return unsafe.Slice(b.seq, b.c.seqs) }

// Check returns what is inconsistent: sequences that do not cover the rows in order, positions that do not count up
// from Pos0, outputs that do not ascend. It does not know how many slots, cells, planes or tokens there are.
func (b *Batch) Check() error {
	next := int32(0)
	for i, s := range b.Seqs() {
		if s.Row0 != next || s.Rows < 1 || s.Rows > int32(b.Rows())-next {
			return fmt.Errorf("sequence %d has rows %d..%d, expected to start at %d of %d", i, s.Row0, s.Row0+s.Rows-1, next, b.Rows())
		}
		if s.Slot < 0 || s.Pos0 < 0 || s.PlaneIn < -1 || s.PlaneOut < 0 {
			return fmt.Errorf("sequence %d: slot %d, position %d, planes %d and %d", i, s.Slot, s.Pos0, s.PlaneIn, s.PlaneOut)
		}
		for r, pos := range b.Pos()[s.Row0 : s.Row0+s.Rows] {
			if pos != s.Pos0+int32(r) {
				return fmt.Errorf("row %d has position %d, expected %d", int(s.Row0)+r, pos, s.Pos0+int32(r))
			}
		}
		next += s.Rows
	}
	if int(next) != b.Rows() {
		return fmt.Errorf("sequences cover %d of %d rows", next, b.Rows())
	}
	last := int32(-1)
	for i, r := range b.Outs() {
		if r <= last || int(r) >= b.Rows() {
			return fmt.Errorf("output %d is row %d, after row %d of %d", i, r, last, b.Rows())
		}
		last = r
	}
	return nil
}

// Free releases the batch's memory; its slices must not be used afterwards.
func (b *Batch) Free() {
	C.free(unsafe.Pointer(b.c))
	b.c = nil
}
