package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// usage lists the commands.
func usage(w io.Writer) error {
	fmt.Fprintln(w, "Ingot runs GGUF language models on this machine.\n\nusage: ingot [COMMAND]\n\nWithout a command the window opens or, where there can be none, a conversation in the terminal.")
	for _, c := range commands {
		fmt.Fprintf(w, "  %-16s %s\n", c.name, c.short)
	}
	_, err := fmt.Fprintln(w, "\nMODEL is a path, a name from ingot list, sample, or user/repo:QUANT. ingot help COMMAND shows a command's options.")
	return err
}

// flagSet is the options of one command.
type flagSet struct {
	*flag.FlagSet
	env    *Env
	checks []func() error // of the values, once all are read
	note   string         // further help, after the options
}

// flags returns the still empty options of a command. Two flags with the same Value are two names of one option.
func flags(env *Env, name string) *flagSet {
	fs := flag.NewFlagSet(name, flag.ContinueOnError)
	fs.SetOutput(io.Discard) // parse reports
	return &flagSet{FlagSet: fs, env: env}
}

// parse reads flags wherever they stand among the arguments, up to "--", and returns the rest, of which there must be
// lo to hi (-1: any number).
func (fs *flagSet) parse(args []string, lo, hi int) ([]string, error) {
	var rest []string
	for len(args) > 0 {
		if err := fs.Parse(args); errors.Is(err, flag.ErrHelp) {
			fs.help()
			return nil, err
		} else if err != nil {
			return nil, fs.misuse(fs.refusal(err))
		}
		left := fs.Args()
		if used := len(args) - len(left); used > 0 && args[used-1] == "--" {
			rest = append(rest, left...)
			break
		}
		if args = left; len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	switch {
	case len(rest) < lo:
		return nil, fs.misuse("an argument is missing")
	case hi >= 0 && len(rest) > hi:
		return nil, fs.misuse(fmt.Sprintf("%q is one argument too many", rest[hi]))
	}
	for _, check := range fs.checks {
		if err := check(); err != nil {
			return nil, fs.misuse(sentence(err))
		}
	}
	return rest, nil
}

var invalidValue = regexp.MustCompile(`(?s)^invalid (?:boolean )?value (".*") for (?:flag )?-([^:]*): (.*)$`)

// refusal is what package flag says of an option, with the option written as in help and numbers named.
func (fs *flagSet) refusal(err error) string {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		return "there is no option " + dashed(name)
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: -"); ok {
		return dashed(name) + " needs a value"
	}
	m := invalidValue.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	why := m[3]
	if v, ok := fs.Lookup(m[2]).Value.(flag.Getter); ok { // package flag's own say no more than "parse error"
		switch v.Get().(type) {
		case bool:
			why = "expected true or false"
		case float64:
			why = "expected a number"
		default:
			why = "expected a whole number"
		}
	}
	return fmt.Sprintf("invalid value %s for %s: %s", m[1], dashed(m[2]), why)
}

// misuse says in one line what is wrong with a command line and how it should look.
func (fs *flagSet) misuse(what string) error {
	fmt.Fprintf(fs.env.Stderr, "ingot %s: %s; usage: %s (ingot help %[1]s shows the options)\n", fs.Name(), what, fs.line())
	return errUsage
}

func (fs *flagSet) line() string {
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == fs.Name() })
	return strings.TrimRight("ingot "+fs.Name()+" "+commands[i].args, " ")
}

// help describes the command on standard output.
func (fs *flagSet) help() {
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == fs.Name() })
	fmt.Fprintf(fs.env.Stdout, "usage: %s\n\n%s%s.\n", fs.line(), strings.ToUpper(commands[i].short[:1]), commands[i].short[1:])
	var options []*flag.Flag
	names := map[flag.Value][]string{}
	fs.VisitAll(func(f *flag.Flag) {
		if names[f.Value] == nil {
			options = append(options, f)
		}
		names[f.Value] = append(names[f.Value], dashed(f.Name))
	})
	if len(options) == 0 {
		return
	}
	lines, width := make([][2]string, len(options)), 0
	for i, f := range options {
		slices.SortStableFunc(names[f.Value], func(a, b string) int { return len(a) - len(b) })
		operand, what := flag.UnquoteUsage(f)
		left := strings.TrimRight(strings.Join(names[f.Value], ", ")+" "+strings.ToUpper(operand), " ")
		if f.DefValue != "" && f.DefValue != "0" && f.DefValue != "false" {
			what += " (default " + f.DefValue + ")"
		}
		lines[i], width = [2]string{left, what}, max(width, len(left))
	}
	fmt.Fprintln(fs.env.Stdout)
	for _, l := range lines {
		fmt.Fprintf(fs.env.Stdout, "  %-*s  %s\n", width, l[0], l[1])
	}
	if fs.note != "" {
		fmt.Fprintf(fs.env.Stdout, "\n%s\n", fs.note)
	}
}

// dashed writes a flag's name as people write it: words with two dashes, though one will do.
func dashed(name string) string {
	if len(name) > 2 && !slices.Contains([]string{"ngl", "ctk", "ctv", "tps"}, name) {
		return "--" + name
	}
	return "-" + name
}
