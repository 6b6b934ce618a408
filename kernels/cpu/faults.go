package cpu

// #include "faults.h"
// #include <stdlib.h>
import "C"

import "unsafe"

// WatchReads makes a read of mem that the system cannot serve, as of a mapped file that was cut, end the process with
// that line on standard error and status 1, where the Go runtime would print the state of every goroutine. The function
// it returns ends the watch; it must be called before the memory is unmapped.
func WatchReads(mem []byte, line string) (end func()) {
	if len(mem) == 0 {
		return func() {}
	}
	text := C.CString(line + "\n")
	defer C.free(unsafe.Pointer(text))
	w := C.ig_watch_reads(unsafe.Pointer(&mem[0]), C.size_t(len(mem)), text)
	return func() {
		C.ig_watch_end(w)
		w = nil
	}
}
