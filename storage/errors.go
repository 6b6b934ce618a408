package storage

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

var (
	// ErrInUse is returned when another process, or this one, has the database open. The message says which.
	ErrInUse = errors.New("already open")
	// ErrDiskFull is returned when a write found no room: a full disk, a quota, a limit on the file's size.
	// What was there before is intact.
	ErrDiskFull = errors.New("the disk is full, nothing was changed")
	// ErrCorrupt is returned when the file is not a database or is damaged. The file is not touched.
	ErrCorrupt = errors.New("the database is damaged; it was left as it is, move it away to start anew")
	// ErrForeign is returned when the file is a database of another program.
	ErrForeign = errors.New("this is not an Ingot database")
	// ErrNewer is returned when the file, or a record in it, was written by a later Ingot.
	ErrNewer = errors.New("written by a newer Ingot")
	// ErrNotFound is returned when no record has the id that was asked for.
	ErrNotFound = errors.New("not found")
	// ErrClosed is returned by calls on a database that was closed.
	ErrClosed = errors.New("the database is closed")
)

// inUseError is ErrInUse with the process that holds the database; pid 0 when it is not known.
type inUseError struct{ pid int }

func (e inUseError) Error() string {
	switch e.pid {
	case 0:
		return "already open in another Ingot"
	case os.Getpid():
		return "already open in this Ingot"
	}
	return fmt.Sprintf("already open in another Ingot (process %d)", e.pid)
}

func (e inUseError) Is(target error) bool { return target == ErrInUse }

func inUse(side string) error {
	if special(side) {
		return inUseError{}
	}
	b, err := os.ReadFile(side)
	if err != nil {
		return inUseError{}
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 1 || syscall.Kill(pid, 0) == syscall.ESRCH {
		return inUseError{} // left by a process that was killed, or of another pid namespace
	}
	return inUseError{pid}
}

// writeHolder says in the side file who holds the lock. Where that fails the lock still holds, only the
// message of ErrInUse is poorer.
func writeHolder(side string) {
	if special(side) {
		return
	}
	os.WriteFile(side, []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600)
}

// special tells whether something is there that is no file: reading it could mean to wait for somebody who writes it.
func special(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && !st.Mode().IsRegular()
}

// removeHolder runs before the lock is let go, so it cannot remove the next holder's file.
func removeHolder(side string) { os.Remove(side) }
