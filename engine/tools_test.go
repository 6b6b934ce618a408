package engine

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ingot/engine/chat"
	"ingot/engine/gguf"
	"ingot/engine/token"
)

// withTemplates copies the sample model with other chat templates ("": none).
func withTemplates(t *testing.T, main, tools string) *Engine {
	t.Helper()
	f, err := gguf.Open(sampleFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m := gguf.NewMeta()
	for _, k := range f.Meta().Keys() {
		v, _ := f.Meta().Value(k)
		m.Set(k, v)
	}
	m.Delete("tokenizer.chat_template")
	if main != "" {
		m.Set("tokenizer.chat_template", main)
	}
	if tools != "" {
		m.Set("tokenizer.chat_template.tool_use", tools)
	}
	var ts []gguf.WriteTensor
	for _, x := range f.Tensors() {
		ts = append(ts, gguf.WriteTensor{Name: x.Name, Type: x.Type, Shape: x.Shape, Data: x.Data})
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := gguf.Write(out, m, ts); err != nil {
		t.Fatal(err)
	}
	e, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// writing makes the model write a text and end its turn.
func writing(e *Engine, text string) func([]int32, []float32) {
	ids := append(e.vocab.Encode(text, true), func() int32 { id, _ := e.vocab.EOS(); return id }())
	return func(tokens []int32, logits []float32) {
		for i := range logits {
			logits[i] = float32(math.Inf(-1))
		}
		logits[ids[min(len(tokens), len(ids)-1)]] = 0
	}
}

const toolTemplate = `{% if tools %}<|im_start|>system
{% for t in tools %}{{ t | tojson }}
{% endfor %}<|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

func TestToolCalls(t *testing.T) {
	tools := []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"add","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}`)}
	plain := "{% for m in messages %}{{ m.content }}{% endfor %}"
	for _, e := range []*Engine{withTemplates(t, toolTemplate, ""), withTemplates(t, plain, toolTemplate)} {
		r := Request{Prompt: chat.Prompt{Messages: []chat.Message{user("One and one?")}, Tools: tools}}
		r.Processors = []func([]int32, []float32){writing(e, `Let me see. <tool_call>
{"name": "add", "arguments": {"a": 1}}
</tool_call><tool_call>
{"name": "add", "arguments": {"a": 2}}
</tool_call>`)}
		var calls []chat.ToolCall
		text := ""
		var done *Result
		for ev, err := range e.Generate(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			text, calls = text+ev.Text, append(calls, ev.ToolCalls...)
			done = ev.Done
		}
		if done.Reason != FinishTools || strings.TrimSpace(text) != "Let me see." || len(calls) != 2 {
			t.Fatalf("%+v, %q, %+v", done, text, calls)
		}
		for i, c := range calls {
			if c.Name != "add" || c.Arguments != []string{`{"a":1}`, `{"a":2}`}[i] || !strings.HasPrefix(c.ID, "call_") || len(c.ID) != 21 {
				t.Errorf("%+v", c)
			}
		}
		if calls[0].ID == calls[1].ID {
			t.Error("two calls have one id")
		}
		// Without tools the same text is text.
		r.Tools = nil
		if _, got, _, done := answerTo(t, e, r); !strings.Contains(got, "<tool_call>") || done.Reason != FinishStop {
			t.Errorf("%q, %v", got, done.Reason)
		}
	}
}

func TestThoughtsAreApart(t *testing.T) {
	e := openSample(t, Options{})
	for _, c := range []struct {
		reasoning               chat.Reasoning
		writes, thought, answer string
		stop                    string
	}{
		{chat.ReasoningOn, "I think.\n</think>\n\nI say 🙂.", "I think.", "I say 🙂.", ""},
		{chat.ReasoningOff, "I say.", "", "I say.", ""},
		{chat.ReasoningOn, "I only think", "I only think", "", ""},
		{chat.ReasoningOn, "I think.\n</think>\n\nI say and more.", "I think.", "I say", " and"},
		{chat.ReasoningOn, "I think of and.\n</think>\n\nI say.", "I think of", "", " and"},
	} {
		r := ask(c.reasoning, 0, user("a"))
		r.Processors = []func([]int32, []float32){writing(e, c.writes)}
		if c.stop != "" {
			r.Stop = []string{c.stop}
		}
		tokens, text, thought, done := answerTo(t, e, r)
		if strings.TrimSpace(thought) != c.thought || text != c.answer || done.Reason != FinishStop || done.StopString != c.stop {
			t.Errorf("%q: thought %q, answer %q, %+v", c.writes, thought, text, done)
		}
		if (done.Usage.Reasoning > 0) != (c.thought != "") || done.Usage.Reasoning > len(tokens) {
			t.Errorf("%q: %+v of %d tokens", c.writes, done.Usage, len(tokens))
		}
	}
}

func TestTextStreamGivesWholeCharacters(t *testing.T) {
	e := openSample(t, Options{})
	text := "Ünïcödé 日本語 🙂 end"
	for _, stop := range [][]string{nil, {"never"}, {"🙂 e"}, {"本"}, {"zz", "d"}} {
		s := newTextStream(e.vocab, nil, nil, stop)
		got, hit := "", ""
		for _, id := range e.vocab.Encode(text, false) {
			d, h := s.push(id)
			if strings.ToValidUTF8(d.Text, "?") != d.Text {
				t.Errorf("%q is not whole", d.Text)
			}
			if got += d.Text; h != "" {
				hit = h
				break
			}
		}
		want := text
		if hit == "" {
			got += s.flush().Text
		}
		first := len(text)
		for _, x := range stop {
			if i := strings.Index(text, x); i >= 0 {
				first = min(first, i)
			}
		}
		if want = text[:first]; got != want || (hit != "") != (first < len(text)) {
			t.Errorf("stop %q: %q, hit %q; expected %q", stop, got, hit, want)
		}
	}
}

func TestBOSIsAddedOnce(t *testing.T) {
	e := openSample(t, Options{})
	if got := e.withBOS([]int32{7}); !slices.Equal(got, []int32{7}) {
		t.Errorf("%v: this model has no BOS to add", got)
	}
	f, err := gguf.Open(sampleFile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.Meta().Set("tokenizer.ggml.add_bos_token", true)
	f.Meta().Set("tokenizer.ggml.bos_token_id", uint32(3))
	with := &Engine{file: f}
	if with.vocab, err = token.New(f.Meta()); err != nil {
		t.Fatal(err)
	}
	if got := with.withBOS([]int32{7}); !slices.Equal(got, []int32{3, 7}) {
		t.Errorf("%v, expected BOS first", got)
	}
	if got := with.withBOS([]int32{3, 7}); !slices.Equal(got, []int32{3, 7}) {
		t.Errorf("%v, expected BOS once", got)
	}
}
