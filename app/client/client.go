// Package client is how the window and the command line reach an engine: one that this program started on a unix
// socket (Local), or any OpenAI-compatible server by its address (New). Both are a Client with the same calls.
//
// Errors: *openai.Error is what the server answered, with its status and a sentence; *EngineDied says why the local
// engine process is gone; anything else is the connection's.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ingot/app/openai"
)

// Client calls one engine. It is safe for concurrent use.
type Client struct {
	// reach gives the engine to call now; a local one changes with every restart.
	reach func() (*target, error)
}

// target is an address with what is needed to call it.
type target struct {
	base  string // without /v1
	key   string // bearer; "": none
	http  *http.Client
	local bool                  // our own engine, which knows the extensions
	blame func(err error) error // may know better why a connection failed; nil: no
}

// New makes a client of a server by its base URL, with or without /v1 at its end. key may be empty.
func New(base, key string) (*Client, error) {
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return nil, fmt.Errorf("%q is no address of a server, write http://host:port", base)
	}
	t := &target{
		base: strings.TrimSuffix(strings.TrimSuffix(u.Scheme+"://"+u.Host+u.Path, "/"), "/v1"),
		key:  key,
		http: &http.Client{Transport: &http.Transport{
			Proxy:               http.ProxyFromEnvironment,
			DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConns:        8,
			IdleConnTimeout:     time.Minute,
			ForceAttemptHTTP2:   true,
		}},
	}
	return &Client{reach: func() (*target, error) { return t, nil }}, nil
}

// NewUnix makes a client of an engine on a unix socket.
func NewUnix(path, token string) *Client {
	t := unixTarget(token, func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	})
	return &Client{reach: func() (*target, error) { return t, nil }}
}

func unixTarget(token string, dial func(context.Context) (net.Conn, error)) *target {
	return &target{base: "http://ingot", key: token, local: true, http: &http.Client{Transport: &http.Transport{
		DialContext:  func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		MaxIdleConns: 8,
	}}}
}

// send makes a call and gives the response whose status is 2xx; its body must be closed.
func (c *Client) send(ctx context.Context, method, path string, body any) (*http.Response, *target, error) {
	t, err := c.reach()
	if err != nil {
		return nil, nil, err
	}
	var in io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, t, err
		}
		in = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, t.base+path, in)
	if err != nil {
		return nil, t, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if t.key != "" {
		request.Header.Set("Authorization", "Bearer "+t.key)
	}
	response, err := t.http.Do(request)
	if err != nil {
		return nil, t, t.explain(ctx, err)
	}
	if response.StatusCode/100 == 2 {
		return response, t, nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, t, t.explain(ctx, err)
	}
	return nil, t, refusal(response.StatusCode, text)
}

// explain finds the reason behind a failed connection: the caller's own cancelling first, then a dead engine.
func (t *target) explain(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if t.blame != nil {
		return t.blame(err)
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return fmt.Errorf("no server answers at %s: %w", t.base, err)
	}
	return err
}

// call makes a call and reads its JSON answer into out, nil for none.
func (c *Client) call(ctx context.Context, method, path string, body, out any) error {
	response, t, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if out == nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err != nil {
		return t.explain(ctx, err)
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("the server's answer to %s is not what it should be: %w", path, err)
	}
	return nil
}

// refusal reads an error answer in the forms that servers use.
func refusal(status int, body []byte) *openai.Error {
	var forms struct {
		Error   json.RawMessage `json:"error"`   // OpenAI, llama-server, vLLM, SGLang
		Message string          `json:"message"` // older vLLM
		Detail  any             `json:"detail"`  // FastAPI
	}
	if json.Unmarshal(body, &forms) == nil {
		var e openai.Error
		if json.Unmarshal(forms.Error, &e) == nil && e.Message != "" {
			e.Status = status
			return &e
		}
		var plain string
		if json.Unmarshal(forms.Error, &plain) == nil && plain != "" {
			return openai.NewError(status, openai.TypeServer, "", plain)
		}
		if forms.Message != "" {
			return openai.NewError(status, openai.TypeServer, "", forms.Message)
		}
		if forms.Detail != nil {
			return openai.NewError(status, openai.TypeServer, "", fmt.Sprint(forms.Detail))
		}
	}
	return openai.NewError(status, openai.TypeServer, "", fmt.Sprintf("the server answered with status %d %s", status, http.StatusText(status)))
}

// Health asks whether the engine can answer. A loading or failed engine is an answer here, not an error.
func (c *Client) Health(ctx context.Context) (openai.Health, error) {
	t, err := c.reach()
	if err != nil {
		return openai.Health{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.base+"/health", nil)
	if err != nil {
		return openai.Health{}, err
	}
	if t.key != "" {
		request.Header.Set("Authorization", "Bearer "+t.key)
	}
	response, err := t.http.Do(request)
	if err != nil {
		return openai.Health{}, t.explain(ctx, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return openai.Health{}, t.explain(ctx, err)
	}
	var h openai.Health
	if json.Unmarshal(text, &h) == nil && h.Status != "" {
		return h, nil
	}
	if response.StatusCode == http.StatusOK {
		return openai.Health{Status: "ok"}, nil // vLLM answers with an empty body
	}
	return openai.Health{}, refusal(response.StatusCode, text)
}

// Models lists what the server answers for.
func (c *Client) Models(ctx context.Context) ([]openai.Model, error) {
	var list openai.ModelList
	err := c.call(ctx, http.MethodGet, "/v1/models", nil, &list)
	return list.Data, err
}
