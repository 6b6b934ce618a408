//go:build linux && !headless

package e2e

import (
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// screen is an X server without hardware, of a size that only the window's is. Its picture is a file: looking at it
// costs nothing and disturbs nobody.
type screen struct {
	name  string // as in DISPLAY
	frame string // what is on it, in the format of xwd
}

// endsWithTest ends a process with the test, also where the test is killed.
var endsWithTest = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

// newScreen starts an X server, with further options of its own; it ends with the test.
func newScreen(t *testing.T, width, height int, options ...string) *screen {
	t.Helper()
	for _, tool := range []string{"Xvfb", "xdotool"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("the window is tested with Xvfb and xdotool: %v", err)
		}
	}
	dir := t.TempDir()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command("Xvfb", append([]string{"-displayfd", "3", "-screen", "0", fmt.Sprintf("%dx%dx24", width, height), "-dpi", "96",
		"-nolisten", "tcp", "-noreset", "-fbdir", dir}, options...)...)
	cmd.ExtraFiles = []*os.File{w}
	cmd.SysProcAttr = endsWithTest
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	r.SetReadDeadline(time.Now().Add(patience))
	number, err := io.ReadAll(r) // up to the newline, after which the server closes its end
	if err != nil || len(number) == 0 {
		said, _ := os.ReadFile(log.Name())
		t.Fatalf("Xvfb did not start: %v\n%s", err, said)
	}
	return &screen{name: ":" + strings.TrimSpace(string(number)), frame: filepath.Join(dir, "Xvfb_screen0")}
}

// xdo runs xdotool.
func (s *screen) xdo(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("xdotool", args...)
	cmd.Env = append(os.Environ(), "DISPLAY="+s.name)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("xdotool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// focus gives the window the keyboard, which is a window manager's work; there is none.
func (s *screen) focus(t *testing.T) {
	t.Helper()
	id := s.xdo(t, "search", "--sync", "--onlyvisible", "--name", "^Ingot$")
	s.xdo(t, "windowfocus", "--sync", id)
}

func (s *screen) write(t *testing.T, text string) {
	t.Helper()
	s.xdo(t, "type", "--delay", "15", text)
}

func (s *screen) key(t *testing.T, keys ...string) {
	t.Helper()
	s.xdo(t, append([]string{"key", "--delay", "40"}, keys...)...)
}

func (s *screen) click(t *testing.T, at image.Point) {
	t.Helper()
	s.xdo(t, "mousemove", "--sync", fmt.Sprint(at.X), fmt.Sprint(at.Y), "sleep", "0.1", "click", "1")
}

// look returns what is on the screen now.
func (s *screen) look() picture {
	b, err := os.ReadFile(s.frame)
	if err != nil || len(b) < 100 {
		return picture{image.NewNRGBA(image.Rectangle{})}
	}
	head := func(i int) int { return int(binary.BigEndian.Uint32(b[4*i:])) }
	w, h, row := head(4), head(5), head(12)
	pixels := b[head(0)+12*head(19):] // after the header and its colours
	p := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		in, out := pixels[y*row:], p.Pix[y*p.Stride:]
		for x := range w {
			out[4*x], out[4*x+1], out[4*x+2], out[4*x+3] = in[4*x+2], in[4*x+1], in[4*x], 255
		}
	}
	return picture{p}
}

// settled waits until the screen has stood still for a moment and returns it. A caret that blinks is no movement.
func (s *screen) settled(t *testing.T) picture {
	t.Helper()
	last, since := s.look(), time.Now()
	for deadline := time.Now().Add(patience); time.Since(since) < 500*time.Millisecond; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the screen did not stand still within %v", patience)
		}
		if now := s.look(); now.differs(last, whole) > 200 {
			last, since = now, time.Now()
		}
	}
	return s.look()
}

// save writes what is on the screen to build/e2e.
func (s *screen) save(t *testing.T, name string) {
	t.Helper()
	path := filepath.Join("..", "..", "build", "e2e", name+".png")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, s.look().NRGBA); err != nil {
		t.Fatal(err)
	}
}
