package chat

import (
	"regexp"
	"strings"
)

// mistralCalls are the calls of Mistral's models after [TOOL_CALLS]: a JSON list of calls, or, since the 2506
// models, name[ARGS]{...} with an optional [CALL_ID]id, each with its own [TOOL_CALLS] or not.
type mistralCalls struct{}

const mistralMark = "[TOOL_CALLS]"

func (mistralCalls) markers() []string    { return []string{mistralMark, "[ARGS]", "[CALL_ID]"} }
func (mistralCalls) endThought() []string { return nil }

func (mistralCalls) find(s string, first bool) (int, int) { return findMark(s, mistralMark) }

var mistralName = regexp.MustCompile(`^([\w.-]+)(?:\[CALL_ID\](\w*))?\s*(?:\[ARGS\])?\s*`)

func (mistralCalls) parse(s string, final bool, tools *toolSet) parsed {
	rest := skipSpace(s[len(mistralMark):])
	reject := parsed{n: len(mistralMark)}
	if rest == "" {
		return needMore(rest, final, reject)
	}
	if rest[0] == '[' || rest[0] == '{' {
		end := jsonEnd(rest)
		if end <= 0 {
			return needMore(rest, final, reject)
		}
		calls, ok := jsonCalls([]byte(rest[:end]))
		if !ok {
			return reject
		}
		return parsed{calls: calls, n: len(s) - len(rest) + end}
	}
	m := mistralName.FindStringSubmatch(rest)
	if m == nil {
		return reject
	}
	body := rest[len(m[0]):]
	if body == "" || strings.HasPrefix("[CALL_ID]", body) || strings.HasPrefix("[ARGS]", body) {
		return needMore(body, final, reject)
	}
	if body[0] != '{' {
		return reject
	}
	end := jsonEnd(body)
	if end <= 0 {
		return needMore(body, final, reject)
	}
	arguments, ok := compactObject([]byte(body[:end]))
	if !ok {
		return reject
	}
	return parsed{calls: []ToolCall{{ID: m[2], Name: m[1], Arguments: arguments}}, n: len(s) - len(body) + end}
}
