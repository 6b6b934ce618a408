package exec_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"testing"

	"ingot/engine/arch"
	"ingot/engine/arch/archtest"
	"ingot/engine/device"
	"ingot/engine/exec"
	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/engine/tensor"
)

// layout is a way to spread a model over parts of the processor.
type layout struct {
	name  string
	parts int
	tps   int
	mode  plan.Mode
	ngl   int
	move  string // operations that go to the last part, which then has nothing else
}

var layouts = []layout{
	{"2 lanes", 2, 2, plan.ModeTensor, -1, ""}, {"3 lanes", 3, 3, plan.ModeTensor, -1, ""}, {"4 lanes", 4, 4, plan.ModeTensor, -1, ""},
	{"8 lanes", 8, 8, plan.ModeTensor, -1, ""}, {"2 stages", 2, 1, plan.ModeLayer, -1, ""}, {"4 stages", 4, 1, plan.ModeLayer, -1, ""},
	{"2x2", 4, 2, plan.ModeTensor, -1, ""}, {"4x2", 8, 2, plan.ModeTensor, -1, ""}, {"2x4", 8, 4, plan.ModeTensor, -1, ""},
	{"2 lanes and 2 layers on the host", 2, 2, plan.ModeTensor, 3, ""}, {"feed-forward elsewhere", 2, 1, plan.ModeTensor, -1, `ffn_(up|gate|down)`},
	{"attention elsewhere, 2 lanes", 3, 2, plan.ModeTensor, -1, `attn_(q|k|v|output)`}, {"the head elsewhere", 2, 1, plan.ModeTensor, -1, `^output`},
}

// model is a tiny model with its weights.
type model struct {
	arch    arch.Model
	weights []device.Weight
}

func tiny(t testing.TB, name string, typ tensor.Type, tied bool) *model {
	t.Helper()
	m := archtest.Meta(name)
	a, err := arch.New(m, archtest.Vocab)
	if err != nil {
		t.Fatal(err)
	}
	leave := func(w *graph.Weight) bool { return tied && w.Optional }
	ts, err := archtest.Tensors(m, typ, leave)
	if err != nil {
		t.Fatal(err)
	}
	h := a.Common()
	x := &model{a, make([]device.Weight, len(h.Weights))}
	for _, w := range h.Weights {
		w.Absent = leave(w)
		for _, d := range ts {
			if d.Name == w.Name {
				x.weights[w.ID] = device.Weight{Type: d.Type, Data: d.Data}
			}
		}
	}
	return x
}

func (m *model) typ(w *graph.Weight) tensor.Type { return m.weights[w.ID].Type }

var keep = plan.Storage{Slots: 2, Cells: 64, Planes: 6, Keys: tensor.F16, Values: tensor.F16}

const (
	rows = 8
	outs = 6
)

// open loads a model as the layout says; the zero layout: one lane.
func (m *model) open(t testing.TB, l layout, threads int, repack bool) (*exec.Runner, *plan.Topology) {
	t.Helper()
	host, err := device.NewCPU(max(threads, 1), "")
	if err != nil {
		t.Fatal(err)
	}
	cards := map[string]device.Card{"cpu": host}
	s := plan.Spread{Host: host.Plan(), Mode: l.mode, TPS: l.tps, Layers: -1, Keep: keep}
	if l.parts == 0 {
		s.Cards = []plan.Card{host.Plan()}
	} else {
		s.Layers = l.ngl
	}
	for i, c := range host.Cut(l.parts) {
		cards[c.Info().Name] = c
		if l.move != "" && i == l.parts-1 {
			s.Moved = []plan.Move{{Pattern: regexp.MustCompile(l.move), Card: c.Plan()}}
		} else {
			s.Cards = append(s.Cards, c.Plan())
		}
	}
	b := graph.NewBuilder()
	m.arch.Forward(b)
	top, err := plan.Divide(b.Graph(), m.typ, plan.Options{Rows: rows, Outs: outs}, s)
	if err != nil {
		t.Fatal(err)
	}
	var stages []exec.Stage
	for _, st := range top.Stages {
		var on []device.Card
		var specs []device.Spec
		var plans []*plan.Plan
		var names []string
		for _, lane := range st.Lanes {
			on = append(on, cards[lane.Card.Name])
			specs = append(specs, device.Spec{Plan: lane.Plan, Weights: m.weights, Slots: keep.Slots, Cells: keep.Cells, Planes: keep.Planes,
				Keys: keep.Keys, Values: keep.Values, Repack: repack})
			plans, names = append(plans, lane.Plan), append(names, lane.Card.Name)
		}
		lanes, err := device.Load(on, specs)
		if err != nil {
			t.Fatal(err)
		}
		stages = append(stages, exec.Stage{Lanes: lanes, Plans: plans, Cards: names})
	}
	r := exec.New(stages...)
	t.Cleanup(r.Close)
	return r, top
}

