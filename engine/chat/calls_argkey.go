package chat

import "strings"

// argKeyCalls are the calls of GLM 4.5 and later:
//
//	<tool_call>name
//	<arg_key>key</arg_key>
//	<arg_value>value</arg_value>
//	</tool_call>
type argKeyCalls struct{}

func (argKeyCalls) markers() []string {
	return []string{xmlOpen, xmlClose, "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>"}
}
func (argKeyCalls) endThought() []string { return []string{xmlOpen} }

func (argKeyCalls) find(s string, first bool) (int, int) { return findMark(s, xmlOpen) }

func (argKeyCalls) parse(s string, final bool, tools *toolSet) parsed {
	rest := s[len(xmlOpen):]
	reject := parsed{n: len(xmlOpen)}
	end := strings.IndexByte(rest, '<')
	if end < 0 {
		return needMore(rest, final, reject)
	}
	call := ToolCall{Name: strings.TrimSpace(rest[:end])}
	if call.Name == "" || strings.ContainsAny(call.Name, " \n") {
		return reject
	}
	rest = rest[end:]
	var args argumentList
	for {
		rest = skipSpace(rest)
		if strings.HasPrefix(rest, xmlClose) {
			call.Arguments = args.text()
			return parsed{calls: []ToolCall{call}, n: len(s) - len(rest) + len(xmlClose)}
		}
		key, after, ok := between(rest, "<arg_key>", "</arg_key>")
		if !ok {
			if strings.HasPrefix(rest, "<arg_key>") || strings.HasPrefix("<arg_key>", rest) || strings.HasPrefix(xmlClose, rest) {
				return needMore(rest, final, reject)
			}
			return reject
		}
		after = skipSpace(after)
		value, after2, ok := between(after, "<arg_value>", "</arg_value>")
		if !ok {
			if strings.HasPrefix(after, "<arg_value>") || strings.HasPrefix("<arg_value>", after) {
				return needMore(after, final, reject)
			}
			return reject
		}
		key = strings.TrimSpace(key)
		args.add(key, tools.value(call.Name, key, value))
		rest = after2
	}
}

// between takes the text between two marks at the start of s.
func between(s, open, end string) (text, after string, ok bool) {
	if !strings.HasPrefix(s, open) {
		return "", "", false
	}
	return strings.Cut(s[len(open):], end)
}
