package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ingot/app/openai"
	"ingot/app/server/enginetest"
	"ingot/engine"
)

const hello = `{"messages":[{"role":"user","content":"hi there"}]}`

func script() *enginetest.Script {
	return &enginetest.Script{Words: []string{"one", " two", " three"},
		About: engine.Info{Path: "/models/Tiny-Q8_0.gguf", Name: "Tiny", Context: 100, Vocab: 300, Slots: 1}}
}

// serve opens a public handler on a real connection.
func serve(t *testing.T, o Options, e Engine) (*Server, *httptest.Server) {
	t.Helper()
	s := New(o)
	if e != nil {
		s.SetEngine(e)
	}
	h := httptest.NewServer(s.Handler(false))
	t.Cleanup(h.Close)
	return s, h
}

// ask makes a request with headers given as "Name: value"; "Host" sets the host.
func ask(t *testing.T, method, url, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	r, err := http.NewRequest(method, url, in)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
		} else {
			r.Header.Add(name, value)
		}
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(text)
}

const isJSON = "Content-Type: application/json"

func errorOf(t *testing.T, body string) *openai.Error {
	t.Helper()
	var e openai.ErrorBody
	if err := json.Unmarshal([]byte(body), &e); err != nil || e.Error == nil || e.Error.Message == "" || e.Error.Type == "" {
		t.Fatalf("no OpenAI error object: %q", body)
	}
	return e.Error
}

func codeOf(t *testing.T, body string) string {
	t.Helper()
	if e := errorOf(t, body); e.Code != nil {
		return *e.Code
	}
	return ""
}

// One check after the other: each row fails at the check it is named for, and at none before.
func TestOrderOfChecks(t *testing.T) {
	_, h := serve(t, Options{MaxBody: 200, Access: Access{Key: "secret-key", Hosts: []string{"box.lan", "other:99"}, Origins: []string{"https://ok.example"}}}, script())
	port := h.URL[strings.LastIndex(h.URL, ":"):]
	const key = "Authorization: Bearer secret-key"
	for name, c := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
		code               string
	}{
		"foreign host, all else wrong too": {"PUT", "/v1/chat/completions", "x", []string{"Host: evil.example" + port, "Origin: https://evil.example"}, 403, "host_not_allowed"},
		"foreign host on health":           {"GET", "/health", "", []string{"Host: evil.example"}, 403, "host_not_allowed"},
		"loopback with another port":       {"GET", "/health", "", []string{"Host: 127.0.0.1:1"}, 403, "host_not_allowed"},
		"loopback without a port":          {"GET", "/health", "", []string{"Host: 127.0.0.1"}, 403, "host_not_allowed"},
		"name that begins like localhost":  {"GET", "/health", "", []string{"Host: localhost.evil.example" + port}, 403, "host_not_allowed"},
		"another machine's address":        {"GET", "/health", "", []string{"Host: 10.1.2.3" + port}, 403, "host_not_allowed"},
		"any address":                      {"GET", "/health", "", []string{"Host: 0.0.0.0" + port}, 403, "host_not_allowed"},
		"configured host, wrong port":      {"GET", "/health", "", []string{"Host: other:98"}, 403, "host_not_allowed"},
		"configured host with its port":    {"GET", "/health", "", []string{"Host: other:99"}, 200, ""},
		"configured host, any port":        {"GET", "/health", "", []string{"Host: BOX.lan:7"}, 200, ""},
		"localhost":                        {"GET", "/health", "", []string{"Host: localhost" + port}, 200, ""},
		"IPv6 loopback":                    {"GET", "/health", "", []string{"Host: [::1]" + port}, 200, ""},
		"foreign origin, rest wrong too":   {"PUT", "/v1/chat/completions", "x", []string{"Origin: https://evil.example"}, 403, "origin_not_allowed"},
		"null origin":                      {"GET", "/v1/models", "", []string{"Origin: null", key}, 403, "origin_not_allowed"},
		"two origins":                      {"GET", "/v1/models", "", []string{"Origin: https://ok.example", "Origin: https://ok.example", key}, 403, "origin_not_allowed"},
		"local page of another port":       {"GET", "/v1/models", "", []string{"Origin: http://localhost:1", key}, 403, "origin_not_allowed"},
		"allowed origin":                   {"GET", "/v1/models", "", []string{"Origin: https://ok.example", key}, 200, ""},
		"own origin":                       {"GET", "/v1/models", "", []string{"Origin: " + h.URL, key}, 200, ""},
		"unknown method":                   {"PUT", "/v1/chat/completions", "x", nil, 405, "method_not_allowed"},
		"form, no key":                     {"POST", "/v1/chat/completions", hello, []string{"Content-Type: application/x-www-form-urlencoded"}, 415, "unsupported_media_type"},
		"plain text":                       {"POST", "/v1/chat/completions", hello, []string{"Content-Type: text/plain", key}, 415, "unsupported_media_type"},
		"no content type":                  {"POST", "/v1/chat/completions", hello, []string{key}, 415, "unsupported_media_type"},
		"latin-1":                          {"POST", "/v1/chat/completions", hello, []string{isJSON + "; charset=latin1", key}, 415, "unsupported_media_type"},
		"utf-8":                            {"POST", "/v1/chat/completions", hello, []string{isJSON + "; charset=UTF-8", key}, 200, ""},
		"no key, body too large":           {"POST", "/v1/chat/completions", strings.Repeat(" ", 300), []string{isJSON}, 401, "missing_api_key"},
		"wrong key":                        {"POST", "/v1/chat/completions", "x", []string{isJSON, "Authorization: Bearer secret-kez"}, 401, "invalid_api_key"},
		"longer key":                       {"GET", "/v1/models", "", []string{key + "y"}, 401, "invalid_api_key"},
		"basic instead of bearer":          {"GET", "/v1/models", "", []string{"Authorization: Basic secret-key"}, 401, "invalid_api_key"},
		"no key for metrics":               {"GET", "/metrics", "", nil, 401, "missing_api_key"},
		"no key for the engine":            {"GET", "/v1/engine", "", nil, 401, "missing_api_key"},
		"too large":                        {"POST", "/v1/chat/completions", strings.Repeat(" ", 300), []string{isJSON, key}, 413, "request_too_large"},
		"not JSON":                         {"POST", "/v1/chat/completions", "{", []string{isJSON, key}, 400, ""},
		"no messages":                      {"POST", "/v1/chat/completions", "{}", []string{isJSON, key}, 400, ""},
		"unknown path":                     {"GET", "/v2", "", nil, 404, "not_found"},
		"unclean path":                     {"GET", "//health", "", nil, 404, "not_found"},
		"private path":                     {"POST", "/v1/engine/listen", "{}", []string{isJSON, key}, 404, "not_found"},
		"private log":                      {"GET", "/v1/engine/log", "", []string{key}, 404, "not_found"},
		"all is well":                      {"POST", "/v1/chat/completions", hello, []string{isJSON, key}, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, header, body := ask(t, c.method, h.URL+c.path, c.body, c.headers...)
			if status != c.status {
				t.Fatalf("status %d, want %d: %s", status, c.status, body)
			}
			if status >= 400 {
				if got := codeOf(t, body); got != c.code {
					t.Errorf("code %q, want %q", got, c.code)
				}
				if header.Get("Access-Control-Allow-Origin") != "" && c.code == "origin_not_allowed" {
					t.Error("a refused page may read the answer")
				}
			}
			if status == 401 && header.Get("WWW-Authenticate") != "Bearer" {
				t.Error("401 does not say how to authenticate")
			}
			if status == 405 && header.Get("Allow") != "POST" {
				t.Errorf("405 allows %q", header.Get("Allow"))
			}
		})
	}
}

