// Package server speaks the OpenAI dialect over HTTP for one engine.
//
// The same handler is served twice: on a unix socket for the window and the command line (private: it also opens
// and closes the public endpoint and shows the log), and on TCP for other programs. Every request is checked in
// this order: Host, Origin, method and content type, key, size, JSON.
//
//	GET  /health                      open to all that pass Host and Origin
//	GET  /v1/models, /v1/models/{id}
//	POST /v1/chat/completions, /v1/completions, /tokenize, /detokenize
//	GET  /v1/engine, /v1/engine/stream, /metrics
//	POST, DELETE /v1/engine/listen    private
//	GET  /v1/engine/log               private
package server

import (
	"context"
	"iter"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ingot/app/openai"
	"ingot/engine"
	"ingot/engine/sample"
)

// Engine is what the server needs of an *engine.Engine.
type Engine interface {
	Generate(ctx context.Context, r engine.Request) iter.Seq2[engine.Event, error]
	Info() engine.Info
	Status() engine.Status
	Tokenize(ctx context.Context, text string, special bool) ([]int32, error)
	Piece(token int32) []byte
	Detokenize(tokens []int32) string
	Close() error
}

// Options says how requests are served. The zero value works.
type Options struct {
	// Names the model answers to; the first is the one /v1/models lists. The file's name and general.name are
	// always understood. nil: the file's name is listed.
	Names     []string
	Defaults  *sample.Params // where a request is silent; nil: openai.Defaults
	MaxTokens int            // where a request gives no limit; 0: up to the end of the context
	Access    Access         // of Handler(false); ListenPublic brings its own

	MaxBody   int64         // bytes of a request body; 0: 32 MiB
	MaxQueue  int           // requests that may wait for a slot before 429; 0: 64
	LogSize   int           // requests the log remembers; 0: 500
	KeepAlive time.Duration // a comment goes out on a silent stream this often; 0: 5 s
	Write     time.Duration // a client must take each piece within this; 0: 30 s
	Grace     time.Duration // running answers may go on this long when a listener closes; 0: 5 s
	Log       *slog.Logger  // nil: nothing is logged
}

// Access says who may call a listener.
type Access struct {
	Key     string   // bearer token; "": none, which only a loopback listener may have
	Hosts   []string // Host headers to answer to besides loopback: "name", "name:port", or "*" for any
	Origins []string // web pages that may call: "https://example.org", or "*" for any
}

// Server serves at most one engine at a time. It never closes an engine it was given.
type Server struct {
	opts    Options
	started time.Time
	log     *requestLog
	metrics metrics
	running atomic.Int64 // generations in flight, waiting ones included
	ids     atomic.Uint64

	mu       sync.Mutex
	state    string // openai.StateLoading, ...
	progress float64
	failure  string
	engine   Engine
	info     engine.Info   // of engine, fixed while it is set
	changed  chan struct{} // closed and replaced when state or the public listener changes
	public   *listening    // nil: the public endpoint is closed
}

// New makes a server whose engine is still loading.
func New(o Options) *Server {
	if o.Defaults == nil {
		o.Defaults = new(openai.Defaults())
	}
	if o.MaxBody == 0 {
		o.MaxBody = 32 << 20
	}
	if o.MaxQueue == 0 {
		o.MaxQueue = 64
	}
	if o.LogSize == 0 {
		o.LogSize = 500
	}
	if o.KeepAlive == 0 {
		o.KeepAlive = 5 * time.Second
	}
	if o.Write == 0 {
		o.Write = 30 * time.Second
	}
	if o.Grace == 0 {
		o.Grace = 5 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{opts: o, started: time.Now(), log: newRequestLog(o.LogSize),
		state: openai.StateLoading, changed: make(chan struct{})}
}

// SetEngine makes e answer from now on; requests that run on an earlier engine go on there.
func (s *Server) SetEngine(e Engine) {
	info := e.Info()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.progress, s.failure, s.engine, s.info = openai.StateReady, 1, "", e, info
	s.notify()
}

// SetLoading says that the engine is being loaded, progress in 0..1; requests get 503 until it is there.
func (s *Server) SetLoading(progress float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Progress alone wakes nobody: streams look at it at their own pace.
	if s.state != openai.StateLoading {
		s.state = openai.StateLoading
		s.notify()
	}
	s.progress, s.failure, s.engine = min(max(progress, 0), 1), "", nil
}

// SetFailed says in one sentence why there will be no engine.
func (s *Server) SetFailed(sentence string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.failure, s.engine = openai.StateFailed, sentence, nil
	s.notify()
}

// notify wakes those who wait for a change; the caller holds mu.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// ready gives the engine, or the error that a request gets instead.
func (s *Server) ready() (Engine, engine.Info, *openai.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.state {
	case openai.StateReady:
		return s.engine, s.info, nil
	case openai.StateFailed:
		return nil, engine.Info{}, openai.NewError(500, openai.TypeServer, "model_failed", s.failure)
	}
	e := openai.NewError(503, openai.TypeUnavailable, "model_loading", "the model is still loading")
	e.Progress = new(s.progress)
	return nil, engine.Info{}, e
}

// serving is what a conversion needs to know of the model.
func (s *Server) serving(info engine.Info) openai.Serving {
	return openai.Serving{Defaults: *s.opts.Defaults, MaxTokens: s.opts.MaxTokens, Vocab: info.Vocab}
}

var splitSuffix = regexp.MustCompile(`-\d{5}-of-\d{5}$`)

// names lists what requests may call the model, the listed id first; none while nothing is known of it.
func (s *Server) names(info engine.Info) []string {
	var out []string
	add := func(name string) {
		for _, known := range out {
			if strings.EqualFold(known, name) {
				return
			}
		}
		if name != "" {
			out = append(out, name)
		}
	}
	for _, name := range s.opts.Names {
		add(name)
	}
	if info.Path != "" {
		file := filepath.Base(info.Path)
		stem := strings.TrimSuffix(file, ".gguf")
		add(splitSuffix.ReplaceAllString(stem, ""))
		add(stem)
		add(file)
	}
	add(info.Name)
	return out
}
