package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"ingot/engine"
	"ingot/engine/chat"
	"ingot/engine/sample"
)

const hello = `"messages":[{"role":"user","content":"hi"}]`

// Every wrong request is refused with a sentence that begins with the field's path.
func TestChatErrors(t *testing.T) {
	for body, want := range map[string]string{
		``:                               "the body is not valid JSON",
		`{`:                              "the body is not valid JSON",
		`[]`:                             "the body must be a JSON object, not an array",
		`"x"`:                            "the body must be a JSON object, not a string",
		`{` + hello + `} x`:              "the body is not valid JSON",
		`{}`:                             "messages: at least one message",
		`{"messages":[]}`:                "messages: at least one message",
		`{"messages":"hi"}`:              "messages: must be an array, not a string",
		`{"messages":["hi"]}`:            "messages[0]: must be an object, not a string",
		`{"messages":[{}]}`:              "messages[0].role: missing",
		`{"messages":[{"role":"user"}]}`: "messages[0].content: missing",
		`{"messages":[{"role":"user","content":5}]}`:                                                  "messages[0].content: must be a string or an array of parts, not a number",
		`{"messages":[{"role":"user","content":["x"]}]}`:                                              "messages[0].content[0]: must be an object, not a string",
		`{"messages":[{"role":"user","role":"user","content":"x"}]}`:                                  "messages[0].role: given twice",
		`{"messages":[{"role":7,"content":"x"}]}`:                                                     "messages[0].role: must be a string, not a number",
		`{"messages":[{"role":"assistant","tool_calls":[{}]}]}`:                                       "messages[0].tool_calls[0].function: missing",
		`{"messages":[{"role":"assistant","tool_calls":[{"function":{}}]}]}`:                          "messages[0].tool_calls[0].function.name: missing",
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:"}}]}]}`: `messages[0].content[0].type: this server reads text only, it cannot take a part of type "image_url"`,
		`{"temperature":1,"temperature":1,` + hello + `}`:                                             "temperature: given twice",
		`{"model":3,` + hello + `}`:                                                                   "model: must be a string, not a number",
		`{"temperature":"hot",` + hello + `}`:                                                         "temperature: must be a number, not a string",
		`{"temperature":-1,` + hello + `}`:                                                            "temperature: must be between 0 and 100",
		`{"temperature":1e999,` + hello + `}`:                                                         "temperature: must be between 0 and 100",
		`{"top_p":1.5,` + hello + `}`:                                                                 "top_p: must be between 0 and 1",
		`{"top_k":1.5,` + hello + `}`:                                                                 "top_k: must be a whole number",
		`{"top_k":-2,` + hello + `}`:                                                                  "top_k: must be at least -1",
		`{"presence_penalty":3,` + hello + `}`:                                                        "presence_penalty: must be between -2 and 2",
		`{"max_tokens":0,` + hello + `}`:                                                              "max_tokens: must be at least 1",
		`{"max_tokens":true,` + hello + `}`:                                                           "max_tokens: must be a number, not a boolean",
		`{"max_tokens":5,"max_completion_tokens":6,` + hello + `}`:                                    "max_completion_tokens: contradicts max_tokens",
		`{"seed":0.5,` + hello + `}`:                                                                  "seed: must be a whole number",
		`{"stop":3,` + hello + `}`:                                                                    "stop: must be a string or an array of strings",
		`{"stop":["a",3],` + hello + `}`:                                                              "stop[1]: must be a string, not a number",
		`{"stop":[` + strings.Repeat(`"a",`, 16) + `"a"],` + hello + `}`:                              "stop: at most 16",
		`{"logit_bias":{"x":1},` + hello + `}`:                                                        "logit_bias: keys are token ids",
		`{"logit_bias":{"5":"y"},` + hello + `}`:                                                      "logit_bias.5: must be a number",
		`{"logit_bias":{"5":101},` + hello + `}`:                                                      "logit_bias.5: must be between -100 and 100",
		`{"logit_bias":[],` + hello + `}`:                                                             "logit_bias: must be an object",
		`{"n":2,` + hello + `}`:                                                                       "n: this server gives one answer a request",
		`{"top_logprobs":3,` + hello + `}`:                                                            "top_logprobs: needs logprobs",
		`{"logprobs":true,"top_logprobs":21,` + hello + `}`:                                           "top_logprobs: must be between 0 and 20",
		`{"logprobs":1,` + hello + `}`:                                                                "logprobs: must be a boolean",
		`{"stream":"yes",` + hello + `}`:                                                              "stream: must be a boolean",
		`{"stream_options":{"include_usage":true},` + hello + `}`:                                     "stream_options: only allowed when stream",
		`{"stream":true,"stream_options":{"include_usage":1},` + hello + `}`:                          "stream_options.include_usage: must be a boolean",
		`{"response_format":{"type":"json_object"},` + hello + `}`:                                    `response_format: only type "text" is supported for now`,
		`{"grammar":"root ::= x",` + hello + `}`:                                                      "grammar: answers cannot be constrained",
		`{"tool_choice":"required",` + hello + `}`:                                                    "tool_choice: a call cannot be forced yet",
		`{"tool_choice":{"type":"function"},` + hello + `}`:                                           "tool_choice: a named function cannot be forced yet",
		`{"tool_choice":"maybe",` + hello + `}`:                                                       `tool_choice: must be "auto" or "none"`,
		`{"tools":[{"type":"function"}],` + hello + `}`:                                               "tools[0].function: missing",
		`{"tools":[{"type":"web_search"}],` + hello + `}`:                                             "tools[0].type: only functions",
		`{"functions":[],` + hello + `}`:                                                              "functions: no longer used",
		`{"reasoning":"maybe",` + hello + `}`:                                                         `reasoning: must be "auto", "on" or "off"`,
		`{"reasoning_effort":"huge",` + hello + `}`:                                                   "reasoning_effort: must be one of",
		`{"chat_template_kwargs":[],` + hello + `}`:                                                   "chat_template_kwargs: must be an object",
		`{"chat_template_kwargs":{"enable_thinking":"no"},` + hello + `}`:                             "chat_template_kwargs.enable_thinking: must be a boolean",
		`{"continue_final_message":true,` + hello + `}`:                                               "continue_final_message: the last message must be an assistant's",
	} {
		_, err := ParseChat([]byte(body))
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: got %v, want an *Error", body, err)
			continue
		}
		if e.Status != 400 || e.Type != TypeInvalid || !strings.HasPrefix(e.Message, want) {
			t.Errorf("%s: got %d %q, want %q", body, e.Status, e.Message, want)
		}
		if field, _, ok := strings.Cut(want, ":"); ok && !strings.Contains(field, " ") && (e.Param == nil || *e.Param != field) {
			t.Errorf("%s: param is %v, want %s", body, e.Param, field)
		}
	}
}

