//go:build !linux

package server

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// portOwner says who listens on a TCP port, as the end of a sentence; "" where lsof is missing or does not know.
func portOwner(port int) string {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	// -F pc prints one field a line: p and the process id, c and the command.
	out, err := exec.CommandContext(ctx, "lsof", "-nP", fmt.Sprintf("-iTCP:%d", port), "-sTCP:LISTEN", "-F", "pc").Output()
	if err != nil {
		return ""
	}
	pid, name := 0, ""
	for line := range strings.Lines(string(out)) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "p") && pid == 0:
			pid, _ = strconv.Atoi(line[1:])
		case strings.HasPrefix(line, "c") && name == "":
			name = line[1:]
		}
	}
	if pid == 0 {
		return ""
	}
	return describeOwner(name, pid)
}
