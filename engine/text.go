package engine

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"ingot/engine/chat"
	"ingot/engine/token"
)

// textStream turns tokens into text: whole characters, up to the first stop string, thoughts and calls apart.
type textStream struct {
	vocab  *token.Vocab
	stream *token.Stream
	reader *chat.Reader   // nil for raw prompts
	shown  map[int32]bool // control tokens whose text counts
	stop   []string
	held   string // text that may be the start of a stop string
	inside bool   // the last piece was thought
}

func newTextStream(v *token.Vocab, r *chat.Reader, shown map[int32]bool, stop []string) *textStream {
	t := &textStream{vocab: v, stream: v.NewStream(), reader: r, shown: shown}
	t.stream.Special = true // push drops those that are not wanted
	for _, s := range stop {
		if s != "" {
			t.stop = append(t.stop, s)
		}
	}
	return t
}

// push adds a token and returns what it completes, and the stop string that it completed, if any.
func (t *textStream) push(id int32) (d chat.Delta, stop string) {
	if t.vocab.IsControl(id) && !t.shown[id] {
		return chat.Delta{}, ""
	}
	return t.add(t.stream.Push(id))
}

func (t *textStream) add(text string) (d chat.Delta, stop string) {
	t.held += text
	end := len(t.held)
	for _, s := range t.stop {
		if i := strings.Index(t.held, s); i >= 0 && (i < end || i == end && len(s) > len(stop)) {
			end, stop = i, s
		}
	}
	if stop != "" {
		out := t.held[:end]
		t.held = ""
		d = t.read(out)
		rest := t.flushReader()
		d.Text, d.Reasoning, d.Calls = d.Text+rest.Text, d.Reasoning+rest.Reasoning, append(d.Calls, rest.Calls...)
		return d, stop
	}
	keep := 0
	for _, s := range t.stop {
		for n := min(len(s)-1, len(t.held)); n > keep; n-- {
			if strings.HasSuffix(t.held, s[:n]) {
				keep = n
			}
		}
	}
	out := t.held[:len(t.held)-keep]
	t.held = t.held[len(out):]
	return t.read(out), ""
}

func (t *textStream) read(text string) chat.Delta {
	if t.reader == nil || text == "" {
		return chat.Delta{Text: text}
	}
	d := t.reader.Push(text)
	if d.Reasoning != "" {
		t.inside = true
	}
	if d.Text != "" || len(d.Calls) > 0 {
		t.inside = false
	}
	return d
}

// thinking tells whether the answer is inside a thought.
func (t *textStream) thinking() bool { return t.inside }

func (t *textStream) flushReader() chat.Delta {
	if t.reader == nil {
		return chat.Delta{}
	}
	return t.reader.Flush()
}

// flush returns what was held back, at the end.
func (t *textStream) flush() chat.Delta {
	d := t.read(t.held + t.stream.Flush())
	t.held = ""
	rest := t.flushReader()
	d.Text, d.Reasoning, d.Calls = d.Text+rest.Text, d.Reasoning+rest.Reasoning, append(d.Calls, rest.Calls...)
	return d
}

// callID is a fresh name for a tool call, as clients expect one.
func callID() string {
	var b [8]byte
	rand.Read(b[:])
	return "call_" + hex.EncodeToString(b[:])
}
