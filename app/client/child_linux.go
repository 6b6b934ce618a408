package client

import "syscall"

// childAttributes ends the child with the thread that started it, which lives as long as the child does, and
// keeps a terminal's Ctrl-C, which goes to the whole group, to the parent.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
