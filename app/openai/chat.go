package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"ingot/engine"
	"ingot/engine/chat"
)

// ChatRequest is the body of POST /v1/chat/completions.
type ChatRequest struct {
	Model    string            `json:"model"`
	Messages []Message         `json:"messages"`
	Tools    []json.RawMessage `json:"tools,omitempty"`       // as sent, key order kept: templates print them
	Choice   string            `json:"tool_choice,omitempty"` // auto or none
	Generation
	Logprobs    bool `json:"logprobs,omitempty"`
	TopLogprobs int  `json:"top_logprobs,omitempty"`
	// Reasoning is auto, on or off; it wins over chat_template_kwargs.enable_thinking, which wins over
	// reasoning_effort (none: off, any other: on).
	Reasoning       string `json:"reasoning,omitempty"`
	ReasoningEffort string `json:"reasoning_effort,omitempty"`
	// TemplateArgs is an object of further template variables.
	TemplateArgs json.RawMessage `json:"chat_template_kwargs,omitempty"`
	// ContinueFinal goes on from the last message, which must be an assistant's.
	ContinueFinal bool `json:"continue_final_message,omitempty"`
}

// Message is one turn as a client sends it.
type Message struct {
	Role             string     `json:"role"`
	Content          string     `json:"content"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	Name             string     `json:"name,omitempty"`
	ToolCalls        []ToolCall `json:"tool_calls,omitempty"`
	ToolCallID       string     `json:"tool_call_id,omitempty"`
}

// ToolCall is a call in a message, or a piece of one in a delta, where Index says of which call.
type ToolCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function FunctionCall `json:"function"`
}

// FunctionCall names the function; Arguments is the JSON text of an object, or the next piece of it in a delta.
type FunctionCall struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

// ParseChat reads a chat request. Its errors are *Error, status 400, and name the field.
func ParseChat(body []byte) (*ChatRequest, error) {
	o, bad := parseBody(body)
	if bad != nil {
		return nil, bad
	}
	r := &ChatRequest{
		Model:           o.text("model"),
		Generation:      readGeneration(o),
		Logprobs:        o.flag("logprobs"),
		ContinueFinal:   o.flag("continue_final_message"),
		ReasoningEffort: o.text("reasoning_effort"),
		Reasoning:       o.text("reasoning"),
	}
	r.readMessages(o)
	r.readTools(o)
	r.readReasoning(o)
	if n := o.integer("top_logprobs", 0, MaxTopLogprob); n != nil {
		r.TopLogprobs = int(*n)
		if *n > 0 && !r.Logprobs {
			o.fail("top_logprobs", "needs logprobs to be true")
		}
	}
	if format := o.child("response_format"); format != nil {
		if t := format.text("type"); t != "text" && format.err == nil {
			o.fail("response_format", "only type \"text\" is supported for now, got %q", t)
		}
		o.adopt(format.err)
	}
	if r.ContinueFinal && len(r.Messages) > 0 {
		if last := r.Messages[len(r.Messages)-1]; last.Role != "assistant" {
			o.fail("continue_final_message", "the last message must be an assistant's, not of role %q", last.Role)
		}
	}
	if o.err != nil {
		return nil, o.err
	}
	return r, nil
}

func (r *ChatRequest) readMessages(o *object) {
	items := o.list("messages")
	if len(items) == 0 {
		o.fail("messages", "at least one message is needed")
	}
	for i, item := range items {
		m, err := parseObject(fmt.Sprintf("messages[%d]", i), item)
		if err != nil {
			o.adopt(err)
			return
		}
		message := Message{
			Role:             m.text("role"),
			ReasoningContent: m.text("reasoning_content"),
			Name:             m.text("name"),
			ToolCallID:       m.text("tool_call_id"),
			ToolCalls:        readToolCalls(m),
		}
		switch message.Role {
		case "":
			m.fail("role", "missing")
		case "developer":
			message.Role = "system" // OpenAI's newer name; templates know the older one
		}
		message.Content = readContent(m, message)
		o.adopt(m.err)
		r.Messages = append(r.Messages, message)
	}
}

// readContent takes a string or an array of text parts, which are joined by line breaks as llama-server does.
func readContent(m *object, message Message) string {
	value := m.raw("content")
	switch kind(value) {
	case "a string":
		return unquote(value)
	case "nothing":
		if message.Role != "assistant" && message.Role != "tool" {
			m.fail("content", "missing")
		}
		return ""
	case "an array":
	default:
		m.fail("content", "must be a string or an array of parts, not %s", kind(value))
		return ""
	}
	var texts []string
	for i, item := range elements(value) {
		part, err := parseObject(fmt.Sprintf("%s[%d]", m.at("content"), i), item)
		if err != nil {
			m.adopt(err)
			return ""
		}
		switch t := part.text("type"); t {
		case "text", "input_text", "output_text":
			texts = append(texts, part.text("text"))
		case "refusal":
			texts = append(texts, part.text("refusal"))
		default:
			part.fail("type", "this server reads text only, it cannot take a part of type %q", t)
		}
		m.adopt(part.err)
	}
	return strings.Join(texts, "\n")
}

func readToolCalls(m *object) []ToolCall {
	var calls []ToolCall
	for i, item := range m.list("tool_calls") {
		o, err := parseObject(fmt.Sprintf("%s[%d]", m.at("tool_calls"), i), item)
		if err != nil {
			m.adopt(err)
			return nil
		}
		call := ToolCall{ID: o.text("id"), Type: "function"}
		if f := o.child("function"); f != nil {
			call.Function.Name = f.text("name")
			if call.Function.Name == "" {
				f.fail("name", "missing")
			}
			// Arguments are JSON text; some clients send the object itself.
			switch value := f.raw("arguments"); kind(value) {
			case "a string":
				call.Function.Arguments = unquote(value)
			case "an object":
				call.Function.Arguments = string(value)
			case "nothing":
			default:
				f.fail("arguments", "must be a string of JSON, not %s", kind(value))
			}
			if strings.TrimSpace(call.Function.Arguments) == "" {
				call.Function.Arguments = "{}"
			}
			o.adopt(f.err)
		} else {
			o.fail("function", "missing")
		}
		m.adopt(o.err)
		calls = append(calls, call)
	}
	return calls
}

func (r *ChatRequest) readTools(o *object) {
	for i, item := range o.list("tools") {
		tool, err := parseObject(fmt.Sprintf("tools[%d]", i), item)
		if err != nil {
			o.adopt(err)
			return
		}
		if t := tool.text("type"); t != "" && t != "function" {
			tool.fail("type", "only functions are supported, got %q", t)
		}
		if f := tool.child("function"); f == nil {
			tool.fail("function", "missing")
		} else if f.text("name") == "" {
			f.fail("name", "missing")
			tool.adopt(f.err)
		}
		o.adopt(tool.err)
		r.Tools = append(r.Tools, item)
	}
	switch value := o.raw("tool_choice"); kind(value) {
	case "nothing":
	case "a string":
		switch r.Choice = unquote(value); r.Choice {
		case "auto", "none":
		case "required":
			o.fail("tool_choice", "a call cannot be forced yet, use \"auto\" or \"none\"")
		default:
			o.fail("tool_choice", "must be \"auto\" or \"none\", got %q", r.Choice)
		}
	case "an object":
		o.fail("tool_choice", "a named function cannot be forced yet, use \"auto\" or \"none\"")
	default:
		o.fail("tool_choice", "must be a string or an object, not %s", kind(value))
	}
	for _, old := range []string{"functions", "function_call"} {
		if o.raw(old) != nil {
			o.fail(old, "no longer used, send tools and tool_choice")
		}
	}
}

func (r *ChatRequest) readReasoning(o *object) {
	switch r.Reasoning {
	case "", "auto", "on", "off":
	default:
		o.fail("reasoning", "must be \"auto\", \"on\" or \"off\", got %q", r.Reasoning)
	}
	switch r.ReasoningEffort {
	case "", "none", "minimal", "low", "medium", "high", "xhigh", "max":
	default:
		o.fail("reasoning_effort", "must be one of none, minimal, low, medium, high, xhigh, max, got %q", r.ReasoningEffort)
	}
	if args := o.child("chat_template_kwargs"); args != nil {
		args.flag("enable_thinking")
		o.adopt(args.err)
		r.TemplateArgs = o.raw("chat_template_kwargs")
	}
}

// Engine turns the request into the engine's, with the server's defaults where it is silent.
func (r *ChatRequest) Engine(s Serving) (engine.Request, error) {
	out := engine.Request{Logprobs: wantedLogprobs(r.Logprobs, r.TopLogprobs)}
	if err := r.Generation.fill(&out, s); err != nil {
		return engine.Request{}, err
	}
	for _, m := range r.Messages {
		message := chat.Message{
			Role: m.Role, Content: m.Content, Reasoning: m.ReasoningContent, Name: m.Name, ToolCallID: m.ToolCallID,
		}
		for _, call := range m.ToolCalls {
			message.ToolCalls = append(message.ToolCalls,
				chat.ToolCall{ID: call.ID, Name: call.Function.Name, Arguments: call.Function.Arguments})
		}
		out.Messages = append(out.Messages, message)
	}
	if r.Choice != "none" {
		out.Tools = r.Tools
	}
	out.Continue = r.ContinueFinal
	out.Reasoning, out.Extra = r.reasoning()
	return out, nil
}

// reasoning settles the three ways to ask for thoughts; enable_thinking leaves the template variables, since
// the engine sets it from the result. reasoning_effort stays visible to templates that read it.
func (r *ChatRequest) reasoning() (chat.Reasoning, json.RawMessage) {
	mode := chat.ReasoningAuto
	switch r.ReasoningEffort {
	case "":
	case "none":
		mode = chat.ReasoningOff
	default:
		mode = chat.ReasoningOn
	}
	args, thinking := liftThinking(r.TemplateArgs, r.ReasoningEffort)
	if thinking != "" {
		mode = thinking
	}
	switch r.Reasoning {
	case "auto":
		mode = chat.ReasoningAuto
	case "on":
		mode = chat.ReasoningOn
	case "off":
		mode = chat.ReasoningOff
	}
	return mode, args
}

// liftThinking takes enable_thinking out of an object and adds reasoning_effort, keeping the keys' order.
func liftThinking(args json.RawMessage, effort string) (json.RawMessage, chat.Reasoning) {
	var out bytes.Buffer
	var mode chat.Reasoning
	hasEffort := false
	add := func(name string, value []byte) {
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		key, _ := json.Marshal(name)
		out.Write(key)
		out.WriteByte(':')
		out.Write(value)
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	if _, err := dec.Token(); err == nil {
		for dec.More() {
			token, _ := dec.Token()
			name, _ := token.(string)
			var value json.RawMessage
			if dec.Decode(&value) != nil {
				break
			}
			switch {
			case name == "enable_thinking" && string(value) == "true":
				mode = chat.ReasoningOn
			case name == "enable_thinking" && string(value) == "false":
				mode = chat.ReasoningOff
			case name == "enable_thinking":
			default:
				hasEffort = hasEffort || name == "reasoning_effort"
				add(name, value)
			}
		}
	}
	if effort != "" && !hasEffort {
		value, _ := json.Marshal(effort)
		add("reasoning_effort", value)
	}
	if out.Len() == 0 {
		return nil, mode
	}
	return json.RawMessage("{" + out.String() + "}"), mode
}

// wantedLogprobs is the engine's way to say it: 0 none, -1 only the chosen token's, else that many candidates.
func wantedLogprobs(asked bool, top int) int {
	switch {
	case !asked:
		return 0
	case top == 0:
		return -1
	}
	return top
}
