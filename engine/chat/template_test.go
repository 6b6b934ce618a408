package chat

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ingot/engine/chat/jinja"
)

// own compiles one of the interpreter's own templates.
func own(t *testing.T, name string) *Template {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("jinja", "testdata", name+".jinja"))
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := New(string(src), "<s>", "</s>")
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

func compile(t *testing.T, source string) *Template {
	t.Helper()
	tmpl, err := New(source, "<s>", "</s>")
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

// pieces cuts a text at its boundaries.
func pieces(r Rendered) []string {
	var out []string
	at := 0
	for _, b := range append(r.Boundaries, len(r.Text)) {
		if b > at {
			out = append(out, r.Text[at:b])
		}
		at = b
	}
	return out
}

var conversation = []Message{
	{Role: "system", Content: "Be kind."},
	{Role: "user", Content: "One?"},
	{Role: "assistant", Content: "Two.", Reasoning: "count"},
	{Role: "user", Content: "Three?"},
}

func TestRenderBoundaries(t *testing.T) {
	for _, c := range []struct {
		name   string
		tmpl   *Template
		want   []string
		think  bool
		prompt Prompt
	}{
		{"one loop", own(t, "chatml"), []string{"<|im_start|>system\nBe kind.<|im_end|>\n", "<|im_start|>user\nOne?<|im_end|>\n",
			"<|im_start|>assistant\nTwo.<|im_end|>\n", "<|im_start|>user\nThree?<|im_end|>\n", "<|im_start|>assistant\n"}, false, Prompt{}},
		{"thoughts dropped", own(t, "thinker"), []string{"<|im_start|>system\nBe kind.<|im_end|>\n", "<|im_start|>user\nOne?<|im_end|>\n",
			"<|im_start|>assistant\nTwo.<|im_end|>\n", "<|im_start|>user\nThree?<|im_end|>\n", "<|im_start|>assistant\n<think>\n"}, true, Prompt{}},
		{"thinking off", own(t, "thinker"), []string{"<|im_start|>system\nBe kind.<|im_end|>\n", "<|im_start|>user\nOne?<|im_end|>\n",
			"<|im_start|>assistant\nTwo.<|im_end|>\n", "<|im_start|>user\nThree?<|im_end|>\n", "<|im_start|>assistant\n<think>\n\n</think>\n\n"}, false, Prompt{Reasoning: ReasoningOff}},
		{"thinking on", own(t, "thinker"), nil, true, Prompt{Reasoning: ReasoningOn}},
		{"system before the loop", own(t, "json_tools"), []string{"<|im_start|>system\nBe kind.<|im_end|>\n", "<|im_start|>user\nOne?<|im_end|>\n",
			"<|im_start|>assistant\nTwo.<|im_end|>\n", "<|im_start|>user\nThree?<|im_end|>\n", "<|im_start|>assistant\n"}, false, Prompt{}},
		{"no opening", own(t, "turns"), []string{"<s>", "[INST]One?[/INST]", " Two.</s>", "[INST]Be kind.\n\nThree?[/INST]"}, false, Prompt{}},
		{"opening inside the loop", compile(t, "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% if loop.last and add_generation_prompt %}<assistant>{% endif %}{% endfor %}"),
			[]string{"<system>Be kind.</>", "<user>One?</>", "<assistant>Two.</>", "<user>Three?</>", "<assistant>"}, false, Prompt{}},
		{"written by a macro", compile(t, "{% macro all() %}{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% endmacro %}{{ all() }}{% if add_generation_prompt %}<assistant>{% endif %}"),
			[]string{"<system>Be kind.</>", "<user>One?</>", "<assistant>Two.</>", "<user>Three?</>", "<assistant>"}, false, Prompt{}},
		{"end marks late", compile(t, "{% for m in messages %}{{ '</>' if not loop.first }}<{{ m.role }}>{{ m.content }}{% endfor %}</><assistant>"),
			[]string{"<system>Be kind.", "</><user>One?", "</><assistant>Two.", "</><user>Three?", "</><assistant>"}, false, Prompt{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.prompt.Messages = conversation
			r, err := c.tmpl.Render(c.prompt)
			if err != nil {
				t.Fatal(err)
			}
			if got := pieces(r); c.want != nil && !slices.Equal(got, c.want) {
				t.Errorf("pieces\n %q, want\n %q", got, c.want)
			}
			if r.Thinking != c.think {
				t.Errorf("Thinking is %v", r.Thinking)
			}
		})
	}
}

// The next turn of a conversation begins with the text up to the boundary before the opening of this one's answer.
func TestBoundariesAreShared(t *testing.T) {
	for _, name := range []string{"chatml", "thinker", "json_tools", "xml_tools", "typescript"} {
		tmpl := own(t, name)
		now, err := tmpl.Render(Prompt{Messages: conversation})
		if err != nil {
			t.Fatal(err)
		}
		next, err := tmpl.Render(Prompt{Messages: append(slices.Clone(conversation), Message{Role: "assistant", Content: "Four.", Reasoning: "easy"}, Message{Role: "user", Content: "Five?"})})
		if err != nil {
			t.Fatal(err)
		}
		last := now.Boundaries[len(now.Boundaries)-1]
		if !strings.HasPrefix(next.Text, now.Text[:last]) || !slices.Contains(next.Boundaries, last) {
			t.Errorf("%s: %q does not begin with %q", name, next.Text, now.Text[:last])
		}
	}
}

func TestContinue(t *testing.T) {
	chat := func(m Message) Prompt {
		m.Role = "assistant"
		return Prompt{Messages: []Message{{Role: "user", Content: "One?"}, m}, Continue: true}
	}
	const ask = "<|im_start|>user\nOne?<|im_end|>\n<|im_start|>assistant\n"
	harmonyAsk := "<|start|>user<|message|>One?<|end|><|start|>assistant"
	for _, c := range []struct {
		name, tmpl string
		p          Prompt
		reasoning  Reasoning
		suffix     string
		thinking   bool
		more       string
		want       string
	}{
		{"answer", "chatml", chat(Message{Content: "Two, th"}), "", ask + "Two, th", false, "ree", `thought "" text "ree"`},
		{"answer that speaks of tags", "thinker", chat(Message{Reasoning: "hm", Content: "Use "}), "", ask + "<think>\nhm\n</think>\n\nUse ", false, "<think>a</think>", `thought "" text "<think>a</think>"`},
		{"answer without the thought kept", "thinker", chat(Message{Content: "Tw"}), "", ask + "<think>\n</think>\n\nTw", false, "o", `thought "" text "o"`},
		{"thought", "thinker", chat(Message{Reasoning: "I"}), "", ask + "<think>\nI", true, " see\n</think>\n\nTwo", `thought " see" text "Two"`},
		{"thinking off", "thinker", chat(Message{Content: "Tw"}), ReasoningOff, ask + "<think>\n\n</think>\n\nTw", false, "o", `thought "" text "o"`},
		{"nothing yet", "thinker", chat(Message{}), "", ask + "<think>\n", true, "a</think>b", `thought "a" text "b"`},
		{"harmony thought", "typescript", chat(Message{Reasoning: "I"}), "", harmonyAsk + "<|channel|>analysis<|message|>I", true, " see<|end|><|start|>assistant<|channel|>final<|message|>Two", `thought " see" text "Two"`},
		{"harmony answer", "typescript", chat(Message{Reasoning: "I", Content: "T"}), "", harmonyAsk + "<|channel|>analysis<|message|>I<|end|><|start|>assistant<|channel|>final<|message|>T", false, "wo<|return|>", `thought "" text "wo"`},
		{"harmony answer alone", "typescript", chat(Message{Content: "T"}), "", harmonyAsk + "<|channel|>final<|message|>T", false, "wo", `thought "" text "wo"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tmpl := own(t, c.tmpl)
			c.p.Reasoning = c.reasoning
			r, err := tmpl.Render(c.p)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(r.Text, c.suffix) || r.Thinking != c.thinking {
				t.Errorf("%q, thinking %v; want the end %q, %v", r.Text, r.Thinking, c.suffix, c.thinking)
			}
			if got := show(readAll(tmpl.Reader(r, nil), c.more)); got != c.want {
				t.Errorf("%q reads as %s, want %s", c.more, got, c.want)
			}
		})
	}
	tmpl := own(t, "chatml")
	for _, p := range []Prompt{
		{Continue: true},
		{Messages: []Message{{Role: "user", Content: "a"}}, Continue: true},
		{Messages: []Message{{Role: "assistant", ToolCalls: []ToolCall{{Name: "a"}}}}, Continue: true},
	} {
		if _, err := tmpl.Render(p); !errors.Is(err, ErrRefused) {
			t.Errorf("%v: got %v", p.Messages, err)
		}
	}
}

func TestTools(t *testing.T) {
	p := Prompt{
		Tools: []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"river","description":"d","parameters":{"zebra":1,"apple":{"b":2,"a":1.0}}}}`)},
		Messages: []Message{
			{Role: "user", Content: "a"},
			{Role: "assistant", ToolCalls: []ToolCall{{ID: "call_1", Name: "river", Arguments: `{"z": 1, "a": "é", "n": 1.50}`}}},
			{Role: "tool", Name: "river", ToolCallID: "call_1", Content: "Ebro"},
		},
	}
	r, err := own(t, "json_tools").Render(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"type": "function", "function": {"name": "river", "description": "d", "parameters": {"zebra": 1, "apple": {"b": 2, "a": 1.0}}}}`,
		`{"name": "river", "arguments": {"z": 1, "a": "é", "n": 1.5}}`,
	} {
		if !strings.Contains(r.Text, want) {
			t.Errorf("%s\nlacks %s", r.Text, want)
		}
	}
	// A template that joins the arguments to text takes them as text, as the model wrote them.
	joins := compile(t, `{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.name + '(' + c.function.arguments + ')#' + c.id }}{% endfor %}{% endfor %}`)
	if r, err = joins.Render(p); err != nil || !strings.Contains(r.Text, `river({"z": 1, "a": "é", "n": 1.50})#call_1`) {
		t.Errorf("%q, %v", r.Text, err)
	}
	// One that prints them takes them as text too: an object would come out as Python prints it.
	prints := compile(t, `{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function.arguments }}{% endfor %}{% endfor %}`)
	if r, err = prints.Render(p); err != nil || !strings.Contains(r.Text, `{"z": 1, "a": "é", "n": 1.50}`) {
		t.Errorf("%q, %v", r.Text, err)
	}
	// One that wants short ids gets them, the same for the call and its answer.
	short := compile(t, `{% for m in messages %}{% for c in m.tool_calls or [] %}{% if c.id|length != 9 %}{{ raise_exception('id') }}{% endif %}[{{ c.id }}]{% endfor %}{% if m.role == 'tool' %}[{{ m.tool_call_id }}]{% endif %}{% endfor %}{# length != 9 #}`)
	r, err = short.Render(p)
	if err != nil || len(r.Text) != 22 || r.Text[:11] != r.Text[11:] {
		t.Errorf("%q, %v", r.Text, err)
	}
	bad := p
	bad.Tools = []json.RawMessage{json.RawMessage(`{"name":`)}
	if _, err := joins.Render(bad); err == nil {
		t.Error("a tool that is not JSON was taken")
	}
	bad = p
	bad.Messages = []Message{{Role: "assistant", ToolCalls: []ToolCall{{Name: "river", Arguments: `{"a":`}}}}
	for _, tmpl := range []*Template{joins, own(t, "json_tools")} {
		if _, err := tmpl.Render(bad); err == nil || !strings.Contains(err.Error(), "river") {
			t.Errorf("broken arguments gave %v", err)
		}
	}
	// A second template of the file serves conversations with tools.
	both, err := own(t, "chatml").WithTools(joins.source)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := both.Render(p); err != nil || !strings.HasPrefix(r.Text, "ariver(") {
		t.Errorf("with tools: %q, %v", r.Text, err)
	}
	if r, err := both.Render(Prompt{Messages: p.Messages[:1]}); err != nil || !strings.HasPrefix(r.Text, "<|im_start|>") {
		t.Errorf("without tools: %q, %v", r.Text, err)
	}
}

