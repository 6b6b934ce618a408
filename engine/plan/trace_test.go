package plan

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"ingot/engine/graph"
	"ingot/engine/tensor"
)

// A value is traced as the expression that made it. The graph says what each value is; the plan must find exactly
// that in memory wherever a step reads, though places are reused, steps fused and outputs written over inputs.

// names gives every expression a short name, the same for equal ones; spelled out they would double with every layer.
type names map[string]string

func (n names) of(expr string) string {
	if _, ok := n[expr]; !ok {
		n[expr] = fmt.Sprintf("e%d", len(n))
	}
	return n[expr]
}

// meaning is what an operation makes of its inputs.
func meaning(op graph.Op, w []*graph.Weight, in []string) string {
	var names []string
	for _, x := range w {
		names = append(names, x.Name)
	}
	if _, ok := op.(graph.Add); ok {
		in = slices.Clone(in)
		sort.Strings(in)
	}
	return fmt.Sprintf("%s%v%v(%s)", op.Name(), op, names, strings.Join(in, ","))
}

// some is the expression of a value that has the wanted rows only: the same, for no operation after the choice mixes
// rows. The graph is traced without it; in a plan's memory it tells such values from those of all rows.
const some = "wanted rows of "

// part is a view's share of a value, the whole of it included.
func part(expr string, v *graph.Value) string {
	if v.Off == 0 && v.Cols == v.Root().Cols {
		return expr
	}
	return fmt.Sprintf("%s[%d:%dx%d/%d]", expr, v.Off, v.Heads, v.Dim, v.Gap)
}

// trace runs the graph.
func trace(g *graph.Graph, known names) map[*graph.Value]string {
	is := map[*graph.Value]string{}
	kv := map[int]string{}
	for _, n := range g.Nodes {
		var in []string
		for _, v := range n.In {
			in = append(in, part(is[v.Root()], v))
		}
		if a, ok := n.Op.(graph.Attention); ok {
			rest := in[1:]
			if !a.Stored {
				kv[n.State.ID], rest = in[1]+","+in[2], in[3:]
			}
			in = append([]string{in[0], kv[n.State.ID]}, rest...)
		}
		expr := meaning(n.Op, n.W, in)
		if _, ok := n.Op.(graph.Gather); ok {
			is[n.Out[0]] = in[0]
			continue
		}
		if n.State != nil {
			expr = fmt.Sprintf("%s with state %d", expr, n.State.ID)
		}
		for i, v := range n.Out {
			e := expr
			if i > 0 {
				e += fmt.Sprintf("#%d", i)
			}
			if v.Cols < v.Root().Cols { // in place: the rest of the root stays as it was, which is no concern of any reader
				e = fmt.Sprintf("%s in %s", e, is[v.Root()])
			}
			is[v.Root()] = known.of(e)
		}
	}
	return is
}

// cell is four bytes of the arena: a column of a row of a value.
type cell struct {
	expr     string
	row, col int
}

// machine runs a plan on expressions.
type machine struct {
	t     *testing.T
	p     *Plan
	known names
	mem   map[int64]cell // by offset/4
	kv    map[int]string
}

// rows are how many rows a step's value has in this plan.
func (m *machine) rows(r graph.Rows, times int) int {
	if r == graph.OutRows {
		return m.p.Options.Outs * times
	}
	return m.p.Options.Rows * times
}

// read returns the value at a place; it must be one value in all rows and columns.
func (m *machine) read(step int, what string, l Loc, rows int) string {
	m.t.Helper()
	first := m.mem[l.Off/4]
	for r := range rows {
		for h := range l.Heads {
			for d := range l.Dim {
				at := l.Off/4 + int64(r*l.Stride+h*l.Gap+d)
				got := m.mem[at]
				want := cell{first.expr, r, first.col + h*l.Gap + d}
				if got != want || got.expr == "" {
					m.t.Fatalf("step %d (%s), %s at %v: row %d, head %d, column %d holds %+v, expected %+v", step, m.p.Steps[step].Op.Name(), what, l, r, h, d, got, want)
				}
			}
		}
	}
	if first.col == 0 && l.Heads*l.Dim == l.Stride && (l.Heads == 1 || l.Gap == l.Dim) {
		return first.expr
	}
	return fmt.Sprintf("%s[%d:%dx%d/%d]", first.expr, first.col, l.Heads, l.Dim, l.Gap)
}

func (m *machine) write(step int, expr string, l Loc, rows int) {
	end := l.Off + int64((rows-1)*l.Stride+(l.Heads-1)*l.Gap+l.Dim)*4
	if l.Off%align != 0 && expr != "" && l.Off%4 != 0 || l.Off < 0 || end > m.p.Arena {
		m.t.Fatalf("step %d writes %d..%d of an arena of %d", step, l.Off, end, m.p.Arena)
	}
	for r := range rows {
		for c := range l.Heads * l.Dim {
			h, d := c/l.Dim, c%l.Dim
			m.mem[l.Off/4+int64(r*l.Stride+h*l.Gap+d)] = cell{expr, r, h*l.Gap + d}
		}
	}
}

