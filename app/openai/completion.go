package openai

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"ingot/engine"
)

// CompletionRequest is the body of POST /v1/completions. One of Prompt and Tokens is set.
type CompletionRequest struct {
	Model  string
	Prompt string
	Tokens []int32
	Generation
	Echo     bool
	Logprobs *int // candidates a token; 0: only the chosen one's, nil: none
}

// Completion is a whole text completion, and the shape of one piece of it in a stream.
type Completion struct {
	ID          string             `json:"id"`
	Object      string             `json:"object"`
	Created     int64              `json:"created"`
	Model       string             `json:"model"`
	Fingerprint string             `json:"system_fingerprint"`
	Choices     []CompletionChoice `json:"choices"`
	Usage       *Usage             `json:"usage,omitempty"`
	Timings     *Timings           `json:"timings,omitempty"`
	Progress    *PromptProgress    `json:"prompt_progress,omitempty"`
}

// CompletionChoice is the one answer; FinishReason is null until the last piece of a stream.
type CompletionChoice struct {
	Index        int             `json:"index"`
	Text         string          `json:"text"`
	Logprobs     *LegacyLogprobs `json:"logprobs"`
	FinishReason *string         `json:"finish_reason"`
}

// ParseCompletion reads a completion request. Its errors are *Error, status 400, and name the field.
func ParseCompletion(body []byte) (*CompletionRequest, error) {
	o, bad := parseBody(body)
	if bad != nil {
		return nil, bad
	}
	r := &CompletionRequest{
		Model:      o.text("model"),
		Generation: readGeneration(o),
		Echo:       o.flag("echo"),
		Logprobs:   toInt(o.integer("logprobs", 0, MaxTopLogprob)),
	}
	r.readPrompt(o)
	if o.text("suffix") != "" {
		o.fail("suffix", "filling in the middle is not supported")
	}
	if n := o.integer("best_of", 1, math.MaxInt32); n != nil && *n != 1 {
		o.fail("best_of", "this server gives one answer a request, got %d", *n)
	}
	if o.err != nil {
		return nil, o.err
	}
	return r, nil
}

// readPrompt takes a string, a list of token ids, or a list that holds one of these.
func (r *CompletionRequest) readPrompt(o *object) {
	value := o.raw("prompt")
	if kind(value) == "an array" {
		if items := elements(value); len(items) > 0 && kind(items[0]) != "a number" {
			if len(items) > 1 {
				o.fail("prompt", "one prompt a request, got %d", len(items))
				return
			}
			value = items[0]
		}
	}
	switch kind(value) {
	case "a string":
		if r.Prompt = unquote(value); r.Prompt == "" {
			o.fail("prompt", "empty")
		}
	case "an array":
		items := elements(value)
		if len(items) == 0 {
			o.fail("prompt", "empty")
		}
		r.Tokens = make([]int32, 0, len(items))
		for i, item := range items {
			id, err := int64(0), fmt.Errorf("must be a token id, not %s", kind(item))
			if kind(item) == "a number" {
				id, err = wholeNumber(item)
			}
			if err != nil || id < 0 || id > math.MaxInt32 {
				o.fail(fmt.Sprintf("prompt[%d]", i), "must be a token id, got %.40s", item)
				return
			}
			r.Tokens = append(r.Tokens, int32(id))
		}
	case "nothing":
		o.fail("prompt", "missing")
	default:
		o.fail("prompt", "must be a string or a list of token ids, not %s", kind(value))
	}
}

// Engine turns the request into the engine's, with the server's defaults where it is silent.
func (r *CompletionRequest) Engine(s Serving) (engine.Request, error) {
	out := engine.Request{Text: r.Prompt, Tokens: r.Tokens, Echo: r.Echo}
	if r.Logprobs != nil {
		out.Logprobs = wantedLogprobs(true, *r.Logprobs)
	}
	for i, id := range r.Tokens {
		if s.Vocab > 0 && int(id) >= s.Vocab {
			return engine.Request{}, invalid("prompt", "token %d at %d does not exist: the vocabulary has %d", id, i, s.Vocab)
		}
	}
	if err := r.Generation.fill(&out, s); err != nil {
		return engine.Request{}, err
	}
	return out, nil
}

