package client

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxSocketPath is what the smallest sockaddr_un holds (macOS: 104 bytes with the final zero).
const maxSocketPath = 103

// socketPath makes a path for a new socket in a directory that only this user may enter. dir "" picks
// XDG_RUNTIME_DIR, else the directory for temporary files.
func socketPath(dir string) (string, error) {
	name := fmt.Sprintf("e-%d-%s.sock", os.Getpid(), strings.ToLower(rand.Text()[:8]))
	candidates := []string{dir}
	if dir == "" {
		candidates = nil
		if runtime := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(runtime) {
			candidates = append(candidates, filepath.Join(runtime, "ingot"))
		}
		own := fmt.Sprintf("ingot-%d", os.Getuid())
		candidates = append(candidates, filepath.Join(os.TempDir(), own), filepath.Join("/tmp", own))
	}
	var failed error
	for _, d := range candidates {
		path := filepath.Join(d, name)
		if len(path) > maxSocketPath {
			failed = errors.Join(failed, fmt.Errorf("%s is too long for a socket", path))
			continue
		}
		if err := privateDir(d); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		sweep(d)
		return path, nil
	}
	return "", fmt.Errorf("no place for the engine's socket: %w", failed)
}

// privateDir makes dir with mode 0700, or checks that one that exists is ours and closed to others.
func privateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no directory", dir)
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Getuid() {
		return fmt.Errorf("%s belongs to another user", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// sweep removes the sockets (e-PID-xxxxxxxx.sock) of processes that are gone.
func sweep(dir string) {
	list, err := filepath.Glob(filepath.Join(dir, "e-*-*.sock"))
	if err != nil {
		return
	}
	for _, path := range list {
		var pid int
		if n, _ := fmt.Sscanf(filepath.Base(path), "e-%d-", &pid); n == 1 && pid > 0 && syscall.Kill(pid, 0) == syscall.ESRCH {
			os.Remove(path)
		}
	}
}
