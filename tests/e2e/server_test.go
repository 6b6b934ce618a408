//go:build linux && !headless

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"ingot/app/prefs"
)

// The endpoint for other programs is off until its switch is turned, answers over HTTP then, lists the request, comes
// back with the next start, and is gone when it is turned off.
func TestServerSwitch(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	base := fmt.Sprintf("http://127.0.0.1:%d/v1", port)
	const question = "What is a river?"

	sc := newScreen(t, 1100, 740)
	h := newHome(t, func(s *prefs.Settings) { s.Server.Port = port })
	want := h.answer(t, question)
	a := start(t, sc, h)
	a.ready()
	a.key(t, "ctrl+4")
	if _, err := http.Get(base + "/models"); err == nil {
		t.Error("something answers before the switch is turned")
	}
	a.turn(true)
	if got := chatOver(t, base, question); got != want {
		t.Errorf("over HTTP: %q, expected %q", got, want)
	}
	before := sc.look()
	a.until("the request is listed", func() bool { p := sc.look(); return p.differs(before, requests(p)) > 100 })
	sc.settled(t)
	sc.save(t, "server-on")
	a.quit()
	if _, err := http.Get(base + "/models"); err == nil {
		t.Error("something answers after the window was closed")
	}

	a = start(t, sc, h)
	a.until("the endpoint is on again", func() bool {
		r, err := http.Get(base + "/models")
		if err == nil {
			r.Body.Close()
		}
		return err == nil
	})
	a.key(t, "ctrl+4")
	a.turn(false)
	a.until("the endpoint is off", func() bool {
		r, err := http.Get(base + "/models")
		if err == nil {
			r.Body.Close()
		}
		return err != nil
	})
	sc.settled(t)
	sc.save(t, "server-off")
	a.quit()
}

// requests is the lower part of the server screen.
func requests(p picture) image.Rectangle {
	return image.Rect(236, p.Rect.Max.Y-80, p.Rect.Max.X-20, p.Rect.Max.Y-32)
}

// turn clicks the switch of the server screen and waits until it has the colour of its new place.
func (a *app) turn(on bool) {
	a.Helper()
	from, to := faint, accent
	if !on {
		from, to = to, from
	}
	place := image.Rect(900, 90, 1090, 140) // the right end of the first row
	a.until("the switch is there", func() bool { return a.look().count(place, from) > 200 })
	a.click(a.T, middle(a.look().bounds(place, from)))
	a.until("the switch is turned", func() bool { return a.look().count(place, to) > 200 })
}

// chatOver asks the endpoint a question.
func chatOver(t *testing.T, base, question string) string {
	t.Helper()
	body, err := json.Marshal(map[string]any{"model": "sample", "temperature": 0, "messages": []map[string]string{{"role": "user", "content": question}}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Post(base+"/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if err := json.Unmarshal(text, &answer); err != nil || len(answer.Choices) == 0 {
		t.Fatalf("%s: %s: %v", r.Status, text, err)
	}
	return strings.TrimSpace(answer.Choices[0].Message.Content)
}
