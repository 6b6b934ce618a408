package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestMain lets the test binary play a program that is measured.
func TestMain(m *testing.M) {
	if speed := os.Getenv("COMPARE_TEST_SPEED"); speed != "" {
		play(speed)
		return
	}
	os.Exit(m.Run())
}

// play answers like llama-bench does: noise, then the array.
func play(speed string) {
	if slices.Contains(os.Args, "--help") {
		fmt.Println("  -p, --n-prompt <n>\n  -gp <pp,tg>")
		return
	}
	if slices.Contains(os.Args, "-fail") {
		fmt.Fprintln(os.Stderr, "one\nno such model")
		os.Exit(3)
	}
	fmt.Printf("warning: [asserts] enabled\n[\n{\"n_prompt\": 512, \"n_gen\": 0, \"avg_ts\": %s},\n{\"n_prompt\": 9, \"n_gen\": 4, \"test\": \"tg4@pp9\", \"avg_ts\": 2}\n]\n", speed)
}

func TestMeasure(t *testing.T) {
	t.Setenv("COMPARE_TEST_SPEED", "12.5")
	p := newProgram("x", []string{os.Args[0]})
	rows, err := p.measure(&settings{model: "m", prompts: "512", gens: "4", depths: "9", repetitions: 1})
	if err != nil || !slices.Equal(rows, []row{{test{512, 0, 0}, 12.5}, {test{0, 4, 9}, 2}}) {
		t.Fatalf("%v, %v", rows, err)
	}
	p = newProgram("x", []string{os.Args[0], "-fail"})
	if _, err := p.measure(&settings{model: "m", depths: "0"}); err == nil || !strings.Contains(err.Error(), "exit status 3: no such model") {
		t.Errorf("a failing program: %v", err)
	}
}

func TestArgs(t *testing.T) {
	s := &settings{model: "m", prompts: "512", gens: "8,0", depths: "0,100,200", threads: "2", repetitions: 3}
	for want, p := range map[string]program{
		"a -m m -r 3 -o json -t 2 -p 512 -n 8,0 -d 0,100,200":      {command: []string{"a"}, depth: true},
		"a b -m m -r 3 -o json -t 2 -p 0 -n 0 -gp 100,8 -gp 200,8": {command: []string{"a", "b"}, gp: true},
	} {
		if got, err := p.args(s); err != nil || strings.Join(got, " ") != want {
			t.Errorf("got %v, %v, expected %s", got, err, want)
		}
	}
	p := program{command: []string{"a"}}
	if _, err := p.args(s); err == nil {
		t.Error("a depth for a program that knows none")
	}
}

func TestParseRefusesWhatIsNoArray(t *testing.T) {
	for _, out := range []string{"", "error: x", "[\n{\"n_prompt\": 1"} {
		if rows, err := parse([]byte(out)); err == nil {
			t.Errorf("%q gives %v", out, rows)
		}
	}
}

func TestTable(t *testing.T) {
	var r results
	tg := test{0, 8, 0}
	for round, v := range []float64{10, 20, 12} {
		r.add("ingot", round, []row{{tg, v}}, nil)
	}
	r.add("peer", 0, []row{{tg, 5}}, nil)
	r.add("peer", 1, nil, fmt.Errorf("killed"))
	r.add("peer", 2, []row{{tg, 4}, {test{512, 0, 7}, 1}}, nil)
	var b strings.Builder
	r.print(&b, []string{"ingot", "peer"})
	const want = `| test | ingot t/s | peer t/s | ingot / peer |
| --- | ---: | ---: | ---: |
| tg8 | 12.00 (10.00 to 20.00) | 4.50 (4.00 to 5.00) | 2.50 (2.00 to 3.00) |
| pp512 @ d7 | - | 1.00 | - |

Medians (least to greatest). Every run, round by round:

- tg8, ingot: 10.00 20.00 12.00
- tg8, peer: 5.00 4.00
- pp512 @ d7, peer: 1.00
- failed: peer, round 2: killed
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}
