package server

import (
	"bytes"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ingot/app/openai"
	"ingot/engine"
)

// health answers GET /health: 200 ok, 503 while loading, 500 with the sentence when loading failed.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	state, progress, failure := s.state, s.progress, s.failure
	s.mu.Unlock()
	switch state {
	case openai.StateReady:
		writeJSON(w, http.StatusOK, openai.Health{Status: "ok"})
	case openai.StateFailed:
		writeJSON(w, http.StatusInternalServerError, openai.Health{Status: state, Error: failure})
	default:
		writeJSON(w, http.StatusServiceUnavailable, openai.Health{Status: state, Progress: progress})
	}
}

// listed gives the entries of /v1/models: the one model, known by its given names while it loads.
func (s *Server) listed() []openai.Model {
	s.mu.Lock()
	state, info := s.state, s.info
	s.mu.Unlock()
	known := &info
	if state != openai.StateReady {
		info, known = engine.Info{}, nil
	}
	names := s.names(info)
	if len(names) == 0 {
		return []openai.Model{}
	}
	return []openai.Model{openai.NewModel(names[0], names[1:], s.started.Unix(), known)}
}

// models answers GET /v1/models.
func (s *Server) models(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, openai.ModelList{Object: "list", Data: s.listed()})
}

// model answers GET /v1/models/{id}, an id or an alias; ids may hold slashes.
func (s *Server) model(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	for _, m := range s.listed() {
		if strings.EqualFold(m.ID, id) || slices.ContainsFunc(m.Aliases, func(a string) bool { return strings.EqualFold(a, id) }) {
			writeJSON(w, http.StatusOK, m)
			return
		}
	}
	writeError(w, r, openai.NewError(http.StatusNotFound, openai.TypeInvalid, "model_not_found", "there is no model "+strconv.Quote(id)+" here"))
}

// tokenize answers POST /tokenize.
func (s *Server) tokenize(w http.ResponseWriter, r *http.Request) {
	body, bad := s.readBody(w, r)
	if bad != nil {
		writeError(w, r, bad)
		return
	}
	request, err := openai.ParseTokenize(body)
	if err != nil {
		writeError(w, r, openai.FromEngine(err))
		return
	}
	eng, info, bad := s.ready()
	if bad != nil {
		writeError(w, r, bad)
		return
	}
	rec := recordOf(r)
	rec.run = true
	defer s.running.Add(-1)
	if bad := s.enter(w, info); bad != nil {
		writeError(w, r, bad)
		return
	}
	tokens, err := eng.Tokenize(r.Context(), request.Content, request.ParseSpecial)
	if err != nil {
		if e := rec.failure(r, err); e != nil {
			writeError(w, r, e)
		}
		return
	}
	writeTokens(w, tokens, func(b []byte, id int32) []byte {
		if !request.WithPieces {
			return strconv.AppendInt(b, int64(id), 10)
		}
		piece, _ := encode(openai.NewTokenPiece(id, eng.Piece(id))) // texts and numbers have a JSON form
		return append(b, bytes.TrimSpace(piece)...)
	})
}

// writeTokens answers with what each token is written as. The list may have millions of entries, so it is sent while
// it is written, and the client has a minute for each part.
func writeTokens(w http.ResponseWriter, tokens []int32, appendEntry func([]byte, int32) []byte) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	const part = 64 << 10
	b := append(make([]byte, 0, 2*part), `{"tokens":[`...)
	send := func() error {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute))
		_, err := w.Write(b)
		b = b[:0]
		return err
	}
	for i, id := range tokens {
		if i > 0 {
			b = append(b, ',')
		}
		if b = appendEntry(b, id); len(b) >= part && send() != nil {
			return // the client is gone
		}
	}
	b = append(b, "]}\n"...)
	_ = send() // as above
}

// detokenize answers POST /detokenize.
func (s *Server) detokenize(w http.ResponseWriter, r *http.Request) {
	body, bad := s.readBody(w, r)
	if bad != nil {
		writeError(w, r, bad)
		return
	}
	eng, info, bad := s.ready()
	vocab := info.Vocab
	request, err := openai.ParseDetokenize(body, vocab)
	if err != nil {
		writeError(w, r, openai.FromEngine(err))
		return
	}
	if bad != nil {
		writeError(w, r, bad)
		return
	}
	recordOf(r).run = true
	writeJSON(w, http.StatusOK, openai.DetokenizeResponse{Content: eng.Detokenize(request.Tokens)})
}

// report is the moment that /v1/engine shows. Where a file lies is nobody's business outside this machine's user.
func (s *Server) report(private bool) openai.EngineState {
	s.mu.Lock()
	out := openai.EngineState{State: s.state, Progress: s.progress, Error: s.failure}
	eng, info := s.engine, s.info
	if s.public != nil && private {
		out.Listener = new(s.public.where)
	}
	s.mu.Unlock()
	if eng == nil {
		return out
	}
	if names := s.names(info); len(names) > 0 {
		out.Model = names[0]
	}
	if !private {
		info.Path = filepath.Base(info.Path)
	}
	out.Info = openai.NewEngineInfo(info)
	out.Status = openai.NewEngineStatus(eng.Status())
	return out
}

// streamState answers GET /v1/engine/stream?interval=500ms: a state at once, at every interval, and at every change.
func (s *Server) streamState(w http.ResponseWriter, r *http.Request, private bool) {
	interval := 500 * time.Millisecond
	if asked := r.URL.Query().Get("interval"); asked != "" {
		d, err := time.ParseDuration(asked)
		if ms, plain := strconv.Atoi(asked); plain == nil {
			d, err = time.Duration(ms)*time.Millisecond, nil
		}
		if err != nil || d < 20*time.Millisecond || d > time.Minute {
			e := openai.NewError(http.StatusBadRequest, openai.TypeInvalid, "", "interval: must be a time from 20ms to 1m, got "+strconv.Quote(asked))
			e.Param = new("interval")
			writeError(w, r, e)
			return
		}
		interval = d
	}
	lost := make(chan struct{})
	out := newEventStream(w, s.opts.KeepAlive, s.opts.Write, func() { close(lost) })
	defer out.close()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if out.send(s.report(private)) != nil {
			return
		}
		select {
		case <-tick.C:
		case <-changed:
		case <-lost:
			return
		case <-r.Context().Done():
			return
		case <-closingOf(r):
			// One last look, so that a failure which ends the process is still told.
			_ = out.send(s.report(private))
			return
		}
	}
}
