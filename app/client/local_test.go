package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"ingot/app/server"
)

// The test binary is its own engine process: it is started as `BINARY engine --socket PATH MODEL`, and the model's
// name says how it should behave.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == "engine" && os.Args[2] == "--socket" {
		os.Exit(child(os.Args[3], os.Args[len(os.Args)-1]))
	}
	if len(os.Args) > 2 && os.Args[1] == "parent" {
		parent(os.Args[2])
	}
	os.Exit(m.Run())
}

func child(socket, behaviour string) int {
	e := script()
	e.Words, e.Gap = make([]string, 1000), 5*time.Millisecond
	for i := range e.Words {
		e.Words[i] = fmt.Sprintf("%d ", i)
	}
	fmt.Fprintln(os.Stderr, "engine process for", behaviour)
	switch behaviour {
	case "exit":
		fmt.Fprintln(os.Stderr, "ingot engine: flag provided but not defined: -x")
		return 2
	case "silent exit":
		return 3
	case "quiet end":
		return 0
	case "hang":
		time.Sleep(time.Hour)
	case "panic":
		panic("index out of range [3]")
	}
	err := server.RunEngineProcess(context.Background(), os.Stdin, server.ProcessOptions{Socket: socket}, func(progress func(float64)) (server.Engine, error) {
		switch behaviour {
		case "bad model":
			progress(0.25)
			time.Sleep(100 * time.Millisecond)
			return nil, errors.New("tiny.gguf: cut short at byte 17")
		case "loading":
			progress(0.5)
			time.Sleep(time.Hour)
		case "stubborn":
			go func() { time.Sleep(time.Hour) }()
			return stubborn{e}, nil
		}
		progress(0.5)
		time.Sleep(100 * time.Millisecond)
		return e, nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "ingot:", err)
		return 1
	}
	return 0
}

// stubborn never closes.
type stubborn struct{ server.Engine }

func (stubborn) Close() error { select {} }

// parent starts an engine, tells its process id, and waits to be killed.
func parent(behaviour string) {
	l := NewLocal(nil)
	if err := l.Start(context.Background(), LocalOptions{Model: behaviour}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	if behaviour != "hang" {
		_, _ = l.Wait(context.Background())
	}
	fmt.Println(l.State().PID)
	time.Sleep(time.Hour)
}

// states collects what notify is told.
type states struct {
	mu  sync.Mutex
	all []State
}

func (s *states) add(st State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, st)
}

// phases gives the sequence of phases without repeats.
func (s *states) phases() []Phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Phase
	for _, st := range s.all {
		if len(out) == 0 || out[len(out)-1] != st.Phase {
			out = append(out, st.Phase)
		}
	}
	return out
}

func (s *states) expect(t *testing.T, want ...Phase) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if reflect.DeepEqual(s.phases(), want) {
			return
		}
	}
	t.Fatalf("phases %v, want %v", s.phases(), want)
}

func start(t *testing.T, o LocalOptions) (*Local, *states) {
	t.Helper()
	seen := &states{}
	l := NewLocal(seen.add)
	if o.Dir == "" {
		o.Dir = shortDir(t)
	}
	if err := l.Start(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Stop(context.Background()) })
	return l, seen
}

// shortDir is a directory whose path leaves room for a socket's name; t.TempDir may not.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ing")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestLife(t *testing.T) {
	dir := shortDir(t)
	l, seen := start(t, LocalOptions{Model: "good", Dir: dir})
	if err := l.Start(t.Context(), LocalOptions{}); err != ErrRunning {
		t.Errorf("a second start: %v", err)
	}
	st, err := l.Wait(t.Context())
	if err != nil || st.Info.Name != "Tiny" || st.Model != "Tiny-Q8_0" || st.PID == 0 {
		t.Fatalf("got %+v %v", st, err)
	}
	sockets, _ := filepath.Glob(filepath.Join(dir, "e-*.sock"))
	if info, err := os.Stat(sockets[0]); len(sockets) != 1 || err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("sockets %v %v", sockets, info.Mode())
	}
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is open: %v", info.Mode())
	}
	// Neither the list of processes nor the environment shows the token.
	token := l.process.target.key
	if runtime.GOOS == "linux" {
		for _, file := range []string{"cmdline", "environ"} {
			if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", st.PID, file)); err != nil || len(text) == 0 || strings.Contains(string(text), token) {
				t.Errorf("%s shows the token, or nothing: %v", file, err)
			}
		}
	}
	r := question()
	r.MaxTokens = new(5)
	var text string
	if err := l.Chat(t.Context(), r, func(d Delta) error { text += d.Text; return nil }); err != nil || text != "0 1 2 3 " {
		t.Errorf("got %q %v", text, err)
	}
	if !strings.Contains(l.Stderr(), "engine process for good") {
		t.Errorf("stderr: %q", l.Stderr())
	}
	if err := l.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	again, err := l.Wait(t.Context())
	if err != nil || again.PID == st.PID || alive(st.PID) {
		t.Errorf("after a restart: %+v %v", again, err)
	}
	if models, err := l.Models(t.Context()); err != nil || len(models) != 1 {
		t.Errorf("models after a restart: %v %v", models, err)
	}
	l.Stop(t.Context())
	if alive(again.PID) {
		t.Error("the process lives on after Stop")
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := l.Models(t.Context()); err != ErrNotRunning {
		t.Errorf("a call after Stop: %v", err)
	}
	seen.expect(t, Starting, Loading, Ready, Stopped, Starting, Loading, Ready, Stopped)
}

