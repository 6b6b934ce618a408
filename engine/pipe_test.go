//go:build unix

package engine

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"

	"ingot/engine/gguf"
)

// A pipe in a model's place is refused; opening it would wait for a writer.
func TestPipesAreNoModels(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Plan(pipe, PlanOptions{Options: Options{Cards: []string{"MI50"}}}); !errors.Is(err, gguf.ErrNotGGUF) {
		t.Errorf("planned: %v", err)
	}
	if _, err := Open(pipe, Options{}); !errors.Is(err, gguf.ErrNotGGUF) {
		t.Errorf("opened: %v", err)
	}
}
