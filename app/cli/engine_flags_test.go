package cli

import (
	"runtime"
	"strings"
	"testing"

	"ingot/engine"
)

func TestTooManyThreadsAreTold(t *testing.T) {
	var said strings.Builder
	env := &Env{Stderr: &said}
	warnOfThreads(env, engine.Info{Threads: runtime.NumCPU()})
	if said.String() != "" {
		t.Errorf("as many threads as processors: %q", said.String())
	}
	warnOfThreads(env, engine.Info{Threads: runtime.NumCPU() + 99})
	if !strings.Contains(said.String(), " threads, but ") {
		t.Errorf("99 too many: %q", said.String())
	}
}
