// Package cli is Ingot's command line: one file a command, each with its options, its flags and a run function.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"

	"ingot/app/library"
	"ingot/engine"
	"ingot/storage"
)

// Env is what commands get from outside.
type Env struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Resolve turns what the user calls a model (a path, a library name, "sample", user/repo:QUANT) into a file.
	Resolve func(ref string) (path string, err error)
	// Library opens the model library.
	Library func() (Library, error)
	// Window opens the application; without a display it converses in the terminal.
	Window  func(ctx context.Context) error
	Version string
}

// Library is what commands need of the model library.
type Library interface {
	// List returns the sample model, then what was added.
	List() ([]library.Entry, error)
	// Discover lists what other programs' stores hold.
	Discover() []library.Found
	// Find returns what ref means; beside ErrMissing it returns the entry too.
	Find(ref string) (library.Entry, error)
	Add(ctx context.Context, path string) (library.Added, error)
	AddRef(ctx context.Context, ref string) (library.Entry, error)
	Remove(id storage.ID) (undo func() error, err error)
}

// command is one word of the command line.
type command struct {
	name, args, short string
	run               func(ctx context.Context, env *Env, args []string) error
}

var commands []command

func init() { // not a literal: flags, which the commands call, looks their usage up
	commands = []command{
		{"run", "MODEL [PROMPT]", "chat with a model, or answer one prompt", runRun},
		{"serve", "MODEL", "serve a model over the OpenAI-compatible API", runServe},
		{"list", "", "list the models of the library", runList},
		{"add", "PATH|USER/REPO:QUANT...", "add files, folders, or models of other programs' stores to the library", runAdd},
		{"remove", "NAME...", "take models out of the library; their files stay", runRemove},
		{"show", "MODEL", "show what a model's file says, and whether it fits this machine", runShow},
		{"plan", "MODEL --cards 8xMI50", "predict memory and speed of a model on cards, which need not be here", runPlan},
		{"devices", "", "list the devices that models can run on", runDevices},
		{"bench", "MODEL...", "measure how fast a model reads prompts and writes answers", runBench},
		{"tokenize", "-m FILE", "print the token ids of the text on standard input", runTokenize},
		{"template", "FILE.jinja|MODEL --context FILE.json", "render a chat template", runTemplate},
		{"quantize", "IN.gguf OUT.gguf TYPE", "write a model file in smaller types", runQuantize},
		{"compare-logits", "MODEL REF.json", "compare a model's answers with recorded ones", runCompareLogits},
		{"engine", "--socket PATH MODEL", "the engine process of the window", runEngine},
		{"version", "", "print the version", runVersion},
	}
}

var (
	// errUsage is returned for a command line that makes no sense; its message has been printed.
	errUsage = errors.New("usage")
	// errReported is returned by a command that failed and has said so.
	errReported = errors.New("reported")
)

// Main runs a command line (without the program's name) and returns the exit code: 0 done, 1 failed, 2 not understood.
func Main(ctx context.Context, env *Env, args []string) int {
	out := &output{w: env.Stdout}
	env.Stdout = out
	err := dispatch(ctx, env, args)
	if err == nil {
		err = out.err
	}
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		return 2
	case errors.Is(err, errReported):
		return 1
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return 130
	}
	complain(env, err)
	return 1
}

func dispatch(ctx context.Context, env *Env, args []string) error {
	if len(args) == 0 {
		return env.Window(ctx)
	}
	name, rest := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		if len(rest) == 0 || rest[0] == "help" {
			return usage(env.Stdout)
		}
		name, rest = rest[0], []string{"-h"}
	case "-version", "--version":
		name = "version"
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == name })
	if i < 0 {
		fmt.Fprintf(env.Stderr, "ingot: unknown command %q; ingot help lists them\n", name)
		return errUsage
	}
	return commands[i].run(ctx, env, rest)
}

// output remembers the first error of writing, so that a command whose result did not arrive does not succeed.
type output struct {
	w   io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil && o.err == nil {
		o.err = err
	}
	return n, err
}

// visible replaces control characters, which a file's name or metadata may hold, so that they do not act on a terminal.
func visible(s string) string { return visibleBut(s, "") }

// visibleBut is visible but for some characters, such as a text's line ends.
func visibleBut(s, these string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !strings.ContainsRune(these, r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// Report says why a command failed before it ends, and returns what it is then to return.
func Report(env *Env, err error) error {
	complain(env, err)
	return errReported
}

// complain prints an error as one line of standard error.
func complain(env *Env, err error) { fmt.Fprintf(env.Stderr, "ingot: %s\n", sentence(err)) }

// sentence is an error as one line, with options named as here. That a request is bad is for programs to know: here it was
// a command.
func sentence(err error) string {
	text := optionNames.Replace(strings.Replace(err.Error(), engine.ErrBadRequest.Error()+": ", "", 1))
	return visible(strings.ReplaceAll(text, "\n", "; "))
}

// maxInput bounds what is read into memory from a file or standard input: a device or a pipe may never end.
const maxInput = 256 << 20

// readAll reads a file, or standard input for "-".
func readAll(env *Env, path string) ([]byte, error) {
	in, name := env.Stdin, "standard input"
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, name = f, path
	}
	b, err := io.ReadAll(io.LimitReader(in, maxInput+1))
	if err == nil && len(b) > maxInput {
		err = fmt.Errorf("%s is longer than %d MB", name, maxInput>>20)
	}
	return b, err
}
