// Package wire is the composition root: the one place that knows every part of the application and joins them.
package wire

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"ingot/app/cli"
	"ingot/app/library"
	"ingot/app/prefs"
	"ingot/assets"
	"ingot/engine"
	"ingot/storage"
)

// Main runs the program with its command line and returns the exit code.
func Main(version string, args []string) int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the program wherever it waits
	paths, err := prefs.Locate()
	if err != nil {
		fmt.Fprintf(os.Stderr, "ingot: %v\n", err)
		return 1
	}
	h := &house{paths: paths, version: version}
	defer h.close()
	env := &cli.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Version: version, Resolve: h.resolve}
	env.Library = func() (cli.Library, error) { return h.library() }
	env.Window = func(ctx context.Context) error { return h.open(ctx, env) }
	return cli.Main(ctx, env, args)
}

// exampleQuestion is what the sample model is asked where nobody can ask it anything.
const exampleQuestion = "What is a river?"

// open shows the window, or holds the same conversation in the terminal where there is no display.
func (h *house) open(ctx context.Context, env *cli.Env) error {
	if why := noWindow(); why != "" {
		fmt.Fprintf(env.Stderr, "ingot: no window: %s\n", why)
		return cli.Converse(ctx, env, library.SourceSample, exampleQuestion)
	}
	return h.window(ctx, env)
}

// house holds what commands share; each part is opened when it is first asked for.
type house struct {
	paths   prefs.Paths
	version string

	mu sync.Mutex
	db *storage.DB
}

// database opens the database; a second process is told which one holds it.
func (h *house) database() (*storage.DB, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.db == nil {
		db, err := storage.Open(h.paths.Database(), storage.Options{})
		if errors.Is(err, storage.ErrInUse) {
			return nil, fmt.Errorf("the library is %w", err)
		}
		if err != nil {
			return nil, err
		}
		h.db = db
	}
	return h.db, nil
}

func (h *house) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.db != nil {
		h.db.Close()
		h.db = nil
	}
}

func (h *house) sample() (string, error) { return assets.Sample(h.paths.Cache) }

func (h *house) library() (*library.Library, error) {
	db, err := h.database()
	if err != nil {
		return nil, err
	}
	return library.Open(db, library.Options{Inspect: inspect, Sample: h.sample}), nil
}

// resolve finds a model's file. What needs no library does not wait for the database, which a window may hold; what
// does lets go of it again, so that a model that is served by its name keeps no window from opening.
func (h *house) resolve(ref string) (string, error) {
	if ref == library.SourceSample {
		return h.sample()
	}
	if st, err := os.Stat(ref); err == nil && !st.IsDir() {
		return ref, nil
	}
	if h.db == nil {
		defer h.close()
	}
	l, err := h.library()
	if errors.Is(err, storage.ErrInUse) {
		return "", fmt.Errorf("%s is no file, and %w", ref, err)
	}
	if err != nil {
		return "", err
	}
	return l.Resolve(ref)
}

// inspect reads a model's header for the library.
func inspect(path string) (library.ModelInfo, error) {
	i, err := engine.Inspect(path)
	if err != nil {
		return library.ModelInfo{}, err
	}
	return library.ModelInfo{Title: i.Name, Architecture: i.Architecture, Quantization: i.Quantization, Parameters: i.Parameters,
		FileBytes: i.FileBytes, Context: i.TrainContext, Layers: i.Layers, Parts: i.Parts, KVPerToken: i.KVBytes, StateBytes: i.StateBytes,
		Vocab: i.Vocab, NoVocab: i.NoVocab, HasTemplate: i.HasTemplate, CanThink: i.CanThink, Problem: i.Problem}, nil
}
