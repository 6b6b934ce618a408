package engine

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"ingot/engine/arch"
	"ingot/engine/device"
	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/engine/tensor"
)

// planner divides one model in several ways.
type planner struct {
	graph *graph.Graph
	cards *described
	use   plan.Use
	rows  int
	outs  int

	layers int // of the model
}

func newPlanner(model arch.Model, weights []device.Weight, cards *described, o *PlanOptions) *planner {
	h := model.Common()
	slots, cells := or(o.Slots, defaultSlots), or(o.Context, min(h.TrainContext, defaultContext))
	p := &planner{cards: cards, layers: h.Layers}
	p.rows = max(min(or(o.UBatch, defaultUBatch), cells), slots)
	p.outs = min(slots+spareOuts, p.rows)
	keys, _ := cacheType("CacheK", o.CacheK) // checked before
	values, _ := cacheType("CacheV", o.CacheV)
	p.use = plan.Use{Packed: o.NoRepack, Types: func(w *graph.Weight) tensor.Type { return weights[w.ID].Type }, Depth: o.Depth, Prompt: min(or(o.Prompt, 2048), cells),
		Keep: plan.Storage{Slots: slots, Cells: cells, Planes: planesFor(h.States, slots, or(o.Snapshots, defaultSnapshots)), Keys: keys, Values: values}}
	b := graph.NewBuilder()
	model.Forward(b)
	p.graph = b.Graph()
	return p
}

// topologies is the one that was asked for, or all that the cards allow.
func (p *planner) topologies(o *PlanOptions) ([]Topology, error) {
	n := len(p.cards.cards)
	if o.Split != "" || o.TPS > 0 || n == 1 {
		s, err := p.spread(o)
		if err != nil {
			return nil, err
		}
		t, err := p.fitting(s)
		if err != nil {
			return nil, err
		}
		return []Topology{*t}, nil
	}
	var all []Topology
	var impossible error // of the first that is
	possible := false
	add := func(mode plan.Mode, tps int) error {
		s, err := p.spread(o)
		if err != nil {
			return err
		}
		s.Mode, s.TPS = mode, tps
		t, err := p.fitting(s)
		if errors.Is(err, plan.ErrTopology) { // these weights are not divided so
			all = append(all, Topology{Split: string(mode), TPS: tps, Layers: -1, Problem: err.Error()})
			impossible = cmp.Or(impossible, err)
			return nil
		}
		if err == nil {
			all, possible = append(all, *t), true
		}
		return err
	}
	if err := add(plan.ModeNone, 0); err != nil {
		return nil, err
	}
	if err := add(plan.ModeLayer, 0); err != nil {
		return nil, err
	}
	for tps := 2; tps <= n; tps++ {
		if n%tps == 0 {
			if err := add(plan.ModeTensor, tps); err != nil {
				return nil, err
			}
		}
	}
	if !possible {
		return nil, impossible
	}
	return all, nil
}

// spread is the options' way of dividing the model.
func (p *planner) spread(o *PlanOptions) (plan.Spread, error) {
	s := plan.Spread{Cards: p.cards.cards, Mode: plan.Mode(o.Split), TPS: o.TPS, Shares: o.Shares, Layers: -1, Keep: p.use.Keep}
	if o.Layers != nil {
		s.Layers = *o.Layers
	}
	if p.cards.host != nil {
		s.Host = *p.cards.host
	} else if s.Layers >= 0 && s.Layers <= p.layers { // the head counts as one
		return s, fmt.Errorf("%w: layers beyond -ngl need the cpu among the cards, as in 2xMI50,cpu", ErrBadRequest)
	}
	moves, err := o.moves()
	for _, m := range moves {
		c := p.cards.named(m.card)
		if c == nil {
			return s, fmt.Errorf("%w: there is no card %q (-ot); cards are %s", ErrBadRequest, m.card, p.cards.names())
		}
		s.Moved = append(s.Moved, plan.Move{Pattern: m.pattern, Card: *c})
	}
	return s, err
}

// fitting is the topology of a spread. What does not fit the cards is tried with fewer layers on them, where the processor can
// take the others and nobody said how many.
func (p *planner) fitting(s plan.Spread) (*Topology, error) {
	t, err := p.one(s)
	if err != nil || t.Problem == "" || p.cards.host == nil || s.Layers >= 0 {
		return t, err
	}
	// The most layers that the cards have room for, by halving; the processor's share then is the least.
	low, high := 0, p.layers
	found := t
	for low < high {
		s.Layers = (low + high + 1) / 2
		part, err := p.one(s)
		if err != nil {
			return nil, err
		}
		if part.cardsFit() {
			found, low = part, s.Layers
		} else {
			high = s.Layers - 1
		}
	}
	return found, nil
}

