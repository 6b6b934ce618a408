package plan

import (
	"ingot/engine/graph"
	"ingot/engine/tensor"
)

// Use says how a model would be run.
type Use struct {
	Types    func(*graph.Weight) tensor.Type
	Keep     Storage
	Depth    int  // positions in use when a token is predicted
	Prompt   int  // tokens of the prompt that is predicted, read from an empty context; 0: what a slot holds, at most 2048
	Packed   bool // weights stay as the file has them (--no-repack)
	NoGraphs bool // collectives are submitted one by one
}

// Prediction is what running a topology would take.
type Prediction struct {
	Memory  [][]int64 // bytes of each lane's card, with what its driver takes
	Decode  float64   // tokens a second of one sequence
	Prefill float64   // tokens a second of a prompt
	Sums    int       // collectives a token
}

// sheeted is a lane and its card's data sheet.
type sheeted struct {
	plan *Plan
	card *Sheet
}

// Predict tells memory, decode and prefill of a topology, whose cards' sheets it finds by their names. It is a pure function: no
// card is touched.
//
// A token takes, stage after stage, the time of the slowest lane between two collectives, the collectives and the transfer
// to the next stage. A prompt goes through the stages in micro-batches of Options.Rows, as many in flight as there are stages.
func Predict(t *Topology, sheets map[string]*Sheet, u *Use, k *Constants) Prediction {
	p := Prediction{}
	var stages [][]sheeted
	for _, st := range t.Stages {
		var lanes []sheeted
		var memory []int64
		for _, l := range st.Lanes {
			card := sheets[l.Card.Name]
			lanes = append(lanes, sheeted{l.Plan, card})
			taken := l.Memory.Total()
			if !card.CPU {
				taken += k.Overhead
			}
			memory = append(memory, taken)
		}
		stages, p.Memory = append(stages, lanes), append(p.Memory, memory)
	}
	one := moment{use: u, k: k, rows: 1, outs: 1, depth: u.Depth, graphs: !u.NoGraphs}
	token := one.toHost(stages)
	for i, stage := range stages {
		token += one.stage(stage) + one.hop(stages, i)
		sums, joins := stage[0].plan.Collectives()
		p.Sums += sums + joins
	}
	p.Decode = 1 / token
	p.Prefill = prefill(stages, u, k)
	return p
}

// mostChunks bounds the work of predicting a prompt.
const mostChunks = 256

// prefill is the tokens a second of a prompt.
func prefill(stages [][]sheeted, u *Use, k *Constants) float64 {
	prompt := u.Prompt
	if prompt < 1 {
		prompt = min(u.Keep.Cells, 2048)
	}
	rows := stages[0][0].plan.Options.Rows
	// When stage s is done with the chunk before. Of a very long prompt neighbouring chunks are taken to cost alike.
	done := make([]float64, len(stages))
	alike := max((prompt/rows+mostChunks-1)/mostChunks, 1)
	for at := 0; at < prompt; at += alike * rows {
		chunks := min(alike, (prompt-at+rows-1)/rows)
		m := moment{use: u, k: k, rows: min(rows, prompt-at), outs: 1, depth: at + (chunks-1)/2*rows}
		before, slowest := 0.0, 0.0
		for i, stage := range stages {
			t := m.stage(stage)
			before = max(before, done[i]) + t
			done[i], slowest = before, max(slowest, t)
			before += m.hop(stages, i)
		}
		for i := range done { // the others follow at the pace of the slowest stage
			done[i] += float64(chunks-1) * slowest
		}
	}
	return float64(prompt) / done[len(stages)-1]
}

// stage is the time of one stage's run.
func (m *moment) stage(lanes []sheeted) float64 {
	var slowest []float64
	var cards []*Sheet
	for _, l := range lanes {
		cards = append(cards, l.card)
		for i, t := range m.segments(l.plan, l.card) {
			if i == len(slowest) {
				slowest = append(slowest, 0)
			}
			slowest[i] = max(slowest[i], t)
		}
	}
	total := m.collectives(lanes[0].plan, cards)
	for _, t := range slowest {
		total += t
	}
	return total
}

// hop is the transfer of what stage i makes to the stages after it.
func (m *moment) hop(stages [][]sheeted, i int) float64 {
	if i == len(stages)-1 {
		return 0
	}
	to := stages[i+1][0]
	link := min(stages[i][0].card.link(), to.card.link()) * m.k.Wire
	t := m.k.Hop
	for _, port := range to.plan.In {
		n := m.rows
		if port.Value.Rows == graph.OutRows {
			n = m.outs
		}
		t += float64(n*max(port.Value.Times, 1)*port.At.Cols()) * 4 / link
	}
	return t
}

// toHost is the transfer of the logits to where the next token is chosen.
func (m *moment) toHost(stages [][]sheeted) float64 {
	last := stages[len(stages)-1][0]
	if last.card.CPU {
		return 0
	}
	return m.k.Hop + 4*float64(m.outs*last.plan.Logits.Cols())/(last.card.link()*m.k.Wire)
}
