//go:build !linux

package client

import "syscall"

// childAttributes keeps a terminal's Ctrl-C, which goes to the whole group, to the parent. Where the parent dies the
// child learns it from its stdin.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
