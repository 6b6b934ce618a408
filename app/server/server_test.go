package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"ingot/app/openai"
	"ingot/app/server/enginetest"
	"ingot/engine"
)

func dial(t *testing.T, h *httptest.Server) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", h.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
	return conn
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("%s: did not happen", what)
}

func TestStates(t *testing.T) {
	s, h := serve(t, Options{Names: []string{"user/repo:Q8_0"}}, nil)
	s.SetLoading(0.42)
	status, _, body := ask(t, "GET", h.URL+"/health", "")
	if status != 503 || strings.TrimSpace(body) != `{"status":"loading","progress":0.42}` {
		t.Errorf("loading: %d %s", status, body)
	}
	status, _, body = ask(t, "POST", h.URL+"/v1/chat/completions", hello, isJSON)
	if e := errorOf(t, body); status != 503 || *e.Code != "model_loading" || *e.Progress != 0.42 {
		t.Errorf("a question while loading: %d %s", status, body)
	}
	_, _, body = ask(t, "GET", h.URL+"/v1/models", "")
	if !strings.Contains(body, `"id":"user/repo:Q8_0"`) || strings.Contains(body, "meta") {
		t.Errorf("models while loading: %s", body)
	}
	s.SetFailed("the file is cut short")
	status, _, body = ask(t, "GET", h.URL+"/health", "")
	if status != 500 || strings.TrimSpace(body) != `{"status":"failed","error":"the file is cut short"}` {
		t.Errorf("failed: %d %s", status, body)
	}
	status, _, body = ask(t, "POST", h.URL+"/v1/completions", `{"prompt":"x"}`, isJSON)
	if e := errorOf(t, body); status != 500 || e.Message != "the file is cut short" {
		t.Errorf("a question after a failure: %d %s", status, body)
	}
	s.SetEngine(script())
	status, _, body = ask(t, "GET", h.URL+"/health", "")
	if status != 200 || strings.TrimSpace(body) != `{"status":"ok"}` {
		t.Errorf("ready: %d %s", status, body)
	}
}

// The listed id, the file's name and the model's own name are the model; anything else is not here.
func TestModelNames(t *testing.T) {
	e := script()
	e.About.Path = "/models/Tiny-Q8_0-00001-of-00002.gguf"
	_, h := serve(t, Options{Names: []string{"user/repo:Q8_0", "sample"}}, e)
	var list openai.ModelList
	_, _, body := ask(t, "GET", h.URL+"/v1/models", "")
	if err := json.Unmarshal([]byte(body), &list); err != nil || len(list.Data) != 1 || list.Data[0].ID != "user/repo:Q8_0" || list.Data[0].Meta.Vocab != 300 {
		t.Fatalf("models: %v %s", err, body)
	}
	want := []string{"sample", "Tiny-Q8_0", "Tiny-Q8_0-00001-of-00002", "Tiny-Q8_0-00001-of-00002.gguf", "Tiny"}
	if !reflect.DeepEqual(list.Data[0].Aliases, want) {
		t.Errorf("aliases: got %q, want %q", list.Data[0].Aliases, want)
	}
	for _, name := range append(want, "", "USER/repo:q8_0") {
		body := strings.Replace(hello, "{", fmt.Sprintf(`{"model":%q,`, name), 1)
		status, _, answer := ask(t, "POST", h.URL+"/v1/chat/completions", body, isJSON)
		echoed := name
		if name == "" {
			echoed = "user/repo:Q8_0"
		}
		if status != 200 || !strings.Contains(answer, fmt.Sprintf(`"model":%q`, echoed)) {
			t.Errorf("model %q: %d %s", name, status, answer)
		}
	}
	status, _, body := ask(t, "POST", h.URL+"/v1/chat/completions", strings.Replace(hello, "{", `{"model":"gpt-4",`, 1), isJSON)
	if e := errorOf(t, body); status != 404 || *e.Code != "model_not_found" || !strings.Contains(e.Message, "user/repo:Q8_0") {
		t.Errorf("a foreign model: %d %s", status, body)
	}
	if status, _, body := ask(t, "GET", h.URL+"/v1/models/user/repo:Q8_0", ""); status != 200 || !strings.Contains(body, `"n_ctx":100`) {
		t.Errorf("model by id: %d %s", status, body)
	}
	if status, _, body := ask(t, "GET", h.URL+"/v1/models/none", ""); status != 404 || codeOf(t, body) != "model_not_found" {
		t.Errorf("no such model: %d %s", status, body)
	}
}

