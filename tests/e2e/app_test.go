//go:build linux && !headless

// Package e2e tests the real window as a person uses it: it runs under Xvfb, is worked with keys and clicks by
// xdotool, and is judged by what it shows and by what it leaves on disk. The pictures it took lie in build/e2e.
//
// The test binary itself is the program under test: started with an empty command line it opens the window, with
// `engine` it is the engine process. INGOT_E2E=path tests that binary instead.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ingot/app/prefs"
	"ingot/app/wire"
	"ingot/storage"
)

const beIngot = "INGOT_E2E_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(beIngot) != "" {
		os.Exit(wire.Main("e2e", os.Args[1:]))
	}
	os.Exit(m.Run())
}

// patience is how long anything may take: machines that run tests are often busy.
const patience = 90 * time.Second

// home is the folders of one user of the program.
type home struct{ data, cache string }

// newHome makes empty folders with a light theme and the likeliest word always taken, changed by set.
func newHome(t *testing.T, set func(*prefs.Settings)) home {
	t.Helper()
	h := home{data: t.TempDir(), cache: sharedCache(t)}
	db := h.open(t)
	p, err := prefs.Open(db)
	if err == nil {
		err = p.Update(func(s *prefs.Settings) {
			s.Theme, s.Sampling.Temperature = "light", 0
			if set != nil {
				set(s)
			}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	return h
}

// sharedCache is where the sample model is unpacked, once for all tests.
func sharedCache(t *testing.T) string {
	dir, err := filepath.Abs("../../build/e2e/cache")
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// open opens the database, which no program may hold.
func (h home) open(t *testing.T) *storage.DB {
	t.Helper()
	db, err := storage.Open(filepath.Join(h.data, "ingot.db"), storage.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// talk is a conversation as it lies on disk.
type talk struct {
	storage.Conversation
	messages []storage.Message
}

// talks reads the conversations that a program has left, last written first.
func (h home) talks(t *testing.T) []talk {
	t.Helper()
	db := h.open(t)
	defer db.Close()
	var all []talk
	err := db.View(func(tx *storage.Tx) error {
		heads, err := tx.Conversations(0)
		for _, c := range heads {
			messages, err := tx.Messages(c.ID)
			if err != nil {
				return err
			}
			all = append(all, talk{c, messages})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// command is the program with a command line, in these folders.
func (h home) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if other := os.Getenv("INGOT_E2E"); other != "" {
		path = other
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), beIngot+"=1", "HOME="+h.data, "INGOT_DATA="+h.data, "INGOT_CACHE="+h.cache,
		"LANG=C", "LC_ALL=C", "FYNE_SCALE=1", "WAYLAND_DISPLAY=", "DISPLAY=")
	return cmd
}

// answer is what the program says in the terminal: the same model, asked without a window.
func (h home) answer(t *testing.T, question string) string {
	t.Helper()
	cmd := h.command(t, "run", "sample", question, "-temp", "0")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v", cmd.Args[1:], err)
	}
	return strings.TrimSpace(string(out))
}

// app is a running program with its window on a screen of its own.
type app struct {
	*testing.T
	*screen
	home  home
	cmd   *exec.Cmd
	log   *os.File
	ended chan struct{}
	err   error // how it ended; valid when ended is closed
}

// start opens the window and waits until it is drawn.
func start(t *testing.T, sc *screen, h home) *app {
	t.Helper()
	a := &app{T: t, screen: sc, home: h, cmd: h.command(t), ended: make(chan struct{})}
	var err error
	if a.log, err = os.CreateTemp(t.TempDir(), "log"); err != nil {
		t.Fatal(err)
	}
	a.cmd.Env = append(a.cmd.Env, "DISPLAY="+sc.name)
	a.cmd.Stdout, a.cmd.Stderr = a.log, a.log
	a.cmd.SysProcAttr = endsWithTest
	began := time.Now()
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		a.err = a.cmd.Wait()
		close(a.ended)
	}()
	t.Cleanup(func() {
		if t.Failed() {
			sc.save(t, strings.ReplaceAll(t.Name(), "/", "-")+"-failed")
			a.cmd.Process.Signal(syscall.SIGQUIT) // the program writes where it stands
			select {
			case <-a.ended:
			case <-time.After(5 * time.Second):
			}
		}
		if a.running() {
			a.cmd.Process.Kill()
			<-a.ended
		}
		if t.Failed() {
			said, _ := os.ReadFile(a.log.Name())
			t.Logf("the program wrote:\n%s", said)
		}
		a.log.Close()
	})
	a.until("the window is drawn", func() bool { return sc.look().colours() > 20 })
	t.Logf("from start to a drawn window: %v", time.Since(began).Round(time.Millisecond))
	sc.focus(t)
	return a
}

// running reports whether the program has not ended.
func (a *app) running() bool {
	select {
	case <-a.ended:
		return false
	default:
		return true
	}
}

// until waits for something; the program must not end meanwhile.
func (a *app) until(what string, ok func() bool) {
	a.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
		if !a.running() {
			a.Fatalf("waiting until %s: the program ended, %v", what, a.err)
		}
		if time.Now().After(deadline) {
			a.Fatalf("waited %v until %s", patience, what)
		}
	}
}

// quit closes the window with Ctrl+Q and waits for the end of the program.
func (a *app) quit() {
	a.Helper()
	a.key(a.T, "ctrl+q")
	select {
	case <-a.ended:
	case <-time.After(patience):
		a.Fatalf("the program did not end within %v of Ctrl+Q", patience)
	}
	if a.err != nil {
		a.Fatalf("the program ended with %v", a.err)
	}
}

// engine returns the process that answers, once there is one.
func (a *app) engine() *os.Process {
	a.Helper()
	var found int
	a.until("there is an engine process", func() bool {
		found = childOf(a.cmd.Process.Pid)
		return found != 0
	})
	p, err := os.FindProcess(found)
	if err != nil {
		a.Fatal(err)
	}
	return p
}

// childOf returns a process that has the parent; 0: none.
func childOf(parent int) int {
	all, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range all {
		if f := stat(path); f != nil && f[1] == strconv.Itoa(parent) && f[0] != "Z" {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			return pid
		}
	}
	return 0
}

// stat returns the fields of /proc/PID/stat after the name: state, parent, and so on; nil: no such process.
func stat(path string) []string {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(b[strings.LastIndexByte(string(b), ')'):]), " ")
	return strings.Fields(rest)
}

// cpu is the processor time that a process has used, its threads together.
func cpu(pid int) (time.Duration, error) {
	f := stat(fmt.Sprintf("/proc/%d/stat", pid))
	if len(f) < 13 {
		return 0, syscall.ESRCH
	}
	user, err := strconv.Atoi(f[11])
	if err != nil {
		return 0, err
	}
	system, err := strconv.Atoi(f[12])
	return time.Duration(user+system) * time.Second / 100, err // USER_HZ is 100 wherever Go runs on Linux
}
