package plan

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"ingot/engine/graph"
	"ingot/engine/tensor"
)

// Plans run in exact arithmetic (exact_test.go), the lanes of a stage step by step together, on memory as it is laid out: places are
// reused, steps fused, outputs written over inputs. What comes out must be what the graph means, to the last bit.

// word is four bytes of the arena: a number, or a piece of a quantized row.
type word struct {
	set   bool
	value uint64
	quant []uint64
	at    int // of the quantized row
}

// machine is a lane with its memory.
type machine struct {
	*exact
	p    *Plan
	typ  func(*graph.Weight) tensor.Type
	mem  []word // by offset/4
	next int    // step
}

// trouble is what a plan does that no plan may; it ends the run.
type trouble struct{ error }

func (m *machine) fail(format string, args ...any) {
	at := fmt.Sprintf("lane %d, step %d: ", m.p.Lane, m.next)
	if m.next < len(m.p.Steps) {
		s := &m.p.Steps[m.next]
		at = fmt.Sprintf("lane %d, step %d (%s of layer %d): ", m.p.Lane, m.next, s.Op.Name(), s.Layer)
	}
	panic(trouble{fmt.Errorf(at+format, args...)})
}

// count is how many rows a value has in this plan.
func (m *machine) count(r graph.Rows, times int) int { return m.p.Most(r) * max(times, 1) }

// read returns what lies at a place, every number of which must have been written.
func (m *machine) read(l Loc, rows int) mat {
	out := mat{heads: l.Heads, dim: l.Dim}
	for r := range rows {
		row := make([]uint64, 0, l.Cols())
		for c := range l.Cols() {
			at := l.Off/4 + int64(r*l.Stride+c/l.Dim*l.Gap+c%l.Dim)
			if at < 0 || at >= int64(len(m.mem)) || !m.mem[at].set || m.mem[at].quant != nil {
				m.fail("row %d, column %d at %v is not there", r, c, l)
			}
			row = append(row, m.mem[at].value)
		}
		out.rows = append(out.rows, row)
	}
	return out
}

// readQuantized returns the rows whose quantized copy lies at a place.
func (m *machine) readQuantized(s *Step, l Loc, rows int) mat {
	out := mat{heads: 1, dim: l.Dim}
	q := m.quantized(s, l)
	for r := range rows {
		at := l.Off/4 + int64(r*q.Stride)
		row := m.mem[at].quant
		for i := range q.Dim {
			if w := &m.mem[at+int64(i)]; len(row) != l.Dim || len(w.quant) != len(row) || &w.quant[0] != &row[0] || w.at != i {
				m.fail("row %d at %v is not quantized there", r, l)
			}
		}
		out.rows = append(out.rows, row)
	}
	return out
}

func (m *machine) write(l Loc, v mat, rows int) {
	if len(v.rows) != rows || len(v.rows[0]) != l.Cols() {
		m.fail("%d rows of %d are to be written to %d of %d", len(v.rows), len(v.rows[0]), rows, l.Cols())
	}
	m.within(l, rows)
	for r := range rows {
		for c, y := range v.rows[r] {
			m.mem[l.Off/4+int64(r*l.Stride+c/l.Dim*l.Gap+c%l.Dim)] = word{set: true, value: y}
		}
	}
}

func (m *machine) writeQuantized(s *Step, l Loc, v mat) {
	q := m.quantized(s, l)
	m.within(q, len(v.rows))
	for r, row := range v.rows {
		for i := range q.Dim {
			m.mem[l.Off/4+int64(r*q.Stride+i)] = word{set: true, quant: row, at: i}
		}
	}
}

// within fails for places outside of the arena.
func (m *machine) within(l Loc, rows int) {
	if lo, hi := reach(l, rows); lo < 0 || lo%4 != 0 || hi > m.p.Arena {
		m.fail("writes %d to %d of an arena of %d", lo, hi, m.p.Arena)
	}
}

// reach is the first byte of a place and the one after its last.
func reach(l Loc, rows int) (int64, int64) {
	return l.Off, l.Off + int64((rows-1)*l.Stride+(l.Heads-1)*l.Gap+l.Dim)*4
}

