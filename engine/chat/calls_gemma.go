package chat

import (
	"encoding/json"
	"strings"
)

// gemmaCalls are the calls of Gemma 4: objects whose keys are bare and whose strings stand between marks of their own.
//
//	<|tool_call>call:name{key:<|"|>text<|"|>,other:[1,{deep:true}]}<tool_call|>
type gemmaCalls struct{}

const (
	gemmaOpen  = "<|tool_call>"
	gemmaClose = "<tool_call|>"
	gemmaName  = "call:"
	gemmaQuote = `<|"|>`
	gemmaDepth = 64 // of objects and lists in one another
)

func (gemmaCalls) markers() []string    { return []string{gemmaOpen, gemmaClose, gemmaQuote} }
func (gemmaCalls) endThought() []string { return []string{gemmaOpen} }

func (gemmaCalls) find(s string, first bool) (int, int) { return findMark(s, gemmaOpen) }

func (gemmaCalls) parse(s string, final bool, tools *toolSet) parsed {
	reject := parsed{n: len(gemmaOpen)}
	rest := s[len(gemmaOpen):]
	if !strings.HasPrefix(rest, gemmaName) {
		if strings.HasPrefix(gemmaName, rest) {
			return needMore(rest, final, reject)
		}
		return reject
	}
	name, _, ok := strings.Cut(rest[len(gemmaName):], "{")
	if name == "" && ok || strings.ContainsAny(name, " \n<") {
		return reject
	}
	if !ok {
		return needMore(rest, final, reject)
	}
	r := gemmaReader{s: rest[len(gemmaName)+len(name):], bare: func(key, text string) json.RawMessage { return tools.value(name, key, text) }}
	arguments, ok := r.object(0)
	if !ok {
		if r.short {
			return needMore(rest, final, reject)
		}
		return reject
	}
	call := parsed{calls: []ToolCall{{Name: name, Arguments: string(arguments)}}}
	r.s = skipSpace(r.s)
	switch {
	case strings.HasPrefix(r.s, gemmaClose):
		r.s = r.s[len(gemmaClose):]
	case strings.HasPrefix(gemmaClose, r.s):
		if !final {
			return parsed{}
		}
		r.s = ""
	}
	call.n = len(s) - len(r.s)
	return call
}

// gemmaReader reads values from the start of s.
type gemmaReader struct {
	s     string
	short bool                                   // s ended within a value
	bare  func(key, text string) json.RawMessage // an argument without marks, by the tool's schema
}

// take drops a mark at the start of s, after white space.
func (r *gemmaReader) take(mark string) bool {
	r.s = skipSpace(r.s)
	rest, ok := strings.CutPrefix(r.s, mark)
	if ok {
		r.s = rest
	} else if strings.HasPrefix(mark, r.s) {
		r.short = true
	}
	return ok
}

// until takes what stands before the first of some characters.
func (r *gemmaReader) until(chars string) (string, bool) {
	i := strings.IndexAny(r.s, chars)
	if i < 0 {
		r.short = true
		return "", false
	}
	text := r.s[:i]
	r.s = r.s[i:]
	return strings.TrimSpace(text), true
}

// quoted takes a string between marks, the first of which is gone.
func (r *gemmaReader) quoted() (string, bool) {
	text, rest, ok := strings.Cut(r.s, gemmaQuote)
	if !ok {
		r.short = true
		return "", false
	}
	r.s = rest
	return text, true
}

func (r *gemmaReader) object(depth int) (json.RawMessage, bool) {
	if !r.take("{") || depth > gemmaDepth {
		return nil, false
	}
	var list argumentList
	for first := true; !r.take("}"); first = false {
		if r.short || !first && !r.take(",") {
			return nil, false
		}
		var key string
		ok := false
		if r.take(gemmaQuote) {
			key, ok = r.quoted()
		} else if !r.short {
			key, ok = r.until(":,{}[]")
		}
		if !ok || !r.take(":") {
			return nil, false
		}
		v, ok := r.value(key, depth)
		if !ok {
			return nil, false
		}
		list.add(key, v)
	}
	return json.RawMessage(list.text()), true
}

func (r *gemmaReader) list(depth int) (json.RawMessage, bool) {
	if !r.take("[") || depth > gemmaDepth {
		return nil, false
	}
	out := []byte{'['}
	for first := true; !r.take("]"); first = false {
		if r.short || !first && !r.take(",") {
			return nil, false
		}
		v, ok := r.value("", depth)
		if !ok {
			return nil, false
		}
		if !first {
			out = append(out, ',')
		}
		out = append(out, v...)
	}
	return append(out, ']'), true
}

// value reads what belongs to a key of an object at that depth, or to a list.
func (r *gemmaReader) value(key string, depth int) (json.RawMessage, bool) {
	switch r.s = skipSpace(r.s); {
	case r.take(gemmaQuote):
		text, ok := r.quoted()
		return quoteJSON(text), ok
	case r.short:
		return nil, false
	case r.s[0] == '{':
		return r.object(depth + 1)
	case r.s[0] == '[':
		return r.list(depth + 1)
	}
	text, ok := r.until(",}]")
	if !ok {
		return nil, false
	}
	if depth > 0 { // the schema says nothing of what lies deeper
		key = ""
	}
	return r.bare(key, text), true
}
