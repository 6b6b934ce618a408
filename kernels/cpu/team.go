package cpu

// #include "team.h"
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// ErrThreads is returned when the system starts no more threads.
var ErrThreads = errors.New("cannot start the team's threads")

// Team is the threads that run programs. Thread 0 of a run is the caller of Run; the others are the team's own,
// outside the Go scheduler, and sleep between runs. Several teams may live side by side.
type Team struct {
	mu      sync.Mutex
	c       *C.ig_team // nil after Close
	threads int
}

// NewTeam returns a team of that many threads; below 1 means Cores(). It panics where the system has no thread left;
// NewPinnedTeam returns that as an error.
func NewTeam(threads int) *Team {
	if threads < 1 {
		threads = Cores()
	}
	t, err := newTeam(threads, nil)
	if err != nil {
		panic(err)
	}
	return t
}

// NewPinnedTeam returns a team with one thread on each of those CPUs. Only the team's own threads are bound: the
// caller of Run, which is thread 0, locks itself to its OS thread and calls Pin(cpus[0]). Where the system does not
// bind threads (macOS) the list only gives their number. It wraps ErrThreads.
func NewPinnedTeam(cpus []int) (*Team, error) {
	list := make([]C.int32_t, len(cpus))
	for i, c := range cpus {
		list[i] = C.int32_t(c)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%w: no CPU given", ErrThreads)
	}
	return newTeam(len(list), &list[0])
}

func newTeam(threads int, cpus *C.int32_t) (*Team, error) {
	c := C.ig_team_new(C.int(threads), cpus)
	if c == nil {
		return nil, fmt.Errorf("%w: %d", ErrThreads, threads)
	}
	return &Team{c: c, threads: threads}, nil
}

// Pin binds the calling OS thread to one CPU. The caller has locked its goroutine to that thread and never unlocks it.
func Pin(cpu int) error {
	if e := C.ig_pin(C.int(cpu)); e != 0 {
		return fmt.Errorf("pin to CPU %d: error %d", cpu, int(e))
	}
	return nil
}

// Threads returns the number of threads, the caller's included.
func (t *Team) Threads() int { return t.threads }

// Run runs every step of p on b and returns when the last is done: one call into C, no allocation. The calling
// goroutine should be locked to its OS thread (runtime.LockOSThread) for the life of the engine, so that thread 0
// stays on one core with its caches. Runs of one team are serialized. It panics on an inconsistent batch and on a
// closed team, which are errors of the program, not of its input.
func (t *Team) Run(p *Program, b *Batch) {
	if err := b.Check(); err != nil {
		panic("cpu: batch: " + err.Error())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.c == nil {
		panic("cpu: run on a closed team")
	}
	p.count(b)
	C.ig_team_run(t.c, p.steps, C.int(len(p.infos)), b.c, p.ns)
}

// Close waits for a run in progress, then ends the threads. Closing twice is harmless.
func (t *Team) Close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.c != nil {
		C.ig_team_free(t.c)
		t.c = nil
	}
}

// Cores returns how many physical cores this process may use, at least 1: fast cores only where a machine has two
// kinds, and no more than GOMAXPROCS, which honours affinity and a container's CPU limit. Kernels gain nothing from a
// core's second thread.
func Cores() int {
	usable := runtime.GOMAXPROCS(0)
	if n := int(C.ig_performance_cores()); n > 0 {
		return min(n, usable)
	}
	// Linux names the hardware threads of each core; equal lists are one core.
	cores := map[string]bool{}
	lists, _ := filepath.Glob("/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list")
	for _, path := range lists {
		if list, err := os.ReadFile(path); err == nil {
			cores[string(list)] = true
		}
	}
	if len(cores) == 0 {
		return usable
	}
	return min(len(cores), usable)
}
