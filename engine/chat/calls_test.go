package chat

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

var testTools = []json.RawMessage{
	json.RawMessage(`{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{
		"city":{"type":"string"},"days":{"type":"integer"},"at":{"type":["number","null"]},"tags":{"type":"array"}}}}}`),
	json.RawMessage(`{"type":"function","function":{"name":"run_code","parameters":{"type":"object","properties":{"code":{"type":"string"}}}}}`),
}

// readAll feeds text to a reader in pieces.
func readAll(r *Reader, text string, cuts ...int) Delta {
	var all Delta
	add := func(d Delta) {
		all.Reasoning += d.Reasoning
		all.Text += d.Text
		all.Calls = append(all.Calls, d.Calls...)
	}
	at := 0
	for _, c := range append(cuts, len(text)) {
		add(r.Push(text[at:c]))
		at = c
	}
	add(r.Flush())
	return all
}

func show(d Delta) string {
	s := fmt.Sprintf("thought %q text %q", d.Reasoning, d.Text)
	for _, c := range d.Calls {
		s += fmt.Sprintf(" %s(%s)", c.Name, c.Arguments)
		if c.ID != "" {
			s += "#" + c.ID
		}
	}
	return s
}

const (
	hermesSource  = `<tool_call>{"name": ...}</tool_call> <think> </think>`
	xmlSource     = `<tool_call><function=name><parameter=key>value</parameter></function></tool_call> <think> </think>`
	llamaSource   = `Respond in the format {"name": function name, "parameters": dictionary} <|python_tag|>`
	mistralSource = `[TOOL_CALLS][{"name": ...}] [THINK] [/THINK]`
	glmSource     = `<tool_call>{name}<arg_key>{k}</arg_key><arg_value>{v}</arg_value></tool_call> </think>`
	commandSource = `<|START_ACTION|> <|END_ACTION|>`
	gptSource     = `<|channel|>analysis`
	kimiSource    = `<|tool_calls_section_begin|><|tool_call_begin|>{id}<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|> </think>`
	seekSource    = `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜> </think>`
	gemmaSource   = `<|channel>thought <|tool_call>call:name{}<tool_call|>`
	miniSource    = `<minimax:tool_call><invoke name="n"><parameter name="k">v</parameter></invoke></minimax:tool_call> </think>`
)

