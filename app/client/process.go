package client

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// process is one run of an engine process.
type process struct {
	options  LocalOptions // with its defaults filled in
	pid      int
	stdin    io.WriteCloser // open as long as the engine should live
	handle   *os.Process
	target   *target
	said     *lastLines
	stopping atomic.Bool // it was asked to end
	done     chan struct{}
	sentence string // why it ended; valid when done is closed

	mu     sync.Mutex
	reason string // known before the end, and better than what the exit tells
}

// launch starts the engine with a fresh socket and token. The token goes through stdin, where no list of processes
// shows it.
func launch(o LocalOptions) (*process, error) {
	if o.Executable == "" {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("find this program's own file: %w", err)
		}
		o.Executable = self
	}
	if o.Answer == 0 {
		o.Answer = 20 * time.Second
	}
	if o.Quit == 0 {
		o.Quit = 10 * time.Second
	}
	socket, err := socketPath(o.Dir)
	if err != nil {
		return nil, err
	}
	token := rand.Text() + rand.Text()
	p := &process{options: o, said: &lastLines{}, done: make(chan struct{})}

	args := append([]string{"engine", "--socket", socket}, o.Args...)
	if o.Model != "" {
		args = append(args, o.Model)
	}
	cmd := exec.Command(o.Executable, args...)
	cmd.Env = append(os.Environ(), o.Env...)
	cmd.SysProcAttr = childAttributes()
	cmd.Stderr = p.said
	if o.Stderr != nil {
		cmd.Stderr = io.MultiWriter(p.said, o.Stderr)
	}
	cmd.WaitDelay = time.Second // a grandchild that holds stderr does not hide the end
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	p.target = unixTarget(token, func(ctx context.Context) (net.Conn, error) { return p.dial(ctx, socket) })
	p.target.blame = p.blame
	started := make(chan error)
	go func() {
		// The kernel ends the child with the thread that made it, so this thread waits for the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // ProcessState tells more than its error
		os.Remove(socket)
		p.end(cmd.ProcessState)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	p.pid, p.handle = cmd.Process.Pid, cmd.Process
	// A process that is already gone shows in done.
	_, _ = io.WriteString(p.stdin, token+"\n")
	return p, nil
}

// dial waits for the socket of a process that has just been started.
func (p *process) dial(ctx context.Context, socket string) (net.Conn, error) {
	for {
		c, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		if err == nil {
			return c, nil
		}
		select {
		case <-p.done:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// blame waits a moment for the end of the process that a broken connection hints at.
func (p *process) blame(err error) error {
	select {
	case <-p.done:
		return &EngineDied{Sentence: p.sentence}
	case <-time.After(2 * time.Second):
		return err
	}
}

// fail sets the reason of the coming end; the first one counts.
func (p *process) fail(reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reason == "" {
		p.reason = reason
	}
}

func (p *process) end(state *os.ProcessState) {
	p.mu.Lock()
	switch {
	case p.stopping.Load():
		p.sentence = "The engine was stopped."
	case p.reason != "":
		p.sentence = p.reason
	default:
		p.sentence = exitSentence(state, p.said)
	}
	p.mu.Unlock()
	p.stdin.Close()
	close(p.done)
	p.target.http.CloseIdleConnections()
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// stop closes stdin, which asks the engine to end, and kills it when it takes too long.
func (p *process) stop(ctx context.Context) {
	p.stopping.Store(true)
	p.stdin.Close()
	select {
	case <-p.done:
		return
	case <-ctx.Done():
	case <-time.After(p.options.Quit):
	}
	p.kill()
	<-p.done
}

// kill may come after the end, which is fine.
func (p *process) kill() { _ = p.handle.Kill() }
