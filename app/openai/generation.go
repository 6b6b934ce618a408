package openai

import (
	"encoding/json"
	"math"
	"strconv"

	"ingot/engine"
	"ingot/engine/sample"
)

// Limits of one request.
const (
	MaxStops      = 16 // stop strings; OpenAI allows 4
	MaxTopLogprob = 20 // candidates a token
)

// Defaults are the sampling parameters of a request that names none. They are llama-server's, not OpenAI's
// (temperature 1 and nothing else): small and quantized models wander at those.
func Defaults() sample.Params {
	return sample.Params{Temperature: 0.8, TopK: 40, TopP: 0.95, MinP: 0.05}
}

// Serving is what a conversion must know of the model that will answer.
type Serving struct {
	Defaults  sample.Params // used field by field where a request is silent
	MaxTokens int           // where a request gives no limit; 0: up to the end of the context
	Vocab     int           // token ids are below this; 0: unknown, not checked
}

// StreamOptions belongs to a streamed request.
type StreamOptions struct {
	IncludeUsage bool `json:"include_usage,omitempty"`
}

// Generation holds the fields that chat and text completions share. A nil pointer is a field not given.
type Generation struct {
	MaxTokens        *int              `json:"max_tokens,omitempty"`
	Temperature      *float64          `json:"temperature,omitempty"`
	TopP             *float64          `json:"top_p,omitempty"`
	TopK             *int              `json:"top_k,omitempty"` // 0 or less: all
	MinP             *float64          `json:"min_p,omitempty"`
	RepeatPenalty    *float64          `json:"repeat_penalty,omitempty"` // also read as repetition_penalty
	RepeatLastN      *int              `json:"repeat_last_n,omitempty"`  // -1: the whole context, 0: no penalties
	PresencePenalty  *float64          `json:"presence_penalty,omitempty"`
	FrequencyPenalty *float64          `json:"frequency_penalty,omitempty"`
	Seed             *int64            `json:"seed,omitempty"` // -1: a random one
	Stop             []string          `json:"stop,omitempty"`
	LogitBias        map[int32]float64 `json:"logit_bias,omitempty"` // token id to what is added to its logit
	IgnoreEOS        bool              `json:"ignore_eos,omitempty"`
	Stream           bool              `json:"stream,omitempty"`
	StreamOptions    *StreamOptions    `json:"stream_options,omitempty"`
	ReturnProgress   bool              `json:"return_progress,omitempty"` // prompt_progress chunks while the prompt is read
}

// readGeneration reads the shared fields of o.
func readGeneration(o *object) Generation {
	g := Generation{
		Temperature:      o.number("temperature", 0, 100),
		TopP:             o.number("top_p", 0, 1),
		TopK:             toInt(o.integer("top_k", -1, math.MaxInt32)),
		MinP:             o.number("min_p", 0, 1),
		RepeatPenalty:    o.number("repeat_penalty", 0, 100),
		RepeatLastN:      toInt(o.integer("repeat_last_n", -1, math.MaxInt32)),
		PresencePenalty:  o.number("presence_penalty", -2, 2),
		FrequencyPenalty: o.number("frequency_penalty", -2, 2),
		Seed:             o.integer("seed", math.MinInt64, math.MaxInt64),
		Stop:             readStop(o),
		LogitBias:        readLogitBias(o),
		IgnoreEOS:        o.flag("ignore_eos"),
		Stream:           o.flag("stream"),
		ReturnProgress:   o.flag("return_progress"),
		MaxTokens:        readMaxTokens(o),
	}
	if alias := o.number("repetition_penalty", 0, 100); g.RepeatPenalty == nil {
		g.RepeatPenalty = alias
	}
	if options := o.child("stream_options"); options != nil {
		g.StreamOptions = &StreamOptions{IncludeUsage: options.flag("include_usage")}
		o.adopt(options.err)
		if !g.Stream {
			o.fail("stream_options", "only allowed when stream is true")
		}
	}
	if n := o.integer("n", 1, math.MaxInt32); n != nil && *n != 1 {
		o.fail("n", "this server gives one answer a request, got %d", *n)
	}
	for _, name := range []string{"grammar", "json_schema", "guided_json", "guided_regex", "guided_choice"} {
		if o.raw(name) != nil {
			o.fail(name, "answers cannot be constrained by a grammar yet")
		}
	}
	return g
}

