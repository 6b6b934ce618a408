package device

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// LockMemory keeps all memory that the process has touched so far, and the rest of the same areas once it is touched, from
// being swapped out or dropped.
func LockMemory() error {
	if err := unix.Mlockall(unix.MCL_CURRENT | unix.MCL_ONFAULT); err != nil {
		return fmt.Errorf("%w: memory cannot be locked (%w); the limit is what ulimit -l says", ErrMemory, err)
	}
	return nil
}

// systemMemory is the machine's memory and what programs may still take, in bytes; a container's limit counts.
func systemMemory() (total, free int64) {
	total, free = field("/proc/meminfo", "MemTotal:")<<10, field("/proc/meminfo", "MemAvailable:")<<10
	if limit, ok := number("/sys/fs/cgroup/memory.max"); ok && limit < total {
		used, _ := number("/sys/fs/cgroup/memory.current")
		total, free = limit, min(free, max(limit-used, 0))
	}
	return total, free
}

func number(path string) (int64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// field is the number after a line's first word.
func field(path, key string) int64 {
	f, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), key); ok {
			n, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return n
		}
	}
	return 0
}

func processorName() string {
	b, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(b)) {
			if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
				return strings.TrimSpace(v)
			}
		}
	}
	return "CPU"
}
