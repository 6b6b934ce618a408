package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"ingot/app/openai"
	"ingot/app/server"
	"ingot/app/server/enginetest"
	"ingot/engine"
)

func script() *enginetest.Script {
	return &enginetest.Script{Words: []string{"one", " two", " three"}, Thoughts: []string{"hm"},
		About: engine.Info{Path: "/models/Tiny-Q8_0.gguf", Name: "Tiny", Context: 100, Vocab: 300, Slots: 1}}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("%s: did not happen", what)
}

func question() openai.ChatRequest {
	return openai.ChatRequest{Messages: []openai.Message{{Role: "user", Content: "hi there"}}}
}

// Every call of the client against the real server on a socket.
func TestOverASocket(t *testing.T) {
	s := server.New(server.Options{Names: []string{"sample"}})
	path := filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.ServeUnix(ctx, path, "the-token-of-this-test") }()
	defer func() { cancel(); <-ended }()
	c := NewUnix(path, "the-token-of-this-test")
	s.SetLoading(0.5)
	eventually(t, "health", func() bool {
		h, err := c.Health(ctx)
		return err == nil && h.Status == "loading" && h.Progress == 0.5
	})
	var refused *openai.Error
	if err := c.Chat(ctx, question(), func(Delta) error { return nil }); !errors.As(err, &refused) || refused.Status != 503 || *refused.Code != "model_loading" {
		t.Errorf("chat while loading: %v", err)
	}
	s.SetFailed("the file is cut short")
	if h, err := c.Health(ctx); err != nil || h.Status != "failed" || h.Error != "the file is cut short" {
		t.Errorf("health after a failure: %+v %v", h, err)
	}
	s.SetEngine(script())
	if h, err := c.Health(ctx); err != nil || h.Status != "ok" {
		t.Errorf("health: %+v %v", h, err)
	}
	if models, err := c.Models(ctx); err != nil || len(models) != 1 || models[0].ID != "sample" {
		t.Errorf("models: %+v %v", models, err)
	}

	r := question()
	r.Logprobs = true
	var text, thoughts string
	var progress []openai.PromptProgress
	var done *Done
	logprobs := 0
	if err := c.Chat(ctx, r, func(d Delta) error {
		text, thoughts = text+d.Text, thoughts+d.Reasoning
		if d.Progress != nil {
			progress = append(progress, *d.Progress)
		}
		if d.Logprobs != nil {
			logprobs += len(d.Logprobs.Content)
		}
		if d.Done != nil {
			done = d.Done
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if text != "one two three" || thoughts != "hm" || len(progress) != 2 || progress[1].Processed != 2 || logprobs != 4 {
		t.Errorf("got %q, %q, %+v, %d logprobs", text, thoughts, progress, logprobs)
	}
	if done == nil || done.Reason != "stop" || done.Usage.CompletionTokens != 4 || done.Usage.Details.ReasoningTokens != 1 || done.Timings == nil {
		t.Errorf("got %+v", done)
	}

	state, err := c.Engine(ctx)
	if err != nil || state.State != openai.StateReady || state.Model != "sample" || state.Info.Path != "/models/Tiny-Q8_0.gguf" || state.Status.Cards[0].Used != 300 {
		t.Errorf("engine: %+v %v", state, err)
	}
	seen := 0
	enough := errors.New("enough")
	if err := c.WatchEngine(ctx, 20*time.Millisecond, func(EngineState) error {
		if seen++; seen == 3 {
			return enough
		}
		return nil
	}); err != enough {
		t.Errorf("watch: %v after %d", err, seen)
	}
	where, err := c.Listen(ctx, openai.ListenRequest{Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if state, _ := c.Engine(ctx); state.Listener == nil || *state.Listener != where {
		t.Errorf("listener: %+v, want %+v", state.Listener, where)
	}
	// The public endpoint is reached by the same client with another address.
	remote, err := New(where.URL, "k")
	if err != nil {
		t.Fatal(err)
	}
	if models, err := remote.Models(ctx); err != nil || len(models) != 1 {
		t.Errorf("remote models: %+v %v", models, err)
	}
	if _, err := remote.Listen(ctx, openai.ListenRequest{}); !errors.As(err, &refused) || refused.Status != 404 {
		t.Errorf("a remote may not listen: %v", err)
	}
	if _, err := c.Listen(ctx, openai.ListenRequest{Host: "0.0.0.0"}); !errors.As(err, &refused) || *refused.Code != "key_required" {
		t.Errorf("listen without a key: %v", err)
	}
	log, err := c.Log(ctx, 0)
	if err != nil || len(log) != 4 || log[2].Path != "/v1/models" || log[3].Status != 404 || !log[0].Private {
		t.Errorf("log: %+v %v", log, err)
	}
	if err := c.StopListening(ctx); err != nil {
		t.Error(err)
	}
	if _, err := remote.Models(ctx); err == nil || !strings.Contains(err.Error(), "no server answers at http://127.0.0.1:") {
		t.Errorf("the endpoint is closed: %v", err)
	}
	if ids, err := c.Tokenize(ctx, "hi", true); err != nil || !reflect.DeepEqual(ids, []int32{104, 105}) {
		t.Errorf("tokenize: %v %v", ids, err)
	}
	if text, err := c.Detokenize(ctx, []int32{104, 105}); err != nil || text != "hi" {
		t.Errorf("detokenize: %q %v", text, err)
	}
	if _, err := NewUnix(path, "another token").Engine(ctx); !errors.As(err, &refused) || refused.Status != 401 {
		t.Errorf("a wrong token: %v", err)
	}
}

// An error of the callback and the end of the context both stop the engine.
func TestChatIsStopped(t *testing.T) {
	e := script()
	e.Gap = 10 * time.Millisecond
	e.Words = make([]string, 10000)
	for i := range e.Words {
		e.Words[i] = "x"
	}
	s := server.New(server.Options{})
	s.SetEngine(e)
	h := httptest.NewServer(s.Handler(false))
	defer h.Close()
	c, err := New(h.URL, "")
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	if err := c.Chat(t.Context(), question(), func(Delta) error { return enough }); err != enough {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := c.Chat(ctx, question(), func(Delta) error { cancel(); return nil }); err != context.Canceled {
		t.Errorf("got %v", err)
	}
	eventually(t, "end of both", func() bool { return len(e.Ended()) == 2 })
	for _, err := range e.Ended() {
		if err == nil {
			t.Error("a generation ran to its end")
		}
	}
}

// Servers differ in small ways: names of fields, line ends, what comes last, the shape of errors.
func TestForeignServers(t *testing.T) {
	const done = "data: [DONE]\n\n"
	for name, c := range map[string]struct {
		status     int
		body       string
		text       string
		thoughts   string
		reason     string
		calls, err string
	}{
		"thoughts as reasoning": {200, `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"delta":{"reasoning":"hm"}}]}` + "\n\n" + `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}` + "\n\n" +
			`data: {"choices":[{"index":0,"delta":{"content":"b"},"finish_reason":"length"}]}` + "\n\n" + `data: {"choices":[],"usage":{"prompt_tokens":3}}` + "\n\n" + done,
			"ab", "hm", "length", "", ""},
		"thoughts under both names": {200, `data: {"choices":[{"delta":{"reasoning":"hm","reasoning_content":"hm"},"finish_reason":"stop"}]}` + "\n\n" + done, "", "hm", "stop", "", ""},
		"null content, CRLF, comment, no space": {200, ": ping\r\n\r\n" + `data:{"choices":[{"delta":{"content":null}}]}` + "\r\n\r\n" +
			"event: x\r\nid: 1\r\n" + `data:{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}` + "\r\n\r\n" + done, "a", "", "stop", "", ""},
		"no DONE": {200, `data: {"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}` + "\n\n", "a", "", "stop", "", ""},
		"tool call in pieces": {200, `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":""}}]}}]}` + "\n\n" +
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}}]}` + "\n\n" +
			`data: {"choices":[{"delta":{"tool_calls":[{"index":1,"id":"y","function":{"name":"g","arguments":"{}"}}]}}]}` + "\n\n" +
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}` + "\n\n" + done,
			"", "", "tool_calls", `x f {"a":1} y g {} `, ""},
		"cut off":         {200, `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n", "a", "", "", "", "the connection ended before the answer was complete"},
		"error in stream": {200, `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n" + `data: {"error":{"message":"out of memory","type":"server_error","code":500}}` + "\n\n", "a", "", "", "", "out of memory"},
		"not JSON":        {200, "data: <html>\n\n", "", "", "", "", "the server sent a piece that is not JSON"},
		"OpenAI error":    {404, `{"error":{"message":"The model does not exist","type":"invalid_request_error","param":null,"code":"model_not_found"}}`, "", "", "", "", "The model does not exist"},
		"number as code":  {400, `{"error":{"code":400,"message":"too long","type":"exceed_context_size_error","n_prompt_tokens":9,"n_ctx":8}}`, "", "", "", "", "too long"},
		"flat error":      {400, `{"object":"error","message":"bad sampling","type":"BadRequestError","code":400}`, "", "", "", "", "bad sampling"},
		"detail":          {404, `{"detail":"Not Found"}`, "", "", "", "", "Not Found"},
		"plain error":     {401, `{"error":"Unauthorized"}`, "", "", "", "", "Unauthorized"},
		"a page":          {502, "<html>Bad Gateway</html>", "", "", "", "", "the server answered with status 502 Bad Gateway"},
		"no chat": {400, `{"error":{"message":"model has no chat template; ask for a plain completion instead","type":"invalid_request_error","code":"no_chat_template"}}`, "", "", "", "",
			"this model has no chat template: it continues text and cannot hold a conversation; choose another model, or use this one through the server, at /v1/completions"},
		"no vocabulary": {400, `{"error":{"message":"model has no chat template, and the file has no vocabulary","type":"invalid_request_error","code":"no_vocabulary"}}`, "", "", "", "",
			"this file has no vocabulary: it is for benchmarks, and takes token numbers through the API; choose another model"},
	} {
		t.Run(name, func(t *testing.T) {
			h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer h.Close()
			client, err := New(h.URL+"/v1/", "")
			if err != nil {
				t.Fatal(err)
			}
			var text, thoughts, reason, calls string
			err = client.Chat(t.Context(), question(), func(d Delta) error {
				text, thoughts = text+d.Text, thoughts+d.Reasoning
				if d.Done != nil {
					reason = d.Done.Reason
					for _, call := range d.Done.ToolCalls {
						calls += fmt.Sprint(call.ID, " ", call.Function.Name, " ", call.Function.Arguments, " ")
					}
				}
				return nil
			})
			if text != c.text || thoughts != c.thoughts || reason != c.reason || calls != c.calls {
				t.Errorf("got %q %q %q %q", text, thoughts, reason, calls)
			}
			if (err == nil) != (c.err == "") || (err != nil && !strings.HasPrefix(err.Error(), c.err)) {
				t.Errorf("error %v, want %q", err, c.err)
			}
			var refused *openai.Error
			if c.status != 200 && (!errors.As(err, &refused) || refused.Status != c.status) {
				t.Errorf("status of %v", err)
			}
		})
	}
}

// What goes to a foreign server is what it understands.
func TestForeignRequest(t *testing.T) {
	got := make(chan map[string]any, 1)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		body["path"], body["auth"] = r.URL.Path, r.Header.Get("Authorization")
		got <- body
		_, _ = io.WriteString(w, "data: [DONE]\n\n")
	}))
	defer h.Close()
	c, err := New(strings.TrimPrefix(h.URL, "http://")+"/base/v1", "secret")
	if err != nil {
		t.Fatal(err)
	}
	r := question()
	r.Reasoning, r.TemplateArgs = "off", json.RawMessage(`{"a":1}`)
	if err := c.Chat(t.Context(), r, func(Delta) error { return nil }); err != nil {
		t.Fatal(err)
	}
	body := <-got
	if body["path"] != "/base/v1/chat/completions" || body["auth"] != "Bearer secret" || body["stream"] != true || body["reasoning"] != nil || body["return_progress"] != nil ||
		!reflect.DeepEqual(body["chat_template_kwargs"], map[string]any{"a": 1.0, "enable_thinking": false}) {
		t.Errorf("got %v", body)
	}
}

func TestAddresses(t *testing.T) {
	for _, bad := range []string{"", "ftp://x", "http://", "http://a b", "unix:///x"} {
		if _, err := New(bad, ""); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestEvents(t *testing.T) {
	long := strings.Repeat("x", 200<<10)
	in := newEvents(strings.NewReader("data: a\ndata: b\n\n\n\ndata:\n\n: c\ndata: " + long + "\n\ndata: end"))
	for _, want := range []string{"a\nb", "", long, "end"} {
		if got, err := in.next(); err != nil || string(got) != want {
			t.Errorf("got %.20q %v, want %.20q", got, err, want)
		}
	}
	if _, err := in.next(); err != io.EOF {
		t.Errorf("got %v", err)
	}
	if _, err := newEvents(io.MultiReader(strings.NewReader("data: "), endless{})).next(); err != errEventTooLong {
		t.Errorf("got %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
