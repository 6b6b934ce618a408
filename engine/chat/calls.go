package chat

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Finding tool calls in an answer; each format is a file of its own.

// callFormat is one way in which models write tool calls.
type callFormat interface {
	// find returns where in s a call may begin, or -1 and how many bytes at the end of s may be the start of one.
	// first: nothing but white space was answered before s.
	find(s string, first bool) (at, hold int)
	// parse reads the calls at the start of s, where find pointed; final: no more text comes.
	parse(s string, final bool, tools *toolSet) parsed
	// markers lists the texts that calls are made of.
	markers() []string
	// endThought lists markers that, written inside a thought, end it.
	endThought() []string
}

// parsed is what parse found: calls in the first n bytes; or, with none, that the first n bytes are plain text, or,
// with drop, marks around calls that are no part of the answer; or, with n zero, that more text is needed.
type parsed struct {
	calls []ToolCall
	n     int
	drop  bool
}

// detectCalls chooses the format that a template mentions. Formats that look alike are tried from the most to the
// least particular.
func detectCalls(source string) callFormat {
	has := func(s string) bool { return strings.Contains(source, s) }
	switch {
	case has("<function=") && has("<parameter="):
		return xmlCalls{}
	case has("[TOOL_CALLS]"):
		return mistralCalls{}
	case has("<arg_key>"):
		return argKeyCalls{}
	case has("<tool_calls>["):
		return wrappedCalls{"<tool_calls>", "</tool_calls>"}
	case has("<tool_call>"):
		return wrappedCalls{"<tool_call>", "</tool_call>"}
	case has("<TOOLCALL>"):
		return wrappedCalls{"<TOOLCALL>", "</TOOLCALL>"}
	case has("<|START_ACTION|>"):
		return wrappedCalls{"<|START_ACTION|>", "<|END_ACTION|>"}
	case has(gemmaOpen):
		return gemmaCalls{}
	case has("<minimax:tool_call>"):
		return invokeCalls{}
	case has("<|tool_call_begin|>") && has("<|tool_call_argument_begin|>"):
		return kimiCalls
	case has("<｜tool▁call▁begin｜>"):
		return deepseekCalls
	case has("<|python_tag|>"), has(`{"name": function name, "parameters":`):
		return llamaCalls{}
	}
	return nil
}

// callReader finds calls in an answer's text. White space around calls is padding; around what only looked like
// one it stays.
type callReader struct {
	format callFormat
	tools  *toolSet
	held   string
	padded string // line breaks before held
	inCall bool   // held begins where find pointed
	began  bool   // text was answered
	called bool   // the last thing found was a call
}

// afterCall is what may stand between calls.
const afterCall = " \t\r\n;"

func (c *callReader) push(text string, final bool) (answer string, calls []ToolCall) {
	c.held += text
	for {
		if c.inCall {
			p := c.format.parse(c.held, final, c.tools)
			if p.n == 0 && !final {
				return answer, calls
			}
			if p.n == 0 {
				p.n = len(c.held)
			}
			if c.called = len(p.calls) > 0 || p.drop; !c.called {
				answer += c.padded + c.held[:p.n]
				c.began = true
			}
			calls = append(calls, p.calls...)
			c.held, c.padded, c.inCall = c.held[p.n:], "", false
			continue
		}
		if c.called {
			c.held = strings.TrimLeft(c.held, afterCall)
		}
		at, hold := c.format.find(c.held, !c.began)
		n := at
		if at < 0 {
			if n = len(c.held); !final {
				n -= hold
			}
		}
		// Line breaks wait until it is known what follows them.
		plain := c.padded + c.held[:n]
		c.held = c.held[n:]
		trimmed := strings.TrimRight(plain, lineBreaks)
		c.padded = plain[len(trimmed):]
		answer += trimmed
		if strings.TrimSpace(trimmed) != "" {
			c.began = true
		}
		if trimmed != "" {
			c.called = false
		}
		if at < 0 {
			if final {
				answer += c.padded
				c.padded = ""
			}
			return answer, calls
		}
		c.inCall = true
	}
}

// toolSet is what parsers need to know of the tools that were given.
type toolSet struct {
	params map[string]map[string]string // by tool and parameter: the schema's type; "" where it has none or several
}

func newToolSet(tools []json.RawMessage) *toolSet {
	set := &toolSet{params: map[string]map[string]string{}}
	for _, raw := range tools {
		type function struct {
			Name       string
			Parameters struct {
				Properties map[string]struct{ Type json.RawMessage }
			}
		}
		var tool struct {
			Function *function
			function
		}
		// A schema of an unusual shape loses its types, not its name.
		_ = json.Unmarshal(raw, &tool)
		fn := tool.Function
		if fn == nil {
			fn = &tool.function
		}
		if fn.Name == "" {
			continue
		}
		types := map[string]string{}
		for name, p := range fn.Parameters.Properties {
			var kind string
			if json.Unmarshal(p.Type, &kind) == nil {
				types[name] = kind
			}
		}
		set.params[fn.Name] = types
	}
	return set
}

func (t *toolSet) has(name string) bool { _, ok := t.params[name]; return ok }

// value turns the text of an argument into JSON: as its schema says, else JSON where it is some, else a string.
func (t *toolSet) value(tool, param, text string) json.RawMessage {
	kind := t.params[tool][param]
	trimmed := strings.TrimSpace(text)
	if kind != "string" {
		var b bytes.Buffer
		if json.Compact(&b, []byte(trimmed)) == nil && b.Len() > 0 {
			return b.Bytes()
		}
		switch trimmed { // models write Python's words too
		case "True":
			return json.RawMessage("true")
		case "False":
			return json.RawMessage("false")
		case "None":
			return json.RawMessage("null")
		}
	}
	return quoteJSON(text)
}

// quoteJSON writes a string without escaping what JSON lets stand.
func quoteJSON(s string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be written
	return bytes.TrimRight(b.Bytes(), "\n")
}

// argumentList builds the JSON text of an object, its keys in the order they are added.
type argumentList struct{ b []byte }

func (a *argumentList) add(key string, value json.RawMessage) {
	sep := byte(',')
	if len(a.b) == 0 {
		sep = '{'
	}
	a.b = append(a.b, sep)
	a.b = append(append(a.b, quoteJSON(key)...), ':')
	a.b = append(a.b, value...)
}

func (a *argumentList) text() string {
	if len(a.b) == 0 {
		return "{}"
	}
	return string(a.b) + "}"
}

// compactObject gives the text of a JSON object without white space; text that holds an object as a string is
// taken out of it.
func compactObject(raw []byte) (string, bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "{}", true
	}
	var s string
	if raw[0] == '"' && json.Unmarshal(raw, &s) == nil {
		raw = bytes.TrimSpace([]byte(s))
	}
	var b bytes.Buffer
	if len(raw) == 0 || raw[0] != '{' || json.Compact(&b, raw) != nil {
		return "", false
	}
	return b.String(), true
}
