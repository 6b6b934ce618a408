package chat

import (
	"encoding/json"
	"errors"
	"strings"

	"ingot/engine/chat/jinja"
)

// learn finds out by trial renders what the template takes, as no field of the file says it.
func (t *Template) learn() {
	written, err := t.learnContent()
	t.tags = DetectTags(t.source + "\n" + written)
	t.canThink = t.tags.Open != "" || strings.Contains(t.source, "enable_thinking")
	t.calls = detectCalls(t.source)
	t.shortIDs = strings.Contains(t.source, "length != 9")
	var limit *jinja.LimitError
	if !errors.As(err, &limit) { // else it fails for every conversation
		t.learnArguments()
	}
}

// learnContent tries content as text, then as a list of parts. It returns what the template wrote for a question
// and for an answer with a thought, in which marks may stand that the source builds from parts.
func (t *Template) learnContent() (written string, err error) {
	const needle = "needle-7f3a"
	ask := Prompt{Messages: []Message{{Role: "user", Content: needle}}}
	for _, t.typed = range []bool{false, true} {
		if written, err = t.try(ask); err == nil && strings.Contains(written, needle) {
			answered, _ := t.try(Prompt{Messages: append(ask.Messages, Message{Role: "assistant", Content: "b", Reasoning: "c"})})
			return written + "\n" + answered, nil
		}
	}
	t.typed = false
	return written, err
}

// learnArguments tries a call with its arguments as an object, which newer templates write as JSON or in tags of
// their own, and as text, which older ones join to other text.
func (t *Template) learnArguments() {
	tool := json.RawMessage(`{"type":"function","function":{"name":"tool_a","description":"d","parameters":` +
		`{"type":"object","properties":{"key_a":{"type":"string","description":"e"}},"required":["key_a"]}}}`)
	p := Prompt{Tools: []json.RawMessage{tool}, Messages: []Message{
		{Role: "user", Content: "a"},
		{Role: "assistant", ToolCalls: []ToolCall{{ID: "abcdefghi", Name: "tool_a", Arguments: `{"key_z": "val_z"}`}}},
		{Role: "tool", Content: "b", Name: "tool_a", ToolCallID: "abcdefghi"},
	}}
	object, err := t.try(p)
	if err == nil && strings.Contains(object, "key_z") && !strings.Contains(object, "'key_z'") {
		return
	}
	t.argString = true
	text, err := t.try(p)
	if err != nil || !strings.Contains(text, "key_z") || strings.Contains(text, `\"key_z`) {
		t.argString = false
	}
}

func (t *Template) try(p Prompt) (string, error) {
	objects, err := t.messages(p.Messages)
	if err != nil {
		return "", err
	}
	vars, err := t.variables(p, objects)
	if err != nil {
		return "", err
	}
	return t.main.Render(vars, jinja.Limits{Steps: learnSteps})
}

// learnSteps bounds each trial render; a real template takes some thousands for so short a conversation.
const learnSteps = 1_000_000
