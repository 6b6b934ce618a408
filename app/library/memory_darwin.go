package library

import "golang.org/x/sys/unix"

// SystemMemory asks the kernel. kern.memorystatus_level is the share of memory, in percent, that can be had without
// pressure; it is what memory_pressure(1) prints.
func SystemMemory() (Memory, error) {
	total, err := unix.SysctlUint64("hw.memsize")
	if err != nil {
		return Memory{}, err
	}
	m := Memory{Total: int64(total), Available: int64(total)}
	if percent, err := unix.SysctlUint32("kern.memorystatus_level"); err == nil && percent <= 100 {
		m.Available = int64(total / 100 * uint64(percent))
	}
	return m, nil
}