// CompletionAnswer gathers events into one response.
type CompletionAnswer struct {
	head     Head
	logprobs bool
	text     strings.Builder
	echoed   int // characters before the first token
	tokens   []engine.TokenInfo
	done     *engine.Result
}

// NewCompletionAnswer begins an answer to r.
func NewCompletionAnswer(head Head, r *CompletionRequest) *CompletionAnswer {
	return &CompletionAnswer{head: head, logprobs: r.Logprobs != nil}
}

// Add takes the next event. A raw prompt has no place for thoughts apart, so they are text like the rest.
func (a *CompletionAnswer) Add(ev engine.Event) {
	a.echoed += echoed(ev, len(a.tokens) == 0)
	a.text.WriteString(ev.Reasoning)
	a.text.WriteString(ev.Text)
	if a.logprobs {
		a.tokens = append(a.tokens, ev.Tokens...)
	}
	if ev.Done != nil {
		a.done = ev.Done
	}
}

// Response is the whole answer; the engine must have said that it is done.
func (a *CompletionAnswer) Response() (*Completion, error) {
	if a.done == nil {
		return nil, errUnfinished
	}
	logprobs, _ := legacyLogprobs(a.tokens, a.echoed)
	c := completion(a.head, CompletionChoice{Text: a.text.String(), Logprobs: logprobs, FinishReason: new(string(a.done.Reason))})
	c.Usage, c.Timings = usageOf(a.done.Usage), timingsOf(a.done)
	return &c, nil
}

// CompletionStream turns events into pieces.
type CompletionStream struct {
	head                      Head
	logprobs, progress, usage bool
	begun                     bool
	offset                    int // of the next token in the text, in characters
}

// NewCompletionStream begins a streamed answer to r.
func NewCompletionStream(head Head, r *CompletionRequest) *CompletionStream {
	return &CompletionStream{head: head, logprobs: r.Logprobs != nil, progress: r.ReturnProgress,
		usage: r.StreamOptions != nil && r.StreamOptions.IncludeUsage}
}

// Chunks gives what an event adds, perhaps nothing. elapsed is the time since the request, in milliseconds.
func (s *CompletionStream) Chunks(ev engine.Event, elapsed int64) []any {
	var out []any
	if ev.Prompt != nil && s.progress {
		c := completion(s.head)
		c.Progress = progressOf(ev.Prompt, elapsed)
		out = append(out, c)
	}
	choice := CompletionChoice{Text: ev.Reasoning + ev.Text}
	if s.logprobs {
		s.offset += echoed(ev, !s.begun)
		s.begun = s.begun || len(ev.Tokens) > 0
		choice.Logprobs, s.offset = legacyLogprobs(ev.Tokens, s.offset)
	}
	if choice.Text != "" || choice.Logprobs != nil {
		out = append(out, completion(s.head, choice))
	}
	if ev.Done == nil {
		return out
	}
	last := completion(s.head, CompletionChoice{FinishReason: new(string(ev.Done.Reason))})
	last.Timings = timingsOf(ev.Done)
	out = append(out, last)
	if s.usage {
		c := completion(s.head)
		c.Usage, c.Timings = usageOf(ev.Done.Usage), last.Timings
		out = append(out, c)
	}
	return out
}

// echoed counts the characters of a repeated prompt: text that comes before any token is reported.
func echoed(ev engine.Event, first bool) int {
	if !first || len(ev.Tokens) > 0 {
		return 0
	}
	return utf8.RuneCountInString(ev.Text)
}

func completion(head Head, choices ...CompletionChoice) Completion {
	if choices == nil {
		choices = []CompletionChoice{}
	}
	return Completion{ID: head.ID, Object: "text_completion", Created: head.Created, Model: head.Model,
		Fingerprint: Fingerprint, Choices: choices}
}
