package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"ingot/app/openai"
	"ingot/engine"
)

// answer is what the two kinds of completion differ in; everything else about running one is shared.
type answer struct {
	model    string
	stream   bool
	convert  func(openai.Serving) (engine.Request, error)
	add      func(engine.Event)
	response func() (any, error)
	chunks   func(ev engine.Event, elapsed int64) []any
}

// chat answers POST /v1/chat/completions.
func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	body, bad := s.readBody(w, r)
	if bad != nil {
		writeError(w, r, bad)
		return
	}
	request, err := openai.ParseChat(body)
	if err != nil {
		writeError(w, r, openai.FromEngine(err))
		return
	}
	s.run(w, r, request.Model, func(head openai.Head) answer {
		whole, pieces := openai.NewChatAnswer(head, request), openai.NewChatStream(head, request)
		return answer{
			model: request.Model, stream: request.Stream, convert: request.Engine, add: whole.Add, chunks: pieces.Chunks,
			response: func() (any, error) { return whole.Response() },
		}
	}, "chatcmpl-")
}

// completions answers POST /v1/completions.
func (s *Server) completions(w http.ResponseWriter, r *http.Request) {
	body, bad := s.readBody(w, r)
	if bad != nil {
		writeError(w, r, bad)
		return
	}
	request, err := openai.ParseCompletion(body)
	if err != nil {
		writeError(w, r, openai.FromEngine(err))
		return
	}
	s.run(w, r, request.Model, func(head openai.Head) answer {
		whole, pieces := openai.NewCompletionAnswer(head, request), openai.NewCompletionStream(head, request)
		return answer{
			model: request.Model, stream: request.Stream, convert: request.Engine, add: whole.Add, chunks: pieces.Chunks,
			response: func() (any, error) { return whole.Response() },
		}
	}, "cmpl-")
}

// run finds the engine, takes a place in the queue and answers.
func (s *Server) run(w http.ResponseWriter, r *http.Request, model string, begin func(openai.Head) answer, prefix string) {
	rec := recordOf(r)
	rec.run = true
	eng, info, bad := s.ready()
	if bad == nil {
		bad = s.checkModel(model, info)
	}
	if bad != nil {
		writeError(w, r, bad)
		return
	}
	names := s.names(info)
	if model == "" && len(names) > 0 {
		model = names[0]
	}
	// The start time keeps ids apart over restarts.
	id := fmt.Sprintf("%s%x%06x", prefix, s.started.UnixNano(), s.ids.Add(1))
	a := begin(openai.Head{ID: id, Created: time.Now().Unix(), Model: model})
	request, err := a.convert(s.serving(info))
	if err != nil {
		writeError(w, r, openai.FromEngine(err))
		return
	}
	defer s.running.Add(-1)
	if bad := s.enter(w, info); bad != nil {
		writeError(w, r, bad)
		return
	}
	if a.stream {
		s.streamAnswer(w, r, eng, request, a)
	} else {
		s.wholeAnswer(w, r, eng, request, a)
	}
}

// enter takes a place among the requests that run or wait, or says that there is none; either way the caller takes one
// off s.running in the end.
func (s *Server) enter(w http.ResponseWriter, info engine.Info) *openai.Error {
	places := int64(max(info.Slots, 1) + s.opts.MaxQueue)
	if s.running.Add(1) <= places {
		return nil
	}
	w.Header().Set("Retry-After", "1")
	return openai.NewError(http.StatusTooManyRequests, openai.TypeRateLimit, "queue_full",
		fmt.Sprintf("the server is busy: %d requests are running or waiting, try again later", places))
}

// checkModel refuses a name that is not this model's; a missing name means the one there is.
func (s *Server) checkModel(model string, info engine.Info) *openai.Error {
	names := s.names(info)
	if model == "" {
		return nil
	}
	for _, name := range names {
		if strings.EqualFold(name, model) {
			return nil
		}
	}
	e := openai.NewError(http.StatusNotFound, openai.TypeInvalid, "model_not_found",
		fmt.Sprintf("there is no model %q here; this server has %s", model, strings.Join(names, ", also called ")))
	e.Param = new("model")
	return e
}

// note keeps an event's figures for the log and the metrics.
func (rec *record) note(ev engine.Event) {
	if ev.Prompt != nil {
		rec.entry.PromptTokens, rec.cached = ev.Prompt.Total, ev.Prompt.Cached
	}
	if ev.Done != nil {
		u := ev.Done.Usage
		rec.entry.PromptTokens, rec.entry.CompletionTokens, rec.cached = u.Prompt, u.Completion, u.Cached
	}
}

// failure turns an engine's error into what the client gets; nil where the client has left.
func (rec *record) failure(r *http.Request, err error) *openai.Error {
	e := openai.FromEngine(err)
	if r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		if closing(r) {
			return openai.NewError(http.StatusServiceUnavailable, openai.TypeUnavailable, "stopping", "the server is stopping")
		}
		rec.gone = true
		return nil
	}
	return e
}

// wholeAnswer waits for the end and answers once.
func (s *Server) wholeAnswer(w http.ResponseWriter, r *http.Request, eng Engine, request engine.Request, a answer) {
	rec := recordOf(r)
	var failed error
	for ev, err := range eng.Generate(r.Context(), request) {
		if err != nil {
			failed = err
			break
		}
		rec.note(ev)
		a.add(ev)
	}
	var out any
	if failed == nil {
		// An engine may end quietly when its context does.
		if failed = r.Context().Err(); failed == nil {
			out, failed = a.response()
		}
	}
	if failed != nil {
		if e := rec.failure(r, failed); e != nil {
			writeError(w, r, e)
		}
		return
	}
	writeJSON(w, http.StatusOK, out)
}

// streamAnswer sends pieces as they come. A client that goes away, or takes nothing for too long, ends the
// generation through the context.
func (s *Server) streamAnswer(w http.ResponseWriter, r *http.Request, eng Engine, request engine.Request, a answer) {
	rec := recordOf(r)
	begun := time.Now()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	out := newEventStream(w, s.opts.KeepAlive, s.opts.Write, cancel)
	defer out.close()
	var failed, lost error
	finished := false
	for ev, err := range eng.Generate(ctx, request) {
		if err != nil {
			failed = err
			break
		}
		rec.note(ev)
		finished = finished || ev.Done != nil
		for _, chunk := range a.chunks(ev, time.Since(begun).Milliseconds()) {
			if lost = out.send(chunk); lost != nil {
				break
			}
		}
		if lost != nil {
			break
		}
	}
	switch {
	case lost != nil || (ctx.Err() != nil && r.Context().Err() == nil):
		rec.gone = true
		return
	case failed == nil && r.Context().Err() != nil && !finished:
		failed = r.Context().Err()
	case failed == nil && !finished:
		_, failed = a.response() // says that the answer is unfinished
	}
	if failed == nil {
		_ = out.done() // the answer is complete either way
		return
	}
	e := rec.failure(r, failed)
	if e == nil {
		return
	}
	out.close() // from here on no keep-alive opens the stream
	if !out.began() {
		writeError(w, r, e)
		return
	}
	rec.entry.Error = e.Message
	_ = out.send(openai.ErrorBody{Error: e})
}
