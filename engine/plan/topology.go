package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"ingot/engine/graph"
	"ingot/engine/tensor"
)

// ErrTopology is returned when cards and options do not make stages of lanes.
var ErrTopology = errors.New("no such topology")

// Mode is how a model is spread over cards (-sm).
type Mode string

const (
	ModeNone   Mode = "none"   // the first card has all of it
	ModeLayer  Mode = "layer"  // each card has some layers
	ModeTensor Mode = "tensor" // the cards of a stage share each layer
)

// Card is what the planner must know of a card.
type Card struct {
	Name string // "cpu:0", "hip:1"
	// Speed is how fast it reads weights, relative to the other cards; 0: 1. A lane's share of a layer and a stage's of the
	// layers are in proportion to it.
	Speed float64
	// QuantRow is the bytes of a quantized row of activations, which the card's kernels define.
	QuantRow func(cols int) int64
	// Scratch is the bytes that loading a plan takes beside its arena, its weights and its states; nil: none.
	Scratch func(p *Plan, typ func(*graph.Weight) tensor.Type) int64
	// Gated: it has the steps Gated and GatedExperts.
	Gated bool
	// Table tells whether a table that rows are only looked up in counts as the card's memory.
	Table bool
}

// Spread says how a model is divided among cards.
type Spread struct {
	Cards []Card
	Host  Card // the CPU, for the layers beyond Layers
	Mode  Mode // "": tensor where there are several cards
	// TPS is how many cards a stage has (-tps); 0: all. The number of cards is a multiple of it.
	TPS int
	// Shares are the proportions in which the cards get the model (-ts), one a card; nil: by their speeds.
	Shares []float64
	// Layers is how many layers the cards get, the last ones, where the head counts as one (-ngl); the others stay on Host,
	// as a stage before. Below 0: all.
	Layers int
	// Moved are operations that run on a card of their own choice, by the weights they read (-ot).
	Moved []Move
	// Sizes of what lanes keep between batches, for the balance of stages and for memory.
	Keep Storage
}

// Move sends the operations that read a weight whose name matches to a card.
type Move struct {
	Pattern *regexp.Regexp
	Card    Card
}

// reads tells whether the pattern matches any weight of the graph.
func (m *Move) reads(g *graph.Graph) bool {
	for _, n := range g.Nodes {
		for _, w := range n.W {
			if w != nil && m.Pattern.MatchString(w.Name) {
				return true
			}
		}
	}
	return false
}

// Topology is a model as stages of lanes.
type Topology struct{ Stages []Stage }

// Stage is a run of the model's operations on a group of cards.
type Stage struct {
	First, Last int // layers it has a part of; -1 for the embedding, the number of layers for the head
	Lanes       []Lane
}

// Lane is one card's share of a stage.
type Lane struct {
	Card   Card
	Plan   *Plan
	Memory Memory // as loading takes it
}

// Divide makes the topology of a graph. o.QuantRow and o.Gated are each card's own. The error wraps ErrTopology and says what would do.
func Divide(g *graph.Graph, typ func(*graph.Weight) tensor.Type, o Options, s Spread) (*Topology, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	groups, err := s.groups()
	if err != nil {
		return nil, err
	}
	for _, m := range s.Moved {
		if !m.reads(g) {
			return nil, fmt.Errorf("%w: no tensor's name matches %q (-ot)", ErrTopology, m.Pattern)
		}
	}
	router := lastRouter(g)
	keep := map[*graph.Value]bool{}
	for _, v := range g.Values {
		if o.keeps(v) {
			keep[v] = true
		}
	}
	w := wanted(g, &o)
	t := &Topology{}
	for _, part := range segments(w, s.place(w, typ, groups), keep) {
		st := Stage{First: part.first, Last: part.last}
		cuts := newCuts(part.graph, typ, part.group.speeds)
		for i, card := range part.group.cards {
			lane := &laneGraph{graph: part.graph, in: same(part.in), out: same(part.out), kept: same(part.kept())}
			if len(part.group.cards) > 1 {
				if lane, err = cuts.lane(&part.segment, i); err != nil {
					return nil, fmt.Errorf("%w: %w", ErrTopology, err)
				}
			}
			lo := o
			lo.QuantRow, lo.Gated = card.QuantRow, card.Gated
			p := lane.plan(typ, lo, router)
			p.Lane, p.Lanes = i, len(part.group.cards)
			st.Lanes = append(st.Lanes, Lane{Card: card, Plan: p, Memory: p.Memory(typ, s.Keep, card)})
		}
		t.Stages = append(t.Stages, st)
	}
	return t, nil
}

