//go:build linux && !headless

package e2e

import (
	"fmt"
	"image"
	"os/exec"
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

// A second window on the same folders is refused in one sentence that names the first one's process.
func TestSecondWindow(t *testing.T) {
	sc := newScreen(t, 1100, 740)
	h := newHome(t, nil)
	a := start(t, sc, h)
	second := h.command(t)
	second.Env = append(second.Env, "DISPLAY="+sc.name)
	out, err := second.CombinedOutput()
	said := strings.TrimSpace(string(out))
	t.Logf("the second one: %v, %q", err, said)
	if _, failed := err.(*exec.ExitError); !failed || strings.Contains(said, "\n") || !strings.Contains(said, fmt.Sprintf("process %d", a.cmd.Process.Pid)) {
		t.Errorf("the second window: %v, %q, expected one line with process %d and a non-zero exit", err, said, a.cmd.Process.Pid)
	}
	sc.settled(t)
	a.quit()
}
