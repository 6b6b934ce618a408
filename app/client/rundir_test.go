package client

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestSocketsOfDeadProcessesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Skip(err)
	}
	stale := filepath.Join(dir, fmt.Sprintf("e-%d-aaaaaaaa.sock", gone.Process.Pid))
	alive := filepath.Join(dir, fmt.Sprintf("e-%d-bbbbbbbb.sock", os.Getppid()))
	other := filepath.Join(dir, "note.sock")
	for _, f := range []string{stale, alive, other} {
		if err := os.WriteFile(f, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	sweep(dir)
	for f, want := range map[string]bool{stale: false, alive: true, other: true} {
		if _, err := os.Stat(f); (err == nil) != want {
			t.Errorf("%s is there: %v", filepath.Base(f), err == nil)
		}
	}
}
