// Compare measures Ingot beside programs that take llama-bench's options and print its JSON, alternating them on one
// machine, and prints a Markdown table of medians and of ratios pair by pair.
//
//	go run ./tests/perf/compare -m model.gguf -ingot bin/ingot -peer 'llama.cpp=/path/to/llama-bench' -p 512 -n 64 -t 2 -rounds 5
//
// Every program runs once a round, in an order that turns from round to round. A ratio is of two runs of the same round,
// so that what slows the machine for a while slows both. Nothing is discarded: every run's figure is listed.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

// settings are the measurement, the same for every program.
type settings struct {
	model, prompts, gens, depths, threads string
	repetitions, rounds                   int
	under                                 []string // command that starts each program, such as taskset -c 0,1
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	fs := flag.NewFlagSet("compare", flag.ExitOnError)
	var s settings
	fs.StringVar(&s.model, "m", "", "`model` file")
	fs.StringVar(&s.prompts, "p", "512", "prompt lengths in `tokens`, by commas; 0: none")
	fs.StringVar(&s.gens, "n", "64", "answer lengths in `tokens`, by commas; 0: none")
	fs.StringVar(&s.depths, "d", "0", "`tokens` in the context before each test, by commas")
	fs.StringVar(&s.threads, "t", "", "`threads`; what each program takes by itself where not given")
	fs.IntVar(&s.repetitions, "r", 1, "repetitions within a run")
	fs.IntVar(&s.rounds, "rounds", 5, "rounds, in each of which every program runs once")
	under := fs.String("under", "", "`command` that runs each program, such as \"taskset -c 0,1\"")
	ingot := fs.String("ingot", "bin/ingot", "Ingot's `program`, and options after it for this program alone")
	programs := []program{{name: "ingot"}}
	fs.Func("peer", "`NAME=PROGRAM [OPTION...]` to compare with; may be given again", func(v string) error {
		name, command, ok := strings.Cut(v, "=")
		if !ok || name == "" || strings.TrimSpace(command) == "" {
			return fmt.Errorf("%q is not NAME=PROGRAM", v)
		}
		programs = append(programs, newProgram(name, strings.Fields(command)))
		return nil
	})
	fs.Parse(args)
	switch {
	case s.model == "":
		return errors.New("-m is missing")
	case s.rounds < 1 || s.repetitions < 1:
		return errors.New("-rounds and -r are at least 1")
	case fs.NArg() > 0:
		return fmt.Errorf("%q is one argument too many", fs.Arg(0))
	}
	command := strings.Fields(*ingot)
	if len(command) == 0 {
		return errors.New("-ingot is empty")
	}
	programs[0] = newProgram("ingot", append([]string{command[0], "bench"}, command[1:]...))
	s.under = strings.Fields(*under)

	fmt.Printf("Load of the machine at the start (1, 5 and 15 minutes): %s. %d rounds, -r %d, threads: %s.\n\n",
		load(), s.rounds, s.repetitions, cmp.Or(s.threads, "each program's own choice"))
	var r results
	for round := range s.rounds {
		for i := range programs {
			p := &programs[(round+i)%len(programs)]
			fmt.Fprintf(os.Stderr, "compare: round %d of %d: %s\n", round+1, s.rounds, p.name)
			rows, err := p.measure(&s)
			r.add(p.name, round, rows, err)
		}
	}
	names := make([]string, len(programs))
	for i, p := range programs {
		names[i] = p.name
	}
	r.print(os.Stdout, names)
	if len(r.failures) > 0 {
		return fmt.Errorf("%d runs failed; they are listed", len(r.failures))
	}
	return nil
}

// load is what the system says of its load; empty where it says nothing.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(b)); err == nil && len(f) >= 3 {
		return strings.Join(f[:3], ", ")
	}
	return "unknown"
}
