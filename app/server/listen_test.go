package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"ingot/app/openai"
)

func TestListenNeedsAKeyBeyondLoopback(t *testing.T) {
	s := New(Options{})
	defer s.Shutdown()
	for _, r := range []openai.ListenRequest{
		{Host: "0.0.0.0"}, {Host: "::"}, {Host: "127.0.0.1", Origins: []string{"*"}}, {Host: "localhost", Hosts: []string{"*"}},
	} {
		_, err := s.ListenPublic(r)
		var e *openai.Error
		if !errors.As(err, &e) || *e.Code != "key_required" {
			t.Errorf("%+v: got %v", r, err)
		}
	}
	if where, err := s.ListenPublic(openai.ListenRequest{Host: "0.0.0.0", Key: "k"}); err != nil || !where.Key || where.Port == 0 {
		t.Errorf("with a key: %+v %v", where, err)
	}
	for _, host := range []string{"127.0.0.1", "localhost", ""} {
		where, err := s.ListenPublic(openai.ListenRequest{Host: host})
		if err != nil || where.URL != fmt.Sprintf("http://127.0.0.1:%d/v1", where.Port) {
			t.Errorf("%q: %+v %v", host, where, err)
		}
	}
	var e *openai.Error
	if _, err := s.ListenPublic(openai.ListenRequest{Host: "198.51.100.7", Key: "k"}); !errors.As(err, &e) || *e.Code != "bad_address" {
		t.Errorf("an address that is not ours: %v", err)
	}
	if _, err := s.ListenPublic(openai.ListenRequest{Host: "no such host"}); !errors.As(err, &e) || *e.Code != "bad_address" {
		t.Errorf("no address at all: %v", err)
	}
}

// The sentence names who has the port: here this very process.
func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	s := New(Options{})
	defer s.Shutdown()
	good, err := s.ListenPublic(openai.ListenRequest{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.ListenPublic(openai.ListenRequest{Port: port})
	var e *openai.Error
	if !errors.As(err, &e) || e.Status != 409 || *e.Code != "port_in_use" || !strings.HasPrefix(e.Message, fmt.Sprintf("port %d is in use", port)) {
		t.Fatalf("got %v", err)
	}
	if runtime.GOOS == "linux" && !strings.HasSuffix(e.Message, " by this very process") {
		t.Errorf("whose port? %s", e.Message)
	}
	// What was open stays open.
	if status, _, body := ask(t, "GET", strings.TrimSuffix(good.URL, "/v1")+"/health", ""); status != 503 {
		t.Errorf("the endpoint that was open: %d %s", status, body)
	}
}

func TestDescribeOwner(t *testing.T) {
	if got := describeOwner("llama-server", 17); got != " by llama-server (process 17)" {
		t.Errorf("got %q", got)
	}
	if got := describeOwner("", 17); got != " by process 17" {
		t.Errorf("got %q", got)
	}
}

// A private server on a unix socket, and a client of it that sends token.
func private(t *testing.T, s *Server, token string) (http.Client, func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.ServeUnix(ctx, path, token) }()
	eventually(t, "socket", func() bool { i, err := os.Stat(path); return err == nil && i.Mode().Perm() == 0o600 })
	client := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", path) }}}
	return client, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the socket ended with %v", err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("the socket file is still there")
		}
	}
}

func call(t *testing.T, client http.Client, token, method, path, body string) (int, string) {
	t.Helper()
	r, _ := http.NewRequest(method, "http://ingot"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	return response.StatusCode, string(text)
}

// The private socket opens the public endpoint, moves it, and closes it.
func TestListenOverTheSocket(t *testing.T) {
	s := New(Options{})
	s.SetEngine(script())
	client, end := private(t, s, "token-token-token")
	defer end()
	if status, body := call(t, client, "wrong", "GET", "/v1/engine", ""); status != 401 {
		t.Errorf("a wrong token: %d %s", status, body)
	}
	open := func(body string) (where openai.Listener) {
		t.Helper()
		status, text := call(t, client, "token-token-token", "POST", "/v1/engine/listen", body)
		if err := json.Unmarshal([]byte(text), &where); err != nil || status != 200 {
			t.Fatalf("listen %s: %d %s", body, status, text)
		}
		return where
	}
	first := open(`{"host":"127.0.0.1","port":0}`)
	if status, _, _ := ask(t, "GET", first.URL+"/models", ""); status != 200 {
		t.Errorf("the endpoint answers %d", status)
	}
	if status, _, body := ask(t, "POST", first.URL+"/engine/listen", `{}`, isJSON); status != 404 {
		t.Errorf("the public endpoint opens endpoints: %d %s", status, body)
	}
	again := open(fmt.Sprintf(`{"port":%d,"key":"k"}`, first.Port)) // the same port, now with a key
	if again.Port != first.Port || !again.Key {
		t.Errorf("got %+v", again)
	}
	if status, _, _ := ask(t, "GET", first.URL+"/models", ""); status != 401 {
		t.Errorf("the endpoint with a key answers %d", status)
	}
	if _, body := call(t, client, "token-token-token", "GET", "/v1/engine", ""); !strings.Contains(body, fmt.Sprintf(`"listener":{"host":"127.0.0.1","port":%d`, first.Port)) || !strings.Contains(body, `"path":"/models/Tiny-Q8_0.gguf"`) {
		t.Errorf("the engine's state: %s", body)
	}
	moved := open(`{}`)
	if _, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", first.Port)); err == nil {
		t.Error("the old port is still open")
	}
	if status, body := call(t, client, "token-token-token", "POST", "/v1/engine/listen", `{"host":"0.0.0.0"}`); status != 400 || !strings.Contains(body, "key_required") {
		t.Errorf("beyond loopback without a key: %d %s", status, body)
	}
	if status, body := call(t, client, "token-token-token", "POST", "/v1/engine/listen", `{"port":"x"}`); status != 400 {
		t.Errorf("a wrong port: %d %s", status, body)
	}
	for range 2 {
		if status, body := call(t, client, "token-token-token", "DELETE", "/v1/engine/listen", ""); status != 204 {
			t.Errorf("close: %d %s", status, body)
		}
	}
	if _, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", moved.Port)); err == nil {
		t.Error("the port is still open")
	}
}

