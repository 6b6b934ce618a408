package chat

import (
	"sync"
	"time"
)

// drawEvery is the least time between two drawings of a growing answer: 20 a second. Where the UI goroutine is slow,
// as with a display drawn by the processor, drawing gives way to the engine: it takes a quarter of the time at most,
// down to four drawings a second.
const (
	drawEvery = 50 * time.Millisecond
	drawSlow  = 250 * time.Millisecond
)

// coalescer turns marks, which come as often as tokens, into calls of flush on the UI goroutine: at most one
// every drawEvery, never one while another waits for the UI, and always one after the last mark.
type coalescer struct {
	do    func(func())
	flush func()

	mu      sync.Mutex
	pending bool
	last    time.Time // of the last flush
	every   time.Duration
}

// mark says that something is new. It does not wait.
func (c *coalescer) mark() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending {
		return
	}
	c.pending = true
	time.AfterFunc(max(0, max(c.every, drawEvery)-time.Since(c.last)), c.fire)
}

func (c *coalescer) fire() {
	asked := time.Now()
	c.do(func() {
		now := time.Now()
		c.mu.Lock()
		c.pending, c.last = false, now
		c.every = min(4*now.Sub(asked), drawSlow)
		c.mu.Unlock()
		c.flush()
	})
}