func TestRefusals(t *testing.T) {
	_, err := own(t, "turns").Render(Prompt{Messages: []Message{{Role: "user", Content: "a"}, {Role: "user", Content: "b"}}})
	var raised *jinja.RaiseError
	if !errors.Is(err, ErrRefused) || !errors.As(err, &raised) || !strings.Contains(err.Error(), "roles must alternate: message 2 is of user") {
		t.Errorf("got %v", err)
	}
	_, err = compile(t, "{{ messages[0].content.missing.x }}").Render(Prompt{Messages: conversation})
	var failed *jinja.Error
	if !errors.Is(err, ErrRefused) || !errors.As(err, &failed) || failed.Kind != "UndefinedError" {
		t.Errorf("got %v", err)
	}
	if _, err = New("{% if %}", "", ""); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("got %v", err)
	}
	// A template without end does not hold up loading, or rendering.
	endless := compile(t, "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}")
	var limit *jinja.LimitError
	if _, err = endless.Render(Prompt{Messages: conversation}); !errors.As(err, &limit) {
		t.Errorf("got %v", err)
	}
}

func TestTypedContent(t *testing.T) {
	tmpl := compile(t, "{% for m in messages %}<{{ m.role }}>{% for p in m.content %}{{ p.text }}{% endfor %}{% endfor %}")
	r, err := tmpl.Render(Prompt{Messages: conversation})
	if want := "<system>Be kind.<user>One?<assistant>Two.<user>Three?"; err != nil || r.Text != want {
		t.Errorf("%q, %v", r.Text, err)
	}
}

