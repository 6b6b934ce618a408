package live

import (
	"sync"
	"time"
)

// watchEvery is the least time between two states that a view draws: an engine tells more often than people read.
const watchEvery = 100 * time.Millisecond

// watch holds the newest state until the UI takes it.
type watch struct {
	do    func(func())
	fn    func(State)
	ended bool // UI goroutine

	mu      sync.Mutex
	next    State
	waiting bool // a take is on its way
	last    time.Time
}

func (w *watch) put(s State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = s
	if !w.waiting {
		w.waiting = true
		time.AfterFunc(max(0, watchEvery-time.Since(w.last)), func() { w.do(w.take) })
	}
}

func (w *watch) take() {
	w.mu.Lock()
	s := w.next
	w.waiting, w.last = false, time.Now()
	w.mu.Unlock()
	if !w.ended {
		w.fn(s)
	}
}