// A body that is announced to be too large is refused: before it comes where the client asks, after it where the client sends
// all of it before it looks for an answer.
func TestAnnouncedBody(t *testing.T) {
	const limit = 4 << 20
	_, h := serve(t, Options{MaxBody: limit}, script())
	for _, c := range []struct {
		header string
		body   int
	}{{"Expect: 100-continue\r\n", 0}, {"", limit + 1}, {"", 4 * limit}} {
		conn := dial(t, h)
		fmt.Fprintf(conn, "POST /tokenize HTTP/1.1\r\nHost: %s\r\n%s\r\n%sContent-Length: %d\r\n\r\n", h.Listener.Addr(), isJSON, c.header, max(c.body, limit+1))
		if _, err := conn.Write(make([]byte, c.body)); err != nil {
			t.Errorf("%d bytes: %v", c.body, err)
		}
		reply, err := io.ReadAll(conn)
		if err != nil || !bytes.HasPrefix(reply, []byte("HTTP/1.1 413")) || !bytes.Contains(reply, []byte("larger than the 4194304 bytes")) {
			t.Errorf("%q, %d bytes: got %.300s, %v", c.header, c.body, reply, err)
		}
	}
}

func TestPreflight(t *testing.T) {
	_, h := serve(t, Options{Access: Access{Key: "k", Origins: []string{"https://ok.example/"}}}, script())
	status, header, _ := ask(t, "OPTIONS", h.URL+"/v1/chat/completions", "", "Origin: https://ok.example",
		"Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,content-type,x-stainless-os")
	if status != 204 || header.Get("Access-Control-Allow-Origin") != "https://ok.example" ||
		header.Get("Access-Control-Allow-Headers") != "authorization,content-type,x-stainless-os" || !strings.Contains(header.Get("Access-Control-Allow-Methods"), "POST") {
		t.Errorf("an allowed page got %d %v", status, header)
	}
	status, header, body := ask(t, "OPTIONS", h.URL+"/v1/chat/completions", "", "Origin: https://evil.example", "Access-Control-Request-Method: POST")
	if status != 403 || header.Get("Access-Control-Allow-Origin") != "" || codeOf(t, body) != "origin_not_allowed" {
		t.Errorf("a foreign page got %d %v", status, header)
	}
	if _, header, _ = ask(t, "GET", h.URL+"/health", "", "Origin: https://ok.example"); header.Get("Access-Control-Allow-Origin") != "https://ok.example" || header.Get("Vary") != "Origin" {
		t.Errorf("an allowed page cannot read the answer: %v", header)
	}
	if _, header, _ = ask(t, "GET", h.URL+"/health", ""); header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a program needs no such header: %v", header)
	}
}

// A name that is not ours must not even reach a handler by an absolute request line.
func TestAbsoluteRequestLine(t *testing.T) {
	_, h := serve(t, Options{}, script())
	conn := dial(t, h)
	_, _ = io.WriteString(conn, "GET http://evil.example/health HTTP/1.1\r\nHost: "+h.Listener.Addr().String()+"\r\nConnection: close\r\n\r\n")
	reply, _ := io.ReadAll(conn)
	if !bytes.HasPrefix(reply, []byte("HTTP/1.1 403")) {
		t.Errorf("got %.100s", reply)
	}
	conn = dial(t, h)
	_, _ = io.WriteString(conn, "GET /health HTTP/1.0\r\n\r\n")
	if reply, _ := io.ReadAll(conn); !bytes.HasPrefix(reply, []byte("HTTP/1.0 403")) {
		t.Errorf("a request without a host got %.100s", reply)
	}
}