func same(vs []*graph.Value) (all []laneValue) {
	for _, v := range vs {
		all = append(all, laneValue{v, v})
	}
	return all
}

// group is the cards of a stage.
type group struct {
	cards  []Card
	speeds []float64
}

func (g *group) speed() (sum float64) {
	for _, s := range g.speeds {
		sum += s
	}
	return sum
}

// Sums and squares of shares stay far from what a float64 holds.
const leastShare, mostShare = 1e-6, 1e6

// groups are the stages' cards, in order; the last is the host's where some layers stay there.
func (s *Spread) groups() ([]*group, error) {
	n := len(s.Cards)
	if n == 0 {
		return nil, fmt.Errorf("%w: no cards", ErrTopology)
	}
	if s.Shares != nil && len(s.Shares) != n {
		return nil, fmt.Errorf("%w: %d proportions (-ts) where there should be %d, one a card", ErrTopology, len(s.Shares), n)
	}
	size := s.TPS
	switch s.Mode {
	case ModeNone:
		if s.Shares != nil && n > 1 {
			return nil, fmt.Errorf("%w: -sm none has one card, -ts gives proportions of %d", ErrTopology, n)
		}
		if s.TPS > 1 {
			return nil, fmt.Errorf("%w: -sm none has one card, -tps says %d lanes", ErrTopology, s.TPS)
		}
		n, size = 1, 1
	case ModeLayer:
		if s.TPS > 1 {
			return nil, fmt.Errorf("%w: -sm layer has one lane a stage, -tps says %d", ErrTopology, s.TPS)
		}
		size = 1
	case ModeTensor, "":
		if size == 0 {
			size = n
		}
	default:
		return nil, fmt.Errorf("%w: split mode %q", ErrTopology, s.Mode)
	}
	if n%size != 0 {
		return nil, fmt.Errorf("%w: %d cards do not make stages of %d lanes (-tps); %s would do", ErrTopology, n, size, divisors(n))
	}
	var all []*group
	for i := 0; i < n; i += size {
		g := &group{cards: s.Cards[i : i+size]}
		for j, c := range g.cards {
			speed := c.Speed
			if s.Shares != nil {
				speed = s.Shares[i+j]
			}
			if s.Shares != nil && !(speed >= leastShare && speed <= mostShare) {
				return nil, fmt.Errorf("%w: a share (-ts) of %v for %s, expected %g to %g", ErrTopology, speed, c.Name, leastShare, mostShare)
			}
			if speed == 0 {
				speed = 1
			}
			g.speeds = append(g.speeds, speed)
		}
		all = append(all, g)
	}
	return all, nil
}

