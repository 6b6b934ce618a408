package openai

import (
	"time"

	"ingot/engine"
)

// States of an engine behind the HTTP dialect.
const (
	StateLoading = "loading"
	StateReady   = "ready"
	StateFailed  = "failed"
)

// Health is the answer of GET /health: 200 ok, 503 loading, 500 failed.
type Health struct {
	Status   string  `json:"status"` // ok, loading or failed
	Progress float64 `json:"progress,omitempty"`
	Error    string  `json:"error,omitempty"`
}

// EngineState is the answer of GET /v1/engine and each event of GET /v1/engine/stream.
type EngineState struct {
	State    string        `json:"state"`
	Progress float64       `json:"progress"`        // 0..1 while loading
	Error    string        `json:"error,omitempty"` // one sentence when loading failed
	Model    string        `json:"model,omitempty"` // the id that /v1/models lists
	Info     *EngineInfo   `json:"info,omitempty"`  // both absent until ready
	Status   *EngineStatus `json:"status,omitempty"`
	Listener *Listener     `json:"listener,omitempty"` // the public endpoint, where one is open
}

// EngineInfo is engine.Info on the wire.
type EngineInfo struct {
	Path         string `json:"path"`
	Name         string `json:"name"`
	Architecture string `json:"architecture"`
	Quantization string `json:"quantization"`
	Parameters   int64  `json:"parameters"`
	FileBytes    int64  `json:"file_bytes"`
	Context      int    `json:"context"`
	TrainContext int    `json:"train_context"`
	Vocab        int    `json:"vocab"`
	Layers       int    `json:"layers"`
	Embedding    int    `json:"embedding"`
	Slots        int    `json:"slots"`
	Threads      int    `json:"threads"`
	Level        string `json:"level"`
	NoVocab      bool   `json:"no_vocab,omitempty"`
	HasTemplate  bool   `json:"has_template"`
	CanThink     bool   `json:"can_think"`
	Topology     string `json:"topology"`
	Meeting      string `json:"meeting,omitempty"`
}

// EngineStatus is engine.Status on the wire.
type EngineStatus struct {
	Cards       []Card  `json:"cards"`
	Slots       []Slot  `json:"slots"`
	Prefill     float64 `json:"prefill_per_second"`
	Decode      float64 `json:"decode_per_second"`
	ContextUsed int     `json:"context_used"`
	Context     int     `json:"context"`
	Requests    int64   `json:"requests"`
	Generated   int64   `json:"generated"`
}

// Card is engine.Card on the wire; memory in bytes.
type Card struct {
	Name        string           `json:"name"`
	Description string           `json:"description"`
	Total       int64            `json:"total"`
	Used        int64            `json:"used"`
	Free        int64            `json:"free"`
	Parts       map[string]int64 `json:"parts,omitempty"`
	Temperature float64          `json:"temperature"`
	Load        float64          `json:"load"`
	Stage       int              `json:"stage,omitempty"` // from 1; 0: not a lane of the loaded model
	Layers      string           `json:"layers,omitempty"`
}

// Slot is engine.Slot on the wire.
type Slot struct {
	ID      int  `json:"id"`
	Busy    bool `json:"busy"`
	Used    int  `json:"used"`
	Context int  `json:"context"`
}

// ListenRequest is the body of POST /v1/engine/listen.
type ListenRequest struct {
	Host    string   `json:"host"` // "": 127.0.0.1
	Port    int      `json:"port"` // 0: any free one
	Key     string   `json:"key,omitempty"`
	Hosts   []string `json:"hosts,omitempty"`   // further Host headers to answer to
	Origins []string `json:"origins,omitempty"` // web pages that may call
}

// Listener is an open public endpoint.
type Listener struct {
	Host string `json:"host"`
	Port int    `json:"port"`
	URL  string `json:"url"` // what a client is told: http://127.0.0.1:8080/v1
	Key  bool   `json:"key"` // a key is needed
}

// LogEntry is one answered request.
type LogEntry struct {
	Seq              int64     `json:"seq"` // grows by one, so a reader sees what it has missed
	Time             time.Time `json:"time"`
	Remote           string    `json:"remote"`
	Method           string    `json:"method"`
	Path             string    `json:"path"`
	Status           int       `json:"status"`
	Milliseconds     float64   `json:"ms"`
	PromptTokens     int       `json:"prompt_tokens,omitempty"`
	CompletionTokens int       `json:"completion_tokens,omitempty"`
	Error            string    `json:"error,omitempty"`
	Private          bool      `json:"private,omitempty"` // came over the unix socket
}

