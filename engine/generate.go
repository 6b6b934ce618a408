package engine

import (
	"context"
	"iter"
	"sync"

	"ingot/engine/sched"
)

// Generate answers one request, event by event. Breaking out of the loop, or ending ctx, stops the generation within
// a batch; what was read stays cached, and when the loop has ended nothing of the request runs any more. Errors that
// are the request's fault wrap ErrBadRequest, ErrPromptTooLong, ErrNoTemplate or chat.ErrRefused. An error may come
// after part of an answer; Done then does not.
func (e *Engine) Generate(ctx context.Context, r Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		p, err := e.prepare(ctx, &r)
		if err != nil {
			yield(Event{}, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		a := newAnswer(e, &r, p)
		e.sched.Submit(&sched.Job{Ctx: ctx, Prompt: p.tokens, Keep: p.keep, Progress: a.progress, Best: a.best(), Next: a.next, Done: a.done})
		defer func() {
			cancel()
			a.out.wait()
		}()
		for {
			ev, err, ok := a.out.take()
			if !ok || !yield(ev, err) || err != nil {
				return
			}
		}
	}
}

// queue hands events from the scheduler to the consumer; a slow consumer never holds the scheduler up.
type queue struct {
	mu     sync.Mutex
	wake   *sync.Cond
	events []Event
	err    error
	closed bool
}

func newQueue() *queue {
	q := &queue{}
	q.wake = sync.NewCond(&q.mu)
	return q
}

func (q *queue) put(ev Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.events = append(q.events, ev)
	q.wake.Broadcast()
}

// close ends the stream, with an error or without.
func (q *queue) close(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.err, q.closed = err, true
	q.wake.Broadcast()
}

// take waits for the next event, or the error after the last; ok is false at the end.
func (q *queue) take() (ev Event, err error, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.events) == 0 && !q.closed {
		q.wake.Wait()
	}
	if len(q.events) > 0 {
		ev, q.events = q.events[0], q.events[1:]
		return ev, nil, true
	}
	err, q.err = q.err, nil
	return Event{}, err, err != nil
}

// wait returns when the stream has ended.
func (q *queue) wait() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed {
		q.wake.Wait()
	}
}
