package chat

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the published templates of the models of engine/arch are learned to be: how prompts end with thoughts wanted, not
// wanted and left to the model, and how answers with thoughts and calls are read.
func TestTemplatesOfArchitectures(t *testing.T) {
	tools := []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"weather","description":"Weather of a day.","parameters":` +
		`{"type":"object","properties":{"city":{"type":"string","description":"Where."}},"required":["city"]}}}`)}
	for _, c := range []struct {
		file    string
		prompts [3]string // how the prompt ends: thinking on, off, auto
		text    string
		want    string
	}{
		{"openai-gpt-oss-120b", [3]string{"<|start|>assistant", "<|start|>assistant", "<|start|>assistant"},
			`<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city": "Rome"}<|call|>`,
			`thought "hm" text "" weather({"city":"Rome"})`},
		{"MiniMax-M2", [3]string{"<think>\n", "<think>\n", "<think>\n"},
			"hm\n</think>\n\nWait.\n<minimax:tool_call>\n<invoke name=\"weather\">\n<parameter name=\"city\">Lima</parameter>\n</invoke>\n</minimax:tool_call>",
			`thought "hm" text "Wait." weather({"city":"Lima"})`},
		{"google-gemma-4-31B-it", [3]string{"<|turn>model\n", "<|channel>thought\n<channel|>", "<|channel>thought\n<channel|>"},
			"<|channel>thought\nhm\n<channel|>Now.<|tool_call>call:weather{city:<|\"|>Graz<|\"|>}<tool_call|>",
			`thought "hm" text "Now." weather({"city":"Graz"})`},
	} {
		t.Run(c.file, func(t *testing.T) {
			src, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "reference", "templates", c.file+".jinja"))
			if os.IsNotExist(err) {
				t.Skip("no reference data beside the checkout")
			}
			tmpl, err := New(string(src), "<s>", "</s>")
			if err != nil {
				t.Fatal(err)
			}
			if !tmpl.CanThink() {
				t.Error("it does not think")
			}
			var r Rendered
			for i, think := range []Reasoning{ReasoningOn, ReasoningOff, ReasoningAuto} {
				r, err = tmpl.Render(Prompt{Messages: conversation[1:2], Tools: tools, Reasoning: think})
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasSuffix(r.Text, c.prompts[i]) {
					t.Errorf("thinking %q: the prompt ends with %q, expected %q", think, r.Text[max(0, len(r.Text)-80):], c.prompts[i])
				}
			}
			r, _ = tmpl.Render(Prompt{Messages: conversation[1:2], Tools: tools, Reasoning: ReasoningOn})
			if got := show(readAll(tmpl.Reader(r, tools), c.text)); got != c.want {
				t.Errorf("got %s\nwant %s", got, c.want)
			}
		})
	}
}