func TestExtraVariables(t *testing.T) {
	tmpl := compile(t, "{{ effort|default('medium') }} {{ enable_thinking is defined }} {{ messages[0].content }}")
	for _, c := range []struct {
		p    Prompt
		want string
	}{
		{Prompt{}, "medium False Be kind."},
		{Prompt{Reasoning: ReasoningOn}, "medium True Be kind."},
		{Prompt{Extra: json.RawMessage(`{"effort": "high", "enable_thinking": false}`)}, "high True Be kind."},
	} {
		c.p.Messages = conversation
		if r, err := tmpl.Render(c.p); err != nil || r.Text != c.want {
			t.Errorf("%q, %v, want %q", r.Text, err, c.want)
		}
	}
	if _, err := tmpl.Render(Prompt{Messages: conversation, Extra: json.RawMessage(`[1]`)}); err == nil {
		t.Error("a list of variables was taken")
	}
}

func TestCanThinkAndMarkers(t *testing.T) {
	for name, want := range map[string]bool{"chatml": false, "thinker": true, "json_tools": false, "xml_tools": true, "turns": false, "typescript": true} {
		tmpl := own(t, name)
		if tmpl.CanThink() != want {
			t.Errorf("%s: CanThink is %v", name, !want)
		}
		if slices.Contains(tmpl.Markers(), "<think>") != (want && name != "typescript") {
			t.Errorf("%s: markers %q", name, tmpl.Markers())
		}
	}
}

