package cpu

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// CoreList returns one CPU number for each physical core this process may use, those of a memory node side by side; nil
// where the system does not bind threads or does not say. There are at most Cores().
func CoreList() []int {
	if runtime.GOOS != "linux" {
		return nil
	}
	allowed, ok := allowedCPUs()
	if !ok {
		return nil
	}
	nodes := map[int]int{} // of a CPU
	dirs, _ := filepath.Glob("/sys/devices/system/node/node[0-9]*")
	for _, dir := range dirs {
		n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), "node"))
		if err != nil {
			continue
		}
		list, _ := os.ReadFile(filepath.Join(dir, "cpulist"))
		for _, c := range cpuNumbers(string(list)) {
			nodes[c] = n
		}
	}
	taken := map[int]bool{}
	var cores []int
	for _, c := range allowed {
		if taken[c] {
			continue
		}
		siblings, err := os.ReadFile("/sys/devices/system/cpu/cpu" + strconv.Itoa(c) + "/topology/thread_siblings_list")
		if err != nil {
			return nil
		}
		for _, s := range cpuNumbers(string(siblings)) {
			taken[s] = true
		}
		cores = append(cores, c)
	}
	slices.SortStableFunc(cores, func(a, b int) int { return nodes[a] - nodes[b] })
	return cores[:min(len(cores), Cores())]
}

// allowedCPUs are those that the process may run on.
func allowedCPUs() ([]int, bool) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, false
	}
	for line := range strings.Lines(string(status)) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return cpuNumbers(list), true
		}
	}
	return nil, false
}

// cpuNumbers reads a list such as 0-3,8; what is no number is left out.
func cpuNumbers(list string) (all []int) {
	for _, run := range strings.Split(strings.TrimSpace(list), ",") {
		from, to, several := strings.Cut(run, "-")
		a, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		b := a
		if several {
			if b, err = strconv.Atoi(to); err != nil || b-a > 1<<16 {
				continue
			}
		}
		for c := a; c <= b; c++ {
			all = append(all, c)
		}
	}
	return all
}
