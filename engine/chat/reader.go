package chat

import "encoding/json"

// Delta is what a piece of an answer turned out to be.
type Delta struct {
	Reasoning string
	Text      string
	Calls     []ToolCall // complete ones; ID is empty where the model gives none
}

// Reader takes an answer apart as it streams: thoughts, text, tool calls.
type Reader struct {
	split *Splitter
	calls *callReader // nil: no tools were given, or the way this model calls them is not known
}

// Reader returns a reader for the answer to a prompt. Calls are looked for only where tools were given.
func (t *Template) Reader(r Rendered, tools []json.RawMessage) *Reader {
	if t.withTools != nil && len(tools) > 0 {
		t = t.withTools
	}
	out := &Reader{}
	var ends []string
	if t.calls != nil && len(tools) > 0 {
		out.calls = &callReader{format: t.calls, tools: newToolSet(tools)}
		ends = t.calls.endThought()
	}
	out.split = newSplitter(r.start, t.tags, ends...)
	return out
}

// Push takes the next piece of the answer.
func (r *Reader) Push(text string) Delta {
	if h := r.split.harmony; h != nil {
		return h.push(text)
	}
	var d Delta
	var answer string
	d.Reasoning, answer = r.split.Push(text)
	if r.calls == nil {
		d.Text = answer
	} else {
		d.Text, d.Calls = r.calls.push(answer, false)
	}
	return d
}

// Flush returns what was held back, at the end of the answer.
func (r *Reader) Flush() Delta {
	if h := r.split.harmony; h != nil {
		return h.flush()
	}
	var d Delta
	var answer string
	d.Reasoning, answer = r.split.Flush()
	if r.calls == nil {
		d.Text = answer
	} else {
		d.Text, d.Calls = r.calls.push(answer, true)
	}
	return d
}