func TestEngineErrors(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
		code   string
	}{
		{fmt.Errorf("%w: 120 tokens, the context holds 100", engine.ErrPromptTooLong), 400, "context_length_exceeded"},
		{fmt.Errorf("%w: the template says: roles must alternate", engine.ErrBadRequest), 400, ""},
		{engine.ErrNoTemplate, 400, "no_chat_template"},
		{engine.ErrClosed, 503, "engine_closed"},
		{errors.New("card 3 is out of memory"), 500, ""},
	} {
		e := script()
		e.Fail = c.err
		_, h := serve(t, Options{}, e)
		// Streamed or not, an error before the first word has its own status.
		for _, body := range []string{hello, strings.Replace(hello, "{", `{"stream":true,`, 1)} {
			status, header, answer := ask(t, "POST", h.URL+"/v1/chat/completions", body, isJSON)
			if got := errorOf(t, answer); status != c.status || codeOf(t, answer) != c.code || got.Message != c.err.Error() || !strings.HasPrefix(header.Get("Content-Type"), "application/json") {
				t.Errorf("%v: got %d %s", c.err, status, answer)
			}
		}
	}
}

// dataLines gives the data of a stream's events.
func dataLines(body string) []string {
	var out []string
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			out = append(out, strings.TrimSpace(data))
		}
	}
	return out
}

func TestErrorWithinStream(t *testing.T) {
	e := script()
	e.Fail, e.FailAt = errors.New("card 3 fell off"), 2
	_, h := serve(t, Options{}, e)
	status, header, body := ask(t, "POST", h.URL+"/v1/chat/completions", strings.Replace(hello, "{", `{"stream":true,`, 1), isJSON)
	data := dataLines(body)
	if status != 200 || !strings.HasPrefix(header.Get("Content-Type"), "text/event-stream") || len(data) != 4 {
		t.Fatalf("got %d %s", status, body)
	}
	if got := errorOf(t, data[3]); got.Message != "card 3 fell off" || strings.Contains(body, "[DONE]") {
		t.Errorf("got %s", body)
	}
}

func TestPanics(t *testing.T) {
	e := script()
	e.Panic, e.FailAt = "index out of range", 1
	_, h := serve(t, Options{}, e)
	status, _, body := ask(t, "POST", h.URL+"/v1/chat/completions", hello, isJSON)
	if got := errorOf(t, body); status != 500 || !strings.Contains(got.Message, "index out of range") {
		t.Errorf("got %d %s", status, body)
	}
	status, _, body = ask(t, "POST", h.URL+"/v1/chat/completions", strings.Replace(hello, "{", `{"stream":true,`, 1), isJSON)
	data := dataLines(body)
	if got := errorOf(t, data[len(data)-1]); status != 200 || !strings.Contains(got.Message, "index out of range") {
		t.Errorf("got %d %s", status, body)
	}
	if status, _, _ = ask(t, "GET", h.URL+"/health", ""); status != 200 {
		t.Errorf("the server did not live on: %d", status)
	}
}

// A silent stream gets comments, which no client shows, and the answer arrives whole after them.
func TestKeepAlive(t *testing.T) {
	e := script()
	e.Gap = 60 * time.Millisecond
	_, h := serve(t, Options{KeepAlive: 10 * time.Millisecond}, e)
	_, _, body := ask(t, "POST", h.URL+"/v1/completions", `{"prompt":"a b","stream":true}`, isJSON)
	if n := strings.Count(body, ": waiting\n\n"); n < 3 {
		t.Errorf("%d comments: %s", n, body)
	}
	var text string
	for _, data := range dataLines(body) {
		var c openai.Completion
		if json.Unmarshal([]byte(data), &c) == nil && len(c.Choices) > 0 {
			text += c.Choices[0].Text
		}
	}
	if text != "one two three" || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("got %q in %s", text, body)
	}
}

