package openai

import (
	"fmt"
	"strings"

	"ingot/engine"
	"ingot/engine/chat"
)

// Fingerprint is sent as system_fingerprint.
const Fingerprint = "ingot"

// Head is what every object of one answer repeats.
type Head struct {
	ID      string
	Created int64 // seconds since 1970
	Model   string
}

// ChatResponse is a whole answer.
type ChatResponse struct {
	ID          string       `json:"id"`
	Object      string       `json:"object"`
	Created     int64        `json:"created"`
	Model       string       `json:"model"`
	Fingerprint string       `json:"system_fingerprint"`
	Choices     []ChatChoice `json:"choices"`
	Usage       *Usage       `json:"usage,omitempty"`
	Timings     *Timings     `json:"timings,omitempty"`
}

// ChatChoice is the one answer of a response.
type ChatChoice struct {
	Index        int           `json:"index"`
	Message      AnswerMessage `json:"message"`
	Logprobs     *Logprobs     `json:"logprobs"`
	FinishReason string        `json:"finish_reason"`
}

// AnswerMessage is what the model said. Content is null where there are only tool calls.
type AnswerMessage struct {
	Role             string     `json:"role"`
	Content          *string    `json:"content"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	Refusal          *string    `json:"refusal"`
	ToolCalls        []ToolCall `json:"tool_calls,omitempty"`
}

// ChatChunk is one piece of a streamed answer.
type ChatChunk struct {
	ID          string          `json:"id"`
	Object      string          `json:"object"`
	Created     int64           `json:"created"`
	Model       string          `json:"model"`
	Fingerprint string          `json:"system_fingerprint,omitempty"`
	Choices     []ChunkChoice   `json:"choices"` // empty in chunks that carry only usage or progress
	Usage       *Usage          `json:"usage,omitempty"`
	Timings     *Timings        `json:"timings,omitempty"`
	Progress    *PromptProgress `json:"prompt_progress,omitempty"`
	Error       *Error          `json:"error,omitempty"` // other servers put a failure into a chunk
}

// ChunkChoice is what a chunk adds.
type ChunkChoice struct {
	Index        int       `json:"index"`
	Delta        Delta     `json:"delta"`
	Logprobs     *Logprobs `json:"logprobs,omitempty"`
	FinishReason *string   `json:"finish_reason"`
}

// Delta is the new part of the message.
type Delta struct {
	Role             string     `json:"role,omitempty"`
	Content          *string    `json:"content,omitempty"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	Reasoning        string     `json:"reasoning,omitempty"` // what some servers call it; read, never written
	ToolCalls        []ToolCall `json:"tool_calls,omitempty"`
}

// ChatAnswer gathers events into one response.
type ChatAnswer struct {
	head      Head
	logprobs  bool
	text      strings.Builder
	reasoning strings.Builder
	calls     []ToolCall
	tokens    []engine.TokenInfo
	done      *engine.Result
}

// NewChatAnswer begins an answer to r.
func NewChatAnswer(head Head, r *ChatRequest) *ChatAnswer {
	return &ChatAnswer{head: head, logprobs: r.Logprobs}
}

// Add takes the next event.
func (a *ChatAnswer) Add(ev engine.Event) {
	a.text.WriteString(ev.Text)
	a.reasoning.WriteString(ev.Reasoning)
	for _, call := range ev.ToolCalls {
		a.calls = append(a.calls, toolCall(a.head, len(a.calls), call))
	}
	if a.logprobs {
		a.tokens = append(a.tokens, ev.Tokens...)
	}
	if ev.Done != nil {
		a.done = ev.Done
	}
}

// Response is the whole answer; the engine must have said that it is done.
func (a *ChatAnswer) Response() (*ChatResponse, error) {
	if a.done == nil {
		return nil, errUnfinished
	}
	message := AnswerMessage{Role: "assistant", ReasoningContent: a.reasoning.String(), ToolCalls: a.calls}
	if a.text.Len() > 0 || len(a.calls) == 0 {
		message.Content = new(a.text.String())
	}
	return &ChatResponse{
		ID: a.head.ID, Object: "chat.completion", Created: a.head.Created, Model: a.head.Model, Fingerprint: Fingerprint,
		Choices: []ChatChoice{{Message: message, Logprobs: logprobsOf(a.tokens), FinishReason: string(a.done.Reason)}},
		Usage:   usageOf(a.done.Usage),
		Timings: timingsOf(a.done),
	}, nil
}

var errUnfinished = NewError(500, TypeServer, "", "the engine stopped without finishing the answer")

// ChatStream turns events into chunks.
type ChatStream struct {
	head               Head
	logprobs, progress bool
	usage              bool
	opened             bool
	calls              int
}

// NewChatStream begins a streamed answer to r.
func NewChatStream(head Head, r *ChatRequest) *ChatStream {
	return &ChatStream{head: head, logprobs: r.Logprobs, progress: r.ReturnProgress,
		usage: r.StreamOptions != nil && r.StreamOptions.IncludeUsage}
}

func (s *ChatStream) chunk(choices ...ChunkChoice) ChatChunk {
	if choices == nil {
		choices = []ChunkChoice{}
	}
	return ChatChunk{ID: s.head.ID, Object: "chat.completion.chunk", Created: s.head.Created, Model: s.head.Model,
		Fingerprint: Fingerprint, Choices: choices}
}

// Chunks gives what an event adds, perhaps nothing. elapsed is the time since the request, in milliseconds.
func (s *ChatStream) Chunks(ev engine.Event, elapsed int64) []any {
	var out []any
	if !s.opened {
		s.opened = true
		out = append(out, s.chunk(ChunkChoice{Delta: Delta{Role: "assistant", Content: new("")}}))
	}
	if ev.Prompt != nil && s.progress {
		c := s.chunk()
		c.Progress = progressOf(ev.Prompt, elapsed)
		out = append(out, c)
	}
	var choice ChunkChoice
	if ev.Text != "" {
		choice.Delta.Content = &ev.Text
	}
	choice.Delta.ReasoningContent = ev.Reasoning
	for _, call := range ev.ToolCalls {
		c := toolCall(s.head, s.calls, call)
		c.Index = new(s.calls)
		choice.Delta.ToolCalls = append(choice.Delta.ToolCalls, c)
		s.calls++
	}
	if s.logprobs {
		choice.Logprobs = logprobsOf(ev.Tokens)
	}
	if ev.Text != "" || ev.Reasoning != "" || len(ev.ToolCalls) > 0 || choice.Logprobs != nil {
		out = append(out, s.chunk(choice))
	}
	if ev.Done == nil {
		return out
	}
	last := s.chunk(ChunkChoice{FinishReason: new(string(ev.Done.Reason))})
	last.Timings = timingsOf(ev.Done)
	out = append(out, last)
	if s.usage {
		c := s.chunk()
		c.Usage, c.Timings = usageOf(ev.Done.Usage), last.Timings
		out = append(out, c)
	}
	return out
}

func progressOf(p *engine.PromptProgress, elapsed int64) *PromptProgress {
	return &PromptProgress{Total: p.Total, Cache: p.Cached, Processed: p.Read, TimeMS: elapsed}
}

// toolCall gives a call an id where the model's format has none; clients send it back with the result.
func toolCall(head Head, n int, call chat.ToolCall) ToolCall {
	id := call.ID
	if id == "" {
		id = fmt.Sprintf("call_%s_%d", strings.TrimPrefix(head.ID, "chatcmpl-"), n)
	}
	return ToolCall{ID: id, Type: "function", Function: FunctionCall{Name: call.Name, Arguments: call.Arguments}}
}
