package plan

import (
	"math"

	"ingot/engine/graph"
	"ingot/engine/tensor"
)

// Constants are what data sheets do not tell: how much of them kernels reach, and what lies between kernels. Times are seconds.
// published_test.go says which measurements they were fitted on.
type Constants struct {
	Stream     float64 // share of the memory's bandwidth at which weights are read for one row
	Compute    float64 // share of the peak that products of many rows reach
	Attend     float64 // the same, for attention over many rows
	Tile       float64 // rows that a product of many rows computes at once: an expert with fewer costs as much
	Launch     float64 // what a product takes beside its work: it starts and ends on the whole card
	Step       float64 // what another step takes beside its work
	Wire       float64 // share of the link between cards that transfers reach
	Reduce     float64 // an AllReduce or a gather, beside its bytes
	Submit     float64 // what a collective takes more where no token graph was captured
	Hop        float64 // a transfer from stage to stage, beside its bytes
	Overhead   int64   // bytes of a card that its driver and its compiled kernels take
	CPUStream  float64 // Stream, Compute and Step of a processor, whose rates are measured, not of a data sheet
	CPUCompute float64
	CPUStep    float64
}

// slower is how much longer products take on weights as files have them than on repacked ones, as published for one MI50: of one row
// and of many.
var slower = map[tensor.Type]struct{ row, rows float64 }{
	tensor.Q8_0: {1, 1.25}, tensor.MXFP4: {1.19, 1.24}, tensor.IQ4_NL: {1.05, 2.33}, tensor.Q6_K: {1.06, 1.69}, tensor.Q5_K: {1.01, 1.55},
	tensor.Q4_K: {1.07, 1.02}, tensor.Q5_1: {1, 1.84},
}

// moment is one run whose time is predicted.
type moment struct {
	use    *Use
	k      *Constants
	rows   int // tokens of one sequence
	outs   int // whose logits are wanted
	depth  int // cells in use before the run
	graphs bool
}

// segments is the time of a lane's steps between one collective and the next.
func (m *moment) segments(p *Plan, card *Sheet) []float64 {
	times := []float64{0}
	for i := range p.Steps {
		s := &p.Steps[i]
		switch s.Op.(type) {
		case AllReduce, AllGather:
			times = append(times, 0)
		default:
			times[len(times)-1] += m.step(s, card)
		}
	}
	return times
}

// collectives is the time that a stage's lanes spend exchanging values, all of them together.
func (m *moment) collectives(p *Plan, lanes []*Sheet) (t float64) {
	if len(lanes) < 2 {
		return 0
	}
	link, between := math.Inf(1), m.k.Reduce
	for _, c := range lanes {
		link = min(link, c.link()*m.k.Wire)
	}
	if lanes[0].CPU {
		between = m.k.CPUStep
		link = lanes[0].Bandwidth * 1e9
	} else if !m.graphs {
		between += m.k.Submit
	}
	n := float64(len(lanes))
	for i := range p.Steps {
		s := &p.Steps[i]
		var most float64
		switch s.Op.(type) {
		case AllReduce: // broadcast of a small row, reduce-scatter and gather of much: 2 (n-1)/n of it passes a lane's link
			most = min(2*(n-1)/n, n-1)
		case AllGather:
			most = (n - 1) / n
		default:
			continue
		}
		t += between + most*4*float64(s.Out[0].Cols()*m.rowsOf(s))/link
	}
	return t
}

func (m *moment) rowsOf(s *Step) int {
	n := m.rows
	if s.Rows == graph.OutRows {
		n = m.outs
	}
	return n * max(s.Times, 1)
}

// step is the larger of what a step reads and writes at the memory's speed and what it multiplies at the card's, and what
// lies between steps.
func (m *moment) step(s *Step, card *Sheet) float64 {
	rows := float64(m.rowsOf(s))
	bytes, macs := m.work(s)
	for _, l := range s.In {
		bytes += rows * 4 * float64(l.Cols())
	}
	for _, l := range s.Out {
		bytes += rows * 4 * float64(l.Cols())
	}
	stream, compute, between := m.k.Stream, m.k.Compute, m.k.Step
	rate := card.F16
	if n := s.Matrices(); n > 0 {
		between = m.k.Launch
		if m.rows > narrow { // of many rows each matrix is multiplied by itself
			between *= float64(n)
		}
		t := m.use.Types(s.W[0])
		if Quantized(t) && card.I8 > 0 {
			rate = card.I8
		}
		if by, ok := slower[t]; ok && m.use.Packed && !card.CPU {
			stream, compute = stream/by.row, compute/by.rows
		}
	} else if _, ok := s.Op.(graph.Attention); ok {
		compute = m.k.Attend
	}
	if card.CPU {
		stream, compute, between = m.k.CPUStream, m.k.CPUCompute, m.k.CPUStep
	} else if _, ok := s.Op.(graph.Embed); ok { // a row of a table in the host's memory, taken over the link
		return between + rows*4*float64(s.Out[0].Cols())/(card.link()*m.k.Wire)
	}
	return between + max(bytes/(card.Bandwidth*1e9*stream), macs/(rate*1e12/2*compute))
}

// work is the bytes of weights, caches and states that a step touches, and its multiply-adds.
func (m *moment) work(s *Step) (bytes, macs float64) {
	rows := float64(m.rowsOf(s))
	for _, w := range s.W[:s.Matrices()] {
		if len(w.Shape) < 3 {
			bytes, macs = bytes+m.use.bytes(w), macs+m.tiled(rows, 1)*elements(w)
			continue
		}
		experts, tokens := float64(w.Shape[2]), float64(m.rows)
		// How many of the experts so many tokens pick, if each picks at random.
		distinct := min(experts*(1-math.Pow(1-float64(s.Times)/experts, tokens)), rows)
		bytes, macs = bytes+distinct/experts*m.use.bytes(w), macs+m.tiled(rows, distinct)/experts*elements(w)
	}
	switch op := s.Op.(type) {
	case graph.Attention:
		st := s.State
		cells := float64(m.depth) + float64(m.rows)
		mean := float64(m.depth) + float64(m.rows+1)/2
		if st.Window > 0 {
			cells, mean = min(cells, float64(st.Window+m.rows)), min(mean, float64(st.Window))
		}
		cell := st.KVHeads * (tensor.RowBytes(m.use.Keep.Keys, st.KVDim) + tensor.RowBytes(m.use.Keep.Values, st.KVDim))
		return cells * float64(cell), rows * 2 * mean * float64(op.Heads*op.Dim)
	case graph.DeltaNet:
		state := float64(op.VHeads * op.Dim * op.Dim)
		return 2 * 4 * state, rows * 4 * state
	}
	return bytes, macs
}

// narrow is the most rows whose products are those of a matrix with vectors.
const narrow = 8

// tiled is how many rows are multiplied where so many matrices have so many in all: whole tiles, the last of each half full on
// average. A few rows are products of their own.
func (m *moment) tiled(rows, matrices float64) float64 {
	if m.rows <= narrow {
		return rows
	}
	return max(rows+matrices*m.k.Tile/2, matrices*m.k.Tile)
}

// elements is the number of a weight's values, as a float: shapes of described models are any.
func elements(w *graph.Weight) float64 {
	n := 1.0
	for _, d := range w.Shape {
		n *= float64(d)
	}
	return n
}

// bytes is a weight's packed size.
func (u *Use) bytes(w *graph.Weight) float64 {
	t := u.Types(w)
	return elements(w) / float64(max(t.Block(), 1)) * float64(t.Size())
}
