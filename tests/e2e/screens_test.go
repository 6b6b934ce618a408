//go:build linux && !headless

package e2e

import (
	"bytes"
	"fmt"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ingot/app/prefs"
	"ingot/storage"
)

// Every screen, light and dark, at the usual size and at a small one. The pictures are for people to look at; the
// test holds that none is blank and no two are the same.
func TestScreens(t *testing.T) {
	for _, c := range []struct {
		theme         string
		width, height int
	}{{"light", 1100, 740}, {"dark", 1100, 740}, {"light", 900, 600}, {"dark", 900, 600}} {
		name := fmt.Sprintf("%s-%dx%d", c.theme, c.width, c.height)
		t.Run(name, func(t *testing.T) {
			sc := newScreen(t, c.width, c.height)
			h := newHome(t, func(s *prefs.Settings) {
				s.Theme, s.Window.Width, s.Window.Height = c.theme, float32(c.width), float32(c.height)
			})
			h.fill(t)
			a := start(t, sc, h)
			a.until("the model is loaded", func() bool { p := sc.look(); return p.count(dot(p), good)+p.count(dot(p), goodDark) > 20 })
			sc.xdo(t, "mousemove", fmt.Sprint(c.width-1), fmt.Sprint(c.height-1))
			main := image.Rect(240, 60, c.width, c.height-40)
			var before picture
			for i, screen := range []string{"chat", "library", "cards", "server", "settings", "conversation"} {
				pressed := time.Now()
				switch screen {
				case "conversation":
					sc.key(t, "ctrl+1")
					p := sc.settled(t)
					pressed = time.Now()
					a.openFirst(p)
				default:
					sc.key(t, fmt.Sprintf("ctrl+%d", i+1))
				}
				a.until("there is something on the screen "+screen, func() bool {
					p := sc.look()
					ground := p.NRGBAAt(main.Max.X-8, main.Min.Y)
					return p.ink(main, ground) > 1500 && (i == 0 || p.differs(before, whole) > 2000)
				})
				t.Logf("%s: drawn after %v", screen, time.Since(pressed).Round(time.Millisecond))
				before = sc.settled(t)
				sc.save(t, "screen-"+name+"-"+screen)
			}
			a.quit()
		})
	}
}

// fill writes conversations of some days, the newest with all that an answer can hold.
func (h home) fill(t *testing.T) {
	t.Helper()
	db := h.open(t)
	defer db.Close()
	err := db.Update(func(tx *storage.Tx) error {
		for i, title := range []string{"Last month's notes about the garden and what grows in it", "Opposites", "How do I read a file in Go?"} {
			c := storage.Conversation{Title: title, Created: time.Now(), Updated: time.Now().AddDate(0, 0, 12*(i-2))}
			if err := tx.PutConversation(&c); err != nil {
				return err
			}
			q := storage.Message{Role: "user", Content: title, State: storage.StateComplete, Created: c.Created}
			if err := tx.PutMessage(c.ID, &q); err != nil {
				return err
			}
			m := storage.Message{Parent: q.ID, Role: "assistant", Content: richAnswer, Reasoning: "They want to read a whole file.", Thought: 2 * time.Second,
				Model: "sample", State: storage.StateComplete, Created: c.Created, Stats: storage.Stats{AnswerTokens: 214, DecodeRate: 63.2, Finish: "stop"}}
			if err := tx.PutMessage(c.ID, &m); err != nil {
				return err
			}
			c.Leaf = m.ID
			if err := tx.PutConversation(&c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

const richAnswer = `Use ` + "`os.ReadFile`" + ` where the file **fits in memory**:

` + "```go" + `
// size returns how many bytes a file has.
func size(name string) (int, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return 0, fmt.Errorf("read %q: %w", name, err)
	}
	return len(b), nil
}
` + "```" + `

1. Check the error *first*.
2. Read line by line where the file is large.

| way | memory | lines |
|---|---:|:---:|
| os.ReadFile | the whole file | no |
| bufio.Scanner | 64 KB | yes |

> A scanner stops at lines longer than its buffer.
`

// A second window on the same folders says in a small window that there is a first, ends when it is told to, and names the
// first one's process in one line on standard error.
func TestSecondWindow(t *testing.T) {
	sc := newScreen(t, 1100, 740)
	h := newHome(t, nil)
	a := start(t, sc, h)
	sc.settled(t)
	said := refused(t, sc, h, "second-window")
	if !strings.Contains(said, fmt.Sprintf("process %d", a.cmd.Process.Pid)) {
		t.Errorf("the second window: %q, expected process %d", said, a.cmd.Process.Pid)
	}
	sc.focus(t)
	sc.settled(t)
	a.quit()
}

// A library that cannot be read is told in a window too, and stays as it is.
func TestDamagedLibrary(t *testing.T) {
	h := home{data: t.TempDir(), cache: sharedCache(t)}
	path, damaged := filepath.Join(h.data, "ingot.db"), bytes.Repeat([]byte("no database "), 6000)
	if err := os.WriteFile(path, damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	said := refused(t, newScreen(t, 1100, 740), h, "damaged-library")
	if !strings.Contains(said, path) || !strings.Contains(said, "damaged") {
		t.Errorf("it wrote %q, expected that %s is damaged", said, path)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, damaged) {
		t.Errorf("the damaged file was changed, %v", err)
	}
}

// Where the display cannot show a window, the program says why and goes on in the terminal.
func TestDisplaysWithoutWindows(t *testing.T) {
	for display, why := range map[string]string{
		newScreen(t, 640, 480, "-extension", "GLX").name: "the display has no OpenGL",
		":7654321": "the display does not answer",
	} {
		var out, log bytes.Buffer
		cmd := home{data: t.TempDir(), cache: sharedCache(t)}.command(t)
		cmd.Env = append(cmd.Env, "DISPLAY="+display)
		cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &out, &log, endsWithTest
		stop := time.AfterFunc(patience, func() { cmd.Process.Kill() })
		err := cmd.Run()
		stop.Stop()
		if said := log.String(); err != nil || !strings.HasPrefix(said, "ingot: no window: "+why) || strings.Count(said, "\n") != 1 {
			t.Errorf("%s: %v; it wrote %q, expected that %s", display, err, said, why)
		}
		if !strings.Contains(out.String(), "river") {
			t.Errorf("%s: the conversation is %q", display, out.String())
		}
	}
}

// refused starts a program that cannot open its library, looks at the window that says so, ends it with Escape, and returns
// the line that it wrote.
func refused(t *testing.T, sc *screen, h home, picture string) string {
	t.Helper()
	var log bytes.Buffer
	cmd := h.command(t)
	cmd.Env = append(cmd.Env, "DISPLAY="+sc.name, "FYNE_THEME=light")
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = &log, &log, endsWithTest
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(patience, func() { cmd.Process.Kill() }).Stop()
	id := sc.xdo(t, "search", "--sync", "--all", "--onlyvisible", "--pid", fmt.Sprint(cmd.Process.Pid), "--name", "^Ingot$")
	p := sc.settled(t)
	sc.save(t, picture)
	if n := p.count(whole, accent); n < 1000 { // its button
		t.Errorf("the window has %d pixels of its button's colour", n)
	}
	sc.xdo(t, "windowfocus", "--sync", id)
	sc.key(t, "Escape")
	err := cmd.Wait()
	if _, failed := err.(*exec.ExitError); !failed || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended with %v, expected exit code 1", err)
	}
	said := strings.TrimSpace(log.String())
	if strings.Contains(said, "\n") {
		t.Errorf("it wrote %q, expected one line", said)
	}
	return said
}
