//go:build linux && !headless

package e2e

import (
	"testing"
	"time"
)

// A window that waits for somebody takes next to nothing of the processor, and shows where one types.
func TestIdle(t *testing.T) {
	sc := newScreen(t, 1100, 740)
	a := start(t, sc, newHome(t, nil))
	a.ready()
	p := sc.settled(t)
	if n := p.count(composer(p), accent); n < 10 {
		t.Errorf("%d pixels of a caret in the composer", n)
	}
	engine := a.engine()
	const watched = 10 * time.Second
	window, answers := used(t, a.cmd.Process.Pid), used(t, engine.Pid)
	time.Sleep(watched)
	percent := func(d time.Duration) float64 { return 100 * d.Seconds() / watched.Seconds() }
	w, e := percent(used(t, a.cmd.Process.Pid)-window), percent(used(t, engine.Pid)-answers)
	t.Logf("of one core: the window %.1f%%, the engine %.1f%%", w, e)
	if w > 5 || e > 2 {
		t.Errorf("of one core: the idle window takes %.1f%%, expected at most 5; the idle engine %.1f%%, expected at most 2", w, e)
	}
	a.quit()
}

func used(t *testing.T, pid int) time.Duration {
	t.Helper()
	d, err := cpu(pid)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
