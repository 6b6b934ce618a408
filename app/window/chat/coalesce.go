package chat

import (
	"sync"
	"time"
)

// drawEvery is the least time between two drawings of a growing answer: 20 a second.
const drawEvery = 50 * time.Millisecond

// coalescer turns marks, which come as often as tokens, into calls of flush on the UI goroutine: at most one
// every drawEvery, never one while another waits for the UI, and always one after the last mark.
type coalescer struct {
	do    func(func())
	flush func()

	mu      sync.Mutex
	pending bool
	last    time.Time // of the last flush
}

// mark says that something is new. It does not wait.
func (c *coalescer) mark() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending {
		return
	}
	c.pending = true
	time.AfterFunc(max(0, drawEvery-time.Since(c.last)), c.fire)
}

func (c *coalescer) fire() {
	c.do(func() {
		c.mu.Lock()
		c.pending, c.last = false, time.Now()
		c.mu.Unlock()
		c.flush()
	})
}
