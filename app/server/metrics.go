package server

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"

	"ingot/app/openai"
)

// metrics counts what /metrics tells beyond the engine's own status.
type metrics struct {
	mu                         sync.Mutex
	requests                   map[[2]string]int64 // by path and status
	prompt, cached, completion int64
	seconds                    float64
}

// known keeps the label set bounded: any client can invent paths.
var known = []string{"/health", "/v1/models", "/v1/chat/completions", "/v1/completions", "/tokenize", "/detokenize",
	"/metrics", "/v1/engine", "/v1/engine/stream", "/v1/engine/listen", "/v1/engine/log"}

func (m *metrics) count(e openai.LogEntry, cached int) {
	path := e.Path
	switch {
	case slices.Contains(known, path):
	case strings.HasPrefix(path, "/v1/models/"):
		path = "/v1/models"
	default:
		path = "other"
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.requests == nil {
		m.requests = map[[2]string]int64{}
	}
	m.requests[[2]string{path, fmt.Sprint(e.Status)}]++
	m.prompt += int64(e.PromptTokens)
	m.cached += int64(cached)
	m.completion += int64(e.CompletionTokens)
	if e.CompletionTokens > 0 {
		m.seconds += e.Milliseconds / 1000
	}
}

// writeMetrics answers GET /metrics in the text format of Prometheus, version 0.0.4.
func (s *Server) writeMetrics(w http.ResponseWriter, r *http.Request) {
	var b strings.Builder
	family := func(name, kind, help string) { fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	one := func(name, kind, help string, value any) {
		family(name, kind, help)
		fmt.Fprintf(&b, "%s %v\n", name, value)
	}

	s.metrics.mu.Lock()
	family("ingot_requests_total", "counter", "Requests answered.")
	for _, key := range slices.SortedFunc(maps.Keys(s.metrics.requests), func(a, b [2]string) int {
		return strings.Compare(a[0]+a[1], b[0]+b[1])
	}) {
		fmt.Fprintf(&b, "ingot_requests_total{path=%q,status=%q} %d\n", key[0], key[1], s.metrics.requests[key])
	}
	one("ingot_prompt_tokens_total", "counter", "Prompt tokens of answered requests, cached ones included.", s.metrics.prompt)
	one("ingot_cached_tokens_total", "counter", "Prompt tokens that were still held.", s.metrics.cached)
	one("ingot_completion_tokens_total", "counter", "Tokens generated for answered requests.", s.metrics.completion)
	one("ingot_answer_seconds_total", "counter", "Time spent on requests that generated tokens.", s.metrics.seconds)
	s.metrics.mu.Unlock()
	one("ingot_requests_running", "gauge", "Generations running or waiting.", s.running.Load())

	report := s.report(true)
	up := 0
	if report.State == openai.StateReady {
		up = 1
	}
	one("ingot_engine_ready", "gauge", "1 when the model is loaded.", up)
	if st := report.Status; st != nil {
		one("ingot_prefill_tokens_per_second", "gauge", "Prompt tokens read in the last second.", st.Prefill)
		one("ingot_decode_tokens_per_second", "gauge", "Tokens generated in the last second.", st.Decode)
		one("ingot_context_used_cells", "gauge", "Cells used by the busiest slot.", st.ContextUsed)
		one("ingot_context_cells", "gauge", "Cells a slot can hold.", st.Context)
		family("ingot_card_memory_bytes", "gauge", "Memory of a card by this engine, and what the system says is free.")
		for _, c := range st.Cards {
			fmt.Fprintf(&b, "ingot_card_memory_bytes{card=%q,kind=\"used\"} %d\n", c.Name, c.Used)
			fmt.Fprintf(&b, "ingot_card_memory_bytes{card=%q,kind=\"free\"} %d\n", c.Name, c.Free)
			fmt.Fprintf(&b, "ingot_card_memory_bytes{card=%q,kind=\"total\"} %d\n", c.Name, c.Total)
		}
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(b.String()))
}
