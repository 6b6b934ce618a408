// Package chat turns a conversation into a prompt, by the model's own template, and what the model writes
// back into thoughts, answer and tool calls.
package chat

import "encoding/json"

// Message is one turn of a conversation.
type Message struct {
	Role       string // system, user, assistant, tool
	Content    string
	Reasoning  string // the assistant's thoughts, where the template keeps them
	Name       string
	ToolCalls  []ToolCall
	ToolCallID string // of a tool's answer
}

// ToolCall is a call the model asks for. Arguments is the JSON text of an object, its keys in the model's order.
type ToolCall struct {
	ID        string
	Name      string
	Arguments string
}

// Reasoning says whether a model that can think aloud should.
type Reasoning string

const (
	ReasoningAuto Reasoning = ""    // as the template does by default
	ReasoningOn   Reasoning = "on"  // enable_thinking = true
	ReasoningOff  Reasoning = "off" // enable_thinking = false
)

// Prompt is what a template is rendered with.
type Prompt struct {
	Messages  []Message
	Tools     []json.RawMessage // function definitions as the client sent them, key order kept
	Reasoning Reasoning
	// Continue asks to go on from the last message, an assistant's, instead of opening a new one.
	Continue bool
	Extra    json.RawMessage // an object of further template variables (chat_template_kwargs)
}
