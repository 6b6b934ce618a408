package openai

import (
	"math"
	"time"

	"ingot/engine"
)

// Usage counts tokens as OpenAI does.
type Usage struct {
	PromptTokens     int               `json:"prompt_tokens"`
	CompletionTokens int               `json:"completion_tokens"`
	TotalTokens      int               `json:"total_tokens"`
	PromptDetails    PromptDetails     `json:"prompt_tokens_details"`
	Details          CompletionDetails `json:"completion_tokens_details"`
}

// PromptDetails says how many prompt tokens were still held from earlier.
type PromptDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// CompletionDetails says how many of the generated tokens were thoughts.
type CompletionDetails struct {
	ReasoningTokens int `json:"reasoning_tokens"`
}

// Timings is llama-server's extension: counts, milliseconds and tokens a second of both phases.
type Timings struct {
	CacheN              int     `json:"cache_n"`
	PromptN             int     `json:"prompt_n"` // tokens read, without the cached ones
	PromptMS            float64 `json:"prompt_ms"`
	PromptPerTokenMS    float64 `json:"prompt_per_token_ms"`
	PromptPerSecond     float64 `json:"prompt_per_second"`
	PredictedN          int     `json:"predicted_n"`
	PredictedMS         float64 `json:"predicted_ms"`
	PredictedPerTokenMS float64 `json:"predicted_per_token_ms"`
	PredictedPerSecond  float64 `json:"predicted_per_second"`
	QueueMS             float64 `json:"queue_ms"` // our own: time before a slot was free
}

// PromptProgress is llama-server's extension: of Total prompt tokens Processed are in the cache now,
// Cache of them were before.
type PromptProgress struct {
	Total     int   `json:"total"`
	Cache     int   `json:"cache"`
	Processed int   `json:"processed"`
	TimeMS    int64 `json:"time_ms"`
}

func usageOf(u engine.Usage) *Usage {
	return &Usage{
		PromptTokens:     u.Prompt,
		CompletionTokens: u.Completion,
		TotalTokens:      u.Prompt + u.Completion,
		PromptDetails:    PromptDetails{CachedTokens: u.Cached},
		Details:          CompletionDetails{ReasoningTokens: u.Reasoning},
	}
}

func timingsOf(r *engine.Result) *Timings {
	t := &Timings{
		CacheN:             r.Usage.Cached,
		PromptN:            r.Usage.Prompt - r.Usage.Cached,
		PromptMS:           milliseconds(r.Timing.Prefill),
		PromptPerSecond:    rate(r.Timing.PrefillRate),
		PredictedN:         r.Usage.Completion,
		PredictedMS:        milliseconds(r.Timing.Decode),
		PredictedPerSecond: rate(r.Timing.DecodeRate),
		QueueMS:            milliseconds(r.Timing.Queue),
	}
	if t.PromptPerSecond > 0 {
		t.PromptPerTokenMS = 1000 / t.PromptPerSecond
	}
	if t.PredictedPerSecond > 0 {
		t.PredictedPerTokenMS = 1000 / t.PredictedPerSecond
	}
	return t
}

// rate keeps a quotient of a tiny time out of JSON, which cannot write infinity.
func rate(perSecond float64) float64 {
	if math.IsNaN(perSecond) || math.IsInf(perSecond, 0) {
		return 0
	}
	return perSecond
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
