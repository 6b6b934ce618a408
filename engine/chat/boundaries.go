package chat

import (
	"slices"

	"ingot/engine/chat/jinja"
)

// boundaries notes where messages end while a template renders them: nearly all do it in one loop that writes
// straight to the prompt, so the interpreter can say after each item how far the text has come.
type boundaries struct {
	index map[*jinja.Object]int
	start int   // where the first message that the loop wrote began; -1: none yet
	ends  []int // by message; 0: not written by a loop
}

func newBoundaries(messages []*jinja.Object) *boundaries {
	b := &boundaries{index: make(map[*jinja.Object]int, len(messages)), start: -1, ends: make([]int, len(messages))}
	for i, m := range messages {
		b.index[m] = i
	}
	return b
}

// item is jinja.Limits.Item. Loops that only look at messages write nothing and don't count.
func (b *boundaries) item(v jinja.Value, start, end int) {
	m, ok := v.(*jinja.Object)
	if !ok || end == start {
		return
	}
	i, ok := b.index[m]
	if !ok {
		return
	}
	b.ends[i] = end
	if b.start < 0 || start < b.start {
		b.start = start
	}
}

// list returns the offsets inside a text of n bytes; nil where no loop wrote a message.
func (b *boundaries) list(n int) []int {
	if b.start < 0 {
		return nil
	}
	var out []int
	for _, at := range append(b.ends, b.start) {
		if at > 0 && at <= n {
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// boundaries finds the boundaries of a rendered text: from the marks of its render, with the renders that templates
// of an unusual build need.
func (t *Template) boundaries(marks *boundaries, vars *jinja.Object, messages []*jinja.Object, text string) []int {
	out := marks.list(len(text))
	if out == nil {
		return t.prefixBoundaries(vars, messages, text)
	}
	if out[len(out)-1] < len(text) {
		return out
	}
	// The last message's turn of the loop wrote the opening of the answer too: find where that begins.
	if prefix, err := t.withoutOpening(vars, messages); err == nil {
		if at := commonPrefix(prefix, text); at > 0 && at < len(text) && !slices.Contains(out, at) {
			out = append(out, at)
			slices.Sort(out)
		}
	}
	return out
}

// prefixRenders bounds what prefixBoundaries spends.
const prefixRenders = 4

// prefixBoundaries is for templates that collect the prompt before writing it. It renders the conversation
// without its last messages: what the texts have in common ends where the message before ends.
func (t *Template) prefixBoundaries(vars *jinja.Object, messages []*jinja.Object, text string) []int {
	var out []int
	for n := len(messages); n > 0 && n > len(messages)-prefixRenders; n-- {
		prefix, err := t.withoutOpening(vars, messages[:n])
		if err != nil {
			continue
		}
		if at := commonPrefix(prefix, text); at > 0 {
			out = append(out, at)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// withoutOpening renders messages without the opening of an answer.
func (t *Template) withoutOpening(vars *jinja.Object, messages []*jinja.Object) (string, error) {
	vars = vars.Clone()
	vars.Set("messages", list(messages))
	vars.Set("add_generation_prompt", false)
	return t.main.Render(vars, jinja.Limits{})
}

// commonPrefix is the length of the longest common prefix that does not end inside a character.
func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && a[n]&0xC0 == 0x80 {
		n--
	}
	return n
}