func mustChat(t *testing.T, body string, s Serving) engine.Request {
	t.Helper()
	r, err := ParseChat([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	out, err := r.Engine(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestChatToEngine(t *testing.T) {
	got := mustChat(t, `{"model":"m","unknown":{"a":[1]},"temperature":0,"top_k":-1,"min_p":0.25,"repeat_penalty":1.5,
		"presence_penalty":0.5,"frequency_penalty":-0.5,"repeat_last_n":-1,"seed":7,"stop":["a","","b"],
		"logit_bias":{"3":-100,"4":1.5},"max_completion_tokens":12,"logprobs":true,"top_logprobs":4,"ignore_eos":true,
		"tools":[{"type":"function","function":{"name":"f","parameters":{"z":1,"a":2}}}],
		"chat_template_kwargs":{"b":1,"enable_thinking":false,"a":"x"},"user":null,
		"messages":[
			{"role":"developer","content":"be brief"},
			{"role":"user","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}],"name":"ann"},
			{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[
				{"id":"c1","type":"function","function":{"name":"f","arguments":"{\"z\":1}"}},
				{"id":"c2","type":"function","function":{"name":"g","arguments":{"z":1,"a":2}}},
				{"function":{"name":"h","arguments":""}}]},
			{"role":"tool","tool_call_id":"c1","content":"42"}]}`, Serving{Defaults: Defaults(), Vocab: 10})
	want := engine.Request{
		Prompt: chat.Prompt{
			Messages: []chat.Message{
				{Role: "system", Content: "be brief"},
				{Role: "user", Content: "one\ntwo", Name: "ann"},
				{Role: "assistant", Reasoning: "hm", ToolCalls: []chat.ToolCall{
					{ID: "c1", Name: "f", Arguments: `{"z":1}`},
					{ID: "c2", Name: "g", Arguments: `{"z":1,"a":2}`},
					{Name: "h", Arguments: "{}"}}},
				{Role: "tool", Content: "42", ToolCallID: "c1"},
			},
			Tools:     []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"f","parameters":{"z":1,"a":2}}}`)},
			Reasoning: chat.ReasoningOff,
			Extra:     json.RawMessage(`{"b":1,"a":"x"}`),
		},
		MaxTokens: 12, Stop: []string{"a", "b"}, Logprobs: 4, IgnoreEOS: true,
		Sampling: sample.Params{Temperature: 0, TopK: 0, TopP: 0.95, MinP: 0.25, RepeatPenalty: 1.5, PresencePenalty: 0.5,
			FrequencyPenalty: -0.5, PenaltyLastN: -1, LogitBias: map[int32]float32{3: -100, 4: 1.5}, Seed: 7, Seeded: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestDefaultsAndSpecialValues(t *testing.T) {
	s := Serving{Defaults: Defaults(), MaxTokens: 100}
	if got := mustChat(t, `{`+hello+`}`, s); !reflect.DeepEqual(got.Sampling, Defaults()) || got.MaxTokens != 100 || got.Logprobs != 0 {
		t.Errorf("a silent request gets %+v", got)
	}
	if got := mustChat(t, `{"max_tokens":-1,"seed":-1,"stop":"x","logprobs":true,`+hello+`}`, Serving{}); got.MaxTokens != 0 || got.Sampling.Seeded || !reflect.DeepEqual(got.Stop, []string{"x"}) || got.Logprobs != -1 {
		t.Errorf("got %+v", got)
	}
	if got := mustChat(t, `{"top_p":0,`+hello+`}`, s).Sampling; got.TopK != 1 {
		t.Errorf("top_p 0 must leave one token, got %+v", got)
	}
	if got := mustChat(t, `{"repeat_last_n":0,"repeat_penalty":2,`+hello+`}`, s).Sampling; got.RepeatPenalty != 0 {
		t.Errorf("repeat_last_n 0 must switch penalties off, got %+v", got)
	}
	if got := mustChat(t, `{"repetition_penalty":2,"tool_choice":"none","tools":[{"type":"function","function":{"name":"f"}}],`+hello+`}`, s); got.Sampling.RepeatPenalty != 2 || got.Tools != nil {
		t.Errorf("got %+v", got)
	}
	r, err := ParseChat([]byte(`{"logit_bias":{"10":1},` + hello + `}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err = r.Engine(Serving{Vocab: 10}); err == nil || !strings.HasPrefix(err.Error(), "logit_bias: token 10 does not exist") {
		t.Errorf("got %v", err)
	}
}

// reasoning wins over enable_thinking, which wins over reasoning_effort.
func TestReasoning(t *testing.T) {
	for fields, want := range map[string]string{
		``:                           "/",
		`"reasoning_effort":"none",`: `off/{"reasoning_effort":"none"}`,
		`"reasoning_effort":"low",`:  `on/{"reasoning_effort":"low"}`,
		`"reasoning":"auto","reasoning_effort":"low",`:                                              `/{"reasoning_effort":"low"}`,
		`"reasoning":"on",`:                                                                         "on/",
		`"reasoning":"off","chat_template_kwargs":{"enable_thinking":true},`:                        "off/",
		`"reasoning_effort":"none","chat_template_kwargs":{"enable_thinking":true},`:                `on/{"reasoning_effort":"none"}`,
		`"reasoning_effort":"low","chat_template_kwargs":{"reasoning_effort":"high","x":{"y":[]}},`: `on/{"reasoning_effort":"high","x":{"y":[]}}`,
	} {
		got := mustChat(t, `{`+fields+hello+`}`, Serving{})
		if s := fmt.Sprintf("%s/%s", got.Reasoning, got.Extra); s != want {
			t.Errorf("%s: got %s, want %s", fields, s, want)
		}
	}
}

func TestContinue(t *testing.T) {
	got := mustChat(t, `{"continue_final_message":true,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]}`, Serving{})
	if !got.Continue || got.Messages[1].Content != "b" {
		t.Errorf("got %+v", got)
	}
}

// What the client encodes is what the server reads.
func TestChatRequestRoundTrip(t *testing.T) {
	sent := ChatRequest{
		Model: "m", Messages: []Message{{Role: "user", Content: "<hi> & bye"}}, Choice: "auto", Logprobs: true, TopLogprobs: 2,
		Reasoning: "off", TemplateArgs: json.RawMessage(`{"a":1}`), Tools: []json.RawMessage{json.RawMessage(`{"type":"function","function":{"name":"f"}}`)},
		Generation: Generation{MaxTokens: new(5), Temperature: new(0.5), TopP: new(0.25), TopK: new(3), MinP: new(0.5), RepeatPenalty: new(1.5),
			RepeatLastN: new(9), PresencePenalty: new(1.0), FrequencyPenalty: new(1.0), Seed: new(int64(4)), Stop: []string{"x"},
			LogitBias: map[int32]float64{5: 1}, IgnoreEOS: true, Stream: true, StreamOptions: &StreamOptions{IncludeUsage: true}, ReturnProgress: true},
	}
	body, err := json.Marshal(sent)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseChat(body)
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	if !reflect.DeepEqual(*got, sent) {
		t.Errorf("got\n%+v\nwant\n%+v", *got, sent)
	}
}

func TestCompletionRequest(t *testing.T) {
	for body, want := range map[string]string{
		`{}`:                           "prompt: missing",
		`{"prompt":""}`:                "prompt: empty",
		`{"prompt":[]}`:                "prompt: empty",
		`{"prompt":["a","b"]}`:         "prompt: one prompt a request, got 2",
		`{"prompt":[[1],[2]]}`:         "prompt: one prompt a request, got 2",
		`{"prompt":[1,"x"]}`:           "prompt[1]: must be a token id",
		`{"prompt":[1,-1]}`:            "prompt[1]: must be a token id",
		`{"prompt":[1,1.5]}`:           "prompt[1]: must be a token id",
		`{"prompt":[{}]}`:              "prompt: must be a string or a list of token ids, not an object",
		`{"prompt":true}`:              "prompt: must be a string or a list of token ids, not a boolean",
		`{"prompt":"x","suffix":"y"}`:  "suffix: filling in the middle",
		`{"prompt":"x","best_of":2}`:   "best_of: this server gives one answer",
		`{"prompt":"x","logprobs":21}`: "logprobs: must be between 0 and 20",
		`{"prompt":"x","echo":"yes"}`:  "echo: must be a boolean",
	} {
		if _, err := ParseCompletion([]byte(body)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", body, err, want)
		}
	}
	for body, want := range map[string]engine.Request{
		`{"prompt":"a b"}`:                       {Text: "a b"},
		`{"prompt":["a b"],"echo":true}`:         {Text: "a b", Echo: true},
		`{"prompt":[1,2,3],"logprobs":0}`:        {Tokens: []int32{1, 2, 3}, Logprobs: -1},
		`{"prompt":[[1,2]],"logprobs":5}`:        {Tokens: []int32{1, 2}, Logprobs: 5},
		`{"prompt":"x","suffix":"","best_of":1}`: {Text: "x"},
	} {
		r, err := ParseCompletion([]byte(body))
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if got, err := r.Engine(Serving{}); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v %v, want %+v", body, got, err, want)
		}
	}
	r, _ := ParseCompletion([]byte(`{"prompt":[1,99]}`))
	if _, err := r.Engine(Serving{Vocab: 50}); err == nil || !strings.Contains(err.Error(), "token 99 at 1 does not exist") {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"stop":["a"],"logit_bias":{"1":2},` + hello + `}`))
	f.Add([]byte(`{"prompt":[[1,2]],"stream_options":null,"chat_template_kwargs":{"enable_thinking":true,"a":[{}]},` + hello + `}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if r, err := ParseChat(body); err == nil {
			if _, err := r.Engine(Serving{Defaults: Defaults(), Vocab: 100}); err == nil && len(r.Messages) == 0 {
				t.Error("a request without messages passed")
			}
			if _, extra := r.reasoning(); extra != nil && !json.Valid(extra) {
				t.Errorf("template variables are no JSON: %s", extra)
			}
		}
		if r, err := ParseCompletion(body); err == nil && (r.Prompt == "") == (r.Tokens == nil) {
			t.Errorf("not exactly one prompt: %+v", r)
		}
		_, _ = ParseTokenize(body)
		_, _ = ParseDetokenize(body, 10)
		_, _ = ParseListen(body)
	})
}

func TestTooLargeNamesTheUpperLimit(t *testing.T) {
	_, err := ParseChat([]byte(`{"messages":[{"role":"user","content":"hi"}],"max_tokens":2147483648}`))
	if err == nil || !strings.Contains(err.Error(), "must be at most 2147483647") {
		t.Errorf("%v", err)
	}
}