// kill -9 in mid-answer: the call ends at once with the sentence, what came before it was delivered, and one Restart
// goes on.
func TestKilledInMidAnswer(t *testing.T) {
	l, seen := start(t, LocalOptions{Model: "good"})
	st, err := l.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const sentence = "The engine was killed (signal 9), perhaps because memory ran out."
	var text string
	var killed time.Time
	err = l.Chat(t.Context(), question(), func(d Delta) error {
		if text += d.Text; strings.HasPrefix(text, "0 1 2 ") && killed.IsZero() {
			killed = time.Now()
			return syscall.Kill(st.PID, syscall.SIGKILL)
		}
		return nil
	})
	took := time.Since(killed)
	var died *EngineDied
	if !errors.As(err, &died) || died.Sentence != sentence {
		t.Fatalf("got %v", err)
	}
	if took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	if !strings.HasPrefix(text, "0 1 2 ") {
		t.Errorf("the text so far is lost: %q", text)
	}
	seen.expect(t, Starting, Loading, Ready, Failed)
	if st := l.State(); st.Error != sentence || st.PID != 0 {
		t.Errorf("got %+v", st)
	}
	if _, err := l.Engine(t.Context()); !errors.As(err, &died) || died.Sentence != sentence {
		t.Errorf("a later call: %v", err)
	}
	if err := l.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Wait(t.Context()); err != nil {
		t.Errorf("after the restart: %v", err)
	}
}

func TestDeaths(t *testing.T) {
	for behaviour, want := range map[string]string{
		"exit":        "flag provided but not defined: -x",
		"silent exit": "engine process for silent exit", // the last thing it said
		"quiet end":   "The engine ended unexpectedly.",
		"panic":       "The engine crashed: index out of range [3].",
		"bad model":   "tiny.gguf: cut short at byte 17",
		"hang":        "The engine did not answer within 300ms.",
	} {
		t.Run(behaviour, func(t *testing.T) {
			o := LocalOptions{Model: behaviour, Env: []string{"GOTRACEBACK=all"}}
			if behaviour == "hang" {
				o.Answer = 300 * time.Millisecond
			}
			l, seen := start(t, o)
			_, err := l.Wait(t.Context())
			var died *EngineDied
			if !errors.As(err, &died) || died.Sentence != want {
				t.Errorf("got %v, want %s", err, want)
			}
			phases := []Phase{Starting, Failed}
			if behaviour == "bad model" {
				phases = []Phase{Starting, Loading, Failed}
			}
			seen.expect(t, phases...)
			if err := l.Chat(t.Context(), question(), func(Delta) error { return nil }); !errors.As(err, &died) {
				t.Errorf("a call: %v", err)
			}
		})
	}
}

func TestSignals(t *testing.T) {
	for sig, want := range map[syscall.Signal]string{
		syscall.SIGSEGV: "The engine crashed", // Go's runtime reports it and exits, or the signal ends it
		syscall.SIGTERM: "The engine was ended from outside (signal 15, terminated).",
	} {
		l, _ := start(t, LocalOptions{Model: "good"})
		st, err := l.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = syscall.Kill(st.PID, sig)
		eventually(t, "failure", func() bool { return l.State().Phase == Failed })
		if got := l.State().Error; !strings.HasPrefix(got, want) {
			t.Errorf("%v: got %q, want %q", sig, got, want)
		}
	}
}

