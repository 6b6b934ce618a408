package chat

import (
	"encoding/json"
	"strings"
)

// jsonCall reads one call written as a JSON object: its name under "name" (or "tool_name"), its arguments under
// "arguments" or "parameters"; an object under "function" may hold both.
func jsonCall(raw []byte) (ToolCall, bool) {
	var c struct {
		Name       string
		ToolName   string          `json:"tool_name"`
		Function   json.RawMessage // an object, or a name
		Arguments  json.RawMessage
		Parameters json.RawMessage
		ID         json.RawMessage
		CallID     json.RawMessage `json:"tool_call_id"`
	}
	if json.Unmarshal(raw, &c) != nil {
		return ToolCall{}, false
	}
	if len(c.Function) > 0 && c.Function[0] == '{' {
		return jsonCall(c.Function)
	}
	call := ToolCall{Name: c.Name}
	if call.Name == "" {
		call.Name = c.ToolName
	}
	if call.Name == "" {
		_ = json.Unmarshal(c.Function, &call.Name)
	}
	if call.Name == "" {
		return ToolCall{}, false
	}
	arguments := c.Arguments
	if arguments == nil {
		arguments = c.Parameters
	}
	for _, id := range []json.RawMessage{c.ID, c.CallID} {
		if call.ID == "" && len(id) > 0 {
			if json.Unmarshal(id, &call.ID) != nil {
				call.ID = string(id)
			}
		}
	}
	var ok bool
	call.Arguments, ok = compactObject(arguments)
	return call, ok
}

// jsonCalls reads one call, or a list of calls.
func jsonCalls(raw []byte) ([]ToolCall, bool) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	var calls []ToolCall
	for _, raw := range list {
		c, ok := jsonCall(raw)
		if !ok {
			return nil, false
		}
		calls = append(calls, c)
	}
	return calls, len(calls) > 0
}

// jsonEnd returns where the JSON object or list at the start of s ends, 0 where it does not, -1 where s starts
// with something else.
func jsonEnd(s string) int {
	depth := 0
	inString, escaped := false, false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case inString:
			switch {
			case escaped:
				escaped = false
			case c == '\\':
				escaped = true
			case c == '"':
				inString = false
			}
		case c == '"':
			inString = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		if depth == 0 && i == 0 {
			return -1
		}
	}
	return 0
}

// wrappedCalls are JSON calls between two marks: Hermes, Qwen2.5 and Qwen3 (<tool_call>), Nemotron, Command.
type wrappedCalls struct{ open, close string }

func (w wrappedCalls) markers() []string    { return []string{w.open, w.close} }
func (w wrappedCalls) endThought() []string { return nil }

func (w wrappedCalls) find(s string, first bool) (int, int) { return findMark(s, w.open) }

func (w wrappedCalls) parse(s string, final bool, tools *toolSet) parsed {
	body := s[len(w.open):]
	for from := 0; ; {
		i := strings.Index(body[from:], w.close)
		if i < 0 {
			break
		}
		end := from + i
		if calls, ok := jsonCalls([]byte(body[:end])); ok {
			return parsed{calls: calls, n: len(w.open) + end + len(w.close)}
		}
		// The mark may stand inside a string of the arguments; then the JSON is not at its end.
		if jsonEnd(strings.TrimLeft(body[:end], " \t\r\n")) != 0 {
			return parsed{n: len(w.open)}
		}
		from = end + len(w.close)
	}
	if final {
		// Models leave the last mark out when the answer ends with the call.
		if calls, ok := jsonCalls([]byte(body)); ok {
			return parsed{calls: calls, n: len(s)}
		}
	}
	return parsed{}
}

// findMark finds a mark, or how much of its start ends s.
func findMark(s string, marks ...string) (int, int) {
	if i, _ := first(s, marks); i >= 0 {
		return i, 0
	}
	return -1, partial(s, marks)
}
