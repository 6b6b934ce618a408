package cpu

// ISO C rather than GNU C keeps gcc from fusing a multiply and an add on its own: a row's bits must not depend on
// what the compiler made of a loop's tail. Instruction sets are chosen a file at a time by target.h.

// #cgo CFLAGS: -O3 -std=c11 -D_GNU_SOURCE -D_DARWIN_C_SOURCE -Wall -Wextra
// #cgo LDFLAGS: -lm -pthread
import "C"