func TestProgressInStream(t *testing.T) {
	_, h := serve(t, Options{}, script())
	_, _, body := ask(t, "POST", h.URL+"/v1/chat/completions", strings.Replace(hello, "{", `{"stream":true,"return_progress":true,`, 1), isJSON)
	if !strings.Contains(body, `"prompt_progress":{"total":2,"cache":0,"processed":2,`) {
		t.Errorf("got %s", body)
	}
}

// A client that leaves ends the generation, streamed or not, and the log says so.
func TestDisconnect(t *testing.T) {
	for _, stream := range []bool{true, false} {
		e := script()
		e.Words, e.Gap = make([]string, 10000), 5*time.Millisecond
		for i := range e.Words {
			e.Words[i] = "word "
		}
		s, h := serve(t, Options{}, e)
		ctx, cancel := context.WithCancel(t.Context())
		body := strings.Replace(hello, "{", fmt.Sprintf(`{"stream":%v,`, stream), 1)
		r, _ := http.NewRequestWithContext(ctx, "POST", h.URL+"/v1/chat/completions", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if stream {
			response, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil || !strings.HasPrefix(line, "data: ") {
				t.Fatalf("got %q %v", line, err)
			}
			cancel()
			response.Body.Close()
		} else {
			go func() {
				eventually(t, "generation", func() bool { return len(e.Requests()) == 1 })
				cancel()
			}()
			if _, err := http.DefaultClient.Do(r); !errors.Is(err, context.Canceled) {
				t.Fatalf("got %v", err)
			}
		}
		eventually(t, "end of the generation", func() bool { return len(e.Ended()) == 1 })
		if err := e.Ended()[0]; err == nil {
			t.Error("the generation ran to its end")
		}
		eventually(t, "log entry", func() bool { return len(s.log.after(0)) == 1 })
		if entry := s.log.after(0)[0]; entry.Status != statusGone || entry.PromptTokens != 2 {
			t.Errorf("log: %+v", entry)
		}
	}
}

// A client that stops reading but stays connected is given up after the write deadline.
func TestClientThatReadsNothing(t *testing.T) {
	e := script()
	e.Words = make([]string, 2000)
	for i := range e.Words {
		e.Words[i] = strings.Repeat("x", 32<<10)
	}
	_, h := serve(t, Options{Write: 100 * time.Millisecond}, e)
	conn := dial(t, h)
	_ = conn.(*net.TCPConn).SetReadBuffer(4096)
	body := strings.Replace(hello, "{", `{"stream":true,`, 1)
	fmt.Fprintf(conn, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		h.Listener.Addr(), len(body), body)
	eventually(t, "end of the generation", func() bool { return len(e.Ended()) == 1 })
	if e.Ended()[0] == nil {
		t.Error("64 MB went to a client that reads nothing")
	}
}

// The write deadline of one answer does not cut the next one on the same connection.
func TestDeadlineDoesNotLinger(t *testing.T) {
	_, h := serve(t, Options{Write: 50 * time.Millisecond}, script())
	conn := dial(t, h)
	in := bufio.NewReader(conn)
	exchange := func(request string) string {
		fmt.Fprintf(conn, request, h.Listener.Addr())
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	body := `{"prompt":"a","stream":true}`
	request := fmt.Sprintf("POST /v1/completions HTTP/1.1\r\nHost: %%s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	if text := exchange(request); !strings.HasSuffix(text, "data: [DONE]\n\n") {
		t.Errorf("got %s", text)
	}
	time.Sleep(100 * time.Millisecond)
	if text := exchange("GET /metrics HTTP/1.1\r\nHost: %s\r\n\r\n"); !strings.Contains(text, "ingot_requests_total") {
		t.Errorf("got %s", text)
	}
}

func TestQueueLimit(t *testing.T) {
	e := script()
	e.Gap = time.Hour
	s, h := serve(t, Options{MaxQueue: 1}, e)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			r, _ := http.NewRequestWithContext(ctx, "POST", h.URL+"/v1/chat/completions", strings.NewReader(hello))
			r.Header.Set("Content-Type", "application/json")
			_, _ = http.DefaultClient.Do(r)
		})
	}
	eventually(t, "two requests", func() bool { return len(e.Requests()) == 2 })
	for path, body := range map[string]string{"/v1/chat/completions": hello, "/tokenize": `{"content":"hi"}`} {
		status, header, body := ask(t, "POST", h.URL+path, body, isJSON)
		if status != 429 || codeOf(t, body) != "queue_full" || header.Get("Retry-After") == "" {
			t.Errorf("%s: got %d %s", path, status, body)
		}
	}
	cancel()
	wg.Wait()
	eventually(t, "room", func() bool { return s.running.Load() == 0 })
	e.Gap = 0
	if status, _, body := ask(t, "POST", h.URL+"/v1/chat/completions", hello, isJSON); status != 200 {
		t.Errorf("after the queue emptied: %d %s", status, body)
	}
}

