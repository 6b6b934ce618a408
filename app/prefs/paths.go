package prefs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// socketMax is the longest path of a unix socket on every system: 104 bytes on macOS, one of them the final zero.
const socketMax = 103

// Paths are the folders of the application. They are made when they are first used.
type Paths struct {
	Data  string // the database; INGOT_DATA says otherwise
	Cache string // what can be made again: the unpacked sample model, compiled kernels; INGOT_CACHE says otherwise
	// Runtime lists where sockets may lie, best first.
	Runtime []string
}

// Locate returns the folders on this machine for this user.
func Locate() (Paths, error) {
	home, _ := os.UserHomeDir()
	return locate(runtime.GOOS, os.Getenv, home, os.TempDir(), os.Getuid())
}

// locate follows the XDG base directories on Linux, where a relative value is ignored, and Apple's on macOS.
func locate(goos string, env func(string) string, home, tmp string, uid int) (Paths, error) {
	xdg := func(name, otherwise string) string {
		if v := env(name); filepath.IsAbs(v) {
			return filepath.Join(v, "ingot")
		}
		return filepath.Join(home, otherwise, "ingot")
	}
	var p Paths
	if goos == "darwin" {
		p.Data = filepath.Join(home, "Library", "Application Support", "Ingot")
		p.Cache = filepath.Join(home, "Library", "Caches", "Ingot")
	} else {
		p.Data = xdg("XDG_DATA_HOME", ".local/share")
		p.Cache = xdg("XDG_CACHE_HOME", ".cache")
		if v := env("XDG_RUNTIME_DIR"); filepath.IsAbs(v) {
			p.Runtime = append(p.Runtime, filepath.Join(v, "ingot"))
		}
	}
	own := "ingot-" + strconv.Itoa(uid)
	p.Runtime = append(p.Runtime, filepath.Join(tmp, own))
	if tmp != "/tmp" { // TMPDIR may be long
		p.Runtime = append(p.Runtime, filepath.Join("/tmp", own))
	}

	for name, dir := range map[string]*string{"INGOT_DATA": &p.Data, "INGOT_CACHE": &p.Cache} {
		if v := env(name); v != "" {
			abs, err := filepath.Abs(v)
			if err != nil {
				return Paths{}, fmt.Errorf("%s: %w", name, err)
			}
			*dir = abs
		}
	}
	if !filepath.IsAbs(p.Data) || !filepath.IsAbs(p.Cache) {
		return Paths{}, errors.New("this user has no home folder: set HOME, or INGOT_DATA and INGOT_CACHE")
	}
	return p, nil
}

// Database returns where the database lies.
func (p Paths) Database() string { return filepath.Join(p.Data, "ingot.db") }

// Socket returns a path for a unix socket of this process, in a folder that only this user can enter, and removes
// what processes that are gone left there. The name is short, such as "engine".
func (p Paths) Socket(name string) (string, error) {
	file := name + "-" + strconv.Itoa(os.Getpid()) + ".sock"
	var all error
	for _, dir := range p.Runtime {
		path := filepath.Join(dir, file)
		if len(path) > socketMax {
			all = errors.Join(all, fmt.Errorf("%s is longer than the %d bytes that a socket's path may have", path, socketMax))
			continue
		}
		if err := private(dir); err != nil {
			all = errors.Join(all, err)
			continue
		}
		sweep(dir)
		return path, nil
	}
	return "", fmt.Errorf("no place for a socket: %w", all)
}

// private makes a folder that only this user can enter. One that is there must be this user's own: in /tmp
// anybody may have made it, or a link in its place.
func private(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !st.IsDir() || !ok || int(sys.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a folder of this user", dir)
	}
	if st.Mode().Perm() != 0o700 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// sweep removes name-PID.sock of processes that are gone.
func sweep(dir string) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range list {
		stem, ok := strings.CutSuffix(e.Name(), ".sock")
		pid, err := strconv.Atoi(stem[strings.LastIndexByte(stem, '-')+1:])
		if !ok || err != nil || pid < 1 {
			continue
		}
		if syscall.Kill(pid, 0) == syscall.ESRCH {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
