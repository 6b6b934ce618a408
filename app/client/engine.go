package client

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"ingot/app/openai"
	"ingot/engine"
)

// EngineState is a moment of an engine in the facade's words. Info and Status are nil until it is ready.
type EngineState struct {
	State    string // openai.StateLoading, StateReady, StateFailed
	Progress float64
	Error    string
	Model    string // id to send in requests
	Info     *engine.Info
	Status   *engine.Status
	Listener *openai.Listener // nil: the public endpoint is closed
}

func engineState(wire openai.EngineState) EngineState {
	out := EngineState{State: wire.State, Progress: wire.Progress, Error: wire.Error, Model: wire.Model, Listener: wire.Listener}
	if wire.Info != nil {
		out.Info = new(wire.Info.Engine())
	}
	if wire.Status != nil {
		out.Status = new(wire.Status.Engine())
	}
	return out
}

// Engine tells cards, memory and speed. Servers other than Ingot answer 404.
func (c *Client) Engine(ctx context.Context) (EngineState, error) {
	var wire openai.EngineState
	err := c.call(ctx, http.MethodGet, "/v1/engine", nil, &wire)
	return engineState(wire), err
}

// WatchEngine calls each with a state at once, at every interval (20 ms to a minute) and at every change, until ctx
// ends, each returns an error, or the engine is gone. It always returns an error.
func (c *Client) WatchEngine(ctx context.Context, interval time.Duration, each func(EngineState) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	response, t, err := c.send(ctx, http.MethodGet, "/v1/engine/stream?interval="+interval.String(), nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	in := newEvents(response.Body)
	for {
		data, err := in.next()
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return t.explain(ctx, err)
		}
		var wire openai.EngineState
		if err := json.Unmarshal(data, &wire); err != nil {
			return fmt.Errorf("the engine's state is not JSON: %w", err)
		}
		if err := each(engineState(wire)); err != nil {
			return err
		}
	}
}

// Listen opens the public endpoint, in the place of one that is open.
func (c *Client) Listen(ctx context.Context, r openai.ListenRequest) (openai.Listener, error) {
	var out openai.Listener
	err := c.call(ctx, http.MethodPost, "/v1/engine/listen", r, &out)
	return out, err
}

// StopListening closes the public endpoint; it is no error if none is open.
func (c *Client) StopListening(ctx context.Context) error {
	return c.call(ctx, http.MethodDelete, "/v1/engine/listen", nil, nil)
}

// Log lists the requests younger than seq, oldest first; 0 for all that are remembered.
func (c *Client) Log(ctx context.Context, seq int64) ([]openai.LogEntry, error) {
	var out openai.RequestLog
	err := c.call(ctx, http.MethodGet, fmt.Sprintf("/v1/engine/log?after=%d", seq), nil, &out)
	return out.Entries, err
}

// Tokenize gives the ids of a text; control tokens in it are read as such where special is true.
func (c *Client) Tokenize(ctx context.Context, text string, special bool) ([]int32, error) {
	var out struct {
		Tokens []int32 `json:"tokens"`
	}
	body := openai.TokenizeRequest{Content: text, ParseSpecial: special}
	err := c.call(ctx, http.MethodPost, "/tokenize", body, &out)
	return out.Tokens, err
}

// Detokenize gives the text of ids.
func (c *Client) Detokenize(ctx context.Context, tokens []int32) (string, error) {
	var out openai.DetokenizeResponse
	err := c.call(ctx, http.MethodPost, "/detokenize", openai.DetokenizeRequest{Tokens: tokens}, &out)
	return out.Content, err
}
