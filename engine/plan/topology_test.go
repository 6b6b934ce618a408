package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ingot/engine/arch/archtest"
	"ingot/engine/graph"
	"ingot/engine/tensor"
)

func cards(n int) (all []Card) {
	for i := range n {
		all = append(all, Card{Name: fmt.Sprintf("card:%d", i), QuantRow: quantRow})
	}
	return all
}

var storage = Storage{Slots: 1, Cells: 32, Planes: 3, Keys: tensor.F16, Values: tensor.F16}

func spread(n int) Spread {
	return Spread{Cards: cards(n), Host: Card{Name: "host", QuantRow: quantRow}, Layers: -1, Keep: storage}
}

func TestTopologiesAsText(t *testing.T) {
	two := spread(4)
	two.TPS = 2
	layer := spread(3)
	layer.Mode = ModeLayer
	moved := spread(2)
	moved.Layers = 3
	moved.Moved = []Move{{regexp.MustCompile("_exps"), Card{Name: "host", QuantRow: quantRow}}}
	for _, c := range []struct {
		file, arch string
		s          Spread
		lane       int // whose steps are printed, of the first stage
	}{{"topology-8-lanes", "llama", spread(8), 1}, {"topology-2x2", "qwen35moe", two, 1}, {"topology-3-stages", "qwen3", layer, 0}, {"topology-moved", "qwen35moe", moved, 0}} {
		t.Run(c.file, func(t *testing.T) {
			top, err := Divide(build(t, c.arch, bare), types(tensor.Q8_0), Options{Rows: 4, Outs: 2}, c.s)
			if err != nil {
				t.Fatal(err)
			}
			got := top.String() + "\n" + top.Stages[0].Lanes[c.lane].Plan.String()
			path := filepath.Join("testdata", c.file+".txt")
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			g, w := strings.Split(got, "\n"), strings.Split(string(want), "\n")
			for i := range max(len(g), len(w)) {
				if at(g, i) != at(w, i) {
					t.Fatalf("line %d differs from %s (go test -update writes it again):\n got %q\nwant %q", i+1, path, at(g, i), at(w, i))
				}
			}
			text, err := json.Marshal(top)
			var back struct {
				Stages []struct {
					First int `json:"first_layer"`
					Lanes []struct{ Card string }
				}
			}
			if err != nil || json.Unmarshal(text, &back) != nil || len(back.Stages) != len(top.Stages) ||
				back.Stages[0].Lanes[c.lane].Card != top.Stages[0].Lanes[c.lane].Card.Name || back.Stages[0].First != top.Stages[0].First {
				t.Errorf("%v: %s", err, text)
			}
		})
	}
}

// What the lanes hold of a weight is, together, all of it, each value once but for what units share; parts end on the ends
// of blocks; and a lane's plan is made again alike.
func TestLanesHoldEverythingOnce(t *testing.T) {
	for _, name := range archtest.Names() {
		for _, lanes := range []int{2, 3, 4, 8} {
			typ := types(tensor.Q8_0)
			g := build(t, name, full)
			top, err := Divide(g, typ, Options{Rows: 4, Outs: 2}, spread(lanes))
			if err != nil {
				t.Fatal(name, err)
			}
			held := map[int][]graph.Stretch{}
			parts := map[int]*graph.Weight{}
			for _, l := range top.Stages[0].Lanes {
				all, _ := l.Plan.Weights()
				for _, w := range all {
					if w.Part != nil {
						held[w.ID] = append(held[w.ID], w.Part.Stretches...)
						parts[w.ID] = w
					}
				}
			}
			if len(parts) == 0 {
				t.Errorf("%s over %d lanes: nothing is divided", name, lanes)
			}
			for id, all := range held {
				w := parts[id]
				slices.SortFunc(all, func(a, b graph.Stretch) int { return int(a.From - b.From) })
				at := int64(0)
				for _, s := range all {
					if s.From > at || s.From < at && w.Split.Shared < 2 {
						t.Errorf("%s over %d lanes: %s is held as %v", name, lanes, w.Name, all)
					}
					at = max(at, s.To)
					block := int64(1)
					if w.Part.Axis == 0 {
						block = int64(typ(w).Block())
					}
					if s.From%block != 0 || s.To%block != 0 {
						t.Errorf("%s over %d lanes: %s is cut at %v, inside a block of %d", name, lanes, w.Name, s, block)
					}
				}
				if at != w.Part.Of[w.Part.Axis] {
					t.Errorf("%s over %d lanes: %s is held as %v of %d", name, lanes, w.Name, all, w.Part.Of[w.Part.Axis])
				}
			}
			again, err := Divide(build(t, name, full), typ, Options{Rows: 4, Outs: 2}, spread(lanes))
			if err != nil || again.String() != top.String() {
				t.Errorf("%s over %d lanes: two topologies of one model differ", name, lanes)
			}
			sums, _ := top.Stages[0].Lanes[0].Plan.Collectives()
			for _, l := range top.Stages[0].Lanes {
				s, j := l.Plan.Collectives()
				_, j0 := top.Stages[0].Lanes[0].Plan.Collectives()
				if s != sums || j != j0 {
					t.Errorf("%s: lanes meet in %d and %d sums", name, s, sums)
				}
			}
		}
	}
}

