package device

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

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