// A listener that closes lets a running answer end.
func TestGracefulStop(t *testing.T) {
	for _, c := range []struct {
		grace    time.Duration
		complete bool
	}{{10 * time.Second, true}, {50 * time.Millisecond, false}} {
		e := script()
		e.Gap = 100 * time.Millisecond
		s := New(Options{Grace: c.grace})
		s.SetEngine(e)
		where, err := s.ListenPublic(openai.ListenRequest{})
		if err != nil {
			t.Fatal(err)
		}
		stream, err := http.Get(strings.TrimSuffix(where.URL, "/v1") + "/v1/engine/stream") // must not hold the stop up
		if err != nil {
			t.Fatal(err)
		}
		got := make(chan string)
		go func() {
			response, err := http.Post(where.URL+"/chat/completions", "application/json", strings.NewReader(strings.Replace(hello, "{", `{"stream":true,`, 1)))
			if err != nil {
				got <- err.Error()
				return
			}
			text, _ := io.ReadAll(response.Body)
			got <- string(text)
		}()
		eventually(t, "generation", func() bool { return len(e.Requests()) == 1 })
		s.Shutdown()
		text := <-got
		stream.Body.Close()
		if c.complete && !strings.HasSuffix(text, "data: [DONE]\n\n") {
			t.Errorf("the answer was cut: %s", text)
		}
		if !c.complete && !strings.Contains(text, "the server is stopping") {
			t.Errorf("the client was not told: %s", text)
		}
	}
}

// A socket file that nobody serves is replaced, one that is served is not.
func TestSocketFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listenUnix(path); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a served socket: %v", err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	again, err := listenUnix(path)
	if err != nil {
		t.Fatalf("a dead socket: %v", err)
	}
	again.Close()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenUnix(path); err == nil {
		t.Error("a file was taken for a socket")
	}
	if text, _ := os.ReadFile(path); string(text) != "precious" {
		t.Error("a file was overwritten")
	}
}

func TestEngineProcess(t *testing.T) {
	run := func(stdin io.Reader, open func(func(float64)) (Engine, error)) error {
		return RunEngineProcess(t.Context(), stdin, ProcessOptions{Socket: filepath.Join(t.TempDir(), "s")}, open)
	}
	if err := run(strings.NewReader("short\n"), nil); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("no token: %v", err)
	}
	hold := func() io.Reader { // stdin that stays open
		r, w := io.Pipe()
		t.Cleanup(func() { w.Close() })
		return io.MultiReader(strings.NewReader("0123456789abcdef\n"), r)
	}
	if err := run(hold(), func(func(float64)) (Engine, error) { return nil, errors.New("the file is cut short") }); err == nil || err.Error() != "the file is cut short" {
		t.Errorf("a load that fails: %v", err)
	}
	if err := run(hold(), func(func(float64)) (Engine, error) { panic("nil map") }); err == nil || !strings.Contains(err.Error(), "nil map") {
		t.Errorf("a load that panics: %v", err)
	}
	r, w := io.Pipe()
	e := script()
	ended := make(chan error)
	go func() { ended <- run(r, func(func(float64)) (Engine, error) { return e, nil }) }()
	fmt.Fprintln(w, "0123456789abcdef")
	select {
	case err := <-ended:
		t.Fatalf("ended by itself: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	w.Close()
	if err := <-ended; err != nil || !e.Closed() {
		t.Errorf("stdin closed: %v, engine closed: %v", err, e.Closed())
	}
}