// cardsFit tells whether all cards beside the processor have room.
func (t *Topology) cardsFit() bool {
	for name, c := range t.taken() {
		if name != "cpu" && c.Total > c.Room() {
			return false
		}
	}
	return true
}

// one divides the model and predicts it.
func (p *planner) one(s plan.Spread) (*Topology, error) {
	top, err := plan.Divide(p.graph, p.use.Types, plan.Options{Rows: p.rows, Outs: p.outs}, s)
	if err != nil {
		return nil, err
	}
	got := plan.Predict(top, p.cards.sheets, &p.use, &plan.Fitted)
	t := &Topology{Split: string(cmp.Or(s.Mode, plan.ModeTensor)), TPS: s.TPS, Layers: s.Layers, Short: top.Short(),
		Decode: got.Decode, Prefill: got.Prefill, Sums: got.Sums}
	if len(s.Cards) == 1 {
		t.Split, t.TPS = string(plan.ModeNone), 0
	}
	driven := map[string]bool{}
	for i, st := range top.Stages {
		stage := Stage{First: st.First, Last: st.Last, Layers: layersText(st.First, st.Last, p.layers), Pieces: pieces(&st, &p.use)}
		for j, l := range st.Lanes {
			lane := Lane{Card: l.Card.Name, Weights: l.Memory.Weights, Cache: l.Memory.Cache, State: l.Memory.State, Scratch: l.Memory.Scratch,
				Total: l.Memory.Total(), Memory: p.cards.sheets[l.Card.Name].Bytes()}
			if !driven[lane.Card] { // a driver takes its part once a card
				driven[lane.Card] = true
				lane.Overhead = got.Memory[i][j] - lane.Total
				lane.Total = got.Memory[i][j]
			}
			if free, ok := p.cards.free[l.Card.Name]; ok {
				lane.Free = &free
			}
			stage.Lanes = append(stage.Lanes, lane)
		}
		t.Stages = append(t.Stages, stage)
	}
	taken := t.taken()
	for _, name := range slices.Sorted(maps.Keys(taken)) {
		c := taken[name]
		if name != "cpu" || len(s.Cards) == 1 && s.Cards[0].Name == "cpu" { // the processor's share beside cards is no card's
			t.Fullest = max(t.Fullest, c.Total)
		}
		if over := c.Total - c.Room(); over > t.Lacks {
			t.Lacks = over
			has := fmt.Sprintf("%d MiB", c.Memory>>20)
			if c.Free != nil {
				has = fmt.Sprintf("%d MiB free of %d", c.Room()>>20, c.Memory>>20)
			}
			t.Problem = fmt.Sprintf("%s has %s and would need %d", name, has, c.Total>>20)
		}
	}
	return t, nil
}

// taken is what each card has of all stages together.
func (t *Topology) taken() map[string]Lane {
	all := map[string]Lane{}
	for _, s := range t.Stages {
		for _, l := range s.Lanes {
			l.Total += all[l.Card].Total
			all[l.Card] = l
		}
	}
	return all
}

// pieces lists a stage's weights by name, in the order in which they are read.
func pieces(st *plan.Stage, u *plan.Use) []Pieces {
	var all []Pieces
	for i, l := range st.Lanes {
		weights, table := l.Plan.Weights()
		for _, w := range weights {
			size, err := tensor.Bytes(u.Types(w), w.Shape)
			if err != nil { // a lane's part of a tensor that was checked
				continue
			}
			name := withoutLayer(w.Name)
			at := slices.IndexFunc(all, func(p Pieces) bool { return p.Name == name })
			if at < 0 {
				at = len(all)
				all = append(all, Pieces{Name: name, Sizes: make([]int64, len(st.Lanes))})
			}
			p := &all[at]
			if i == 0 {
				p.Count++
			}
			if table[w] && !l.Card.Table { // once, for all lanes
				p.Axis, p.Bytes = "host", size
				continue
			}
			p.Bytes += size
			if w.Part != nil {
				if p.Axis = "inputs"; w.Part.Axis > 0 || len(w.Part.Of) == 1 {
					p.Axis = "outputs"
				}
				p.Sizes[i] = w.Shape[w.Part.Axis]
			}
		}
	}
	for i := range all {
		if all[i].Axis == "" || all[i].Axis == "host" {
			all[i].Sizes = nil
		}
	}
	return all
}

// withoutLayer is a tensor's name as every layer has it.
func withoutLayer(name string) string {
	var layer int
	var rest string
	if n, _ := fmt.Sscanf(name, "blk.%d.%s", &layer, &rest); n == 2 {
		return rest
	}
	return name
}