// Each answer is read the same however it is cut.
func TestToolCalls(t *testing.T) {
	for _, c := range []struct{ name, source, text, want string }{
		{"hermes", hermesSource, "<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Paris\", \"days\": 2}}\n</tool_call>",
			`thought "" text "" weather({"city":"Paris","days":2})`},
		{"hermes, two after text and thought", hermesSource,
			"<think>\nhm\n</think>\n\nLet me look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {}}\n</tool_call>\n<tool_call>\n{\"arguments\": {\"b\": 1, \"a\": [2, \"</tool_call>\"]}, \"name\": \"run_code\"}\n</tool_call>\n",
			`thought "hm" text "Let me look." weather({}) run_code({"b":1,"a":[2,"</tool_call>"]})`},
		{"hermes, text between and after", hermesSource, "a\n<tool_call>{\"name\":\"weather\",\"arguments\":{}}</tool_call>\nb\n<tool_call>{\"name\":\"weather\"}</tool_call> c\n",
			`thought "" text "abc\n" weather({}) weather({})`},
		{"hermes, last mark missing", hermesSource, "<tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"é\"}}", `thought "" text "" weather({"city":"é"})`},
		{"hermes, arguments as text", hermesSource, `<tool_call>{"name":"weather","arguments":"{\"city\": \"Rome\"}"}</tool_call>`, `thought "" text "" weather({"city":"Rome"})`},
		{"hermes, not JSON", hermesSource, "<tool_call>weather Paris</tool_call> and", `thought "" text "<tool_call>weather Paris</tool_call> and"`},
		{"hermes, no name", hermesSource, `<tool_call>{"city": 1}</tool_call>`, `thought "" text "<tool_call>{\"city\": 1}</tool_call>"`},
		{"hermes, cut off", hermesSource, `<tool_call>{"name": "weather", "arg`, `thought "" text "<tool_call>{\"name\": \"weather\", \"arg"`},
		{"hermes, no call", hermesSource, "1 < 2 and <tool is not a call\n", `thought "" text "1 < 2 and <tool is not a call\n"`},
		{"xml", xmlSource, "<think>\na\n</think>\n\n<tool_call>\n<function=weather>\n<parameter=city>\n12\n</parameter>\n<parameter=days>\n3\n</parameter>\n<parameter=at>\n1.5\n</parameter>\n<parameter=tags>\n[\"a\", 1]\n</parameter>\n</function>\n</tool_call>",
			`thought "a" text "" weather({"city":"12","days":3,"at":1.5,"tags":["a",1]})`},
		{"xml, a value of several lines with tags in it", xmlSource, "Now:\n\n<tool_call>\n<function=run_code>\n<parameter=code>\n<p>\n  </parameter>\n\n\"x\"\n</function>\n</parameter>\n</function>\n</tool_call>\n",
			`thought "" text "Now:" run_code({"code":"<p>\n  </parameter>\n\n\"x\"\n</function>"})`},
		{"xml, outer tags missing", xmlSource, "<function=weather>\n<parameter=days>\n5\n</parameter>\n</function>\n<function=run_code></function>", `thought "" text "" weather({"days":5}) run_code({})`},
		{"xml, two calls", xmlSource, "<tool_call>\n<function=weather>\n</function>\n</tool_call>\n<tool_call>\n<function=run_code>\n</function>\n</tool_call>", `thought "" text "" weather({}) run_code({})`},
		{"xml, two functions in one call", xmlSource, "<tool_call><function=weather></function><function=run_code></function></tool_call> end", `thought "" text "end" weather({}) run_code({})`},
		{"xml, words of Python", xmlSource, "<tool_call><function=weather><parameter=at>None</parameter><parameter=other>True</parameter><parameter=days>many</parameter></function></tool_call>",
			`thought "" text "" weather({"at":null,"other":true,"days":"many"})`},
		{"xml, call ends the thought", xmlSource, "<think>\nI will ask.\n<tool_call>\n<function=weather>\n</function>\n</tool_call>", `thought "I will ask." text "" weather({})`},
		{"xml, only talk of it", xmlSource, "Write <tool_call> and <function> tags.", `thought "" text "Write <tool_call> and <function> tags."`},
		{"xml, cut off", xmlSource, "<tool_call>\n<function=weather>\n<parameter=city>\nPar", `thought "" text "<tool_call>\n<function=weather>\n<parameter=city>\nPar"`},
		{"llama", llamaSource, `{"name": "weather", "parameters": {"city": "Oslo"}}`, `thought "" text "" weather({"city":"Oslo"})`},
		{"llama, tagged", llamaSource, `<|python_tag|>{"type": "function", "name": "weather", "parameters": {}}`, `thought "" text "" weather({})`},
		{"llama, several", llamaSource, "{\"name\": \"weather\", \"parameters\": {}}; {\"name\": \"run_code\", \"parameters\": {\"code\": \"}\"}}", `thought "" text "" weather({}) run_code({"code":"}"})`},
		{"llama, built in", llamaSource, `<|python_tag|>brave_search.call(query="rain in \"Oslo\"", n="2")`, `thought "" text "" brave_search({"query":"rain in \"Oslo\"","n":"2"})`},
		{"llama, code", llamaSource, "<|python_tag|>print(1)\nprint(2)", `thought "" text "print(1)\nprint(2)"`},
		{"llama, other JSON", llamaSource, `{"city": "Oslo", "name": "weather"}`, `thought "" text "{\"city\": \"Oslo\", \"name\": \"weather\"}"`},
		{"llama, unknown function", llamaSource, `{"name": "Bob", "parameters": {}}`, `thought "" text "{\"name\": \"Bob\", \"parameters\": {}}"`},
		{"llama, JSON after text", llamaSource, `Use {"name": "weather", "parameters": {}}`, `thought "" text "Use {\"name\": \"weather\", \"parameters\": {}}"`},
		{"mistral, list", mistralSource, `[TOOL_CALLS][{"name": "weather", "arguments": {"city": "Nice [1]"}, "id": "abcdefghi"}, {"name": "run_code", "arguments": {}}]`,
			`thought "" text "" weather({"city":"Nice [1]"})#abcdefghi run_code({})`},
		{"mistral, named", mistralSource, `[THINK]a[/THINK]Well. [TOOL_CALLS]weather[ARGS]{"city": "Nice"}[TOOL_CALLS]run_code[CALL_ID]x12345678[ARGS]{"code": "]"}`,
			`thought "a" text "Well. " weather({"city":"Nice"}) run_code({"code":"]"})#x12345678`},
		{"mistral, marks of control not shown", mistralSource, `[TOOL_CALLS]weather{"city": "Nice"}`, `thought "" text "" weather({"city":"Nice"})`},
		{"mistral, not a call", mistralSource, `[TOOL_CALLS]??`, `thought "" text "[TOOL_CALLS]??"`},
		{"glm", glmSource, "hm</think>\n<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Kyiv</arg_value>\n<arg_key>days</arg_key>\n<arg_value>2</arg_value>\n</tool_call><tool_call>run_code</tool_call>",
			`thought "" text "hm</think>" weather({"city":"Kyiv","days":2}) run_code({})`},
		{"command", commandSource, `<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "weather", "parameters": {"city": "Bonn"}}]<|END_ACTION|>`, `thought "" text "" weather({"city":"Bonn"})#0`},
		{"gpt-oss", gptSource, `<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city": "Rome"}<|call|>`,
			`thought "hm" text "" weather({"city":"Rome"})`},
		{"gpt-oss, recipient first", gptSource, ` to=functions.weather<|channel|>commentary json<|message|>{}`, `thought "" text "" weather({})`},
		{"gpt-oss, cut off", gptSource, `<|channel|>commentary to=functions.weather<|message|>{"city"`, `thought "" text "{\"city\""`},
		{"kimi", kimiSource, `I see.<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{"city": "Bern"}<|tool_call_end|><|tool_call_begin|>functions.run_code:1<|tool_call_argument_begin|>{}<|tool_call_end|><|tool_calls_section_end|>`,
			`thought "" text "I see." weather({"city":"Bern"})#functions.weather:0 run_code({})#functions.run_code:1`},
		{"deepseek", seekSource, "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{\"city\": \"Wien\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>run_code<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
			`thought "" text "" weather({"city":"Wien"}) run_code({})`},
		{"deepseek r1", seekSource, "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather\n```json\n{\"city\": \"Wien\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
			`thought "" text "" weather({"city":"Wien"})`},
		{"minimax", miniSource, "Wait.\n<minimax:tool_call>\n<invoke name=\"weather\">\n<parameter name=\"city\">Lima</parameter>\n<parameter name=\"days\">2</parameter>\n</invoke>\n<invoke name=\"run_code\">\n<parameter name=\"code\">a </parameter> b</parameter>\n</invoke>\n</minimax:tool_call>",
			`thought "" text "Wait." weather({"city":"Lima","days":2}) run_code({"code":"a </parameter> b"})`},
		{"gemma", gemmaSource, "<|channel>thought\nhm\n<channel|>Now.<|tool_call>call:weather{city:<|\"|>Graz {1}, \"A\"<|\"|>,days:3,tags:[<|\"|>a<|\"|>,2,{deep:true,<|\"|>k<|\"|>:[]}]}<tool_call|><|tool_call>call:run_code{}<tool_call|>",
			`thought "hm" text "Now." weather({"city":"Graz {1}, \"A\"","days":3,"tags":["a",2,{"deep":true,"k":[]}]}) run_code({})`},
		{"gemma, by the schema", gemmaSource, "<|tool_call>call:weather{city:12,days: 4 ,at:None,other:far away}<tool_call|>", `thought "" text "" weather({"city":"12","days":4,"at":null,"other":"far away"})`},
		{"gemma, last mark missing", gemmaSource, "<|tool_call>call:weather{days:1}", `thought "" text "" weather({"days":1})`},
		{"gemma, call ends the thought", gemmaSource, "<|channel>thought\nI ask.\n<|tool_call>call:weather{}<tool_call|>", `thought "I ask." text "" weather({})`},
		{"gemma, cut off", gemmaSource, `<|tool_call>call:weather{city:<|"|>Gra`, `thought "" text "<|tool_call>call:weather{city:<|\"|>Gra"`},
		{"gemma, not a call", gemmaSource, "<|tool_call>weather and <|tool_call>call:weather{,}.", `thought "" text "<|tool_call>weather and <|tool_call>call:weather{,}."`},
	} {
		t.Run(c.name, func(t *testing.T) {
			tmpl := &Template{tags: DetectTags(c.source), calls: detectCalls(c.source)}
			check := func(cuts ...int) {
				t.Helper()
				if got := show(readAll(tmpl.Reader(Rendered{}, testTools), c.text, cuts...)); got != c.want {
					t.Fatalf("cut at %v:\n got %s\nwant %s", cuts, got, c.want)
				}
			}
			check()
			for i := 0; i <= len(c.text); i++ {
				check(i)
			}
			step := 1 + len(c.text)/60
			for i := 0; i <= len(c.text); i += step {
				for j := i; j <= len(c.text); j += step {
					check(i, j)
				}
			}
			all := make([]int, len(c.text))
			for i := range all {
				all[i] = i
			}
			check(all...)
		})
	}
}

