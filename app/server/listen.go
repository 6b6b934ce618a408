package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"ingot/app/openai"
)

// listening is one open listener with what it takes to close it.
type listening struct {
	where   openai.Listener // of a public one
	server  *http.Server
	closing chan struct{}      // closed first: endless streams end, answers go on
	cancel  context.CancelFunc // then: answers end too
	ended   chan error         // what Serve returned, http.ErrServerClosed after a proper end
}

type closingKey struct{}

// closingOf is closed when the listener that r came through begins to close; nil, which never is, without one.
func closingOf(r *http.Request) <-chan struct{} {
	ch, _ := r.Context().Value(closingKey{}).(chan struct{})
	return ch
}

func closing(r *http.Request) bool {
	select {
	case <-closingOf(r):
		return true
	default:
		return false
	}
}

// serveOn serves h on l until stop.
func (s *Server) serveOn(l net.Listener, h http.Handler) *listening {
	ctx, cancel := context.WithCancel(context.Background())
	on := &listening{closing: make(chan struct{}), cancel: cancel, ended: make(chan error, 1)}
	on.server = &http.Server{
		Handler:           h,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.opts.Log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return context.WithValue(ctx, closingKey{}, on.closing) },
	}
	go func() { on.ended <- on.server.Serve(l) }()
	return on
}

// stop closes the port at once, lets answers go on for the grace, then ends them. It returns when all is quiet.
func (on *listening) stop(grace time.Duration) {
	close(on.closing)
	// Answers that outlive the grace are told to stop and get a moment to say so to their clients.
	timer := time.AfterFunc(grace, on.cancel)
	defer timer.Stop()
	ctx, done := context.WithTimeout(context.Background(), grace+2*time.Second)
	defer done()
	if on.server.Shutdown(ctx) != nil {
		on.server.Close()
	}
	on.cancel()
}

// ServeUnix serves the private routes on a unix socket with mode 0600 until ctx ends, then closes gracefully. The
// token is asked for as a bearer key. A socket file that nobody serves any more is replaced.
func (s *Server) ServeUnix(ctx context.Context, path, token string) error {
	l, err := listenUnix(path)
	if err != nil {
		return err
	}
	return s.serveUnix(ctx, l, token, s.opts.Grace)
}

func (s *Server) serveUnix(ctx context.Context, l net.Listener, token string, grace time.Duration) error {
	if token == "" {
		l.Close()
		return errors.New("a unix socket needs a token")
	}
	on := s.serveOn(l, s.handler(gate{private: true, access: Access{Key: token}}))
	select {
	case <-ctx.Done():
		on.stop(grace)
		return nil
	case err := <-on.ended:
		on.cancel()
		return err
	}
}

func listenUnix(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSocket != 0 {
		if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
			c.Close()
			return nil, fmt.Errorf("socket %s is in use by another engine", path)
		}
		os.Remove(path)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open socket: %w", err)
	}
	// The directory keeps others out until this is done.
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return nil, fmt.Errorf("open socket: %w", err)
	}
	return l, nil
}

