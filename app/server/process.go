package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// ProcessOptions says how an engine process serves its parent.
type ProcessOptions struct {
	Socket  string // path of the unix socket to open
	Options Options
}

// RunEngineProcess is the main loop of `ingot engine`. It reads the token from the first line of stdin, serves the
// socket at once, and loads the model in the background. It returns nil when ctx ends or stdin closes, which is how
// it learns that its parent is gone, and an error when the socket cannot be opened or the model cannot be loaded;
// those who watch /v1/engine/stream are told first.
func RunEngineProcess(ctx context.Context, stdin io.Reader, o ProcessOptions, open func(progress func(float64)) (Engine, error)) error {
	in := bufio.NewReaderSize(stdin, 4096)
	line, err := in.ReadSlice('\n')
	token := strings.TrimSpace(string(line))
	if err != nil || len(token) < 16 {
		return errors.New("the first line on stdin must be the token, at least 16 characters; this command is run by the application itself")
	}
	l, err := listenUnix(o.Socket)
	if err != nil {
		return err
	}
	if o.Options.Grace == 0 {
		o.Options.Grace = 2 * time.Second // the parent waits for this process to end
	}
	s := New(o.Options)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	quiet := make(chan struct{}) // closed when the public endpoint is gone
	context.AfterFunc(ctx, func() {
		defer close(quiet)
		s.Shutdown()
	})
	served := make(chan error, 1)
	// Who ends this process wants no more of its answers; clients of the public endpoint get their grace.
	go func() { served <- s.serveUnix(ctx, l, token, 50*time.Millisecond) }()

	type opened struct {
		engine Engine
		err    error
	}
	loaded := make(chan opened, 1)
	go func() {
		e, err := openSafely(open, s.SetLoading)
		loaded <- opened{e, err}
	}()

	var eng Engine
	select {
	case got := <-loaded:
		if got.err != nil {
			s.SetFailed(got.err.Error())
			cancel()
			<-served
			return got.err
		}
		eng = got.engine
		s.SetEngine(eng)
	case err := <-served:
		// The parent left while the model was loading; the process ends with the load half done.
		return err
	}
	err = <-served
	cancel() // where the socket failed by itself
	<-quiet
	// A driver that hangs must not keep a process alive that nobody asks any more.
	closed := make(chan error, 1)
	go func() { closed <- eng.Close() }()
	select {
	case closeErr := <-closed:
		return errors.Join(err, closeErr)
	case <-time.After(5 * time.Second):
		return errors.Join(err, errors.New("the engine did not close in time"))
	}
}

// openSafely turns a panic while loading into an error.
func openSafely(open func(func(float64)) (Engine, error), progress func(float64)) (e Engine, err error) {
	defer func() {
		if trouble := recover(); trouble != nil {
			e, err = nil, fmt.Errorf("loading failed: %v", trouble)
		}
	}()
	return open(progress)
}