// Without tools nothing is taken for a call.
func TestNoToolsNoCalls(t *testing.T) {
	for _, source := range []string{hermesSource, xmlSource, llamaSource, mistralSource} {
		tmpl := &Template{calls: detectCalls(source)}
		const text = `{"name": "weather", "parameters": {}}<tool_call>{"name":"weather","arguments":{}}</tool_call>[TOOL_CALLS][{"name":"weather","arguments":{}}]`
		if d := readAll(tmpl.Reader(Rendered{}, nil), text); d.Text != text || len(d.Calls) > 0 {
			t.Errorf("%s: %s", source, show(d))
		}
	}
}

// An answer of plain JSON is not held back until its end.
func TestLlamaJSONStreams(t *testing.T) {
	tmpl := &Template{calls: llamaCalls{}}
	r := tmpl.Reader(Rendered{}, testTools)
	if d := r.Push(`{"colour`); d.Text != "" {
		t.Errorf("too early: %s", show(d))
	}
	if d := r.Push(`s": [`); d.Text != `{"colours": [` {
		t.Errorf("held back: %s", show(d))
	}
	if d := r.Push(`1, `); d.Text != `1, ` {
		t.Errorf("held back: %s", show(d))
	}
}

// Answers put together at random from the pieces that formats are made of are read the same however they are cut.
func TestRandomAnswers(t *testing.T) {
	pieces := []string{"<tool_call>", "</tool_call>", "<function=weather>", "</function>", "<parameter=city>", "</parameter>", "{", "}", "[", "]",
		`"name": "weather"`, `"arguments": {}`, `"parameters": {"city": "x"}`, `{"name": "weather", "arguments": {"a": [1]}}`, ",", ";", "\n", "\n\n", " ", "text", "é",
		"[TOOL_CALLS]", "[ARGS]", "[CALL_ID]", "weather", "<|python_tag|>", "<think>", "</think>", "[THINK]", "[/THINK]", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>",
		"<|tool_calls_section_begin|>", "<|tool_call_begin|>", "functions.weather:0", "<|tool_call_argument_begin|>", "<|tool_call_end|>", "<|tool_calls_section_end|>",
		"<minimax:tool_call>", "<invoke name=\"weather\">", "<parameter name=\"city\">", "</invoke>", "</minimax:tool_call>", "<|channel|>", "analysis", "commentary", " to=functions.weather", "<|message|>", "<|end|>", "<|start|>assistant", "<|call|>", "<", "\"", ".call(", "a=\"b\"", ")",
		"<tool_call>{\"name\": \"weather\"}</tool_call>", "<function=weather><parameter=city>x\n</parameter></function>", "[TOOL_CALLS]weather[ARGS]{}",
		"<|python_tag|>{\"name\": \"weather\"}", "<tool_call>weather<arg_key>a</arg_key><arg_value>1</arg_value></tool_call>",
		"<|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{}<|tool_call_end|>", "<invoke name=\"weather\"></invoke>",
		"<|tool_call>", "call:weather{", "<tool_call|>", "<|\"|>", "city:", "<|tool_call>call:weather{city:1}<tool_call|>", "<|channel>thought\n", "<channel|>",
		"<|channel|>commentary to=functions.weather<|message|>{}<|call|>"}
	random := rand.New(rand.NewPCG(1, 2))
	sources := []string{hermesSource, xmlSource, llamaSource, mistralSource, glmSource, kimiSource, seekSource, miniSource, commandSource, gptSource, gemmaSource}
	calls := 0
	for range 20000 {
		var b strings.Builder
		for range 1 + random.IntN(12) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		text := b.String()
		source := sources[random.IntN(len(sources))]
		tmpl := &Template{tags: DetectTags(source), calls: detectCalls(source)}
		r := Rendered{Thinking: random.IntN(3) == 0}
		if r.Thinking {
			r.start = inThought
		}
		whole := readAll(tmpl.Reader(r, testTools), text)
		calls += len(whole.Calls)
		i, j := random.IntN(len(text)+1), random.IntN(len(text)+1)
		if cut := show(readAll(tmpl.Reader(r, testTools), text, min(i, j), max(i, j))); cut != show(whole) {
			t.Fatalf("%s\n%q cut at %d and %d:\n%s, whole\n%s", source, text, min(i, j), max(i, j), cut, show(whole))
		}
	}
	if calls < 100 {
		t.Errorf("only %d calls among the answers: the test says little", calls)
	}
}

