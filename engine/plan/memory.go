package plan

import (
	"fmt"

	"ingot/engine/graph"
	"ingot/engine/tensor"
)

// Memory is the bytes a lane takes, by purpose.
type Memory struct {
	Weights int64 `json:"weights"`
	Cache   int64 `json:"cache"`
	State   int64 `json:"state"`
	Scratch int64 `json:"scratch"`
}

// Total is the sum.
func (m Memory) Total() int64 { return m.Weights + m.Cache + m.State + m.Scratch }

func (m Memory) String() string {
	return fmt.Sprintf("weights %d  cache %d  state %d  scratch %d", m.Weights, m.Cache, m.State, m.Scratch)
}

// Storage is how much lanes keep between batches.
type Storage struct {
	Slots, Cells int // sequences, and positions of each
	Planes       int // recurrent states, over all slots
	Keys, Values tensor.Type
}

// Bytes is what a state takes: a cache of keys and values, or the planes of a recurrent layer.
func (k *Storage) Bytes(s *graph.State) int64 {
	if s.Recurrent() {
		conv, delta := s.PlaneFloats()
		return int64(conv+delta) * 4 * int64(k.Planes)
	}
	row := tensor.RowBytes(k.Keys, s.KVDim) + tensor.RowBytes(k.Values, s.KVDim)
	return int64(k.Slots) * int64(k.Cells) * int64(s.KVHeads) * int64(row)
}

// Weights are the tensors that the plan reads, each once, in the order of the steps; table tells which are only looked up
// in, row by row.
func (p *Plan) Weights() (all []*graph.Weight, table map[*graph.Weight]bool) {
	table = map[*graph.Weight]bool{}
	for i := range p.Steps {
		s := &p.Steps[i]
		for _, w := range s.W {
			only, seen := table[w]
			if !seen {
				all = append(all, w)
				only = true
			}
			_, embed := s.Op.(graph.Embed)
			table[w] = only && embed
		}
	}
	return all, table
}

// Memory is what loading the plan on a card takes.
func (p *Plan) Memory(typ func(*graph.Weight) tensor.Type, k Storage, c Card) Memory {
	m := Memory{Scratch: p.Arena}
	if c.Scratch != nil {
		m.Scratch += c.Scratch(p, typ)
	}
	all, table := p.Weights()
	for _, w := range all {
		if table[w] && !c.Table {
			continue
		}
		n, err := tensor.Bytes(typ(w), w.Shape)
		if err == nil { // it was checked when the file was opened
			m.Weights += n
		}
	}
	for _, s := range p.States {
		if s.Recurrent() {
			m.State += k.Bytes(s)
		} else {
			m.Cache += k.Bytes(s)
		}
	}
	return m
}