// quantized is the place of a quantized copy: QuantRow bytes a row, or twice that.
func (m *machine) quantized(s *Step, l Loc) Loc {
	n := int(m.p.Options.QuantRow(l.Dim)) / 4
	if s.Fine {
		n *= 2
	}
	return Loc{Off: l.Off, Stride: n, Heads: 1, Dim: n, Gap: n}
}

// source is where a step reads, and how many rows.
type source struct {
	Loc
	rows  int
	quant bool
}

// sources are a step's inputs.
func (m *machine) sources(s *Step) []source {
	var from []source
	for j, l := range s.In {
		f := source{l, m.count(s.Rows, s.Times), j == 0 && s.Matrices() > 0 && Quantized(m.typ(s.W[0]))}
		switch s.Op.(type) {
		case graph.Experts, GatedExperts:
			if !s.Each || j == 1 {
				f.rows = m.p.Options.Rows
			}
		case graph.Combine:
			if f.rows = m.p.Options.Rows; j == 0 {
				f.rows *= s.In[1].Cols()
			}
		case graph.Gather:
			f.rows = m.p.Options.Rows
		}
		from = append(from, f)
	}
	return from
}

// apart fails where a step's output lies on an input that the kernel may not write over.
func (m *machine) apart(s *Step, from []source) {
	mayShare := func(i int) bool { // the i-th input; the last: what is added
		switch s.Op.(type) {
		case graph.Rotate, graph.Softcap, graph.Add, graph.GLU, AllReduce:
			return true
		case graph.Linear, graph.Combine:
			return i == len(s.In)
		}
		return false
	}
	rows := m.count(s.Rows, s.Times)
	if s.Add != nil {
		from = append(slices.Clone(from), source{Loc: *s.Add, rows: rows})
	}
	for _, out := range s.Out {
		if _, ok := s.Op.(Quantize); ok {
			out = m.quantized(s, out)
		}
		lo, hi := reach(out, rows)
		for i, f := range from {
			l := f.Loc
			if f.quant {
				l = m.quantized(s, l)
			}
			if a, b := reach(l, f.rows); a < hi && lo < b && !(mayShare(i) && l.Off == out.Off && l.Stride == out.Stride) {
				m.fail("writes %v over its input %v", out, f.Loc)
			}
		}
	}
}

// inputs are what a step reads; what is added comes last.
func (m *machine) inputs(s *Step) (in []mat, add *mat) {
	from := m.sources(s)
	m.apart(s, from)
	for _, f := range from {
		if f.quant {
			in = append(in, m.readQuantized(s, f.Loc, f.rows))
		} else {
			in = append(in, m.read(f.Loc, f.rows))
		}
	}
	if s.Add != nil {
		a := m.read(*s.Add, m.count(s.Rows, s.Times))
		add = &a
	}
	return in, add
}

// advance runs steps up to the next at which lanes meet; nil: all are done.
func (m *machine) advance() *Step {
	for ; m.next < len(m.p.Steps); m.next++ {
		s := &m.p.Steps[m.next]
		rows := m.count(s.Rows, s.Times)
		switch s.Op.(type) {
		case AllReduce, AllGather:
			return s
		case Zero:
			m.write(s.Out[0], newMat(rows, s.Out[0].Cols()), rows)
			continue
		}
		in, add := m.inputs(s)
		switch s.Op.(type) {
		case Quantize:
			m.writeQuantized(s, s.Out[0], in[0])
			continue
		case Store:
			m.store(s.State, in[0], in[1])
			continue
		}
		made := m.run(s.Op, s.W, s.State, in, m.p.Options.Rows)
		if add != nil {
			made[0] = sum(made[0], *add)
		}
		for i, l := range s.Out {
			m.write(l, made[i], rows)
		}
	}
	return nil
}

