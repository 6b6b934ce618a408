package chat

import "strings"

// invokeCalls are the calls of MiniMax M2:
//
//	<minimax:tool_call>
//	<invoke name="name">
//	<parameter name="key">value</parameter>
//	</invoke>
//	</minimax:tool_call>
type invokeCalls struct{}

const (
	invokeSection    = "<minimax:tool_call>"
	invokeSectionEnd = "</minimax:tool_call>"
	invokeOpen       = `<invoke name="`
	invokeParameter  = `<parameter name="`
	invokeClose      = "</invoke>"
)

func (invokeCalls) markers() []string    { return []string{invokeSection, invokeSectionEnd} }
func (invokeCalls) endThought() []string { return []string{invokeSection} }

func (invokeCalls) find(s string, first bool) (int, int) {
	return findMark(s, invokeSection, invokeSectionEnd, invokeOpen)
}

func (invokeCalls) parse(s string, final bool, tools *toolSet) parsed {
	for _, mark := range []string{invokeSection, invokeSectionEnd} {
		if strings.HasPrefix(s, mark) {
			return parsed{n: len(mark), drop: true}
		}
	}
	reject := parsed{n: len(invokeOpen)}
	name, rest, ok := strings.Cut(s[len(invokeOpen):], `">`)
	if !ok {
		return needMore(s, final, reject)
	}
	if name == "" || strings.ContainsAny(name, "\n<\"") {
		return reject
	}
	call := ToolCall{Name: name}
	var args argumentList
	for {
		rest = skipSpace(rest)
		if strings.HasPrefix(rest, invokeClose) {
			call.Arguments = args.text()
			return parsed{calls: []ToolCall{call}, n: len(s) - len(rest) + len(invokeClose)}
		}
		if !strings.HasPrefix(rest, invokeParameter) {
			if strings.HasPrefix(invokeParameter, rest) || strings.HasPrefix(invokeClose, rest) {
				return needMore(rest, final, reject)
			}
			return reject
		}
		key, body, ok := strings.Cut(rest[len(invokeParameter):], `">`)
		if !ok {
			return needMore(rest, final, reject)
		}
		value, after, ok := taggedValue(body, invokeParameter, invokeClose)
		if !ok {
			return needMore(body, final, reject)
		}
		args.add(key, tools.value(name, key, value))
		rest = after
	}
}