// talk runs batches and returns the logits of all wanted rows: a prompt longer than a program's rows, two sequences at
// once, single tokens, a copied slot. In no model do these tokens bring a router's choices so near to one another that the order of
// a sum decides (3 millionths of gemma4's were apart with others).
func talk(t testing.TB, r *exec.Runner) (all [][]float32) {
	t.Helper()
	run := func(b device.Batch) {
		t.Helper()
		if err := r.Run(&b); err != nil {
			t.Fatal(err)
		}
		for i := range b.Outs {
			all = append(all, slices.Concat(r.Scores(i).Logits, r.Hidden(i)))
		}
	}
	prompt := make([]int32, 20)
	for i := range prompt {
		prompt[i] = int32((i*37 + 13) % archtest.Vocab)
	}
	run(device.Batch{Tokens: prompt, Outs: []int32{3, 12, 19}, Seqs: []device.Seq{{Row0: 0, Rows: 20, Slot: 0, Pos0: 0, PlaneIn: -1, PlaneOut: 0}}})
	run(device.Batch{Tokens: prompt[:13], Outs: []int32{0, 4, 12}, Seqs: []device.Seq{{Row0: 0, Rows: 1, Slot: 0, Pos0: 20, PlaneIn: 0, PlaneOut: 1},
		{Row0: 1, Rows: 12, Slot: 1, Pos0: 0, PlaneIn: -1, PlaneOut: 2}}})
	run(device.Batch{Tokens: []int32{5, 6}, Outs: []int32{0, 1}, Seqs: []device.Seq{{Row0: 0, Rows: 1, Slot: 0, Pos0: 21, PlaneIn: 1, PlaneOut: 0},
		{Row0: 1, Rows: 1, Slot: 1, Pos0: 12, PlaneIn: 2, PlaneOut: 3}}})
	r.Copy(0, 1, 22)
	run(device.Batch{Tokens: []int32{7}, Outs: []int32{0}, Seqs: []device.Seq{{Row0: 0, Rows: 1, Slot: 1, Pos0: 22, PlaneIn: 0, PlaneOut: 4}}})
	return all
}

func TestEveryTopologyAnswersAlike(t *testing.T) {
	for _, name := range archtest.Names() {
		for _, typ := range []tensor.Type{tensor.F16, tensor.Q8_0} {
			m := tiny(t, name, typ, typ == tensor.Q8_0)
			one, _ := m.open(t, layout{}, 1, true)
			want := talk(t, one)
			for _, l := range layouts {
				t.Run(fmt.Sprint(name, " ", typ, " ", l.name), func(t *testing.T) {
					r, top := m.open(t, l, 2, typ == tensor.Q8_0)
					got := talk(t, r)
					for i := range want {
						worst := 0.0
						for j := range want[i] {
							worst = max(worst, math.Abs(float64(got[i][j]-want[i][j])))
						}
						most := 1e-3
						if typ == tensor.Q8_0 {
							most = 0.1
						}
						if !(worst < most) {
							t.Errorf("row %d differs by %g", i, worst)
						}
					}
					i := 0
					for _, s := range top.Stages {
						for _, lane := range s.Lanes {
							if has := r.Memory()[i]; has != lane.Memory {
								t.Errorf("%s takes %v, planned were %v", lane.Card.Name, has, lane.Memory)
							}
							i++
						}
					}
					if typ != tensor.F16 {
						return
					}
					again, _ := m.open(t, l, 2, typ == tensor.Q8_0)
					for n, row := range talk(t, again) {
						if !slices.Equal(row, got[n]) {
							t.Errorf("row %d differs from one run to the next", n)
						}
					}
				})
			}
		}
	}
}
