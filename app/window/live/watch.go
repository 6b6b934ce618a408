package live

import "sync"

// watch holds the newest state until the UI takes it.
type watch struct {
	do    func(func())
	fn    func(State)
	ended bool // UI goroutine

	mu      sync.Mutex
	next    State
	waiting bool // a take is on its way
}

func (w *watch) put(s State) {
	w.mu.Lock()
	w.next = s
	queue := !w.waiting
	w.waiting = true
	w.mu.Unlock()
	if queue {
		w.do(w.take)
	}
}

func (w *watch) take() {
	w.mu.Lock()
	s := w.next
	w.waiting = false
	w.mu.Unlock()
	if !w.ended {
		w.fn(s)
	}
}