// Every published template takes a plain conversation, or says why not, and its boundaries lie inside the text.
func TestPublishedTemplates(t *testing.T) {
	paths, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "reference", "templates", "*.jinja"))
	if len(paths) == 0 {
		t.Skip("no reference data beside the checkout")
	}
	for _, path := range paths {
		src, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Base(path)
		tmpl, err := New(string(src), "<BOS>", "<EOS>")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r, err := tmpl.Render(Prompt{Messages: conversation})
		if name == "fireworks-ai-llama-3-firefunction-v2.jinja" { // wants a variable of its own
			if !errors.Is(err, ErrRefused) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, m := range []string{"One?", "Two.", "Three?"} {
			if !strings.Contains(r.Text, m) {
				t.Errorf("%s: %q is not in %q", name, m, r.Text)
			}
		}
		// Between the questions lie at least the boundaries of the first question and of its answer.
		first, last := strings.Index(r.Text, "One?"), strings.LastIndex(r.Text, "Three?")
		n := 0
		for i, b := range r.Boundaries {
			if b <= 0 || b > len(r.Text) || i > 0 && b <= r.Boundaries[i-1] {
				t.Errorf("%s: boundaries %v of %d bytes", name, r.Boundaries, len(r.Text))
			}
			if b > first && b < last {
				n++
			}
		}
		if n < 2 {
			t.Errorf("%s: boundaries %v in %q", name, r.Boundaries, r.Text)
		}
	}
}

// The sample model's prompts come out as llama.cpp was given them.
func TestSamplePrompts(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "reference", "sample")
	data, err := os.ReadFile(filepath.Join(dir, "expected.json"))
	if err != nil {
		t.Skip("no reference data beside the checkout")
	}
	src, err := os.ReadFile(filepath.Join(dir, "chat_template.jinja"))
	if err != nil {
		t.Fatal(err)
	}
	var expected struct {
		Cases []struct {
			Messages []Message
			Thinking bool
			Text     string
			F16      struct{ Text string }
		}
	}
	if err := json.Unmarshal(data, &expected); err != nil {
		t.Fatal(err)
	}
	tmpl := compile(t, string(src))
	for i, c := range expected.Cases {
		p := Prompt{Messages: c.Messages, Reasoning: ReasoningOff}
		if c.Thinking {
			p.Reasoning = ReasoningOn
		}
		r, err := tmpl.Render(p)
		if err != nil || r.Text != c.Text || r.Thinking != c.Thinking {
			t.Errorf("case %d: %q, thinking %v, %v; want %q", i, r.Text, r.Thinking, err, c.Text)
			continue
		}
		d := readAll(tmpl.Reader(r, nil), c.F16.Text)
		thought, answer, found := strings.Cut(c.F16.Text, "\n</think>\n\n")
		if !c.Thinking {
			thought, answer = "", c.F16.Text
		} else if !found {
			thought, answer = c.F16.Text, ""
		}
		if d.Reasoning != thought || d.Text != answer {
			t.Errorf("case %d: %q reads as %s", i, c.F16.Text, show(d))
		}
	}
	if len(expected.Cases) < 40 {
		t.Errorf("only %d cases", len(expected.Cases))
	}
}
