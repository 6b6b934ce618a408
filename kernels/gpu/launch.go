package gpu

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"
)

// Ptr is an address in a card's memory; 0 is none.
type Ptr uint64

// Card is what launches depend on.
type Card struct {
	Wave  int  // lanes of a wave: 64 or 32
	Units int  // compute units, multiprocessors
	MMA   bool // it has matrix units that the kernels use (HasMMA)
}

// HasMMA tells whether the dialect has HAS_MMA for an architecture such as sm_90: NVIDIA's from compute capability 8.0 on.
func HasMMA(arch string) bool {
	number, ok := strings.CutPrefix(arch, "sm_")
	n, err := strconv.Atoi(number)
	return ok && err == nil && n >= 80
}

// Launch is one kernel call.
type Launch struct {
	Module Module
	Entry  string
	Grid   [3]int // blocks
	Args   []byte // the kernel's one parameter
}

// Threads is the size of the module's blocks.
func (m Module) Threads() int {
	if n, ok := threads[m.File]; ok {
		return n
	}
	return 256
}

// threads holds the files whose blocks are not of 256 threads.
var threads = map[string]int{}

// launch makes a Launch of a module's entry point; args is a struct that mirrors one of the headers'.
func launch[T any](m Module, entry string, x, y, z int, args *T) Launch {
	return Launch{Module: m, Entry: entry, Grid: [3]int{x, y, z}, Args: append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(args)), unsafe.Sizeof(*args))...)}
}

func over(n, by int) int { return (n + by - 1) / by }

// fits returns an error for a grid that no card takes.
func (l Launch) fits() error {
	if l.Grid[0] < 1 || l.Grid[1] < 1 || l.Grid[2] < 1 || l.Grid[0] > 1<<31-1 || l.Grid[1] > 65535 || l.Grid[2] > 65535 {
		return fmt.Errorf("%s: a grid of %v blocks", l.Entry, l.Grid)
	}
	return nil
}