// readMaxTokens takes either name; -1 means no limit, as clients of llama-server write it.
func readMaxTokens(o *object) *int {
	limit := func(name string) *int {
		n := toInt(o.integer(name, -1, math.MaxInt32))
		if n != nil && *n == 0 {
			o.fail(name, "must be at least 1, got 0")
		}
		return n
	}
	older, newer := limit("max_tokens"), limit("max_completion_tokens")
	if older != nil && newer != nil && *older != *newer {
		o.fail("max_completion_tokens", "contradicts max_tokens: %d and %d", *newer, *older)
	}
	if newer != nil {
		return newer
	}
	return older
}

func readStop(o *object) []string {
	var items []json.RawMessage
	switch value := o.raw("stop"); {
	case value == nil:
		return nil
	case kind(value) == "a string":
		items = []json.RawMessage{value}
	case kind(value) == "an array":
		items = elements(value)
	default:
		o.fail("stop", "must be a string or an array of strings, not %s", kind(value))
	}
	var stops []string
	for i, item := range items {
		if kind(item) != "a string" {
			o.fail("stop["+strconv.Itoa(i)+"]", "must be a string, not %s", kind(item))
			return nil
		}
		// Clients with an empty input field send "": it can match nothing sensible.
		if s := unquote(item); s != "" {
			stops = append(stops, s)
		}
	}
	if len(stops) > MaxStops {
		o.fail("stop", "at most %d stop strings, got %d", MaxStops, len(stops))
	}
	return stops
}

func readLogitBias(o *object) map[int32]float64 {
	bias := o.child("logit_bias")
	if bias == nil || len(bias.fields) == 0 {
		return nil
	}
	out := make(map[int32]float64, len(bias.fields))
	for name := range bias.fields {
		id, err := strconv.ParseInt(name, 10, 32)
		if err != nil || id < 0 {
			o.fail("logit_bias", "keys are token ids, got %q", name)
			return nil
		}
		value := bias.number(name, -100, 100)
		if bias.err != nil || value == nil {
			o.adopt(bias.err)
			continue
		}
		out[int32(id)] = *value
	}
	return out
}

// fill puts the shared fields into an engine request.
func (g Generation) fill(r *engine.Request, s Serving) *Error {
	r.MaxTokens = s.MaxTokens
	if g.MaxTokens != nil && *g.MaxTokens > 0 {
		r.MaxTokens = *g.MaxTokens
	}
	r.Stop = g.Stop
	r.IgnoreEOS = g.IgnoreEOS
	p := s.Defaults
	set(&p.Temperature, g.Temperature)
	set(&p.TopP, g.TopP)
	set(&p.MinP, g.MinP)
	set(&p.RepeatPenalty, g.RepeatPenalty)
	set(&p.PresencePenalty, g.PresencePenalty)
	set(&p.FrequencyPenalty, g.FrequencyPenalty)
	if g.TopK != nil {
		p.TopK = max(*g.TopK, 0)
	}
	if g.TopP != nil && *g.TopP == 0 {
		p.TopP, p.TopK = 0, 1 // the smallest nucleus is the best token; 0 would mean off to the sampler
	}
	if g.RepeatLastN != nil {
		p.PenaltyLastN = *g.RepeatLastN
		if *g.RepeatLastN == 0 {
			p.RepeatPenalty, p.PresencePenalty, p.FrequencyPenalty = 0, 0, 0
		}
	}
	if g.Seed != nil && *g.Seed != -1 {
		p.Seed, p.Seeded = uint64(*g.Seed), true
	}
	if len(g.LogitBias) > 0 {
		p.LogitBias = make(map[int32]float32, len(g.LogitBias))
		for id, value := range g.LogitBias {
			if s.Vocab > 0 && int(id) >= s.Vocab {
				return invalid("logit_bias", "token %d does not exist: the vocabulary has %d", id, s.Vocab)
			}
			p.LogitBias[id] = float32(value)
		}
	}
	r.Sampling = p
	return nil
}

func set(dst *float32, value *float64) {
	if value != nil {
		*dst = float32(*value)
	}
}

func toInt(n *int64) *int {
	if n == nil {
		return nil
	}
	return new(int(*n))
}
