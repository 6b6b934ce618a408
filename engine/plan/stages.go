package plan

import (
	"slices"

	"ingot/engine/graph"
	"ingot/engine/tensor"
)

// placed is a segment and the cards it is for.
type placed struct {
	segment
	group       *group
	first, last int
}

// kept are the segment's kept values, in the order of the graph.
func (p *placed) kept() (all []*graph.Value) {
	for _, v := range p.graph.Values {
		if p.keep[v] {
			all = append(all, v)
		}
	}
	return all
}

// place gives each node a group of cards. Layers go to the groups in order, so that the slowest stage is as fast as can
// be; a node that reads a moved weight goes where that goes, and what works only on the results of such with it.
func (s *Spread) place(g *graph.Graph, typ func(*graph.Weight) tensor.Type, groups []*group) []*group {
	layers := depth(g)
	costs := make([]float64, layers+1) // of each layer, then of the head
	seenW, seenS := map[*graph.Weight]bool{}, map[*graph.State]bool{}
	at := make([]int, len(g.Nodes)) // layer of each node
	now := 0
	for i, n := range g.Nodes {
		if n.Layer >= 0 {
			now = n.Layer
		} else if i > 0 && g.Nodes[i-1].Layer == layers-1 || now == layers {
			now = layers
		}
		at[i] = now
		if _, ok := n.Op.(graph.Embed); !ok {
			for _, w := range n.W {
				if !seenW[w] && s.moved(w) == nil {
					seenW[w] = true
					b, err := tensor.Bytes(typ(w), w.Shape)
					if err == nil { // it was checked when the file was opened
						costs[now] += float64(b)
					}
				}
			}
		}
		if n.State != nil && !seenS[n.State] {
			seenS[n.State] = true
			costs[now] += float64(s.Keep.Bytes(n.State))
		}
	}
	var speeds []float64
	for _, c := range groups {
		speeds = append(speeds, c.speed())
	}
	start := 0 // first layer on the cards
	if s.Layers >= 0 {
		start = max(layers+1-s.Layers, 0)
	}
	ends := stageEnds(costs[start:], speeds)
	host := &group{cards: []Card{s.Host}, speeds: []float64{1}}
	groupOf := func(layer int) *group {
		if layer < start {
			return host
		}
		for i, e := range ends {
			if layer-start < e {
				return groups[i]
			}
		}
		return groups[len(groups)-1]
	}

	own := map[string]*group{} // of moved operations, by card
	on := make([]*group, len(g.Nodes))
	maker := map[*graph.Value]*group{} // own group that made a root, or nil
	for i, n := range g.Nodes {
		on[i] = groupOf(at[i])
		var mine *group
		if c := s.movedTo(n); c != nil {
			mine = own[c.Name]
			if mine == nil {
				mine = &group{cards: []Card{*c}, speeds: []float64{1}}
				own[c.Name] = mine
			}
		} else if len(n.W) == 0 && len(n.In) > 0 {
			mine = maker[n.In[0].Root()]
			for _, v := range n.In {
				if maker[v.Root()] != mine {
					mine = nil
				}
			}
			if _, gather := n.Op.(graph.Gather); gather && i > 0 { // only the wanted rows go on
				mine = nil
				on[i] = on[i-1]
			}
		}
		if mine != nil {
			on[i] = mine
		}
		for _, v := range n.Out {
			maker[v.Root()] = mine
		}
	}
	return on
}

// moved is the card that a weight was sent to, or nil.
func (s *Spread) moved(w *graph.Weight) *Card {
	for i := range s.Moved {
		if s.Moved[i].Pattern.MatchString(w.Name) {
			return &s.Moved[i].Card
		}
	}
	return nil
}

func (s *Spread) movedTo(n *graph.Node) *Card {
	for _, w := range n.W {
		if c := s.moved(w); c != nil {
			return c
		}
	}
	return nil
}

// depth is the number of layers.
func depth(g *graph.Graph) int {
	n := 0
	for _, x := range g.Nodes {
		n = max(n, x.Layer+1)
	}
	return n
}

