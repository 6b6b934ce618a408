package device

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// systemMemory is the machine's memory, in bytes. macOS keeps little of it formally free, so what its pages say is
// speculative or purgeable counts as free too.
func systemMemory() (total, free int64) {
	size, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return 0, 0
	}
	var pages uint32
	for _, name := range []string{"vm.page_free_count", "vm.page_speculative_count", "vm.page_purgeable_count"} {
		n, err := unix.SysctlUint32(name)
		if err == nil {
			pages += n
		}
	}
	return int64(size), int64(pages) * int64(unix.Getpagesize())
}

func processorName() string {
	name, err := unix.Sysctl("machdep.cpu.brand_string")
	if err != nil {
		return "CPU"
	}
	return name
}

// LockMemory is not possible on this system.
func LockMemory() error { return fmt.Errorf("%w: locking memory", ErrUnsupported) }
