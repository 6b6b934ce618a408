package openai

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"ingot/engine"
	"ingot/engine/chat"
)

var head = Head{ID: "chatcmpl-1", Created: 17, Model: "m"}

var result = &engine.Result{Reason: engine.FinishStop, Usage: engine.Usage{Prompt: 10, Cached: 4, Completion: 3, Reasoning: 1},
	Timing: engine.Timing{Queue: time.Millisecond, Prefill: 60 * time.Millisecond, Decode: 20 * time.Millisecond, PrefillRate: 100, DecodeRate: math.Inf(1)}}

var events = []engine.Event{
	{Prompt: &engine.PromptProgress{Total: 10, Cached: 4, Read: 4}},
	{Reasoning: "hm", Tokens: []engine.TokenInfo{{ID: 5, Bytes: []byte("hm"), Logprob: -0.5}}},
	{Tokens: []engine.TokenInfo{{ID: 6, Bytes: []byte{0xe2, 0x82}, Logprob: float32(math.Inf(-1)),
		Top: []engine.Candidate{{ID: 6, Bytes: []byte{0xe2, 0x82}, Logprob: -1}, {ID: 7, Bytes: []byte("a"), Logprob: -2}, {ID: 8, Bytes: []byte("a"), Logprob: -1.5}}}}},
	{Text: "€", Tokens: []engine.TokenInfo{{ID: 9, Bytes: []byte{0xac}, Logprob: float32(math.NaN())}}},
	{ToolCalls: []chat.ToolCall{{Name: "f", Arguments: `{"a":1}`}, {ID: "own", Name: "g", Arguments: "{}"}}},
	{Done: result},
}

func lines(t *testing.T, values ...any) string {
	t.Helper()
	var b strings.Builder
	for _, v := range values {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(text)
		b.WriteByte('\n')
	}
	return b.String()
}

func expect(t *testing.T, got, want string) {
	t.Helper()
	g, w := strings.Split(strings.TrimSpace(got), "\n"), strings.Split(strings.TrimSpace(want), "\n")
	for i := range max(len(g), len(w)) {
		var a, b string
		if i < len(g) {
			a = g[i]
		}
		if i < len(w) {
			b = strings.TrimSpace(w[i])
		}
		if a != b {
			t.Errorf("line %d:\n got %s\nwant %s", i+1, a, b)
		}
	}
}

const timings = `"timings":{"cache_n":4,"prompt_n":6,"prompt_ms":60,"prompt_per_token_ms":10,"prompt_per_second":100,"predicted_n":3,"predicted_ms":20,"predicted_per_token_ms":0,"predicted_per_second":0,"queue_ms":1}`
const usage = `"usage":{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}`
const chunkHead = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":17,"model":"m","system_fingerprint":"ingot","choices":`
const logprobs3 = `{"id":6,"token":"�","bytes":[226,130],"logprob":-9999,"top_logprobs":[{"id":6,"token":"�","bytes":[226,130],"logprob":-1},{"id":7,"token":"a","bytes":[97],"logprob":-2},{"id":8,"token":"a","bytes":[97],"logprob":-1.5}]}`

func TestChatStream(t *testing.T) {
	s := NewChatStream(head, &ChatRequest{Logprobs: true, Generation: Generation{ReturnProgress: true, StreamOptions: &StreamOptions{IncludeUsage: true}}})
	var chunks []any
	for _, ev := range events {
		chunks = append(chunks, s.Chunks(ev, 33)...)
	}
	expect(t, lines(t, chunks...), chunkHead+`[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}
		`+chunkHead+`[],"prompt_progress":{"total":10,"cache":4,"processed":4,"time_ms":33}}
		`+chunkHead+`[{"index":0,"delta":{"reasoning_content":"hm"},"logprobs":{"content":[{"id":5,"token":"hm","bytes":[104,109],"logprob":-0.5,"top_logprobs":[]}]},"finish_reason":null}]}
		`+chunkHead+`[{"index":0,"delta":{},"logprobs":{"content":[`+logprobs3+`]},"finish_reason":null}]}
		`+chunkHead+`[{"index":0,"delta":{"content":"€"},"logprobs":{"content":[{"id":9,"token":"�","bytes":[172],"logprob":-9999,"top_logprobs":[]}]},"finish_reason":null}]}
		`+chunkHead+`[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1_0","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"index":1,"id":"own","type":"function","function":{"name":"g","arguments":"{}"}}]},"finish_reason":null}]}
		`+chunkHead+`[{"index":0,"delta":{},"finish_reason":"stop"}],`+timings+`}
		`+chunkHead+`[],`+usage+`,`+timings+`}`)
}

// Without logprobs, progress and usage, a stream is only what changes the message.
func TestPlainChatStream(t *testing.T) {
	s := NewChatStream(head, &ChatRequest{})
	n := 0
	for _, ev := range events {
		n += len(s.Chunks(ev, 0))
	}
	if n != 5 { // role, thought, text, calls, finish
		t.Errorf("got %d chunks, want 5", n)
	}
}

