package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"ingot/app/openai"
)

// Handler gives the routes. Private adds those that only the window and the command line may use; it is meant for
// a unix socket, and Options.Access.Key is then the token. Public checks Host and Origin as well.
func (s *Server) Handler(private bool) http.Handler {
	return s.handler(gate{private: private, access: s.opts.Access})
}

// endpoint is one path's methods.
type endpoint struct {
	gate gate
	open bool // answers without a key
	get  http.HandlerFunc
	post http.HandlerFunc
	del  http.HandlerFunc
}

func (s *Server) handler(g gate) http.Handler {
	mux := http.NewServeMux()
	add := func(pattern string, e endpoint) {
		e.gate = g
		mux.Handle(pattern, e)
	}
	add("/health", endpoint{open: true, get: s.health})
	add("/v1/models", endpoint{get: s.models})
	add("/v1/models/{id...}", endpoint{get: s.model})
	add("/v1/chat/completions", endpoint{post: s.chat})
	add("/v1/completions", endpoint{post: s.completions})
	add("/tokenize", endpoint{post: s.tokenize})
	add("/detokenize", endpoint{post: s.detokenize})
	add("/metrics", endpoint{get: s.writeMetrics})
	add("/v1/engine", endpoint{get: func(w http.ResponseWriter, r *http.Request) { writeJSON(w, 200, s.report(g.private)) }})
	add("/v1/engine/stream", endpoint{get: func(w http.ResponseWriter, r *http.Request) { s.streamState(w, r, g.private) }})
	if g.private {
		add("/v1/engine/listen", endpoint{post: s.listen, del: s.unlisten})
		add("/v1/engine/log", endpoint{get: s.showLog})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, r, openai.NewError(http.StatusNotFound, openai.TypeInvalid, "not_found", "nothing at "+r.URL.Path))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, g, mux) })
}

// serve logs, catches panics, and makes the checks that hold for every path.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, g gate, mux *http.ServeMux) {
	begun := time.Now()
	rec := &record{entry: openai.LogEntry{Time: begun, Remote: r.RemoteAddr, Method: r.Method, Path: r.URL.Path, Private: g.private}}
	out := &responseRecorder{ResponseWriter: w}
	r = r.WithContext(withRecord(r.Context(), rec))
	defer func() {
		if trouble := recover(); trouble != nil && trouble != http.ErrAbortHandler {
			s.opts.Log.Error("panic in a handler", "path", r.URL.Path, "panic", trouble, "stack", string(debug.Stack()))
			s.afterPanic(out, r, fmt.Sprint(trouble))
		}
		rec.entry.Status = out.status
		if rec.gone {
			rec.entry.Status = statusGone
		}
		rec.entry.Milliseconds = float64(time.Since(begun)) / float64(time.Millisecond)
		s.finish(rec)
	}()
	out.Header().Set("X-Content-Type-Options", "nosniff")
	if err := g.checkHost(r); err != nil {
		writeError(out, r, err)
		return
	}
	if err := g.checkOrigin(r); err != nil {
		writeError(out, r, err)
		return
	}
	if g.allowCross(out, r) {
		return
	}
	// The mux would redirect unclean paths in plain text; they are simply not ours.
	if strings.Contains(r.URL.Path, "//") || slices.Contains(strings.Split(r.URL.Path, "/"), "..") {
		writeError(out, r, openai.NewError(http.StatusNotFound, openai.TypeInvalid, "not_found", "nothing at "+r.URL.Path))
		return
	}
	mux.ServeHTTP(out, r)
}

// afterPanic tells the client, in the form that what was sent so far allows.
func (s *Server) afterPanic(out *responseRecorder, r *http.Request, what string) {
	e := openai.NewError(http.StatusInternalServerError, openai.TypeServer, "panic", "the server failed at this request: "+what)
	switch {
	case out.status == 0:
		writeError(out, r, e)
	case strings.HasPrefix(out.Header().Get("Content-Type"), "text/event-stream"):
		body, _ := json.Marshal(openai.ErrorBody{Error: e})
		fmt.Fprintf(out, "data: %s\n\n", body)
		recordOf(r).entry.Error = e.Message
	}
}

// ServeHTTP checks method, content type and key, in this order.
func (e endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var handle http.HandlerFunc
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		handle = e.get
	case http.MethodPost:
		handle = e.post
	case http.MethodDelete:
		handle = e.del
	}
	if handle == nil {
		w.Header().Set("Allow", e.allowed())
		writeError(w, r, openai.NewError(http.StatusMethodNotAllowed, openai.TypeInvalid, "method_not_allowed",
			r.URL.Path+" takes "+e.allowed()+", not "+r.Method))
		return
	}
	if r.Method == http.MethodPost {
		if err := checkType(r); err != nil {
			writeError(w, r, err)
			return
		}
	}
	if !e.open {
		if err := e.gate.checkKey(r); err != nil {
			w.Header().Set("WWW-Authenticate", "Bearer")
			writeError(w, r, err)
			return
		}
	}
	handle(w, r)
}

func (e endpoint) allowed() string {
	var out []string
	if e.get != nil {
		out = append(out, "GET")
	}
	if e.post != nil {
		out = append(out, "POST")
	}
	if e.del != nil {
		out = append(out, "DELETE")
	}
	return strings.Join(out, ", ")
}

// readBody reads a request's body within the size limit and within a minute, then lets the connection wait for
// as long as the answer takes.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *openai.Error) {
	tooLong := openai.NewError(http.StatusRequestEntityTooLarge, openai.TypeInvalid, "request_too_large",
		fmt.Sprintf("the body is larger than the %d bytes this server takes", s.opts.MaxBody))
	control := http.NewResponseController(w)
	if r.ContentLength > s.opts.MaxBody {
		w.Header().Set("Connection", "close")
		// A client that sends all before it reads would see the connection break instead of the answer, so what comes soon is
		// taken and forgotten; one that asks before it sends is answered at once.
		if !strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
			_ = control.SetReadDeadline(time.Now().Add(5 * time.Second))
			_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, 8*s.opts.MaxBody)) // nobody asks what it was
		}
		return nil, tooLong
	}
	// Errors here mean a writer without deadlines, as in a test recorder.
	_ = control.SetReadDeadline(time.Now().Add(time.Minute))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.opts.MaxBody))
	_ = control.SetReadDeadline(time.Time{})
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, tooLong
	case err != nil:
		return nil, openai.NewError(http.StatusBadRequest, openai.TypeInvalid, "", "the body could not be read: "+err.Error())
	}
	return body, nil
}

// encode writes JSON without turning <, > and & into escapes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := encode(v)
	if err != nil {
		status = http.StatusInternalServerError
		body, _ = encode(openai.ErrorBody{Error: openai.NewError(status, openai.TypeServer, "", "the answer has no JSON form: "+err.Error())})
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute))
	w.WriteHeader(status)
	_, _ = w.Write(body) // a client that is gone shows in the next read
}

func writeError(w http.ResponseWriter, r *http.Request, e *openai.Error) {
	recordOf(r).entry.Error = e.Message
	writeJSON(w, e.Status, openai.ErrorBody{Error: e})
}