// A list of tokens is sent in parts.
func TestManyTokens(t *testing.T) {
	_, h := serve(t, Options{}, script())
	text := strings.Repeat("hé", 100_000)
	for _, pieces := range []bool{false, true} {
		body, _ := json.Marshal(map[string]any{"content": text, "with_pieces": pieces})
		status, _, answer := ask(t, "POST", h.URL+"/tokenize", string(body), isJSON)
		var list struct{ Tokens []any }
		if err := json.Unmarshal([]byte(answer), &list); err != nil || status != 200 || len(list.Tokens) != len(text) {
			t.Errorf("pieces %v: status %d, %d tokens of %d, %v", pieces, status, len(list.Tokens), len(text), err)
		}
	}
}

func TestTokens(t *testing.T) {
	_, h := serve(t, Options{}, script())
	for _, c := range []struct{ path, body, want string }{
		{"/tokenize", `{"content":"hé"}`, `{"tokens":[104,195,169]}`},
		{"/tokenize", `{"content":""}`, `{"tokens":[]}`},
		{"/tokenize", `{"content":"h\u00e9","with_pieces":true}`, `{"tokens":[{"id":104,"piece":"h"},{"id":195,"piece":[195]},{"id":169,"piece":[169]}]}`},
		{"/detokenize", `{"tokens":[104,105]}`, `{"content":"hi"}`},
	} {
		if status, _, body := ask(t, "POST", h.URL+c.path, c.body, isJSON); status != 200 || strings.TrimSpace(body) != c.want {
			t.Errorf("%s %s: got %d %s, want %s", c.path, c.body, status, body, c.want)
		}
	}
	for path, body := range map[string]string{"/tokenize": `{}`, "/detokenize": `{"tokens":[300]}`} {
		if status, _, answer := ask(t, "POST", h.URL+path, body, isJSON); status != 400 {
			t.Errorf("%s %s: got %d %s", path, body, status, answer)
		}
	}
}

func TestEngineStatusAndStream(t *testing.T) {
	s, h := serve(t, Options{}, nil)
	response, err := http.Get(h.URL + "/v1/engine/stream?interval=1m")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	in := bufio.NewReader(response.Body)
	next := func() (out openai.EngineState) {
		t.Helper()
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				if err := json.Unmarshal([]byte(data), &out); err != nil {
					t.Fatal(err)
				}
				return out
			}
		}
	}
	if got := next(); got.State != "loading" || got.Info != nil {
		t.Errorf("got %+v", got)
	}
	s.SetEngine(script()) // a change does not wait for the interval
	got := next()
	if got.State != "ready" || got.Model != "Tiny-Q8_0" || got.Info.Path != "Tiny-Q8_0.gguf" || got.Status.Cards[0].Used != 300 {
		t.Errorf("got %+v %+v", got, got.Info)
	}
	for interval, want := range map[string]int{"0": 400, "x": 400, "1h": 400, "-5ms": 400} {
		if status, _, body := ask(t, "GET", h.URL+"/v1/engine/stream?interval="+interval, ""); status != want {
			t.Errorf("interval %s: %d %s", interval, status, body)
		}
	}
}

