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
	nodes := memoryNodes("/sys/devices/system/node")
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

// Nodes returns over how many memory nodes the cores of CoreList lie, at least 1. A machine with several processors
// has several, and some processors are several by themselves.
func Nodes() int { return countNodes(CoreList(), memoryNodes("/sys/devices/system/node")) }

func countNodes(cores []int, nodes map[int]int) int {
	seen := map[int]bool{}
	for _, c := range cores {
		seen[nodes[c]] = true
	}
	return max(len(seen), 1)
}

// memoryNodes gives the memory node of each CPU as a folder like /sys/devices/system/node tells it.
func memoryNodes(folder string) map[int]int {
	nodes := map[int]int{}
	dirs, _ := filepath.Glob(filepath.Join(folder, "node[0-9]*"))
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
	return nodes
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
