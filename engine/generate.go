package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"ingot/engine/cache"
	"ingot/engine/chat"
	"ingot/engine/sample"
	"ingot/engine/sched"
)

// Generate answers one request, event by event. Breaking out of the loop, or ending ctx, stops the generation within
// a batch; what was read stays cached. Errors that are the request's fault wrap ErrBadRequest, ErrPromptTooLong,
// ErrNoTemplate or chat.ErrRefused.
func (e *Engine) Generate(ctx context.Context, r Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		p, err := e.prepare(&r)
		if err != nil {
			yield(Event{}, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		a := newAnswer(e, &r, p)
		e.sched.Submit(&sched.Job{Ctx: ctx, Prompt: p.tokens, Keep: p.keep, Progress: a.progress, Next: a.next, Done: a.done})
		for {
			ev, err, ok := a.out.take()
			if !ok {
				return
			}
			if err != nil {
				yield(Event{}, err)
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// prompt is a request's input, encoded.
type prompt struct {
	tokens []int32
	keep   []int // positions where messages end
	reader *chat.Reader
	shown  map[int32]bool // control tokens whose text the reader wants
	text   string         // of a raw prompt, for Echo
}

func (e *Engine) prepare(r *Request) (*prompt, error) {
	given := 0
	for _, set := range []bool{len(r.Messages) > 0, r.Text != "", len(r.Tokens) > 0} {
		if set {
			given++
		}
	}
	if given != 1 {
		return nil, fmt.Errorf("%w: exactly one of messages, text and tokens is needed", ErrBadRequest)
	}
	if err := r.Sampling.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	if r.MaxTokens < 0 {
		return nil, fmt.Errorf("%w: max tokens is %d", ErrBadRequest, r.MaxTokens)
	}
	p := &prompt{text: r.Text}
	var err error
	switch {
	case len(r.Messages) > 0:
		err = e.renderChat(r, p)
	case r.Text != "":
		p.tokens = e.withBOS(e.vocab.Encode(r.Text, false))
	default:
		p.tokens = r.Tokens
		for i, id := range r.Tokens {
			if id < 0 || int(id) >= e.info.Vocab {
				return nil, fmt.Errorf("%w: token %d at position %d is not in the vocabulary of %d", ErrBadRequest, id, i, e.info.Vocab)
			}
		}
		p.text = e.vocab.Decode(r.Tokens, false)
	}
	if err != nil {
		return nil, err
	}
	if len(p.tokens) == 0 {
		return nil, fmt.Errorf("%w: the prompt has no tokens", ErrBadRequest)
	}
	if n := len(p.tokens); n >= e.info.Context {
		return nil, fmt.Errorf("%w: the prompt has %d tokens, the context holds %d and one must be left for the answer", ErrPromptTooLong, n, e.info.Context)
	}
	return p, nil
}

func (e *Engine) withBOS(ids []int32) []int32 {
	if bos, ok := e.vocab.BOS(); ok && e.vocab.AddBOS() && (len(ids) == 0 || ids[0] != bos) {
		return append([]int32{bos}, ids...)
	}
	return ids
}

func (e *Engine) renderChat(r *Request, p *prompt) error {
	if e.template == nil {
		return fmt.Errorf("%w; ask for a plain completion instead", ErrNoTemplate)
	}
	text, err := e.template.Render(r.Prompt)
	if err != nil {
		return err
	}
	p.tokens = e.withBOS(e.vocab.Encode(text.Text, true))
	p.keep = e.positions(p.tokens, text.Boundaries)
	p.reader = e.template.Reader(text, r.Tools)
	p.shown = map[int32]bool{}
	for _, m := range e.template.Markers() {
		if id, ok := e.vocab.Lookup(m); ok {
			p.shown[id] = true
		}
	}
	return nil
}

// positions turns byte offsets in the prompt's text into token positions: the last token that ends at or before each.
// A tokenizer that adds or drops a space shifts them a little, which is harmless: any position may be kept.
func (e *Engine) positions(tokens []int32, offsets []int) []int {
	var at []int
	bytes, next := 0, 0
	for i, id := range tokens {
		if next == len(offsets) {
			break
		}
		bytes += len(e.vocab.Piece(id))
		for next < len(offsets) && bytes > offsets[next] {
			at = append(at, i)
			next++
		}
	}
	return at
}

// answer turns the tokens of one job into events. Its callbacks run on the scheduler's goroutine.
type answer struct {
	e       *Engine
	r       *Request
	p       *prompt
	sampler *sample.Sampler
	text    *textStream
	out     queue
	tokens  []int32
	usage   Usage
	result  Result
	calls   bool
}

func newAnswer(e *Engine, r *Request, p *prompt) *answer {
	a := &answer{e: e, r: r, p: p, sampler: sample.New(r.Sampling, e.info.Vocab)}
	a.out.wake = sync.NewCond(&a.out.mu)
	a.text = newTextStream(e.vocab, p.reader, p.shown, r.Stop)
	a.usage.Prompt = len(p.tokens)
	for _, id := range p.tokens {
		a.sampler.Accept(id)
	}
	if r.Echo && p.text != "" {
		a.out.put(Event{Text: p.text})
	}
	return a
}

func (a *answer) progress(cached, read int) {
	a.usage.Cached = cached
	a.out.put(Event{Prompt: &PromptProgress{Total: len(a.p.tokens), Cached: cached, Read: read}})
}

var errLogits = errors.New("the model gave no usable scores; the file may be damaged")

// next picks the token that follows, passes on its text and says whether to go on.
func (a *answer) next(logits []float32) (int32, bool) {
	for _, f := range a.r.Processors {
		f(a.tokens, logits)
	}
	info := TokenInfo{}
	var best []sample.IDLogprob
	var plain []float32
	if a.r.Logprobs != 0 {
		plain = append(plain, logits...) // Next changes them
	}
	id := a.sampler.Next(logits)
	if id < 0 {
		a.out.fail(errLogits)
		return 0, false
	}
	a.sampler.Accept(id)
	a.tokens = append(a.tokens, id)
	a.usage.Completion++
	if plain != nil {
		info.Logprob, best = sample.Logprobs(plain, id, max(a.r.Logprobs, 0))
		for _, c := range best {
			info.Top = append(info.Top, Candidate{ID: c.ID, Bytes: a.e.vocab.Piece(c.ID), Logprob: c.Logprob})
		}
	}
	if a.e.vocab.IsEOG(id) && !a.r.IgnoreEOS {
		a.result.Reason = FinishStop
		return 0, false
	}
	info.ID, info.Bytes = id, a.e.vocab.Piece(id)
	d, stop := a.text.push(id)
	ev := a.event(d)
	ev.Tokens = []TokenInfo{info}
	if a.text.thinking() {
		a.usage.Reasoning++
	}
	a.out.put(ev)
	switch {
	case stop != "":
		a.result.Reason, a.result.StopString = FinishStop, stop
		return 0, false
	case a.r.Until != nil && a.r.Until(a.tokens):
		a.result.Reason = FinishStop
		return 0, false
	case a.r.MaxTokens > 0 && len(a.tokens) >= a.r.MaxTokens:
		a.result.Reason = FinishLength
		return 0, false
	}
	return id, true
}

func (a *answer) event(d chat.Delta) Event {
	for i := range d.Calls {
		if d.Calls[i].ID == "" {
			d.Calls[i].ID = callID()
		}
		a.calls = true
	}
	return Event{Text: d.Text, Reasoning: d.Reasoning, ToolCalls: d.Calls}
}

// done ends the answer: what was held back comes out, then the result or the error.
func (a *answer) done(st sched.Stats, err error) {
	switch {
	case errors.Is(err, cache.ErrFull):
		a.result.Reason = FinishLength
	case errors.Is(err, sched.ErrClosed):
		a.out.fail(ErrClosed)
		return
	case err != nil:
		a.out.fail(err)
		return
	}
	if a.result.StopString == "" {
		if ev := a.event(a.text.flush()); ev.Text != "" || ev.Reasoning != "" || len(ev.ToolCalls) > 0 {
			a.out.put(ev)
		}
	}
	if a.calls && a.result.Reason == FinishStop {
		a.result.Reason = FinishTools
	}
	a.result.Usage = a.usage
	t := Timing{Queue: st.Queue, Prefill: st.Prefill, Decode: st.Decode}
	if s := st.Prefill.Seconds(); s > 0 {
		t.PrefillRate = float64(st.Read) / s
	}
	if s := st.Decode.Seconds(); s > 0 && st.Steps > 1 {
		t.DecodeRate = float64(st.Steps-1) / s
	}
	a.result.Timing = t
	a.out.put(Event{Done: &a.result})
	a.out.close()
}

// queue hands events from the scheduler to the consumer; a slow consumer never holds the scheduler up.
type queue struct {
	mu     sync.Mutex
	wake   *sync.Cond
	events []Event
	err    error
	closed bool
}

func (q *queue) put(ev Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.events = append(q.events, ev)
	q.wake.Signal()
}

// fail ends the stream with an error; the first one counts.
func (q *queue) fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.closed {
		q.err, q.closed = err, true
	}
	q.wake.Signal()
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake.Signal()
}

// take waits for the next event; ok is false at the end.
func (q *queue) take() (ev Event, err error, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.events) == 0 && !q.closed {
		q.wake.Wait()
	}
	if len(q.events) > 0 {
		ev = q.events[0]
		q.events = q.events[1:]
		return ev, nil, true
	}
	err, q.err = q.err, nil
	return Event{}, err, err != nil
}
