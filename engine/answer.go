package engine

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"runtime/debug"

	"ingot/engine/cache"
	"ingot/engine/chat"
	"ingot/engine/device"
	"ingot/engine/sample"
	"ingot/engine/sched"
)

// answer turns the tokens of one job into events. Its callbacks run on the scheduler's goroutine.
type answer struct {
	e       *Engine
	r       *Request
	p       *prompt
	sampler *sample.Sampler
	text    *textStream
	out     *queue
	tokens  []int32
	usage   Usage
	result  Result
	plain   []float32 // logits before sampling, where logprobs are wanted
	calls   bool      // the answer has tool calls
	err     error     // why next ended the answer, where it went wrong
}

func newAnswer(e *Engine, r *Request, p *prompt) *answer {
	a := &answer{e: e, r: r, p: p, out: newQueue(), sampler: sample.New(e.allowed(r.Sampling), e.info.Vocab)}
	a.text = newTextStream(e.vocab, p.reader, p.shown, r.Stop)
	a.usage.Prompt = len(p.tokens)
	for _, id := range p.tokens {
		a.sampler.Accept(id) // penalties count the prompt
	}
	if r.Echo && p.text != "" {
		a.out.put(Event{Text: p.text})
	}
	return a
}

// allowed adds the tokens that the model must never answer to those that the request turns down.
func (e *Engine) allowed(p sample.Params) sample.Params {
	never := e.vocab.Suppressed()
	if len(never) == 0 {
		return p
	}
	bias := make(map[int32]float32, len(p.LogitBias)+len(never))
	maps.Copy(bias, p.LogitBias)
	for _, id := range never {
		bias[id] = float32(math.Inf(-1))
	}
	p.LogitBias = bias
	return p
}

func (a *answer) progress(cached, read int) {
	a.usage.Cached = cached
	a.out.put(Event{Prompt: &PromptProgress{Total: len(a.p.tokens), Cached: cached, Read: read}})
}

var errLogits = errors.New("the model gave no usable scores; the file may be damaged")

// best is how many of the largest logits next can do with; 0: it needs all.
func (a *answer) best() int {
	if len(a.r.Processors) > 0 || a.sampler.Enough() == 0 {
		return 0
	}
	return max(a.sampler.Enough(), a.r.Logprobs)
}

// next picks the token that follows, passes on its text and says whether to go on.
func (a *answer) next(s device.Scores) (int32, bool) {
	for _, f := range a.r.Processors {
		f(a.tokens, s.Logits)
	}
	info := TokenInfo{}
	var id int32
	if s.IDs != nil {
		id = a.sampler.NextOf(s.Logits, s.IDs)
	} else {
		if a.r.Logprobs != 0 {
			a.plain = append(a.plain[:0], s.Logits...) // Next changes them
		}
		id = a.sampler.Next(s.Logits)
	}
	if id < 0 {
		a.err = errLogits
		return 0, false
	}
	a.sampler.Accept(id)
	a.tokens = append(a.tokens, id)
	a.usage.Completion++
	if a.r.Logprobs != 0 {
		var best []sample.IDLogprob
		if n := max(a.r.Logprobs, 0); s.IDs != nil {
			info.Logprob, best = sample.LogprobsOf(s.Logits, s.IDs, s.Log, id, n)
		} else {
			info.Logprob, best = sample.Logprobs(a.plain, id, n)
		}
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
	defer func() { // nobody else on this goroutine could, and the consumer waits
		if p := recover(); p != nil {
			a.out.close(fmt.Errorf("end of the answer: %v\n%s", p, debug.Stack()))
		}
	}()
	switch {
	case errors.Is(err, cache.ErrFull):
		a.result.Reason = FinishLength
	case errors.Is(err, sched.ErrClosed):
		a.err = ErrClosed
	case err != nil:
		a.err = err
	}
	if a.err != nil {
		a.out.close(a.err)
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
	a.out.close(nil)
}
