package plan

import (
	"math"

	"ingot/engine/graph"
	"ingot/engine/tensor"
)

// cuts finds where the lanes of a stage divide each axis. Lane t takes units at[t] to at[t+1]-1; it may get none.
type cuts struct {
	speeds []float64 // a lane's, relative
	steps  map[*graph.Cut]alignment
	at     map[*graph.Cut][]int
}

// alignment is where a cut may fall: on multiples of step units, so that no quantized block of any weight is divided; and
// whether a lane's units must lie within one group of `shared` or be whole groups, as attention's kernels need it.
type alignment struct{ step, shared int }

func newCuts(g *graph.Graph, typ func(*graph.Weight) tensor.Type, speeds []float64) *cuts {
	c := &cuts{speeds: speeds, steps: map[*graph.Cut]alignment{}, at: map[*graph.Cut][]int{}}
	for _, n := range g.Nodes {
		for _, w := range n.W {
			if w.Split.Cut == nil {
				continue
			}
			a, ok := c.steps[w.Split.Cut]
			if !ok {
				a = alignment{1, 1}
			}
			a.shared = max(a.shared, w.Split.Shared)
			if w.Split.Axis == 0 && len(w.Shape) > 1 {
				a.step = lcm(a.step, blockStep(w, typ(w).Block()))
			}
			c.steps[w.Split.Cut] = a
		}
	}
	return c
}

// blockStep is how many units of a matrix's inputs end on the end of a block; all of them where its segments do not.
func blockStep(w *graph.Weight, block int) int {
	units, length := w.Split.Cut.Units, int(w.Shape[0])
	segments := max(w.Split.Segments, 1)
	if segments > 1 && length/segments%block != 0 {
		return units
	}
	return min(block/gcd(block, w.Split.Piece(length))*max(w.Split.Shared, 1), units)
}

// of returns the positions of a cut: one more than there are lanes.
func (c *cuts) of(cut *graph.Cut) []int {
	if at, ok := c.at[cut]; ok {
		return at
	}
	a := c.steps[cut]
	a.step, a.shared = max(a.step, 1), max(a.shared, 1)
	var at []int
	if a.shared > 1 {
		at = grouped(cut.Units, a.step, a.shared, c.speeds)
	} else {
		at = even(cut.Units, a.step, c.speeds)
		// Long axes are cut on multiples of what kernels work on at once, where that costs hardly any balance.
		for _, coarse := range []int{256, 128, 64, 32, 16} {
			other := even(cut.Units, lcm(coarse, a.step), c.speeds)
			if longest(other, c.speeds) <= 1.03*longest(at, c.speeds) {
				at = other
				break
			}
		}
	}
	c.at[cut] = at
	return at
}

// even divides units in proportion to the speeds, on multiples of step.
func even(units, step int, speeds []float64) []int {
	total, sum := 0.0, 0.0
	for _, s := range speeds {
		total += s
	}
	cells := float64((units + step - 1) / step)
	at := []int{0}
	for _, s := range speeds {
		sum += s
		at = append(at, min(int(math.Round(cells*sum/total))*step, units))
	}
	at[len(speeds)] = units
	return at
}

// longest is the time of the slowest lane, in units at speed 1.
func longest(at []int, speeds []float64) float64 {
	most := 0.0
	for t, s := range speeds {
		most = max(most, float64(at[t+1]-at[t])/s)
	}
	return most
}

// grouped divides units so that every lane has whole groups of shared units or a part of one, and the slowest lane is done
// as early as can be.
func grouped(units, step, shared int, speeds []float64) []int {
	type state struct {
		worst, squares float64
		from           int
		ok             bool
	}
	lanes, n := len(speeds), (units+step-1)/step // positions are 0, step, ... , units
	pos := func(i int) int { return min(i*step, units) }
	best := make([][]state, lanes+1)
	for t := range best {
		best[t] = make([]state, n+1)
	}
	best[0][0].ok = true
	for t := range lanes {
		for i := range n + 1 {
			if !best[t][i].ok {
				continue
			}
			for j := i; j <= n; j++ {
				a, b := pos(i), pos(j)
				if a < b && !(a%shared == 0 && b%shared == 0) && a/shared != (b-1)/shared {
					continue
				}
				took := float64(b-a) / speeds[t]
				next := state{max(best[t][i].worst, took), best[t][i].squares + took*took*speeds[t], i, true}
				old := &best[t+1][j]
				if !old.ok || next.worst < old.worst || next.worst == old.worst && next.squares < old.squares {
					*old = next
				}
			}
		}
	}
	at := make([]int, lanes+1) // there is a way: one lane takes all
	for t, i := lanes, n; t >= 0; t-- {
		at[t] = pos(i)
		i = best[t][i].from
	}
	return at
}

// stretches is what lane t holds of an axis of that length.
func (c *cuts) stretches(s graph.Split, length, t int) []graph.Stretch {
	at := c.of(s.Cut)
	a, b := at[t], at[t+1]
	if a == b {
		return nil
	}
	shared, piece := max(s.Shared, 1), s.Piece(length)
	from, to := a/shared*piece, (b+shared-1)/shared*piece
	var all []graph.Stretch
	for i := range max(s.Segments, 1) {
		base := i * (length / max(s.Segments, 1))
		all = append(all, graph.Stretch{From: int64(base + from), To: int64(base + to)})
	}
	return all
}

// length is how much of an axis lane t holds.
func (c *cuts) length(s graph.Split, length, t int) int {
	n := int64(0)
	for _, x := range c.stretches(s, length, t) {
		n += x.To - x.From
	}
	return int(n)
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func lcm(a, b int) int { return a / gcd(a, b) * b }
