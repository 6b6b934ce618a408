package cpu

// #include "team.h"
import "C"

import "unsafe"

// cLayout returns the size of an operation's C argument struct and the offsets of its fields.
func cLayout(op Op) (size uintptr, offsets []uintptr) {
	row := C.ig_layouts[op]
	for i, at := range row[1:] {
		if i > 0 && at == 0 {
			break
		}
		offsets = append(offsets, uintptr(at))
	}
	return uintptr(row[0]), offsets
}

// cSizes returns the sizes of the batch's C structs, and how many operations and levels C knows.
func cSizes() (batch, seq uintptr, ops, levels int) {
	return unsafe.Sizeof(C.ig_batch{}), unsafe.Sizeof(C.ig_seq{}), C.IG_OPS, C.IG_LEVELS
}