func TestCuts(t *testing.T) {
	equal := func(n int) []float64 { return slices.Repeat([]float64{1}, n) }
	for _, c := range []struct {
		what                string
		units, step, shared int
		speeds              []float64
		want                []int
	}{
		{"heads", 32, 1, 1, equal(4), []int{0, 8, 16, 24, 32}},
		{"fewer heads than lanes", 4, 1, 1, equal(8), []int{0, 1, 1, 2, 2, 3, 3, 4, 4}},
		{"blocks", 9216, 256, 1, equal(8), []int{0, 1280, 2304, 3584, 4608, 5888, 6912, 8192, 9216}},
		{"coarse where it is as good", 9728, 32, 1, equal(2), []int{0, 4864, 9728}},
		{"a faster lane", 40, 1, 1, []float64{3, 1}, []int{0, 30, 40}},
		{"whole key heads", 32, 1, 4, equal(4), []int{0, 8, 16, 24, 32}},
		{"key heads that lanes share", 16, 1, 8, equal(4), []int{0, 4, 8, 12, 16}},
		{"3 lanes over 2 key heads", 4, 1, 2, equal(3), []int{0, 1, 2, 4}},
	} {
		cut := &graph.Cut{Units: c.units}
		got := (&cuts{speeds: c.speeds, steps: map[*graph.Cut]alignment{cut: {c.step, c.shared}}, at: map[*graph.Cut][]int{}}).of(cut)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, expected %v", c.what, got, c.want)
		}
	}
}

func TestStagesAreBalanced(t *testing.T) {
	for _, c := range []struct {
		costs, speeds []float64
		want          []int
	}{
		{[]float64{1, 1, 1, 1, 4}, []float64{1, 1}, []int{4, 5}},
		{[]float64{1, 1, 1, 1}, []float64{3, 1}, []int{3, 4}},
		{[]float64{5, 1, 1}, []float64{1, 1, 1}, []int{1, 2, 3}},
		{[]float64{1}, []float64{1, 1}, []int{0, 1}},
	} {
		if got := stageEnds(c.costs, c.speeds); !slices.Equal(got, c.want) {
			t.Errorf("%v over %v: %v, expected %v", c.costs, c.speeds, got, c.want)
		}
	}
}

func TestNoSuchTopology(t *testing.T) {
	for want, change := range map[string]func(*Spread){
		"6 cards do not make stages of 4 lanes (-tps); 1, 2, 3 or 6 would do": func(s *Spread) { s.TPS = 4 },
		"-sm layer has one lane a stage, -tps says 2":                         func(s *Spread) { s.Mode, s.TPS = ModeLayer, 2 },
		"2 proportions (-ts) for 6 cards":                                     func(s *Spread) { s.Shares = []float64{1, 2} },
		"a share of 0 for card:1":                                             func(s *Spread) { s.Shares = []float64{1, 0, 1, 1, 1, 1} },
		"no cards":                                                            func(s *Spread) { s.Cards = nil },
		`split mode "row"`:                                                    func(s *Spread) { s.Mode = "row" },
	} {
		s := spread(6)
		change(&s)
		_, err := Divide(build(t, "llama", bare), types(tensor.F16), Options{Rows: 1, Outs: 1}, s)
		if !errors.Is(err, ErrTopology) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
}