// divisors lists the lanes that n cards can be grouped into.
func divisors(n int) string {
	var list []string
	for t := 1; t <= n; t++ {
		if n%t == 0 {
			list = append(list, fmt.Sprint(t))
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	return strings.Join(list[:len(list)-1], ", ") + " or " + list[len(list)-1]
}

// String lists the stages with their lanes, one a line: layers, card, memory, what lanes do together and what goes on.
func (t *Topology) String() string {
	var b strings.Builder
	for i, s := range t.Stages {
		fmt.Fprintf(&b, "stage %d  %s  %s\n", i, s.layers(), plural(len(s.Lanes), "lane"))
		for _, l := range s.Lanes {
			fmt.Fprintf(&b, "  %-8s %s  %v\n", l.Card.Name, plural(len(l.Plan.Steps), "step"), l.Memory)
		}
		p := s.Lanes[0].Plan
		if len(s.Lanes) > 1 {
			sums, joins := p.Collectives()
			fmt.Fprintf(&b, "  %s, %s\n", plural(sums, "sum"), plural(joins, "join"))
		}
		for _, v := range p.Out {
			rows := "rows"
			if v.Value.Rows == graph.OutRows {
				rows = "wanted rows"
			}
			fmt.Fprintf(&b, "  -> %s of layer %d, %d columns, %s\n", v.Value.Name, v.Value.Layer, v.Value.Cols*v.Value.Times, rows)
		}
	}
	return b.String()
}

// Collectives counts the sums and the joins of a run.
func (p *Plan) Collectives() (sums, joins int) {
	for _, s := range p.Steps {
		switch s.Op.(type) {
		case AllReduce:
			sums++
		case AllGather:
			joins++
		}
	}
	return sums, joins
}

func (s *Stage) layers() string {
	if s.First == s.Last {
		return fmt.Sprintf("layer %d", s.First)
	}
	return fmt.Sprintf("layers %d to %d", s.First, s.Last)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Short is the topology in a few words, such as "2 stages of 2 lanes: cpu:0 cpu:1 | cpu:2 cpu:3".
func (t *Topology) Short() string {
	var stages []string
	lanes := 1
	for _, s := range t.Stages {
		var names []string
		for _, l := range s.Lanes {
			names = append(names, l.Card.Name)
		}
		lanes = max(lanes, len(names))
		stages = append(stages, strings.Join(names, " "))
	}
	if len(stages) == 1 && lanes == 1 {
		return "1 lane: " + stages[0]
	}
	if len(stages) == 1 {
		return plural(lanes, "lane") + ": " + stages[0]
	}
	if lanes == 1 {
		return fmt.Sprintf("%d stages: %s", len(stages), strings.Join(stages, " | "))
	}
	return fmt.Sprintf("%d stages of %s: %s", len(stages), plural(lanes, "lane"), strings.Join(stages, " | "))
}

// MarshalJSON gives the stages with what String prints.
func (t *Topology) MarshalJSON() ([]byte, error) {
	type lane struct {
		Card   string `json:"card"`
		Steps  int    `json:"steps"`
		Sums   int    `json:"sums"`
		Joins  int    `json:"joins"`
		Memory Memory `json:"memory"`
	}
	type port struct {
		Name   string `json:"name"`
		Layer  int    `json:"layer"`
		Cols   int    `json:"columns"`
		Wanted bool   `json:"wanted_rows"`
	}
	type stage struct {
		First int    `json:"first_layer"`
		Last  int    `json:"last_layer"`
		Lanes []lane `json:"lanes"`
		Out   []port `json:"out"`
	}
	all := []stage{}
	for _, s := range t.Stages {
		st := stage{First: s.First, Last: s.Last, Out: []port{}}
		for _, l := range s.Lanes {
			sums, joins := l.Plan.Collectives()
			st.Lanes = append(st.Lanes, lane{l.Card.Name, len(l.Plan.Steps), sums, joins, l.Memory})
		}
		for _, p := range s.Lanes[0].Plan.Out {
			st.Out = append(st.Out, port{p.Value.Name, p.Value.Layer, p.Value.Cols * p.Value.Times, p.Value.Rows == graph.OutRows})
		}
		all = append(all, st)
	}
	return json.Marshal(map[string]any{"stages": all})
}

// Kept lists the values that Options.Keep chose, which the first lane of a stage has whole.
func (t *Topology) Kept() []KeptAt {
	var all []KeptAt
	for i, s := range t.Stages {
		for _, k := range s.Lanes[0].Plan.Kept {
			all = append(all, KeptAt{i, k})
		}
	}
	return all
}

// KeptAt is a kept value and the stage that keeps it.
type KeptAt struct {
	Stage int
	Kept
}