// quantized is the place of a quantized copy: QuantRow bytes a row, or twice that.
func (m *machine) quantized(l Loc) Loc {
	n := int(m.p.Options.QuantRow(l.Dim)) / 4
	if m.p.Fine {
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
func (m *machine) sources(s *Step, typ func(*graph.Weight) tensor.Type) []source {
	var from []source
	for j, l := range s.In {
		f := source{l, m.rows(s.Rows, max(s.Times, 1)), false}
		switch s.Op.(type) {
		case graph.Linear:
			f.quant = Quantized(typ(s.W[0]))
		case graph.Experts:
			f.quant = j == 0 && Quantized(typ(s.W[0]))
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
		if f.quant {
			f.Loc = m.quantized(l)
		}
		from = append(from, f)
	}
	return from
}

// apart fails where a step's output lies on an input that the kernel may not write over.
func (m *machine) apart(step int, s *Step, from []source) {
	span := func(l Loc, rows int) (int64, int64) {
		return l.Off, l.Off + int64((rows-1)*l.Stride+(l.Heads-1)*l.Gap+l.Dim)*4
	}
	mayShare := func(i int) bool { // the i-th input; the last: what is added
		switch s.Op.(type) {
		case graph.Rotate, graph.Softcap, graph.Add, graph.GLU:
			return true
		case graph.Linear, graph.Combine:
			return i == len(s.In)
		}
		return false
	}
	rows := m.rows(s.Rows, max(s.Times, 1))
	if s.Add != nil {
		from = append(from, source{Loc: *s.Add, rows: rows})
	}
	for _, out := range s.Out {
		if _, ok := s.Op.(Quantize); ok {
			out = m.quantized(out)
		}
		lo, hi := span(out, rows)
		for i, f := range from {
			if a, b := span(f.Loc, f.rows); a < hi && lo < b && !(mayShare(i) && f.Off == out.Off && f.Stride == out.Stride) {
				m.t.Fatalf("step %d (%s) writes %v over its input %v", step, s.Op.Name(), out, f.Loc)
			}
		}
	}
}

// plain is what a step reads, which must be of the rows that it runs over.
func (m *machine) plain(step int, e string) string {
	s := &m.p.Steps[step]
	_, gather := s.Op.(graph.Gather)
	e, ok := strings.CutPrefix(e, some)
	if ok != (s.Rows == graph.OutRows && !gather) {
		m.t.Fatalf("step %d (%s) reads %q, of the wanted rows: %v", step, s.Op.Name(), e, ok)
	}
	return e
}

// run walks the steps and returns what lies at a place in the end.
func (m *machine) run(typ func(*graph.Weight) tensor.Type) {
	for i := range m.p.Steps {
		s := &m.p.Steps[i]
		rows := m.rows(s.Rows, max(s.Times, 1))
		from := m.sources(s, typ)
		m.apart(i, s, from)
		var in []string
		for j, f := range from {
			e := m.read(i, fmt.Sprint("input ", j), f.Loc, f.rows)
			if f.quant {
				inner, ok := strings.CutPrefix(e, "q:")
				if !ok {
					m.t.Fatalf("step %d (%s) reads %q, which is not quantized", i, s.Op.Name(), e)
				}
				e = inner
			}
			in = append(in, m.plain(i, e))
		}
		rowsOf := ""
		if s.Rows == graph.OutRows {
			rowsOf = some
		}
		switch s.Op.(type) {
		case Quantize:
			m.write(i, "q:"+rowsOf+in[0], m.quantized(s.Out[0]), rows)
			continue
		case graph.Gather:
			m.write(i, some+in[0], s.Out[0], rows)
			continue
		case Store:
			m.kv[s.State.ID] = strings.Join(in, ",")
			continue
		case graph.Attention:
			in = append([]string{in[0], m.kv[s.State.ID]}, in[1:]...)
		}
		expr := meaning(s.Op, s.W, in)
		if s.State != nil {
			expr = fmt.Sprintf("%s with state %d", expr, s.State.ID)
		}
		if s.Add != nil {
			expr = meaning(graph.Add{}, nil, []string{m.known.of(expr), m.plain(i, m.read(i, "what is added", *s.Add, rows))})
		}
		for j, l := range s.Out {
			e := expr
			if j > 0 {
				e += fmt.Sprintf("#%d", j)
			}
			if _, rotate := s.Op.(graph.Rotate); rotate && l.Heads*l.Dim < l.Stride {
				e = fmt.Sprintf("%s in %s", e, m.mem[l.Off/4].expr)
			}
			m.write(i, rowsOf+m.known.of(e), l, rows)
		}
	}
}

// verify runs a plan against its graph.
func verify(t *testing.T, g *graph.Graph, p *Plan, typ func(*graph.Weight) tensor.Type) {
	t.Helper()
	known := names{}
	is := trace(g, known)
	m := &machine{t: t, p: p, known: known, mem: map[int64]cell{}, kv: map[int]string{}}
	m.run(typ)
	last := len(p.Steps) - 1
	at := func(what string, l Loc, v *graph.Value) {
		want := is[v.Root()]
		if v.Rows == graph.OutRows {
			want = some + want
		}
		if got := m.read(last, what, l, m.rows(v.Rows, v.Times)); got != want {
			t.Errorf("%s is %s, expected %s", what, got, want)
		}
	}
	at("logits", p.Logits, g.Logits)
	at("hidden", p.Hidden, g.Hidden)
	for _, k := range p.Kept {
		at("kept "+k.Value.Name, k.At, k.Value)
	}
}