func FuzzToolCalls(f *testing.F) {
	f.Add("<tool_call>{\"name\":\"weather\",\"arguments\":{}}</tool_call>", 3, 20)
	f.Add("<tool_call><function=weather><parameter=city>x</parameter></function></tool_call>", 30, 50)
	f.Add("[TOOL_CALLS]weather[ARGS]{\"a\":[1]}", 5, 30)
	f.Add("<|tool_call>call:weather{a:[1,<|\"|>b<|\"|>]}<tool_call|>", 5, 30)
	f.Add("<|python_tag|>{\"name\":\"weather\",\"parameters\":{}}", 5, 30)
	f.Fuzz(func(t *testing.T, text string, i, j int) {
		n := len(text) + 1
		i, j = (i%n+n)%n, (j%n+n)%n
		for _, source := range []string{hermesSource, xmlSource, llamaSource, mistralSource, glmSource, kimiSource, seekSource, miniSource, gemmaSource} {
			tmpl := &Template{tags: DetectTags(source), calls: detectCalls(source)}
			whole := show(readAll(tmpl.Reader(Rendered{}, testTools), text))
			cut := show(readAll(tmpl.Reader(Rendered{}, testTools), text, min(i, j), max(i, j)))
			if whole != cut {
				t.Errorf("%s\n%q cut at %d and %d:\n%s, whole\n%s", source, text, min(i, j), max(i, j), cut, whole)
			}
			for _, c := range readAll(tmpl.Reader(Rendered{}, testTools), text).Calls {
				if !json.Valid([]byte(c.Arguments)) || c.Name == "" {
					t.Errorf("%q: call %q with %q", text, c.Name, c.Arguments)
				}
			}
		}
	})
}
