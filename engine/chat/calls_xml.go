package chat

import "strings"

// xmlCalls are calls in tags, as Qwen3-Coder, Qwen3.5 and Nemotron 3 write them:
//
//	<tool_call>
//	<function=name>
//	<parameter=key>
//	value
//	</parameter>
//	</function>
//	</tool_call>
//
// A value is JSON or text as the tool's schema says. The outer tags may be missing.
type xmlCalls struct{}

const (
	xmlOpen      = "<tool_call>"
	xmlClose     = "</tool_call>"
	xmlFunction  = "<function="
	xmlParameter = "<parameter="
)

func (xmlCalls) markers() []string    { return []string{xmlOpen, xmlClose} }
func (xmlCalls) endThought() []string { return []string{xmlOpen} }

func (xmlCalls) find(s string, first bool) (int, int) { return findMark(s, xmlOpen, xmlFunction) }

func (xmlCalls) parse(s string, final bool, tools *toolSet) parsed {
	rest := s
	wrapped := strings.HasPrefix(rest, xmlOpen)
	if wrapped {
		rest = skipSpace(rest[len(xmlOpen):])
	}
	reject := parsed{n: 1}
	if wrapped {
		reject.n = len(xmlOpen)
	}
	if !strings.HasPrefix(rest, xmlFunction) {
		if strings.HasPrefix(xmlFunction, rest) && !final {
			return parsed{}
		}
		return reject
	}
	rest = rest[len(xmlFunction):]
	end := strings.IndexByte(rest, '>')
	if end < 0 {
		return needMore(rest, final, reject)
	}
	call := ToolCall{Name: strings.TrimSpace(rest[:end])}
	if call.Name == "" || strings.ContainsAny(call.Name, "\n<") {
		return reject
	}
	rest = rest[end+1:]
	var args argumentList
	for {
		rest = skipSpace(rest)
		if strings.HasPrefix(rest, "</function>") {
			rest = rest[len("</function>"):]
			break
		}
		if !strings.HasPrefix(rest, xmlParameter) {
			if strings.HasPrefix("</function>", rest) || strings.HasPrefix(xmlParameter, rest) {
				return needMore(rest, final, reject)
			}
			return reject
		}
		rest = rest[len(xmlParameter):]
		end := strings.IndexByte(rest, '>')
		if end < 0 {
			return needMore(rest, final, reject)
		}
		key := strings.TrimSpace(rest[:end])
		value, after, ok := taggedValue(rest[end+1:], xmlParameter, "</function>")
		if !ok {
			return needMore(rest, final, reject)
		}
		args.add(key, tools.value(call.Name, key, value))
		rest = after
	}
	call.Arguments = args.text()
	if wrapped {
		t := skipSpace(rest)
		switch {
		case strings.HasPrefix(t, xmlClose):
			rest = t[len(xmlClose):]
		case strings.HasPrefix(t, xmlFunction): // several functions in one wrapper
			return parsed{calls: []ToolCall{call}, n: len(s) - len(t)}
		case strings.HasPrefix(xmlClose, t) || strings.HasPrefix(xmlFunction, t):
			if !final {
				return parsed{}
			}
			rest = ""
		}
	} else if t := skipSpace(rest); strings.HasPrefix(t, xmlClose) {
		rest = t[len(xmlClose):]
	} else if !final && strings.HasPrefix(xmlClose, t) {
		return parsed{}
	}
	return parsed{calls: []ToolCall{call}, n: len(s) - len(rest)}
}

// taggedValue reads a parameter's value: up to the closing tag that is followed by another tag of the call, so that
// a value may speak of tags. One line break at either end is padding.
func taggedValue(s string, next ...string) (value, after string, ok bool) {
	const end = "</parameter>"
	for from := 0; ; {
		i := strings.Index(s[from:], end)
		if i < 0 {
			return "", "", false
		}
		at := from + i
		rest := skipSpace(s[at+len(end):])
		for _, tag := range next {
			if strings.HasPrefix(rest, tag) {
				return strings.TrimSuffix(strings.TrimPrefix(s[:at], "\n"), "\n"), rest, true
			}
			if strings.HasPrefix(tag, rest) {
				return "", "", false
			}
		}
		from = at + len(end)
	}
}

// needMore waits for text, or gives up at the end of the answer.
func needMore(rest string, final bool, reject parsed) parsed {
	if final {
		return reject
	}
	return parsed{}
}

func skipSpace(s string) string { return strings.TrimLeft(s, " \t\r\n") }
