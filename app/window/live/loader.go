package live

import (
	"context"

	"fyne.io/fyne/v2"
)

// Loader fetches for one view. A fetch runs in a goroutine of its own and is published on the UI goroutine, in one
// step, unless a later Load or Close came first. Except for fetches, everything happens on the UI goroutine.
type Loader[T any] struct {
	Do func(func()) // runs on the UI goroutine; nil: fyne.Do

	generation uint64
	cancel     context.CancelFunc
	closed     bool
}

// Load starts a fetch and forgets those before it.
func (l *Loader[T]) Load(fetch func(context.Context) (T, error), publish func(T, error)) {
	if l.closed {
		return
	}
	l.forget()
	ctx, cancel := context.WithCancel(context.Background())
	l.cancel = cancel
	mine := l.generation
	do := l.Do
	if do == nil {
		do = fyne.Do
	}
	go func() {
		v, err := fetch(ctx)
		do(func() {
			if mine != l.generation || l.closed {
				return
			}
			l.cancel = nil
			cancel()
			publish(v, err)
		})
	}()
}

// Busy reports whether a fetch is on its way.
func (l *Loader[T]) Busy() bool { return l.cancel != nil }

// Close ends the fetch that is on its way; nothing is published any more.
func (l *Loader[T]) Close() {
	l.closed = true
	l.forget()
}

func (l *Loader[T]) forget() {
	l.generation++
	if l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
}

// Sequence runs what may wait for the disk away from the UI goroutine, one after the other, so that bringing back
// what was deleted comes after the deletion. Do is called from the UI goroutine.
type Sequence struct{ last chan struct{} }

// Do runs f after everything that was given before it.
func (s *Sequence) Do(f func()) {
	before, done := s.last, make(chan struct{})
	s.last = done
	go func() {
		defer close(done)
		if before != nil {
			<-before
		}
		f()
	}()
}

// Watch calls fn on the UI goroutine with the engine's state now and at every change. States that come faster than
// the UI takes them are skipped, not queued. stop ends it.
func Watch(e Engine, do func(func()), fn func(State)) (stop func()) {
	if do == nil {
		do = fyne.Do
	}
	w := &watch{do: do, fn: fn}
	cancel := e.Subscribe(w.put)
	fn(e.State())
	return func() {
		cancel()
		w.ended = true
	}
}
