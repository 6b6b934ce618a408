package chat

import (
	"regexp"
	"strings"
)

// llamaCalls are the calls of Llama 3.x: the answer is a JSON object {"name": ..., "parameters": {...}}, bare or
// after <|python_tag|>; several stand one after the other. A built-in tool is called as name.call(key="value").
type llamaCalls struct{}

const pythonTag = "<|python_tag|>"

func (llamaCalls) markers() []string    { return []string{pythonTag} }
func (llamaCalls) endThought() []string { return nil }

func (llamaCalls) find(s string, first bool) (int, int) {
	if first {
		if t := skipSpace(s); strings.HasPrefix(t, "{") {
			return len(s) - len(t), 0
		} else if t == "" {
			return -1, len(s)
		}
	}
	return findMark(s, pythonTag)
}

// callStart matches the start of a JSON call, or of what may become one.
var callStart = regexp.MustCompile(`^\{\s*("(name|type|function|parameters|arguments|id)"|"[a-z]{0,10}$|$)`)

var builtinCall = regexp.MustCompile(`^([A-Za-z_]\w*)\.call\(((?:\s*\w+\s*=\s*"(?:[^"\\]|\\.)*"\s*,?)*)\s*\)`)

var builtinArgument = regexp.MustCompile(`(\w+)\s*=\s*("(?:[^"\\]|\\.)*")`)

func (llamaCalls) parse(s string, final bool, tools *toolSet) parsed {
	rest := s
	tagged := strings.HasPrefix(rest, pythonTag)
	if tagged {
		rest = skipSpace(rest[len(pythonTag):])
	}
	reject := parsed{n: 1} // an answer that is some other JSON: after its first character nothing is a bare call
	if tagged {
		reject = parsed{n: len(s) - len(rest), drop: true} // code: its mark is no part of it
	}
	if rest == "" {
		return needMore(rest, final, reject)
	}
	if tagged && rest[0] != '{' {
		if m := builtinCall.FindStringSubmatch(rest); m != nil {
			var args argumentList
			for _, a := range builtinArgument.FindAllStringSubmatch(m[2], -1) {
				args.add(a[1], []byte(a[2]))
			}
			call := ToolCall{Name: m[1], Arguments: args.text()}
			if _, ok := compactObject([]byte(call.Arguments)); ok {
				return parsed{calls: []ToolCall{call}, n: len(s) - len(rest) + len(m[0])}
			}
			return reject
		}
		if strings.Contains(rest, "\n") || len(rest) > 64 && !strings.Contains(rest[:64], "(") {
			return reject // code
		}
		return needMore(rest, final, reject)
	}
	if !callStart.MatchString(rest) {
		return reject
	}
	end := jsonEnd(rest)
	if end <= 0 {
		return needMore(rest, final, reject)
	}
	call, ok := jsonCall([]byte(rest[:end]))
	if !ok || !tools.has(call.Name) {
		return reject
	}
	return parsed{calls: []ToolCall{call}, n: len(s) - len(rest) + end}
}