// A process that does not end when asked is killed.
func TestStopOfAHangingProcess(t *testing.T) {
	l, seen := start(t, LocalOptions{Model: "hang", Quit: 100 * time.Millisecond})
	pid := l.State().PID
	begun := time.Now()
	l.Stop(t.Context())
	if alive(pid) || time.Since(begun) > 5*time.Second {
		t.Errorf("alive: %v after %v", alive(pid), time.Since(begun))
	}
	seen.expect(t, Starting, Stopped)
	l, _ = start(t, LocalOptions{Model: "loading"}) // ends though it is in the middle of a load
	eventually(t, "loading", func() bool { return l.State().Progress == 0.5 })
	begun = time.Now()
	l.Stop(t.Context())
	if took := time.Since(begun); took > 3*time.Second {
		t.Errorf("a loading engine took %v to stop", took)
	}
}

// A call that waits for an answer when the engine is stopped by hand ends too.
func TestStopDuringAnAnswer(t *testing.T) {
	l, _ := start(t, LocalOptions{Model: "good"})
	if _, err := l.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := make(chan struct{})
	var once sync.Once
	ended := make(chan error)
	go func() {
		ended <- l.Chat(t.Context(), question(), func(Delta) error { once.Do(func() { close(first) }); return nil })
	}()
	<-first
	l.Stop(t.Context())
	if err := <-ended; err == nil {
		t.Error("the answer was complete")
	}
}

func TestLaunchThatFails(t *testing.T) {
	seen := &states{}
	l := NewLocal(seen.add)
	if _, err := l.Models(t.Context()); err != ErrNotRunning {
		t.Errorf("a call before the start: %v", err)
	}
	if err := l.Restart(t.Context()); err != ErrNotRunning {
		t.Errorf("a restart before the start: %v", err)
	}
	if err := l.Start(t.Context(), LocalOptions{Executable: "/no/such/program", Dir: shortDir(t)}); err == nil {
		t.Error("a program that is not there was started")
	}
	seen.expect(t, Failed)
	var died *EngineDied
	if _, err := l.Models(t.Context()); !errors.As(err, &died) || !strings.Contains(died.Sentence, "/no/such/program") {
		t.Errorf("a call after it: %v", err)
	}
}

// The engine ends with the program that started it, however that one ends.
func TestParentDies(t *testing.T) {
	for _, behaviour := range []string{"good", "hang"} {
		if behaviour == "hang" && runtime.GOOS != "linux" {
			continue // only Linux ends a child that does not look at its stdin
		}
		cmd := exec.Command(os.Args[0], "parent", behaviour)
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+shortDir(t))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var pid int
		if _, err := fmt.Fscan(out, &pid); err != nil || !alive(pid) {
			t.Fatalf("no engine: %d %v", pid, err)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		eventually(t, "end of the engine", func() bool { return !alive(pid) || zombie(pid) })
	}
}

// zombie tells a process that has ended but that its new parent has not fetched yet.
func zombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(text), ") Z ")
}

// notify may call back into the Local, and many may call at once while it is restarted.
func TestConcurrentUse(t *testing.T) {
	var l *Local
	l = NewLocal(func(State) { l.State() })
	o := LocalOptions{Model: "good", Dir: shortDir(t)}
	if err := l.Start(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 20 {
				_, _ = l.Health(t.Context())
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				_ = l.Chat(ctx, question(), func(Delta) error { return nil })
				cancel()
			}
		})
	}
	for range 2 {
		if err := l.Restart(t.Context()); err != nil {
			t.Error(err)
		}
	}
	wg.Wait()
	l.Stop(t.Context())
}

func TestSocketPath(t *testing.T) {
	dir := shortDir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path, err := socketPath(filepath.Join(dir, "deep", "run"))
	if err != nil || !strings.HasSuffix(path, ".sock") {
		t.Fatalf("got %q %v", path, err)
	}
	if _, err := socketPath(dir); err != nil { // an open directory of our own is closed
		t.Error(err)
	}
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", info.Mode())
	}
	if _, err := socketPath(filepath.Join(dir, strings.Repeat("long", 30))); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v", err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := socketPath(file); err == nil {
		t.Error("a file was taken for a directory")
	}
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(dir, strings.Repeat("long", 30)))
	if path, err := socketPath(""); err != nil || len(path) > maxSocketPath {
		t.Errorf("got %q %v", path, err)
	} else if l, err := net.Listen("unix", path); err != nil {
		t.Error(err)
	} else {
		l.Close()
	}
}

func TestLastLines(t *testing.T) {
	l := &lastLines{}
	for i := range 100 {
		fmt.Fprintf(l, "line %d\n", i)
	}
	fmt.Fprintf(l, "fatal error: out of memory\n\ngoroutine 1 [running]:\n%s", strings.Repeat("x", 5000))
	crash, last := l.tell()
	if crash != "out of memory" || len(last) != keepBytes || len(l.lines) != keepLines {
		t.Errorf("got %q, %d bytes, %d lines", crash, len(last), len(l.lines))
	}
}
