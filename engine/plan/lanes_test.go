package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ingot/engine/arch/archtest"
	"ingot/engine/gguf"
	"ingot/engine/graph"
	"ingot/engine/tensor"
)

// awkward are numbers of heads that lanes do not divide.
var awkward = map[string]map[string]uint32{
	"six heads of three":       {"attention.head_count": 6, "attention.head_count_kv": 3, "ssm.group_count": 3, "ssm.time_step_rank": 6, "ssm.inner_size": 96},
	"three heads of one":       {"attention.head_count": 3, "attention.head_count_kv": 1, "ssm.group_count": 1, "ssm.time_step_rank": 3, "ssm.inner_size": 48},
	"as many keys as queries":  {"attention.head_count": 4, "attention.head_count_kv": 4},
	"fewer columns than lanes": {"feed_forward_length": 32, "expert_feed_forward_length": 32, "expert_shared_feed_forward_length": 32},
}

// metaOf is a tiny model's metadata with other numbers.
func metaOf(name string, change map[string]uint32) *gguf.Meta {
	m := archtest.Meta(name)
	arch, _, _ := strings.Cut(name, " ")
	for key, n := range change {
		m.Set(arch+"."+key, n)
	}
	if change["attention.head_count"] > 0 {
		m.Set(arch+".attention.key_length", uint32(16))
		m.Set(arch+".attention.value_length", uint32(16))
	}
	return m
}

// divided is a way of spreading a model.
type divided struct {
	cards, tps int
	mode       Mode
	shares     []float64
	layers     int    // on the cards; 0: all
	moved      string // pattern of weights that a card of their own has
}

func (d divided) spread(gated bool) Spread {
	card := func(name string) Card { return Card{Name: name, QuantRow: quantRow, Gated: gated} }
	s := Spread{Mode: d.mode, TPS: d.tps, Shares: d.shares, Layers: -1, Host: card("host"), Keep: Storage{Slots: 1, Cells: 8, Planes: 1, Keys: tensor.F16, Values: tensor.F16}}
	for i := range d.cards {
		s.Cards = append(s.Cards, card(fmt.Sprint("card ", i)))
	}
	if d.layers > 0 {
		s.Layers = d.layers
	}
	if d.moved != "" {
		s.Moved = []Move{{regexp.MustCompile(d.moved), card("own")}}
	}
	return s
}

// plans are the stages' lanes.
func (t *Topology) plans() (all [][]*Plan) {
	for _, s := range t.Stages {
		var lanes []*Plan
		for _, l := range s.Lanes {
			lanes = append(lanes, l.Plan)
		}
		all = append(all, lanes)
	}
	return all
}

var ways = []divided{
	{cards: 2}, {cards: 4}, {cards: 8}, {cards: 4, tps: 2}, {cards: 8, tps: 4}, {cards: 3, mode: ModeLayer}, {cards: 3, shares: []float64{3, 1, 2}},
	{cards: 2, layers: 3}, {cards: 2, moved: "ffn_(gate|up|down)"},
}

// Lanes and stages compute together what the model means.
func TestLanesMeanTheSame(t *testing.T) {
	all := func(*graph.Value) bool { return true }
	for _, name := range archtest.Names() {
		changes := map[string]map[string]uint32{"": nil}
		if slices.Contains([]string{"llama", "qwen3", "qwen3moe", "qwen35", "qwen35moe"}, name) {
			for what, change := range awkward {
				changes[what] = change
			}
		}
		for what, change := range changes {
			const rows, outs = 4, 2
			leave := bare
			if len(what)%2 == 0 {
				leave = full
			}
			g := buildOf(t, metaOf(name, change), leave)
			means := mean(g, rows, wants(rows, outs))
			for i, way := range ways {
				t.Run(fmt.Sprintf("%s %s %+v", name, what, way), func(t *testing.T) {
					typ, keep := mixed, all
					if i%3 != 0 {
						typ = types(tensor.Q8_0)
					}
					if i%4 != 3 {
						keep = nil
					}
					top, err := Divide(g, typ, Options{Rows: rows, Outs: outs, Keep: keep}, way.spread(i%2 == 0))
					if err != nil {
						t.Fatal(err)
					}
					if err := check(g, means, top.plans(), typ); err != nil {
						t.Errorf("%v\n%v", err, top)
					}
				})
			}
		}
	}
}

// Lanes that leave out a sum or a join, hold other columns than they say, or meet at different steps are found out.
func TestWrongLanesAreFoundOut(t *testing.T) {
	const rows, outs = 3, 2
	typ := types(tensor.Q8_0)
	for _, name := range []string{"qwen35moe", "qwen3"} {
		g := build(t, name, bare)
		means := mean(g, rows, wants(rows, outs))
		divide := func() []*Plan {
			top, err := Divide(g, typ, Options{Rows: rows, Outs: outs}, divided{cards: 2}.spread(true))
			if err != nil {
				t.Fatal(err)
			}
			return top.plans()[0]
		}
		tried := 0
		wrong := func(what string, change func(lanes []*Plan) bool) {
			lanes := divide()
			if !change(lanes) {
				return
			}
			tried++
			if err := check(g, means, [][]*Plan{lanes}, typ); err == nil {
				t.Errorf("%s: %s is not found out", name, what)
			}
		}
		sums, _ := divide()[0].Collectives()
		for n := range sums {
			wrong(fmt.Sprint("sum ", n, " of each lane's own"), func(lanes []*Plan) bool {
				for _, p := range lanes {
					p.Steps[nthSum(p, n)].Op = graph.Add{}
				}
				return true
			})
			wrong(fmt.Sprint("sum ", n, " of one lane less"), func(lanes []*Plan) bool {
				i := nthSum(lanes[1], n)
				lanes[1].Steps = slices.Delete(lanes[1].Steps, i, i+1)
				return true
			})
		}
		for i := range divide()[1].Steps {
			wrong(fmt.Sprint("a cut of step ", i), func(lanes []*Plan) bool {
				for _, w := range lanes[1].Steps[i].W {
					if w.Part != nil && w.Part.Of[w.Part.Axis] > 1 {
						w.Part.Stretches[0].From--
						w.Part.Stretches[0].To--
						return true
					}
				}
				return false
			})
		}
		t.Logf("%s: %d wrong plans", name, tried)
	}
}

// nthSum is the number of the step that is the n-th AllReduce.
func nthSum(p *Plan, n int) int {
	for i := range p.Steps {
		if _, ok := p.Steps[i].Op.(AllReduce); ok {
			if n--; n < 0 {
				return i
			}
		}
	}
	return -1
}
