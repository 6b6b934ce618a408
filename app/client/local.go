package client

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"ingot/app/openai"
	"ingot/engine"
)

// Phase is where a local engine is in its life.
type Phase string

const (
	Stopped  Phase = "stopped"  // never started, or stopped when asked to
	Starting Phase = "starting" // the process runs, its socket does not answer yet
	Loading  Phase = "loading"  // Progress tells how far
	Ready    Phase = "ready"
	Failed   Phase = "failed" // Error says why in one sentence
)

// State is a moment of a local engine's life.
type State struct {
	Phase    Phase
	Progress float64      // 0..1 while loading
	Info     *engine.Info // when ready
	Model    string       // id to send in requests, when ready
	Error    string       // when failed
	PID      int          // 0 when no process runs
}

var (
	// ErrRunning is returned by Start when an engine is already running.
	ErrRunning = errors.New("the engine is already running")
	// ErrNotRunning is returned by calls when no engine was started.
	ErrNotRunning = errors.New("the engine is not running")
)

// LocalOptions says what to start.
type LocalOptions struct {
	Executable string        // "": this very program
	Args       []string      // engine flags, after `engine --socket PATH`
	Model      string        // last argument: a path or a name
	Env        []string      // added to this process's environment
	Dir        string        // for the socket, made with mode 0700; "": the user's runtime directory
	Stderr     io.Writer     // gets a copy of what the engine writes there; nil: nobody
	Answer     time.Duration // how long the socket may take to answer; 0: 20 s
	Quit       time.Duration // how long the process may take to end when asked, before it is killed; 0: 10 s
}

// Local is a Client of an engine process that it starts. Its calls reach whichever process runs now; when that
// process dies they return *EngineDied at once. It is safe for concurrent use.
type Local struct {
	Client
	notify func(State)

	control sync.Mutex // held by Start, Stop and Restart

	mu      sync.Mutex
	options LocalOptions
	process *process // nil before the first Start; kept after its end to say why
	state   State
	changed chan struct{} // closed and replaced at every change of state
	queue   []State       // not yet given to notify
	telling bool          // a goroutine empties queue
}

// NewLocal makes a Local that runs nothing yet. notify, which may be nil, is called with every new state, one at a
// time and in order, from a goroutine of its own; it may call the Local's methods.
func NewLocal(notify func(State)) *Local {
	l := &Local{notify: notify, state: State{Phase: Stopped}, changed: make(chan struct{})}
	l.Client = Client{reach: l.target}
	return l
}

// State tells where the engine is now.
func (l *Local) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// Start launches the engine process and returns once it runs; Wait, State or notify tell when it can answer. ctx is
// for the launch alone.
func (l *Local) Start(ctx context.Context, o LocalOptions) error {
	l.control.Lock()
	defer l.control.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.start(o)
}

func (l *Local) start(o LocalOptions) error {
	l.mu.Lock()
	if l.process != nil && !l.process.ended() {
		l.mu.Unlock()
		return ErrRunning
	}
	l.options, l.process = o, nil
	l.mu.Unlock()
	p, err := launch(o)
	if err != nil {
		l.set(nil, State{Phase: Failed, Error: err.Error()})
		return err
	}
	l.mu.Lock()
	l.process = p
	l.mu.Unlock()
	l.set(p, State{Phase: Starting, PID: p.pid})
	go l.follow(p)
	go func() {
		<-p.done
		if p.stopping.Load() {
			l.set(p, State{Phase: Stopped})
		} else {
			l.set(p, State{Phase: Failed, Error: p.sentence})
		}
	}()
	return nil
}

// Stop asks the engine to end, kills it if it does not, and returns when it is gone. ctx ending kills at once.
func (l *Local) Stop(ctx context.Context) {
	l.control.Lock()
	defer l.control.Unlock()
	l.stop(ctx)
}