// RequestLog is the answer of GET /v1/engine/log, oldest first.
type RequestLog struct {
	Entries []LogEntry `json:"entries"`
}

// NewEngineInfo puts an engine's description on the wire.
func NewEngineInfo(i engine.Info) *EngineInfo {
	return &EngineInfo{
		Path: i.Path, Name: i.Name, Architecture: i.Architecture, Quantization: i.Quantization,
		Parameters: i.Parameters, FileBytes: i.FileBytes, Context: i.Context, TrainContext: i.TrainContext,
		Vocab: i.Vocab, Layers: i.Layers, Embedding: i.Embedding, Slots: i.Slots, Threads: i.Threads,
		Level: i.Level, NoVocab: i.NoVocab, HasTemplate: i.HasTemplate, CanThink: i.CanThink, Topology: i.Topology, Meeting: i.Meeting,
	}
}

// Engine takes it off the wire.
func (i *EngineInfo) Engine() engine.Info {
	return engine.Info{
		Path: i.Path, Name: i.Name, Architecture: i.Architecture, Quantization: i.Quantization,
		Parameters: i.Parameters, FileBytes: i.FileBytes, Context: i.Context, TrainContext: i.TrainContext,
		Vocab: i.Vocab, Layers: i.Layers, Embedding: i.Embedding, Slots: i.Slots, Threads: i.Threads,
		Level: i.Level, NoVocab: i.NoVocab, HasTemplate: i.HasTemplate, CanThink: i.CanThink, Topology: i.Topology, Meeting: i.Meeting,
	}
}

// NewEngineStatus puts a moment of an engine on the wire.
func NewEngineStatus(s engine.Status) *EngineStatus {
	out := &EngineStatus{
		Cards: []Card{}, Slots: []Slot{}, Prefill: rate(s.Prefill), Decode: rate(s.Decode),
		ContextUsed: s.ContextUsed, Context: s.Context, Requests: s.Requests, Generated: s.Generated,
	}
	for _, c := range s.Cards {
		out.Cards = append(out.Cards, Card{Name: c.Name, Description: c.Description, Total: c.Total, Used: c.Used,
			Free: c.Free, Parts: c.Parts, Temperature: rate(c.Temperature), Load: rate(c.Load), Stage: c.Stage, Layers: c.Layers})
	}
	for _, l := range s.Slots {
		out.Slots = append(out.Slots, Slot{ID: l.ID, Busy: l.Busy, Used: l.Used, Context: l.Context})
	}
	return out
}

// Engine takes it off the wire.
func (s *EngineStatus) Engine() engine.Status {
	out := engine.Status{
		Prefill: s.Prefill, Decode: s.Decode, ContextUsed: s.ContextUsed, Context: s.Context,
		Requests: s.Requests, Generated: s.Generated,
	}
	for _, c := range s.Cards {
		out.Cards = append(out.Cards, engine.Card{Name: c.Name, Description: c.Description, Total: c.Total, Used: c.Used,
			Free: c.Free, Parts: c.Parts, Temperature: c.Temperature, Load: c.Load, Stage: c.Stage, Layers: c.Layers})
	}
	for _, l := range s.Slots {
		out.Slots = append(out.Slots, engine.Slot{ID: l.ID, Busy: l.Busy, Used: l.Used, Context: l.Context})
	}
	return out
}

// ParseListen reads a listen request.
func ParseListen(body []byte) (*ListenRequest, error) {
	o, bad := parseBody(body)
	if bad != nil {
		return nil, bad
	}
	r := &ListenRequest{Host: o.text("host"), Key: o.text("key")}
	if port := o.integer("port", 0, 65535); port != nil {
		r.Port = int(*port)
	}
	for name, list := range map[string]*[]string{"hosts": &r.Hosts, "origins": &r.Origins} {
		for _, item := range o.list(name) {
			if kind(item) != "a string" {
				o.fail(name, "must be an array of strings")
				break
			}
			*list = append(*list, unquote(item))
		}
	}
	if o.err != nil {
		return nil, o.err
	}
	return r, nil
}
