package server

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// portOwner says who listens on a TCP port, as the end of a sentence; "" where that is unknown. The kernel's tables
// give the socket's inode, the file descriptors of every process give who holds it.
func portOwner(port int) string {
	inodes := map[string]bool{}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for _, inode := range listeningInodes(string(text), port) {
			inodes["socket:["+inode+"]"] = true
		}
	}
	if len(inodes) == 0 {
		return ""
	}
	links, _ := filepath.Glob("/proc/[0-9]*/fd/[0-9]*")
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && inodes[target] {
			pid, _ := strconv.Atoi(strings.Split(link, "/")[2])
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			return describeOwner(strings.TrimSpace(string(name)), pid)
		}
	}
	return " by a process of another user"
}

// listeningInodes reads /proc/net/tcp: local address in hex "0100007F:1F90", state 0A for listen, inode tenth.
func listeningInodes(table string, port int) []string {
	var out []string
	suffix := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) > 9 && strings.HasSuffix(f[1], suffix) && f[3] == "0A" {
			out = append(out, f[9])
		}
	}
	return out
}
