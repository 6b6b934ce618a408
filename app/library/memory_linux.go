package library

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// SystemMemory reads /proc/meminfo, and the limits of the control groups this process is in: inside a container
// the machine's memory is not all there is to have. MemAvailable counts the page cache that can be dropped.
func SystemMemory() (Memory, error) { return systemMemory("/") }

func systemMemory(root string) (Memory, error) {
	file, err := os.Open(filepath.Join(root, "proc/meminfo"))
	if err != nil {
		return Memory{}, err
	}
	defer file.Close()
	var m Memory
	for sc := bufio.NewScanner(file); sc.Scan(); {
		w := strings.Fields(sc.Text()) // MemTotal: 16300000 kB
		if len(w) < 2 {
			continue
		}
		n, err := strconv.ParseInt(w[1], 10, 64)
		if err != nil {
			continue
		}
		switch w[0] {
		case "MemTotal:":
			m.Total = n << 10
		case "MemAvailable:":
			m.Available = n << 10
		}
	}
	if m.Total == 0 {
		return Memory{}, fmt.Errorf("%s says no MemTotal", file.Name())
	}
	for _, g := range controlGroups(root) {
		limit, ok := number(filepath.Join(g.dir, g.limit))
		if !ok || limit <= 0 {
			continue
		}
		used, _ := number(filepath.Join(g.dir, g.used))
		cache, _ := counted(filepath.Join(g.dir, "memory.stat"), g.cache)
		m.Total = min(m.Total, limit)
		m.Available = min(m.Available, max(0, limit-used+cache))
	}
	return m, nil
}

// controlGroup is a folder with the names that its version has for the limit, what is used, and the page cache
// among that which can be dropped.
type controlGroup struct{ dir, limit, used, cache string }

// controlGroups lists this process's memory group, of either version, and those above it.
func controlGroups(root string) []controlGroup {
	b, err := os.ReadFile(filepath.Join(root, "proc/self/cgroup"))
	if err != nil {
		return nil
	}
	base := filepath.Join(root, "sys/fs/cgroup")
	var groups []controlGroup
	for line := range strings.Lines(string(b)) {
		w := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(w) != 3 || w[1] != "" && w[1] != "memory" {
			continue
		}
		g := controlGroup{base, "memory.max", "memory.current", "inactive_file"}
		if w[1] == "memory" {
			g = controlGroup{filepath.Join(base, "memory"), "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
		}
		top := g.dir
		for p := filepath.Clean("/" + w[2]); ; p = filepath.Dir(p) {
			g.dir = filepath.Join(top, p)
			groups = append(groups, g)
			if p == "/" {
				break
			}
		}
	}
	return groups
}

// number reads a file with one number; "max" is none.
func number(path string) (int64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil
}

// counted reads the number after name in a file of names and numbers.
func counted(path, name string) (int64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if w := strings.Fields(line); len(w) == 2 && w[0] == name {
			n, err := strconv.ParseInt(w[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