func TestChatAnswer(t *testing.T) {
	a := NewChatAnswer(head, &ChatRequest{})
	if _, err := a.Response(); err == nil {
		t.Error("an answer that is not done was given out")
	}
	for _, ev := range events {
		a.Add(ev)
	}
	r, err := a.Response()
	if err != nil {
		t.Fatal(err)
	}
	expect(t, lines(t, r), `{"id":"chatcmpl-1","object":"chat.completion","created":17,"model":"m","system_fingerprint":"ingot","choices":[{"index":0,"message":{"role":"assistant","content":"€","reasoning_content":"hm","refusal":null,"tool_calls":[{"id":"call_1_0","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"own","type":"function","function":{"name":"g","arguments":"{}"}}]},"logprobs":null,"finish_reason":"stop"}],`+usage+`,`+timings+`}`)

	only := NewChatAnswer(head, &ChatRequest{})
	only.Add(engine.Event{ToolCalls: []chat.ToolCall{{Name: "f"}}})
	only.Add(engine.Event{Done: &engine.Result{Reason: engine.FinishTools}})
	if r, err := only.Response(); err != nil || r.Choices[0].Message.Content != nil || r.Choices[0].FinishReason != "tool_calls" {
		t.Errorf("an answer of tool calls alone must have null content: %+v %v", r, err)
	}
	empty := NewChatAnswer(head, &ChatRequest{})
	empty.Add(engine.Event{Done: result})
	if r, err := empty.Response(); err != nil || r.Choices[0].Message.Content == nil {
		t.Errorf("an empty answer must have a content string: %+v %v", r, err)
	}
}

func TestCompletionAnswer(t *testing.T) {
	r := &CompletionRequest{Logprobs: new(2), Generation: Generation{StreamOptions: &StreamOptions{IncludeUsage: true}}}
	whole, pieces := NewCompletionAnswer(head, r), NewCompletionStream(head, r)
	var chunks []any
	for _, ev := range events {
		whole.Add(ev)
		chunks = append(chunks, pieces.Chunks(ev, 0)...)
	}
	answer, err := whole.Response()
	if err != nil {
		t.Fatal(err)
	}
	const begin = `{"id":"chatcmpl-1","object":"text_completion","created":17,"model":"m","system_fingerprint":"ingot","choices":`
	expect(t, lines(t, answer), begin+`[{"index":0,"text":"hm€","logprobs":{"tokens":["hm","bytes:\\xe2\\x82","bytes:\\xac"],"token_logprobs":[-0.5,-9999,null],"top_logprobs":[null,{"a":-1.5,"bytes:\\xe2\\x82":-1},null],"text_offset":[0,2,4],"token_ids":[5,6,9]},"finish_reason":"stop"}],`+usage+`,`+timings+`}`)
	expect(t, lines(t, chunks...), begin+`[{"index":0,"text":"hm","logprobs":{"tokens":["hm"],"token_logprobs":[-0.5],"top_logprobs":[null],"text_offset":[0],"token_ids":[5]},"finish_reason":null}]}
		`+begin+`[{"index":0,"text":"","logprobs":{"tokens":["bytes:\\xe2\\x82"],"token_logprobs":[-9999],"top_logprobs":[{"a":-1.5,"bytes:\\xe2\\x82":-1}],"text_offset":[2],"token_ids":[6]},"finish_reason":null}]}
		`+begin+`[{"index":0,"text":"€","logprobs":{"tokens":["bytes:\\xac"],"token_logprobs":[null],"top_logprobs":[null],"text_offset":[4],"token_ids":[9]},"finish_reason":null}]}
		`+begin+`[{"index":0,"text":"","logprobs":null,"finish_reason":"stop"}],`+timings+`}
		`+begin+`[],`+usage+`,`+timings+`}`)
}

func TestFromEngine(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{fmt.Errorf("%w: 5000 tokens, context 4096", engine.ErrPromptTooLong), 400, "context_length_exceeded"},
		{fmt.Errorf("render: %w", engine.ErrNoTemplate), 400, "no_chat_template"},
		{fmt.Errorf("%w, and %w", engine.ErrNoTemplate, engine.ErrNoVocabulary), 400, "no_vocabulary"},
		{fmt.Errorf("x: %w", engine.ErrBadRequest), 400, ""},
		{fmt.Errorf("%w: roles must alternate", chat.ErrRefused), 400, "template_error"},
		{engine.ErrClosed, 503, "engine_closed"},
		{context.Canceled, 499, "cancelled"},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), 504, "timeout"},
		{fmt.Errorf("the card fell off"), 500, ""},
		{fmt.Errorf("wrapped: %w", NewError(418, "t", "c", "m")), 418, "c"},
	} {
		e := FromEngine(c.err)
		code := ""
		if e.Code != nil {
			code = *e.Code
		}
		if e.Status != c.status || code != c.code {
			t.Errorf("%v: got %d %q, want %d %q", c.err, e.Status, code, c.status, c.code)
		}
	}
}

// fillAll gives every field of a struct a value of its own, so that a forgotten one shows.
func fillAll(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillAll(v.Field(i), n)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillAll(v.Index(0), n)
		fillAll(v.Index(1), n)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		value := reflect.New(v.Type().Elem()).Elem()
		fillAll(value, n)
		v.SetMapIndex(reflect.ValueOf("k"), value)
	case reflect.String:
		v.SetString(fmt.Sprint(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(*n))
	default:
		v.SetInt(int64(*n))
	}
}

// Whatever the facade tells arrives at the other end.
func TestStateCarriesEveryField(t *testing.T) {
	var info, info2 engine.Info
	var status, status2 engine.Status
	n := 0
	fillAll(reflect.ValueOf(&info).Elem(), &n)
	fillAll(reflect.ValueOf(&status).Elem(), &n)
	text, err := json.Marshal(EngineState{Info: NewEngineInfo(info), Status: NewEngineStatus(status)})
	if err != nil {
		t.Fatal(err)
	}
	var back EngineState
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	info2, status2 = back.Info.Engine(), back.Status.Engine()
	if !reflect.DeepEqual(info, info2) {
		t.Errorf("info: got\n%+v\nwant\n%+v", info2, info)
	}
	if !reflect.DeepEqual(status, status2) {
		t.Errorf("status: got\n%+v\nwant\n%+v", status2, status)
	}
}
