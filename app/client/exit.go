package client

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
)

// EngineDied is returned by calls on an engine process that is gone; Sentence says why, ready to be shown.
type EngineDied struct {
	Sentence string
}

func (e *EngineDied) Error() string { return e.Sentence }

// exitSentence says in one sentence why a process ended that nobody had asked to.
func exitSentence(state *os.ProcessState, said *lastLines) string {
	status, ok := state.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		n := status.Signal()
		switch n {
		case syscall.SIGKILL:
			return "The engine was killed (signal 9), perhaps because memory ran out."
		case syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGILL, syscall.SIGABRT, syscall.SIGFPE, syscall.SIGTRAP:
			return fmt.Sprintf("The engine crashed (signal %d, %s).", int(n), n)
		}
		return fmt.Sprintf("The engine was ended from outside (signal %d, %s).", int(n), n)
	}
	crash, last := said.tell()
	switch code := state.ExitCode(); {
	case code == 0:
		return "The engine ended unexpectedly."
	case crash != "":
		return "The engine crashed: " + crash + "."
	case last != "":
		return last
	default:
		return fmt.Sprintf("The engine ended with exit code %d.", code)
	}
}

// lastLines is a writer that remembers the end of what a process wrote, and the line with which a Go program that
// crashes says why, which a long list of goroutines follows.
type lastLines struct {
	mu    sync.Mutex
	lines []string // at most keepLines
	part  []byte   // of an unfinished line, at most keepBytes
	crash string
}

const (
	keepLines = 50
	keepBytes = 2000
)

func (l *lastLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range p {
		if b == '\n' {
			l.end()
		} else if len(l.part) < keepBytes {
			l.part = append(l.part, b)
		}
	}
	return len(p), nil
}

// end takes the unfinished line in; the caller holds mu.
func (l *lastLines) end() {
	line := strings.TrimSpace(strings.ToValidUTF8(string(l.part), "\ufffd"))
	l.part = l.part[:0]
	if line == "" {
		return
	}
	for _, prefix := range []string{"panic: ", "fatal error: ", "SIGSEGV: ", "SIGBUS: ", "SIGILL: ", "SIGFPE: ", "SIGABRT: "} {
		if l.crash == "" && strings.HasPrefix(line, prefix) {
			l.crash = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(line, "panic: "), "fatal error: "), ".")
		}
	}
	if l.lines = append(l.lines, line); len(l.lines) > keepLines {
		l.lines = append(l.lines[:0], l.lines[1:]...)
	}
}

// tell gives the reason of a crash and the last line, without the program's name before it.
func (l *lastLines) tell() (crash, last string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.part) > 0 {
		l.end()
	}
	if n := len(l.lines); n > 0 {
		last = l.lines[n-1]
		for _, name := range []string{"ingot engine: ", "ingot: "} {
			last = strings.TrimPrefix(last, name)
		}
	}
	return l.crash, last
}

// text is all that is remembered.
func (l *lastLines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(append(l.lines[:len(l.lines):len(l.lines)], string(l.part)), "\n")
}