// meet is what the lanes of a stage do together.
func meet(lanes []*machine, steps []*Step) {
	first := steps[0]
	rows := lanes[0].count(first.Rows, first.Times)
	var shares, adds []mat
	for i, s := range steps {
		if s == nil || s.Op.Name() != first.Op.Name() || s.Rows != first.Rows || s.Times != first.Times || s.Out[0].Cols() != first.Out[0].Cols() {
			lanes[i].fail("the first lane is at another step, %s of layer %d", first.Op.Name(), first.Layer)
		}
		in, add := lanes[i].inputs(s)
		shares = append(shares, in...)
		if add != nil {
			adds = append(adds, *add)
		}
		if g, ok := s.Op.(AllGather); ok {
			g0 := first.Op.(AllGather)
			if n := g.Cols[i+1] - g.Cols[i]; !slices.Equal(g.Cols, g0.Cols) || (n > 0) != (len(in) > 0) || n > 0 && in[0].heads*in[0].dim != n {
				lanes[i].fail("joins %v", g.Cols)
			}
		}
	}
	var all mat
	if _, sums := first.Op.(AllReduce); sums {
		all = sum(shares...)
	} else {
		all = mat{rows: make([][]uint64, rows)}
		for r := range rows {
			for _, s := range shares {
				all.rows[r] = append(all.rows[r], s.rows[r]...)
			}
		}
	}
	for i, s := range steps {
		made := all
		if s.Add != nil {
			made = sum(all, adds[i])
		}
		lanes[i].write(s.Out[0], made, rows)
		lanes[i].next++
	}
}

// together runs the lanes of a stage.
func together(lanes []*machine) {
	for {
		var at []*Step
		for _, m := range lanes {
			at = append(at, m.advance())
		}
		if at[0] == nil {
			for i, s := range at {
				if s != nil {
					lanes[i].fail("the first lane is done")
				}
			}
			return
		}
		meet(lanes, at)
	}
}

// wants are which of the rows are wanted: the last, and others before it.
func wants(rows, outs int) (all []int) {
	for i := range outs {
		all = append(all, rows-outs+i-(outs-1-i)*(rows-outs)/max(outs, 2))
	}
	return all
}

// check runs stages of lanes and compares what they leave with what the graph means.
func check(g *graph.Graph, means *meaning, stages [][]*Plan, typ func(*graph.Weight) tensor.Type) (err error) {
	defer func() {
		if p := recover(); p != nil {
			t, ok := p.(trouble)
			if !ok {
				panic(p)
			}
			err = t.error
		}
	}()
	ports, left := map[*graph.Value]mat{}, map[string]bool{}
	for i, plans := range stages {
		var lanes []*machine
		for _, p := range plans {
			m := &machine{exact: newExact(wants(p.Options.Rows, p.Options.Outs)), p: p, typ: typ, mem: make([]word, p.Arena/4)}
			for _, port := range p.In {
				from, ok := ports[port.Value]
				if !ok {
					m.fail("no stage before makes %s", port.Value.Name)
				}
				m.write(port.At, from, len(from.rows))
			}
			lanes = append(lanes, m)
		}
		together(lanes)
		for _, m := range lanes {
			same := func(what string, l Loc, v *graph.Value) {
				got, want := m.read(l, m.count(v.Rows, v.Times)), means.is[v.Root()]
				if !slices.EqualFunc(got.rows, want.rows, slices.Equal[[]uint64]) {
					m.fail("%s is another", what)
				}
			}
			for _, port := range m.p.Out {
				v := m.read(port.At, m.count(port.Value.Rows, port.Value.Times))
				if m != lanes[0] && !slices.EqualFunc(v.rows, ports[port.Value].rows, slices.Equal[[]uint64]) {
					m.fail("%s is another than the first lane's", port.Value.Name)
				}
				ports[port.Value] = v
			}
			for _, k := range m.p.Kept {
				same("kept "+k.Value.Name, k.At, k.Value)
			}
			if i == len(stages)-1 {
				same("logits", m.p.Logits, g.Logits)
				same("hidden", m.p.Hidden, g.Hidden)
			}
			maps.Copy(left, m.left)
		}
	}
	if !maps.Equal(left, means.left) {
		return fmt.Errorf("states hold %d things, expected %d, or others", len(left), len(means.left))
	}
	return nil
}

// verify runs a plan against its graph.
func verify(t *testing.T, g *graph.Graph, p *Plan, typ func(*graph.Weight) tensor.Type) {
	t.Helper()
	if err := check(g, mean(g, p.Options.Rows, wants(p.Options.Rows, p.Options.Outs)), [][]*Plan{{p}}, typ); err != nil {
		t.Errorf("%v\n%v", err, p)
	}
}
