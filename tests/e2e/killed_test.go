//go:build linux && !headless

package e2e

import (
	"image"
	"image/color"
	"strings"
	"testing"

	"ingot/storage"
)

// The engine is killed in mid-answer: the window stays, the text so far is kept, a sentence says what happened, and
// one click goes on, at once or after the window was closed and opened again.
func TestEngineKilled(t *testing.T) {
	const question = "Count from 1 to 20"
	sc := newScreen(t, 1100, 740)
	h := newHome(t, nil)
	want := h.answer(t, question)

	a := start(t, sc, h)
	first := a.engine()
	steps := a.cut(question, 12)
	box := a.trouble()
	sc.save(t, "killed-1-sentence")
	p := sc.look()
	kept := thread(p)
	kept.Max.Y = box.Min.Y
	if n := p.ink(kept, page); n < steps[len(steps)-1]*9/10 {
		t.Errorf("above the sentence are %d marks, before the engine was killed there were %d", n, steps[len(steps)-1])
	}
	a.goOn(box)
	sc.save(t, "killed-2-went-on")
	if second := a.engine(); second.Pid == first.Pid {
		t.Errorf("the engine is still process %d", first.Pid)
	}
	a.quit()
	checkTalk(t, h.talks(t), question, want)

}

// The same when the window is closed instead, whether the model was thinking or answering: what there is lies on disk,
// and a click goes on after the next start.
func TestEngineKilledAndClosed(t *testing.T) {
	const question = "Count from 1 to 20"
	sc := newScreen(t, 1100, 740)
	h := newHome(t, nil)
	a := start(t, sc, h)
	a.ask(question, 0)
	a.quit()
	whole := h.talks(t)[0].messages[1]
	for name, times := range map[string]int{"thinking": 2, "answering": 12} {
		t.Run(name, func(t *testing.T) {
			var broken storage.Message
			for ; ; times++ { // one change more until the model thinks or answers
				a := start(t, sc, h)
				a.cut(question, times)
				a.trouble()
				a.quit()
				broken = h.talks(t)[0].messages[1]
				t.Logf("on disk after the window was closed: %s, %q, %q, %q", broken.State, broken.Reasoning, broken.Content, broken.Error)
				if broken.Reasoning != "" && (name == "thinking" || broken.Content != "") || times == 16 {
					break
				}
			}
			if said, all := broken.Reasoning+broken.Content, whole.Reasoning+whole.Content; broken.State != storage.StateError || said == "" || said == all || !strings.HasPrefix(all, said) {
				t.Errorf("on disk: %s, %q, expected an error and the beginning of %q", broken.State, said, all)
			}
			if !strings.Contains(broken.Error, "killed") || strings.Count(broken.Error, ".") != 1 {
				t.Errorf("on disk: %q, expected a sentence that says that the engine was killed", broken.Error)
			}

			a := start(t, sc, h)
			a.ready()
			a.openNewest()
			box := a.trouble()
			sc.save(t, "killed-"+name+"-1-restart")
			a.goOn(box)
			sc.save(t, "killed-"+name+"-2-went-on")
			a.quit()
			checkTalk(t, h.talks(t)[:1], question, strings.TrimSpace(whole.Content))
			if m := h.talks(t)[0].messages[1]; m.Reasoning != whole.Reasoning {
				t.Errorf("on disk: the thoughts %q, expected %q", m.Reasoning, whole.Reasoning)
			}
		})
	}
}

// trouble waits for the sentence about what went wrong and returns the place of its box.
func (a *app) trouble() image.Rectangle {
	a.Helper()
	a.until("a sentence says what happened", func() bool { p := a.look(); return p.count(thread(p), warning) > 5000 })
	p := a.settled(a.T)
	if busy(p) {
		a.Error("the composer waits for an answer that is not coming")
	}
	return p.bounds(thread(p), warning)
}

// goOn presses the button in the box and waits for the end of the answer.
func (a *app) goOn(box image.Rectangle) {
	a.Helper()
	p := a.look()
	var button image.Rectangle
	inner := box.Inset(4)
	inner.Min.X = box.Min.X + box.Dx()/2
	p.each(inner, func(x, y int, c color.NRGBA) {
		if c == page { // a button lies on top, in white
			button = button.Union(image.Rect(x, y, x+1, y+1))
		}
	})
	if button.Dx() < 60 || button.Dy() < 16 {
		a.Fatalf("no button in the box at %v: %v", box, button)
	}
	a.click(a.T, middle(button))
	a.until("the answer goes on and is complete", func() bool {
		p := a.look()
		return p.count(thread(p), warning) == 0 && !busy(p)
	})
	a.settled(a.T)
}