// ListenPublic opens the public endpoint and serves it in the background; one that is open already is closed. Beyond
// loopback, and for any host or any page, a key is needed. Errors are *openai.Error: 409 when the port is in use.
func (s *Server) ListenPublic(r openai.ListenRequest) (openai.Listener, error) {
	host := r.Host
	if host == "" || host == "localhost" {
		host = "127.0.0.1"
	}
	if r.Port < 0 || r.Port > 65535 {
		return openai.Listener{}, listenError(400, "bad_address", fmt.Sprintf("port %d is none: ports go from 0 to 65535", r.Port))
	}
	addr, err := net.ResolveTCPAddr("tcp", net.JoinHostPort(host, strconv.Itoa(r.Port)))
	if err != nil {
		return openai.Listener{}, listenError(400, "bad_address", fmt.Sprintf("%q is no address of this machine: %s", r.Host, err))
	}
	if r.Key == "" {
		switch {
		case !addr.IP.IsLoopback():
			return openai.Listener{}, listenError(400, "key_required",
				fmt.Sprintf("listening on %s is beyond this machine and needs a key (--api-key)", addr))
		case slices.Contains(r.Hosts, "*") || slices.Contains(r.Origins, "*"):
			return openai.Listener{}, listenError(400, "key_required", "answering to any host or any web page needs a key (--api-key)")
		}
	}
	// The same port must be free before it is opened anew; another one is opened before the old one goes, so that a
	// failure leaves the old one as it was.
	s.mu.Lock()
	old := s.public
	s.mu.Unlock()
	if old != nil && old.where.Port == addr.Port {
		s.StopPublic()
	}
	l, err := net.ListenTCP("tcp", addr)
	if err != nil {
		return openai.Listener{}, explainListen(err, addr)
	}
	bound := l.Addr().(*net.TCPAddr)
	on := s.serveOn(l, s.handler(gate{access: Access{Key: r.Key, Hosts: r.Hosts, Origins: r.Origins}}))
	on.where = openai.Listener{Host: bound.IP.String(), Port: bound.Port, Key: r.Key != "",
		URL: "http://" + net.JoinHostPort(reachable(bound.IP), strconv.Itoa(bound.Port)) + "/v1"}
	s.StopPublic()
	s.mu.Lock()
	s.public = on
	s.notify()
	s.mu.Unlock()
	s.opts.Log.Info("public endpoint open", "url", on.where.URL)
	return on.where, nil
}

// StopPublic closes the public endpoint, if one is open. The port is free when it returns; running answers get the
// grace in the background.
func (s *Server) StopPublic() {
	if on := s.takePublic(); on != nil {
		go on.stop(s.opts.Grace)
		<-on.ended
	}
}

// Shutdown closes the public endpoint and waits until its answers have ended, at most the grace and a little.
func (s *Server) Shutdown() {
	if on := s.takePublic(); on != nil {
		on.stop(s.opts.Grace)
	}
}

func (s *Server) takePublic() *listening {
	s.mu.Lock()
	defer s.mu.Unlock()
	on := s.public
	if on != nil {
		s.public = nil
		s.notify()
	}
	return on
}

// reachable is the address to tell clients: for a listener on all interfaces, the first that is not loopback.
func reachable(ip net.IP) string {
	if !ip.IsUnspecified() {
		return ip.String()
	}
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			return n.IP.String()
		}
	}
	return "127.0.0.1"
}

func listenError(status int, code, message string) *openai.Error {
	return openai.NewError(status, openai.TypeInvalid, code, message)
}

// explainListen turns the system's refusal into a sentence, for a port in use with the name of who has it.
func explainListen(err error, addr *net.TCPAddr) *openai.Error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return listenError(409, "port_in_use", fmt.Sprintf("port %d is in use%s", addr.Port, portOwner(addr.Port)))
	case errors.Is(err, syscall.EACCES):
		return listenError(400, "port_not_allowed", fmt.Sprintf("port %d needs administrator rights; use one above 1023", addr.Port))
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return listenError(400, "bad_address", fmt.Sprintf("%s is no address of this machine", addr.IP))
	}
	return listenError(400, "listen_failed", fmt.Sprintf("cannot listen on %s: %s", addr, err))
}

// describeOwner is the end of a sentence: " by NAME (process PID)".
func describeOwner(name string, pid int) string {
	switch {
	case pid == os.Getpid():
		return " by this very process"
	case name == "":
		return fmt.Sprintf(" by process %d", pid)
	}
	return fmt.Sprintf(" by %s (process %d)", name, pid)
}

// listen answers POST /v1/engine/listen.
func (s *Server) listen(w http.ResponseWriter, r *http.Request) {
	body, bad := s.readBody(w, r)
	if bad != nil {
		writeError(w, r, bad)
		return
	}
	request, err := openai.ParseListen(body)
	if err != nil {
		writeError(w, r, openai.FromEngine(err))
		return
	}
	where, err := s.ListenPublic(*request)
	if err != nil {
		writeError(w, r, openai.FromEngine(err))
		return
	}
	writeJSON(w, http.StatusOK, where)
}

// unlisten answers DELETE /v1/engine/listen.
func (s *Server) unlisten(w http.ResponseWriter, r *http.Request) {
	s.StopPublic()
	w.WriteHeader(http.StatusNoContent)
}

// NewToken makes a secret for a socket or a key: 32 letters and digits.
func NewToken() string { return rand.Text() + rand.Text()[:6] }
