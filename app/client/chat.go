package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"ingot/app/openai"
)

// Delta is one piece of an answer, in order. Fields that have nothing to say are zero.
type Delta struct {
	Text      string
	Reasoning string
	ToolCalls []openai.ToolCall      // pieces; Done has the whole calls
	Progress  *openai.PromptProgress // while the prompt is read; only from engines that tell
	Logprobs  *openai.Logprobs
	Done      *Done // the last piece of a complete answer
}

// Done sums an answer up. Usage and Timings are nil where the server does not tell.
type Done struct {
	Reason    string // stop, length, tool_calls
	ToolCalls []openai.ToolCall
	Usage     *openai.Usage
	Timings   *openai.Timings
}

// Chat asks for an answer and calls each with its pieces, from the calling goroutine. It returns nil only after a
// piece with Done. An error of each ends the call and is returned; ending ctx stops the engine.
func (c *Client) Chat(ctx context.Context, r openai.ChatRequest, each func(Delta) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.Stream, r.StreamOptions = true, &openai.StreamOptions{IncludeUsage: true}
	if t, err := c.reach(); err != nil {
		return err
	} else if t.local {
		r.ReturnProgress = true
	} else {
		r = foreign(r)
	}
	response, t, err := c.send(ctx, http.MethodPost, "/v1/chat/completions", r)
	if err != nil {
		return noChat(err)
	}
	defer response.Body.Close()
	var done *Done
	var calls callGatherer
	in := newEvents(response.Body)
	for {
		data, err := in.next()
		if err == io.EOF && done != nil {
			break // some servers leave [DONE] out
		}
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			if err = t.explain(ctx, err); err == io.ErrUnexpectedEOF {
				err = fmt.Errorf("the connection ended before the answer was complete: %w", err)
			}
			return err
		}
		if string(data) == "[DONE]" {
			if done == nil {
				done = &Done{Reason: "stop"}
			}
			break
		}
		var chunk openai.ChatChunk
		if err := json.Unmarshal(data, &chunk); err != nil {
			return fmt.Errorf("the server sent a piece that is not JSON: %w", err)
		}
		if chunk.Error != nil {
			chunk.Error.Status = response.StatusCode
			return noChat(chunk.Error)
		}
		d := Delta{Progress: chunk.Progress}
		for _, choice := range chunk.Choices {
			if choice.Delta.Content != nil {
				d.Text += *choice.Delta.Content
			}
			d.Reasoning += choice.Delta.ReasoningContent
			if choice.Delta.ReasoningContent == "" {
				d.Reasoning += choice.Delta.Reasoning
			}
			d.ToolCalls = append(d.ToolCalls, choice.Delta.ToolCalls...)
			if choice.Logprobs != nil {
				d.Logprobs = choice.Logprobs
			}
			if choice.FinishReason != nil && *choice.FinishReason != "" {
				done = &Done{Reason: *choice.FinishReason}
			}
		}
		calls.add(d.ToolCalls)
		if done != nil {
			if chunk.Usage != nil {
				done.Usage = chunk.Usage
			}
			if chunk.Timings != nil {
				done.Timings = chunk.Timings
			}
		}
		if d.Text != "" || d.Reasoning != "" || d.ToolCalls != nil || d.Progress != nil || d.Logprobs != nil {
			if err := each(d); err != nil {
				return err
			}
		}
	}
	done.ToolCalls = calls.calls
	return each(Delta{Done: done})
}

// noChat tells a person what to do with a model that cannot chat; what the server says is for programs.
func noChat(err error) error {
	var e *openai.Error
	if !errors.As(err, &e) || e.Code == nil {
		return err
	}
	switch *e.Code {
	case "no_vocabulary":
		return openai.NewError(e.Status, e.Type, *e.Code, "this file has no vocabulary: it is for benchmarks, and takes token numbers through the API; "+
			"choose another model")
	case "no_chat_template":
		return openai.NewError(e.Status, e.Type, *e.Code, "this model has no chat template: it continues text and cannot hold a conversation; "+
			"choose another model, or use this one through the server, at /v1/completions")
	}
	return err
}

// foreign puts our own extensions into what vLLM, SGLang and llama-server understand.
func foreign(r openai.ChatRequest) openai.ChatRequest {
	if r.Reasoning == "on" || r.Reasoning == "off" {
		args := map[string]json.RawMessage{}
		if len(r.TemplateArgs) > 0 {
			_ = json.Unmarshal(r.TemplateArgs, &args) // what is no object is refused by the server anyway
		}
		args["enable_thinking"] = json.RawMessage("true")
		if r.Reasoning == "off" {
			args["enable_thinking"] = json.RawMessage("false")
		}
		r.TemplateArgs, _ = json.Marshal(args)
	}
	r.Reasoning = ""
	return r
}

// callGatherer joins the pieces of tool calls by their index.
type callGatherer struct {
	calls []openai.ToolCall
	index []int // of calls
}

func (g *callGatherer) add(pieces []openai.ToolCall) {
	for _, piece := range pieces {
		at := len(g.calls) // without an index every piece is a call of its own
		if piece.Index != nil {
			for i, index := range g.index {
				if index == *piece.Index {
					at = i
				}
			}
		}
		if at == len(g.calls) {
			index := at
			if piece.Index != nil {
				index = *piece.Index
			}
			g.calls = append(g.calls, openai.ToolCall{Type: "function"})
			g.index = append(g.index, index)
		}
		call := &g.calls[at]
		if piece.ID != "" {
			call.ID = piece.ID
		}
		if piece.Function.Name != "" {
			call.Function.Name = piece.Function.Name
		}
		call.Function.Arguments += piece.Function.Arguments
	}
}
