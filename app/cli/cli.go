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
)

// Env is what commands get from outside.
type Env struct {
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Resolve turns what the user calls a model (a path, a library name, "sample", user/repo:QUANT) into a file.
	Resolve func(ref string) (path string, err error)
	// Window opens the application; without a display it converses in the terminal.
	Window  func(ctx context.Context) error
	Version string
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
		{"engine", "--socket PATH MODEL", "the engine process of the window", runEngine},
		{"tokenize", "-m FILE", "print the token ids of the text on standard input", runTokenize},
		{"template", "FILE.jinja|MODEL --context FILE.json", "render a chat template", runTemplate},
		{"compare-logits", "MODEL REF.json", "compare a model's answers with recorded ones", runCompareLogits},
	}
}

// errUsage is returned for a command line that makes no sense; its message has been printed.
var errUsage = errors.New("usage")

// Main runs a command line (without the program's name) and returns the exit code: 0 done, 1 failed, 2 not understood.
func Main(ctx context.Context, env *Env, args []string) int {
	err := dispatch(ctx, env, args)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.Is(err, errUsage):
		return 2
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return 130
	}
	fmt.Fprintf(env.Stderr, "ingot: %v\n", err)
	return 1
}

func dispatch(ctx context.Context, env *Env, args []string) error {
	if len(args) == 0 {
		return env.Window(ctx)
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		usage(env.Stdout)
		return nil
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == args[0] })
	if i < 0 {
		fmt.Fprintf(env.Stderr, "ingot: unknown command %q; ingot help lists them\n", args[0])
		return errUsage
	}
	return commands[i].run(ctx, env, args[1:])
}

func usage(w io.Writer) {
	fmt.Fprintln(w, "Ingot runs GGUF language models on this machine.\n\nusage: ingot [COMMAND]\n\nWithout a command the window opens.")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-16s %s\n", c.name, c.short)
	}
	fmt.Fprintln(w, "\nMODEL is a path, a name from ingot list, sample, or user/repo:QUANT. ingot COMMAND -h shows a command's options.")
}

// flags returns a flag set that reports in one line and knows the command's usage.
func flags(env *Env, name string) *flag.FlagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(env.Stderr)
	fs.Usage = func() {
		i := slices.IndexFunc(commands, func(c command) bool { return c.name == name })
		fmt.Fprintf(env.Stderr, "usage: ingot %s %s\n%s\n", name, commands[i].args, commands[i].short)
		fs.PrintDefaults()
	}
	return fs
}

// parse reads flags wherever they stand among the arguments and returns the rest, of which there must be lo to hi
// (-1: any number).
func parse(fs *flag.FlagSet, args []string, lo, hi int) ([]string, error) {
	var rest []string
	for len(args) > 0 {
		if err := fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, errUsage
		}
		if args = fs.Args(); len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	if len(rest) < lo || hi >= 0 && len(rest) > hi {
		fs.Usage()
		return nil, errUsage
	}
	return rest, nil
}

// readAll reads a file, or standard input for "-".
func readAll(env *Env, path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(env.Stdin)
	}
	return os.ReadFile(path)
}

func oneOf(name, value string, choices ...string) error {
	if slices.Contains(choices, value) {
		return nil
	}
	return fmt.Errorf("-%s is %q, expected %s", name, value, strings.Join(choices, ", "))
}