// stageEnds cuts layers into stages so that the slowest is as fast as can be: for each stage the layer after its last. A
// stage gets a layer where there are enough.
func stageEnds(costs, speeds []float64) []int {
	n, stages := len(costs), len(speeds)
	sums := make([]float64, n+1)
	for i, c := range costs {
		sums[i+1] = sums[i] + c
	}
	type state struct {
		worst float64
		from  int
		ok    bool
	}
	best := make([][]state, stages+1)
	for s := range best {
		best[s] = make([]state, n+1)
	}
	best[0][0].ok = true
	for s := range stages {
		for i := range n + 1 {
			if !best[s][i].ok {
				continue
			}
			least := i
			if n-i >= stages-s {
				least = i + 1
			}
			for j := least; j <= n; j++ {
				next := state{max(best[s][i].worst, (sums[j]-sums[i])/speeds[s]), i, true}
				if old := &best[s+1][j]; !old.ok || next.worst < old.worst {
					*old = next
				}
			}
		}
	}
	ends := make([]int, stages)
	for s, i := stages, n; s > 0; s-- {
		ends[s-1] = i
		i = best[s][i].from
	}
	return ends
}

// storing is an attention that reads cells of an earlier layer, in a stage that does not have them: it is given that
// layer's keys and values and stores them once more.
func storing(n *graph.Node, a graph.Attention, owner *graph.Node) *graph.Node {
	c := *n
	a.Stored = false
	c.Op = a
	c.In = append([]*graph.Value{n.In[0], owner.In[1], owner.In[2]}, n.In[1:]...)
	return &c
}

// segments cuts the graph where the cards change, and finds what goes from one to the next: values made before that are
// read here or later.
func segments(g *graph.Graph, on []*group, keep map[*graph.Value]bool) []*placed {
	var all []*placed
	layers := depth(g)
	owners := map[*graph.State]*graph.Node{} // that store keys and values
	stored := map[*graph.State]bool{}        // in this segment
	for i, n := range g.Nodes {
		if i == 0 || on[i] != on[i-1] {
			clear(stored)
			all = append(all, &placed{segment: segment{graph: &graph.Graph{}, keep: map[*graph.Value]bool{}}, group: on[i], first: layers + 1})
		}
		p := all[len(all)-1]
		if a, ok := n.Op.(graph.Attention); ok {
			if !a.Stored {
				owners[n.State] = n
			} else if !stored[n.State] {
				n = storing(n, a, owners[n.State])
			}
			stored[n.State] = true
		}
		p.graph.Nodes = append(p.graph.Nodes, n)
		layer := n.Layer
		if layer < 0 && i > 0 {
			layer = layers
		}
		p.first, p.last = min(p.first, layer), max(p.last, layer)
	}
	type life struct{ made, write, read int } // segments that first and last write it, and last read it
	lives := map[*graph.Value]*life{}
	var order []*graph.Value // roots, as they are made
	for i, p := range all {
		for _, n := range p.graph.Nodes {
			for _, v := range n.In {
				lives[v.Root()].read = i
			}
			for _, v := range n.Out {
				r := v.Root()
				if lives[r] == nil {
					lives[r] = &life{made: i}
					order = append(order, r)
				}
				lives[r].write = i
			}
		}
	}
	end := len(all) - 1
	for _, v := range []*graph.Value{g.Logits, g.Hidden} {
		lives[v.Root()].read = end
	}
	for i, p := range all {
		for _, v := range order {
			l := lives[v]
			if l.made < i && l.read >= i {
				p.in = append(p.in, v)
			}
			if l.made <= i && l.read > i {
				p.out = append(p.out, v)
			}
			if keep[v] && l.write == i {
				p.keep[v] = true
			}
		}
		for _, v := range g.Values {
			if p.keep[v] {
				p.graph.Values = append(p.graph.Values, v)
			}
		}
	}
	all[end].graph.Logits, all[end].graph.Hidden = g.Logits, g.Hidden
	return slices.Clip(all)
}
