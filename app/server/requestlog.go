package server

import (
	"context"
	"net/http"
	"strconv"
	"sync"

	"ingot/app/openai"
)

// statusGone stands in the log for a client that left before its answer was complete.
const statusGone = 499

// record is what is noted of a request while it runs; only its own goroutine touches it.
type record struct {
	entry  openai.LogEntry
	cached int  // prompt tokens that were still held
	gone   bool // the client left
	run    bool // tokens were asked for: such requests are logged on the private socket too
}

type recordKey struct{}

func withRecord(ctx context.Context, rec *record) context.Context {
	return context.WithValue(ctx, recordKey{}, rec)
}

func recordOf(r *http.Request) *record {
	if rec, ok := r.Context().Value(recordKey{}).(*record); ok {
		return rec
	}
	return &record{}
}

// requestLog is a ring of the last requests.
type requestLog struct {
	mu      sync.Mutex
	entries []openai.LogEntry // ring, next is the oldest once full
	next    int
	seq     int64
	limit   int
}

func newRequestLog(limit int) *requestLog { return &requestLog{limit: limit} }

func (l *requestLog) add(e openai.LogEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	e.Seq = l.seq
	if len(l.entries) < l.limit {
		l.entries = append(l.entries, e)
		return
	}
	l.entries[l.next] = e
	l.next = (l.next + 1) % l.limit
}

// after lists entries younger than seq, oldest first.
func (l *requestLog) after(seq int64) []openai.LogEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := []openai.LogEntry{}
	for i := range l.entries {
		if e := l.entries[(l.next+i)%len(l.entries)]; e.Seq > seq {
			out = append(out, e)
		}
	}
	return out
}

// finish logs and counts a request. The window's own polling stays out of the log.
func (s *Server) finish(rec *record) {
	e := rec.entry
	s.metrics.count(e, rec.cached)
	if !e.Private || rec.run {
		s.log.add(e)
	}
	attrs := []any{"method", e.Method, "path", e.Path, "status", e.Status, "ms", int64(e.Milliseconds),
		"prompt", e.PromptTokens, "completion", e.CompletionTokens, "remote", e.Remote}
	if e.Error != "" {
		attrs = append(attrs, "error", e.Error)
	}
	s.opts.Log.Info("request", attrs...)
}

// showLog answers GET /v1/engine/log?after=SEQ.
func (s *Server) showLog(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	writeJSON(w, http.StatusOK, openai.RequestLog{Entries: s.log.after(after)})
}

// responseRecorder remembers the status that went out; 0 before that.
type responseRecorder struct {
	http.ResponseWriter
	status int
}

func (w *responseRecorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseRecorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController reach deadlines and Flush.
func (w *responseRecorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
