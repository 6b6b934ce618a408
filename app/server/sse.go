package server

import (
	"net/http"
	"sync"
	"time"
)

// eventStream writes server-sent events. Nothing goes out before the first event or the first silent interval, so
// that a request which fails at once still gets its own status.
//
// close must be called before the handler returns: it ends the goroutine that keeps the connection alive.
type eventStream struct {
	control *http.ResponseController
	timeout time.Duration // for one write
	once    sync.Once
	quit    chan struct{}
	ended   chan struct{}

	mu     sync.Mutex
	w      http.ResponseWriter
	opened bool
	last   time.Time // of the last write
	err    error     // the first failed write; nothing is written after it
}

// newEventStream begins a stream; onDead is called once, from another goroutine, if a keep-alive cannot be written.
func newEventStream(w http.ResponseWriter, keepAlive, timeout time.Duration, onDead func()) *eventStream {
	s := &eventStream{control: http.NewResponseController(w), timeout: timeout, w: w, last: time.Now(),
		quit: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		tick := time.NewTicker(max(keepAlive/4, time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-tick.C:
				if s.comment(keepAlive) != nil {
					onDead()
					return
				}
			}
		}
	}()
	return s
}

// comment keeps proxies and clients from giving up on a stream that was silent for that long.
func (s *eventStream) comment(silent time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.last) < silent {
		return s.err
	}
	return s.write([]byte(": waiting\n\n"))
}

// send writes one event with v as JSON.
func (s *eventStream) send(v any) error {
	body, err := encode(v) // ends in a line break
	if err != nil {
		return err
	}
	return s.data(append(append([]byte("data: "), body...), '\n'))
}

// done writes the mark that ends an answer.
func (s *eventStream) done() error { return s.data([]byte("data: [DONE]\n\n")) }

func (s *eventStream) data(event []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(event)
}

// write sends bytes; the caller holds mu.
func (s *eventStream) write(p []byte) error {
	if s.err != nil {
		return s.err
	}
	if !s.opened {
		s.opened = true
		header := s.w.Header()
		header.Set("Content-Type", "text/event-stream; charset=utf-8")
		header.Set("Cache-Control", "no-cache")
		header.Set("X-Accel-Buffering", "no") // nginx would hold the pieces back
		s.w.WriteHeader(http.StatusOK)
	}
	s.last = time.Now()
	// A writer without deadlines, as in tests, is fine.
	_ = s.control.SetWriteDeadline(s.last.Add(s.timeout))
	if _, s.err = s.w.Write(p); s.err == nil {
		s.err = s.control.Flush()
	}
	return s.err
}

// began reports whether anything was sent.
func (s *eventStream) began() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// close ends the keep-alive; it may be called twice.
func (s *eventStream) close() {
	s.once.Do(func() { close(s.quit) })
	<-s.ended
}
