package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// program is one that is measured: its command and options of its own.
type program struct {
	name    string
	command []string
	asked   bool // for its help
	depth   bool // it knows -d
	gp      bool // it knows -gp DEPTH,GEN instead
}

func newProgram(name string, command []string) program { return program{name: name, command: command} }

// test is what a row measured.
type test struct{ prompt, gen, depth int }

func (t test) String() string {
	var parts []string
	if t.prompt > 0 {
		parts = append(parts, fmt.Sprintf("pp%d", t.prompt))
	}
	if t.gen > 0 {
		parts = append(parts, fmt.Sprintf("tg%d", t.gen))
	}
	name := strings.Join(parts, "+")
	if t.depth > 0 {
		name += fmt.Sprintf(" @ d%d", t.depth)
	}
	return name
}

// row is a test's speed in tokens a second.
type row struct {
	test
	speed float64
}

// measure runs the program once and returns its rows.
func (p *program) measure(s *settings) ([]row, error) {
	if !p.asked { // what it says about options; its exit status does not matter
		help, _ := exec.Command(p.command[0], append(p.command[1:len(p.command):len(p.command)], "--help")...).CombinedOutput()
		p.depth, p.gp = bytes.Contains(help, []byte("--n-depth")), bytes.Contains(help, []byte("-gp "))
		p.asked = true
	}
	args, err := p.args(s)
	if err != nil {
		return nil, err
	}
	line := append(append([]string{}, s.under...), args...)
	c := exec.Command(line[0], line[1:]...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, lastLine(errs.String()))
	}
	return parse(out.Bytes())
}

// args is the command line; where a program has no -d, answers at a depth are asked for as it knows them.
func (p *program) args(s *settings) ([]string, error) {
	args := append(append([]string{}, p.command...), "-m", s.model, "-r", fmt.Sprint(s.repetitions), "-o", "json")
	if s.threads != "" {
		args = append(args, "-t", s.threads)
	}
	if s.depths == "0" {
		return append(args, "-p", s.prompts, "-n", s.gens), nil
	}
	if p.depth {
		return append(args, "-p", s.prompts, "-n", s.gens, "-d", s.depths), nil
	}
	if !p.gp {
		return nil, errors.New("it knows no option for a depth")
	}
	args = append(args, "-p", "0", "-n", "0")
	for depth := range strings.SplitSeq(s.depths, ",") {
		for gen := range strings.SplitSeq(s.gens, ",") {
			if depth != "0" && gen != "0" {
				args = append(args, "-gp", depth+","+gen)
			}
		}
	}
	return args, nil
}

// parse reads llama-bench's JSON: an array, before which a program may have said something else.
func parse(out []byte) ([]row, error) {
	start := bytes.Index(append([]byte("\n"), out...), []byte("\n["))
	if start < 0 {
		return nil, fmt.Errorf("no JSON in what it printed: %s", lastLine(string(out)))
	}
	var list []struct {
		Prompt int     `json:"n_prompt"`
		Gen    int     `json:"n_gen"`
		Depth  int     `json:"n_depth"`
		Speed  float64 `json:"avg_ts"`
		Test   string  `json:"test"`
	}
	if err := json.NewDecoder(bytes.NewReader(out[start:])).Decode(&list); err != nil {
		return nil, err
	}
	var rows []row
	for _, l := range list {
		t := test{l.Prompt, l.Gen, l.Depth}
		if strings.Contains(l.Test, "@pp") { // an answer after a prompt that is not timed
			t.prompt, t.depth = 0, l.Prompt
		}
		rows = append(rows, row{t, l.Speed})
	}
	return rows, nil
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	return lines[len(lines)-1]
}
