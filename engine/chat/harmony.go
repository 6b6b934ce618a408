package chat

import "strings"

// harmony reads the format of gpt-oss: parts of the form header <|message|> body <|end|>, where the header names
// a channel (analysis, commentary, final) and, for a tool call, a recipient.
// The format: https://cookbook.openai.com/articles/openai-harmony
type harmony struct {
	held    string
	header  string // of the part being read
	inBody  bool
	plain   bool // no header came: all is answer
	thought bool // a thought was written before
	wrote   bool // the current body has written
}

// harmonyFinal is the header of an answer's text, after <|start|>assistant.
const harmonyFinal = "<|channel|>final<|message|>"

func newHarmony(s state) *harmony {
	h := &harmony{}
	switch s {
	case inThought, thinking:
		h.inBody, h.header = true, "<|channel|>analysis"
	case inAnswer:
		h.inBody, h.header = true, "<|channel|>final"
	}
	return h
}

var harmonyEnds = []string{"<|end|>", "<|return|>", "<|call|>", "<|start|>"}

func (h *harmony) push(text string) Delta {
	h.held += text
	return h.drain(false)
}

func (h *harmony) flush() Delta { return h.drain(true) }

func (h *harmony) drain(final bool) (d Delta) {
	for {
		if h.plain {
			d.Text += h.held
			h.held = ""
			return d
		}
		if !h.inBody {
			if !startsHeader(skipSpace(h.held)) {
				h.plain = true
				continue
			}
			i := strings.Index(h.held, "<|message|>")
			if i < 0 {
				if final { // an answer cut off inside a header says nothing
					h.held = ""
				}
				return d
			}
			h.header = strings.TrimPrefix(skipSpace(h.held[:i]), "<|start|>assistant")
			h.held = h.held[i+len("<|message|>"):]
			h.inBody, h.wrote = true, false
		}
		name := h.recipient()
		i, mark := first(h.held, harmonyEnds)
		if i >= 0 {
			body := h.held[:i]
			h.held = h.held[i:]
			if mark != "<|start|>" {
				h.held = h.held[len(mark):]
			}
			h.inBody = false
			if name != "" {
				h.call(&d, name, body)
			} else {
				h.body(&d, body)
			}
			continue
		}
		if name != "" {
			if final {
				h.call(&d, name, h.held)
				h.held = ""
			}
			return d
		}
		n := len(h.held)
		if !final {
			n -= partial(h.held, harmonyEnds)
		}
		h.body(&d, h.held[:n])
		h.held = h.held[n:]
		return d
	}
}

// startsHeader tells whether t may be the start of a header.
func startsHeader(t string) bool {
	for _, s := range []string{"<|", "to=", "assistant<|"} {
		if strings.HasPrefix(t, s) || strings.HasPrefix(s, t) {
			return true
		}
	}
	return false
}

// body adds text of the current part.
func (h *harmony) body(d *Delta, text string) {
	if text == "" {
		return
	}
	if !strings.Contains(h.header, "<|channel|>analysis") {
		d.Text += text
		return
	}
	if h.thought && !h.wrote {
		d.Reasoning += "\n"
	}
	h.thought, h.wrote = true, true
	d.Reasoning += text
}

// recipient is the function that the current part calls, if any.
func (h *harmony) recipient() string {
	_, to, ok := strings.Cut(h.header, "to=")
	if !ok {
		return ""
	}
	if i := strings.IndexAny(to, " <\t\n"); i >= 0 {
		to = to[:i]
	}
	if to == "assistant" {
		return ""
	}
	return strings.TrimPrefix(to, "functions.")
}

// call adds a call whose arguments are whole; what is not JSON goes to the answer.
func (h *harmony) call(d *Delta, name, body string) {
	if arguments, ok := compactObject([]byte(body)); ok {
		d.Calls = append(d.Calls, ToolCall{Name: name, Arguments: arguments})
	} else {
		d.Text += body
	}
}
