package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"ingot/engine/chat/jinja"
)

// A model's template, and how a conversation becomes its prompt.

// ErrRefused is returned when a model's template does not take a conversation: an order of roles it does not
// know, tools it cannot write, content it does not read. The error's text holds the template's own words.
var ErrRefused = errors.New("the model's chat template refuses this conversation")

// Template is a model's chat template with what was learned about it. It is immutable.
type Template struct {
	source   string
	main     *jinja.Template
	bos, eos string

	tags      Tags
	canThink  bool
	calls     callFormat // nil: the template writes tool calls in a way not known here
	typed     bool       // content must be a list of parts
	argString bool       // a call's arguments must be JSON text, not an object
	shortIDs  bool       // ids of calls must be nine letters and digits

	withTools *Template // the file's template for conversations with tools; nil: this one
}

// Rendered is a prompt.
type Rendered struct {
	Text string
	// Boundaries are byte offsets in Text, ascending, at which a message of the conversation ends, or the
	// instructions before the first: where the next prompt of this conversation is likely to part from this one.
	Boundaries []int
	// Thinking tells that the prompt ends inside an open thought.
	Thinking bool

	start state // what the model's first character belongs to
}

// New compiles a template. bos and eos are the texts of the model's tokens, which templates may write.
func New(source, bos, eos string) (*Template, error) {
	main, err := jinja.Compile(source)
	if err != nil {
		return nil, fmt.Errorf("chat template: %w", err)
	}
	t := &Template{source: source, main: main, bos: bos, eos: eos}
	t.learn()
	return t, nil
}

// WithTools returns t with a second template that renders conversations with tools, for files that carry one
// (tokenizer.chat_template.tool_use).
func (t *Template) WithTools(source string) (*Template, error) {
	tools, err := New(source, t.bos, t.eos)
	if err != nil {
		return nil, err
	}
	both := *t
	both.withTools = tools
	return &both, nil
}

// CanThink tells whether the model may think aloud: its template knows a switch for it, or writes thoughts.
func (t *Template) CanThink() bool { return t.canThink }

// Tags returns the marks around the model's thoughts.
func (t *Template) Tags() Tags { return t.tags }

