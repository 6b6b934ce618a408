// Package feed tells listeners that something changed: conversations, the library and the settings use it to keep
// a window up to date.
package feed

import (
	"slices"
	"sync"
)

// Of is a source of values of one type. Its zero value works. It is safe for concurrent use.
type Of[T any] struct {
	mu   sync.Mutex
	subs []*func(T)
}

// Subscribe has fn called for every value sent from now on, until cancel. fn runs in the sender's goroutine, with
// no lock held, so it must not block; it may run once more while cancel returns.
func (f *Of[T]) Subscribe(fn func(T)) (cancel func()) {
	sub := &fn
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subs = append(f.subs, sub)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.subs = slices.DeleteFunc(slices.Clone(f.subs), func(s *func(T)) bool { return s == sub })
	}
}

// Send calls every listener, in the order they subscribed.
func (f *Of[T]) Send(v T) {
	f.mu.Lock()
	subs := f.subs[:len(f.subs):len(f.subs)]
	f.mu.Unlock()
	for _, s := range subs {
		(*s)(v)
	}
}