func TestMetrics(t *testing.T) {
	_, h := serve(t, Options{}, script())
	ask(t, "POST", h.URL+"/v1/chat/completions", hello, isJSON)
	ask(t, "GET", h.URL+"/v1/made-up/\"x\"", "")
	_, header, body := ask(t, "GET", h.URL+"/metrics", "")
	for _, line := range []string{
		`ingot_requests_total{path="/v1/chat/completions",status="200"} 1`,
		`ingot_requests_total{path="other",status="404"} 1`,
		"ingot_prompt_tokens_total 2", "ingot_completion_tokens_total 3", "ingot_engine_ready 1",
		`ingot_card_memory_bytes{card="cpu",kind="used"} 300`, "# TYPE ingot_decode_tokens_per_second gauge",
	} {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no line %s in\n%s", line, body)
		}
	}
	if !strings.HasPrefix(header.Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Errorf("content type %s", header.Get("Content-Type"))
	}
}

func TestLogIsARing(t *testing.T) {
	l := newRequestLog(3)
	for i := range 5 {
		l.add(openai.LogEntry{Status: i})
	}
	var got []int64
	for _, e := range l.after(3) {
		got = append(got, e.Seq)
	}
	if all := l.after(0); len(all) != 3 || all[0].Seq != 3 || all[2].Seq != 5 || !reflect.DeepEqual(got, []int64{4, 5}) {
		t.Errorf("got %v and %v", all, got)
	}
}

// Requests that were refused are in the log with the reason; the private status polling is not.
func TestLogTells(t *testing.T) {
	var lines bytes.Buffer
	s, h := serve(t, Options{Log: slog.New(slog.NewTextHandler(&lines, nil))}, script())
	ask(t, "GET", h.URL+"/health", "", "Host: evil.example")
	ask(t, "POST", h.URL+"/v1/chat/completions", hello, isJSON)
	private := httptest.NewServer(s.Handler(true))
	defer private.Close()
	ask(t, "GET", private.URL+"/v1/engine", "")
	_, _, body := ask(t, "GET", private.URL+"/v1/engine/log?after=0", "")
	var log openai.RequestLog
	if err := json.Unmarshal([]byte(body), &log); err != nil || len(log.Entries) != 2 {
		t.Fatalf("got %v %s", err, body)
	}
	refused, answered := log.Entries[0], log.Entries[1]
	if refused.Status != 403 || !strings.Contains(refused.Error, "evil.example") {
		t.Errorf("got %+v", refused)
	}
	if answered.Status != 200 || answered.PromptTokens != 2 || answered.CompletionTokens != 3 || answered.Path != "/v1/chat/completions" || answered.Milliseconds <= 0 {
		t.Errorf("got %+v", answered)
	}
	h.Close() // ends its requests
	private.Close()
	for line := range strings.Lines(lines.String()) {
		if strings.Contains(line, "error=") != strings.Contains(line, "status=403") {
			t.Errorf("the log says %s", line)
		}
	}
}

// Several at once, for the race detector.
func TestConcurrent(t *testing.T) {
	e := &enginetest.Script{Words: []string{"a", "b"}, Gap: time.Millisecond, About: engine.Info{Path: "m.gguf", Slots: 8}}
	_, h := serve(t, Options{KeepAlive: time.Millisecond}, e)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			body := strings.Replace(hello, "{", fmt.Sprintf(`{"stream":%v,`, i%2 == 0), 1)
			response, err := http.Post(h.URL+"/v1/chat/completions", "application/json", strings.NewReader(body))
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			if text, _ := io.ReadAll(response.Body); response.StatusCode != 200 || !strings.Contains(string(text), `"finish_reason":"stop"`) {
				t.Errorf("got %d %s", response.StatusCode, text)
			}
		})
	}
	wg.Wait()
}
