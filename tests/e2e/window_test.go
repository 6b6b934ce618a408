//go:build linux && !headless

package e2e

import (
	"image"
	"os"
	"syscall"
	"time"
)

// Where the parts of the window are. The window fills its screen.

// thread is where messages are: right of the sidebar, between the model's line and the composer.
func thread(p picture) image.Rectangle { return image.Rect(236, 52, p.Rect.Max.X, p.Rect.Max.Y-100) }

// composer is the line one writes in, with its button.
func composer(p picture) image.Rectangle {
	return image.Rect(236, p.Rect.Max.Y-96, p.Rect.Max.X, p.Rect.Max.Y-32)
}

// conversations is the list in the sidebar, below the button that begins a new one.
func conversations(p picture) image.Rectangle { return image.Rect(0, 300, 231, p.Rect.Max.Y-32) }

// dot is the mark at the left of the strip along the bottom.
func dot(p picture) image.Rectangle { return image.Rect(8, p.Rect.Max.Y-28, 30, p.Rect.Max.Y) }

// ready waits until a model is loaded.
func (a *app) ready() {
	a.Helper()
	a.until("the model is loaded", func() bool { p := a.look(); return p.count(dot(p), good) > 20 })
}

// busy reports whether the button of the composer stops an answer. A caret has the same colour.
func busy(p picture) bool { return p.count(composer(p), accent) > 200 }

// ask types a question and watches the answer grow on a slow machine: the engine works for a moment and is then
// held, while the screen is looked at. It returns how many marks the thread showed, each time that it had changed.
// It ends when the answer is complete, or has changed so many times; the engine is then still held.
func (a *app) ask(question string, times int) []int {
	a.Helper()
	a.ready()
	engine := a.engine()
	a.send(engine, syscall.SIGSTOP)
	a.write(a.T, question)
	a.key(a.T, "Return")
	a.until("the question is in the thread and waits", func() bool { p := a.look(); return p.count(thread(p), bubble) > 1000 && busy(p) })
	return a.watch(engine, times)
}

// pace is how long a held engine works at a time: a token or two, on a machine that has nothing else to do.
const pace = 2 * time.Millisecond

func (a *app) watch(engine *os.Process, times int) []int {
	a.Helper()
	last := a.settled(a.T)
	var steps []int
	slice := pace
	a.until("the answer is complete", func() bool {
		a.send(engine, syscall.SIGCONT)
		time.Sleep(slice)
		a.send(engine, syscall.SIGSTOP)
		time.Sleep(100 * time.Millisecond) // for the window to draw what came
		p := a.look()
		if p.differs(last, thread(p)) < 20 {
			slice = min(slice+pace/4, 5*pace)
			return !busy(p)
		}
		slice = pace
		steps, last = append(steps, p.ink(thread(p), page)), p
		return !busy(p) || len(steps) == times
	})
	if len(steps) != times {
		a.send(engine, syscall.SIGCONT)
	}
	return steps
}

func (a *app) send(p *os.Process, s syscall.Signal) {
	a.Helper()
	if err := p.Signal(s); err != nil {
		a.Fatalf("the engine, process %d: %v", p.Pid, err)
	}
}

// cut asks a question and kills the engine once the answer has changed so many times on the screen.
func (a *app) cut(question string, times int) (steps []int) {
	a.Helper()
	for range 5 {
		engine := a.engine()
		steps = a.ask(question, times)
		if busy(a.look()) {
			a.send(engine, syscall.SIGKILL)
			return steps
		}
		a.Logf("the answer was complete before it had changed %d times: %v", times, steps)
		a.key(a.T, "ctrl+n")
	}
	a.Fatal("no answer could be caught in its middle")
	return nil
}

// openNewest clicks the first conversation of the list.
func (a *app) openNewest() {
	a.Helper()
	a.openFirst(a.settled(a.T))
	a.until("the conversation is open", func() bool { p := a.look(); return p.count(conversations(p), chosen) > 1000 })
}

// openFirst clicks the first text below the caption of its day.
func (a *app) openFirst(p picture) {
	a.Helper()
	var rows []int // where texts begin
	list, blank := conversations(p), true
	ground := p.NRGBAAt(2, list.Min.Y)
	for y := list.Min.Y; y < list.Max.Y; y++ {
		empty := p.ink(image.Rect(list.Min.X, y, list.Max.X, y+1), ground) == 0
		if blank && !empty {
			rows = append(rows, y)
		}
		blank = empty
	}
	if len(rows) < 2 {
		a.Fatalf("no conversation is listed: texts at %v", rows)
	}
	a.click(a.T, image.Pt(80, rows[1]+8))
}
