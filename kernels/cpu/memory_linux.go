package cpu

import "syscall"

// A cache may be larger than what is free now: it is committed as it fills.
const mapLazily = syscall.MAP_NORESERVE

// preferHugePages asks for huge pages; a kernel built without them says no, which is no error.
func preferHugePages(mem []byte) {
	const hugePage = 2 << 20
	if len(mem) >= hugePage {
		syscall.Madvise(mem, syscall.MADV_HUGEPAGE)
	}
}
