package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/term"

	"ingot/engine"
	"ingot/engine/chat"
)

// runOptions are what `ingot run` is told.
type runOptions struct {
	engine    engine.Options
	request   engine.Request
	reasoning string
	system    string
	verbose   bool
}

func runRun(ctx context.Context, env *Env, args []string) error {
	var o runOptions
	fs := flags(env, "run")
	engineFlags(fs, &o.engine)
	sampling := samplingFlags(fs)
	fs.Var((*count)(&o.request.MaxTokens), "n", "most `tokens` of an answer; 0: up to the end of the context")
	reasoning := oneOf(fs.FlagSet, "reasoning", "`when` to let the model think aloud", "auto", "on", "off")
	fs.StringVar(&o.system, "system", "", "`instructions` before the conversation")
	fs.BoolVar(&o.verbose, "v", false, "print speed after each answer")
	rest, err := fs.parse(args, 1, -1)
	if err != nil {
		return err
	}
	o.request.Sampling, o.reasoning = *sampling, *reasoning
	prompt := strings.Join(rest[1:], " ")
	interactive := isTerminal(env.Stdin) && prompt == ""
	if !isTerminal(env.Stdin) {
		piped, err := readAll(env, "-")
		if err != nil {
			return err
		}
		prompt = strings.TrimSpace(strings.Join([]string{prompt, strings.TrimSpace(string(piped))}, "\n\n"))
		if prompt == "" {
			return errors.New("nothing to answer: give a prompt after the model's name, or on standard input")
		}
	}
	path, err := env.Resolve(rest[0])
	if err != nil {
		return err
	}
	e, err := engine.Open(path, o.engine)
	if err != nil {
		return err
	}
	defer e.Close()
	warn(env, e.Info())
	c := conversation{env: env, e: e, o: &o}
	if o.system != "" {
		c.messages = append(c.messages, chat.Message{Role: "system", Content: o.system})
	}
	if interactive {
		return c.talk(ctx)
	}
	return c.ask(ctx, prompt)
}

// Converse talks to a model in the terminal, or where there is none asks it one question.
func Converse(ctx context.Context, env *Env, ref, question string) error {
	path, err := env.Resolve(ref)
	if err != nil {
		return err
	}
	e, err := engine.Open(path, engine.Options{})
	if err != nil {
		return err
	}
	defer e.Close()
	c := conversation{env: env, e: e, o: &runOptions{reasoning: "off"}}
	if isTerminal(env.Stdin) {
		return c.talk(ctx)
	}
	fmt.Fprintf(env.Stdout, "No display and no terminal here, so %s answers one question.\n\n> %s\n", e.Info().Name, question)
	return c.ask(ctx, question)
}

// conversation is a chat in a terminal or through a pipe.
type conversation struct {
	env      *Env
	e        *engine.Engine
	o        *runOptions
	messages []chat.Message
}

// talk reads questions line by line until the end of input. Ctrl-C stops an answer; between answers it ends.
func (c *conversation) talk(ctx context.Context) error {
	i := c.e.Info()
	fmt.Fprintf(c.env.Stderr, "%s (%s, %d tokens of context). Ctrl-C stops an answer, Ctrl-D ends.\n", i.Name, i.Quantization, i.Context)
	in := bufio.NewReader(c.env.Stdin)
	interrupts := make(chan os.Signal, 1)
	signal.Reset(os.Interrupt) // for others it ends the program
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	// until returns a context that an interrupt ends.
	until := func() (context.Context, context.CancelFunc) {
		here, cancel := context.WithCancel(ctx)
		go func() {
			select {
			case <-interrupts:
				cancel()
			case <-here.Done():
			}
		}()
		return here, cancel
	}
	for {
		fmt.Fprint(c.env.Stderr, "> ")
		waiting, stop := until()
		line, err := readLine(waiting, in)
		stop()
		if err != nil {
			fmt.Fprintln(c.env.Stderr)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		answering, stop := until()
		err = c.ask(answering, line)
		stop()
		if err != nil && !errors.Is(err, context.Canceled) {
			complain(c.env, err)
		}
	}
}

// readLine reads one line; the end of ctx ends the wait.
func readLine(ctx context.Context, in *bufio.Reader) (string, error) {
	type read struct {
		line string
		err  error
	}
	got := make(chan read, 1)
	go func() {
		line, err := in.ReadString('\n')
		if line != "" {
			err = nil
		}
		got <- read{line, err}
	}()
	select {
	case r := <-got:
		return r.line, r.err
	case <-ctx.Done():
		return "", io.EOF
	}
}

// ask sends a question and prints the answer as it comes: the answer to standard output, thoughts dimmed to standard
// error where that is a terminal. The text so far of an answer that was stopped stays in the conversation.
func (c *conversation) ask(ctx context.Context, question string) error {
	c.messages = append(c.messages, chat.Message{Role: "user", Content: question})
	r := c.o.request
	r.Prompt = chat.Prompt{Messages: c.messages, Reasoning: reasoningOf(c.o.reasoning)}
	if !c.e.Info().HasTemplate {
		r.Prompt, r.Text = chat.Prompt{}, question
	}
	dim, shown := isTerminal(c.env.Stderr), isTerminal(c.env.Stdout)
	var text, thought strings.Builder
	var result *engine.Result
	var failed error
	for ev, err := range c.e.Generate(ctx, r) {
		if err != nil {
			failed = err
			break
		}
		if ev.Reasoning != "" {
			if dim {
				fmt.Fprintf(c.env.Stderr, "\x1b[2m%s\x1b[0m", visibleBut(ev.Reasoning, "\n\t"))
			}
			thought.WriteString(ev.Reasoning)
		}
		if ev.Text != "" {
			if text.Len() == 0 && thought.Len() > 0 && dim {
				fmt.Fprint(c.env.Stderr, "\n\n")
			}
			text.WriteString(ev.Text)
			out := ev.Text
			if shown {
				out = visibleBut(out, "\n\t")
			}
			if _, err := io.WriteString(c.env.Stdout, out); err != nil {
				return err
			}
		}
		if ev.Done != nil {
			result = ev.Done
		}
	}
	if text.Len() > 0 && !strings.HasSuffix(text.String(), "\n") {
		fmt.Fprintln(c.env.Stdout)
	}
	if failed != nil && text.Len() == 0 {
		c.messages = c.messages[:len(c.messages)-1] // not asked
	} else {
		c.messages = append(c.messages, chat.Message{Role: "assistant", Content: text.String(), Reasoning: thought.String()})
	}
	if failed == nil && result != nil && result.Reason == engine.FinishLength && text.Len() == 0 && c.e.Info().CanThink && c.o.reasoning != "off" {
		fmt.Fprintf(c.env.Stderr, "ingot: the answer ended after %s, while the model was still thinking; more (-n, -c) or --reasoning off gives one\n", counted(result.Usage.Completion, "token"))
	}
	if failed == nil && c.o.verbose && result != nil {
		u, t := result.Usage, result.Timing
		fmt.Fprintf(c.env.Stderr, "[prompt %d tokens (%d held), %.1f tok/s; answer %d tokens, %.1f tok/s; %s]\n",
			u.Prompt, u.Cached, t.PrefillRate, u.Completion, t.DecodeRate, result.Reason)
	}
	return failed
}

func reasoningOf(word string) chat.Reasoning {
	if word == "auto" {
		return chat.ReasoningAuto
	}
	return chat.Reasoning(word)
}

// isTerminal tells whether a stream is a person's terminal.
func isTerminal(stream any) bool {
	if o, ok := stream.(*output); ok {
		stream = o.w
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
