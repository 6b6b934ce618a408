package chat

import (
	"regexp"
	"strings"
)

// markedCalls are calls between marks, each a name and its JSON arguments, in a section that has marks of its own:
// Kimi K2 and DeepSeek.
type markedCalls struct {
	section, sectionEnd string
	call, sep, callEnd  string
	// ids: what stands before the separator is functions.NAME:N and serves as the call's id (Kimi).
	ids bool
}

var (
	kimiCalls = markedCalls{"<|tool_calls_section_begin|>", "<|tool_calls_section_end|>",
		"<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>", true}
	deepseekCalls = markedCalls{"<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>",
		"<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>", false}
)

func (m markedCalls) markers() []string {
	return []string{m.section, m.sectionEnd, m.call, m.sep, m.callEnd}
}
func (m markedCalls) endThought() []string { return nil }

func (m markedCalls) find(s string, first bool) (int, int) {
	return findMark(s, m.section, m.sectionEnd, m.call)
}

// fenced matches DeepSeek R1's form: the name, then the arguments in a fenced block.
var fenced = regexp.MustCompile("(?s)^([\\w.-]+)\\s*```json\\s*(.*?)\\s*(?:```)?\\s*$")

func (m markedCalls) parse(s string, final bool, tools *toolSet) parsed {
	for _, mark := range []string{m.section, m.sectionEnd} {
		if strings.HasPrefix(s, mark) {
			return parsed{n: len(mark), drop: true}
		}
	}
	reject := parsed{n: len(m.call)}
	body := s[len(m.call):]
	end := strings.Index(body, m.callEnd)
	if end < 0 {
		return needMore(body, final, reject)
	}
	head, arguments, ok := strings.Cut(body[:end], m.sep)
	if !ok {
		return reject
	}
	call := ToolCall{Name: strings.TrimSpace(head)}
	if m.ids {
		call.ID = call.Name
		call.Name = strings.TrimPrefix(call.Name, "functions.")
		if i := strings.LastIndexByte(call.Name, ':'); i >= 0 {
			call.Name = call.Name[:i]
		}
	} else if f := fenced.FindStringSubmatch(arguments); f != nil {
		call.Name, arguments = f[1], f[2]
	}
	if call.Arguments, ok = compactObject([]byte(arguments)); !ok || call.Name == "" {
		return reject
	}
	return parsed{calls: []ToolCall{call}, n: len(m.call) + end + len(m.callEnd)}
}