func (l *Local) stop(ctx context.Context) {
	l.mu.Lock()
	p := l.process
	l.mu.Unlock()
	if p == nil {
		return
	}
	if p.ended() { // a failure that was seen is acknowledged
		l.set(p, State{Phase: Stopped})
		return
	}
	p.stop(ctx)
	l.set(p, State{Phase: Stopped})
}

// Restart stops what runs and starts again with the same options.
func (l *Local) Restart(ctx context.Context) error {
	l.control.Lock()
	defer l.control.Unlock()
	l.mu.Lock()
	o, known := l.options, l.process != nil || l.state.Phase == Failed
	l.mu.Unlock()
	if !known {
		return ErrNotRunning
	}
	l.stop(ctx)
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.start(o)
}

// Wait returns when the engine is ready, or with the reason why it will not be.
func (l *Local) Wait(ctx context.Context) (State, error) {
	for {
		l.mu.Lock()
		state, changed := l.state, l.changed
		l.mu.Unlock()
		switch state.Phase {
		case Ready:
			return state, nil
		case Failed:
			return state, &EngineDied{Sentence: state.Error}
		case Stopped:
			return state, ErrNotRunning
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return state, ctx.Err()
		}
	}
}

// Stderr is the end of what the engine process wrote there, for a details view.
func (l *Local) Stderr() string {
	l.mu.Lock()
	p := l.process
	l.mu.Unlock()
	if p == nil {
		return ""
	}
	return p.said.text()
}

// follow watches a process from its start until it is ready or gone.
func (l *Local) follow(p *process) {
	watcher := Client{reach: func() (*target, error) { return p.target, nil }}
	answered := make(chan struct{})
	go func() {
		select {
		case <-answered:
		case <-p.done:
		case <-time.After(p.options.Answer):
			p.fail("The engine did not answer within " + p.options.Answer.String() + ".")
			p.kill()
		}
	}()
	ready, failed := errors.New("ready"), errors.New("failed")
	first := true
	for {
		err := watcher.WatchEngine(context.Background(), 50*time.Millisecond, func(s EngineState) error {
			if first {
				first = false
				close(answered)
			}
			switch s.State {
			case openai.StateFailed:
				p.fail(s.Error) // told as failed when the process is gone, so that it can be started again
				time.AfterFunc(5*time.Second, p.kill)
				return failed
			case openai.StateReady:
				l.set(p, State{Phase: Ready, Progress: 1, Info: s.Info, Model: s.Model, PID: p.pid})
				return ready
			default:
				l.set(p, State{Phase: Loading, Progress: s.Progress, PID: p.pid})
			}
			return nil
		})
		if err == ready || err == failed || p.ended() {
			return
		}
		select { // a broken connection to a living process is tried again
		case <-p.done:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// set publishes a state of p, unless another process has taken its place, or it says nothing new, or p is past it.
func (l *Local) set(p *process, s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p != l.process && p != nil {
		return
	}
	old := l.state
	same := old.Phase == s.Phase && old.Progress == s.Progress && old.Error == s.Error && old.PID == s.PID
	// What follow saw last may arrive after the process ended.
	late := p != nil && s.PID != 0 && p.ended() && s.Phase != Failed
	if same || late {
		return
	}
	l.state = s
	close(l.changed)
	l.changed = make(chan struct{})
	if l.notify == nil {
		return
	}
	l.queue = append(l.queue, s)
	if !l.telling {
		l.telling = true
		go l.tell()
	}
}

func (l *Local) tell() {
	for {
		l.mu.Lock()
		if len(l.queue) == 0 {
			l.telling = false
			l.mu.Unlock()
			return
		}
		next := l.queue[0]
		l.queue = l.queue[1:]
		l.mu.Unlock()
		l.notify(next)
	}
}

// target is what the embedded Client calls.
func (l *Local) target() (*target, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.process == nil && l.state.Phase == Failed:
		return nil, &EngineDied{Sentence: l.state.Error}
	case l.process == nil || l.state.Phase == Stopped:
		return nil, ErrNotRunning
	case l.process.ended():
		return nil, &EngineDied{Sentence: l.process.sentence}
	}
	return l.process.target, nil
}