// Markers lists the texts that the reader of this template's answers looks for. Where one is a control token of
// the vocabulary, its text must reach the reader nevertheless.
func (t *Template) Markers() []string {
	list := t.tags.markers()
	if t.calls != nil {
		list = append(list, t.calls.markers()...)
	}
	if t.withTools != nil {
		list = append(list, t.withTools.Markers()...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Render writes the prompt. A refusal wraps ErrRefused.
func (t *Template) Render(p Prompt) (Rendered, error) {
	if t.withTools != nil && len(p.Tools) > 0 {
		return t.withTools.Render(p)
	}
	messages := p.Messages
	var last *Message
	if p.Continue {
		if len(messages) == 0 || messages[len(messages)-1].Role != "assistant" {
			return Rendered{}, fmt.Errorf("%w: only an assistant's message can be continued", ErrRefused)
		}
		last = &messages[len(messages)-1]
		if len(last.ToolCalls) > 0 {
			return Rendered{}, fmt.Errorf("%w: a message with tool calls can't be continued", ErrRefused)
		}
		messages = messages[:len(messages)-1]
	}
	objects, err := t.messages(messages)
	if err != nil {
		return Rendered{}, err
	}
	vars, err := t.variables(p, objects)
	if err != nil {
		return Rendered{}, err
	}
	r := Rendered{}
	marks := newBoundaries(objects)
	if r.Text, err = t.main.Render(vars, jinja.Limits{Item: marks.item}); err != nil {
		return Rendered{}, refusal(err)
	}
	r.Boundaries = t.boundaries(marks, vars, objects, r.Text)
	t.open(&r, last)
	return r, nil
}

func refusal(err error) error { return fmt.Errorf("%w: %w", ErrRefused, err) }

// open finds out where the model starts writing, and with a message to continue appends it as the model wrote it.
func (t *Template) open(r *Rendered, last *Message) {
	g := t.tags
	if g.Open != "" {
		r.Thinking = strings.HasSuffix(strings.TrimRight(r.Text, " \n"), g.Open)
	}
	if r.Thinking {
		r.start = inThought
	}
	if last == nil || last.Reasoning == "" && last.Content == "" {
		return
	}
	thought := r.Thinking
	if last.Reasoning != "" && g.Open != "" {
		if !thought {
			r.Text += g.opening()
			thought = true
		}
		r.Text += last.Reasoning
	}
	if last.Content != "" {
		if thought {
			r.Text += g.closing(last.Reasoning == "")
			thought = false
		} else if g.Harmony {
			r.Text += harmonyFinal
		}
		r.Text += last.Content
		r.start = inAnswer
	} else {
		r.start = inThought
	}
	r.Thinking = thought
}

// variables makes a render's context.
func (t *Template) variables(p Prompt, messages []*jinja.Object) (*jinja.Object, error) {
	vars := jinja.NewObject()
	vars.Set("messages", list(messages))
	if len(p.Tools) > 0 {
		tools := make([]jinja.Value, len(p.Tools))
		for i, raw := range p.Tools {
			v, err := jinja.FromJSON(raw)
			if err != nil {
				return nil, fmt.Errorf("tool %d: %w", i+1, err)
			}
			tools[i] = v
		}
		vars.Set("tools", jinja.NewList(tools...))
	}
	vars.Set("add_generation_prompt", true)
	vars.Set("bos_token", t.bos)
	vars.Set("eos_token", t.eos)
	if p.Reasoning != ReasoningAuto {
		on := p.Reasoning == ReasoningOn
		vars.Set("enable_thinking", on)
		vars.Set("thinking", on) // DeepSeek's and Granite's name for it
	}
	if len(p.Extra) > 0 {
		v, err := jinja.FromJSON(p.Extra)
		if err != nil {
			return nil, fmt.Errorf("template variables: %w", err)
		}
		extra, ok := v.(*jinja.Object)
		if !ok {
			return nil, errors.New("template variables must be a JSON object")
		}
		for i := range extra.Len() {
			vars.Set(extra.Key(i).(string), extra.At(i))
		}
	}
	return vars, nil
}

func list(objects []*jinja.Object) *jinja.List {
	values := make([]jinja.Value, len(objects))
	for i, o := range objects {
		values[i] = o
	}
	return jinja.NewList(values...)
}

// messages makes the objects that templates read, in the shape that transformers passes.
func (t *Template) messages(messages []Message) ([]*jinja.Object, error) {
	objects := make([]*jinja.Object, len(messages))
	for i, m := range messages {
		o := jinja.NewObject()
		o.Set("role", clean(m.Role))
		var content jinja.Value = clean(m.Content)
		if t.typed {
			part := jinja.NewObject()
			part.Set("type", "text")
			part.Set("text", content)
			content = jinja.NewList(part)
		}
		o.Set("content", content)
		if m.Reasoning != "" {
			o.Set("reasoning_content", clean(m.Reasoning))
			if t.tags.Harmony {
				o.Set("thinking", clean(m.Reasoning))
			}
		}
		if m.Name != "" {
			o.Set("name", clean(m.Name))
		}
		if len(m.ToolCalls) > 0 {
			calls := make([]jinja.Value, len(m.ToolCalls))
			for j, c := range m.ToolCalls {
				call, err := t.toolCall(c)
				if err != nil {
					return nil, fmt.Errorf("message %d: arguments of %s: %w", i+1, c.Name, err)
				}
				calls[j] = call
			}
			o.Set("tool_calls", jinja.NewList(calls...))
		}
		if m.ToolCallID != "" {
			o.Set("tool_call_id", t.callID(m.ToolCallID))
		}
		objects[i] = o
	}
	return objects, nil
}

func (t *Template) toolCall(c ToolCall) (jinja.Value, error) {
	arguments := c.Arguments
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	fn := jinja.NewObject()
	fn.Set("name", clean(c.Name))
	if t.argString {
		if !json.Valid([]byte(arguments)) {
			return nil, errors.New("not valid JSON")
		}
		fn.Set("arguments", clean(arguments))
	} else {
		v, err := jinja.FromJSON([]byte(arguments))
		if err != nil {
			return nil, err
		}
		fn.Set("arguments", v)
	}
	call := jinja.NewObject()
	if c.ID != "" {
		call.Set("id", t.callID(c.ID))
	}
	call.Set("type", "function")
	call.Set("function", fn)
	return call, nil
}

// callID gives an id in the form that the template takes; equal ids stay equal.
func (t *Template) callID(id string) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	if !t.shortIDs || len(id) == 9 && strings.Trim(id, letters) == "" {
		return clean(id)
	}
	h := fnv.New64a()
	h.Write([]byte(id))
	short := make([]byte, 9)
	for i, n := 0, h.Sum64(); i < len(short); i++ {
		short[i] = letters[n%uint64(len(letters))]
		n /= uint64(len(letters))
	}
	return string(short)
}

func clean(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
