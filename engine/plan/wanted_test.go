package plan

import (
	"fmt"
	"strings"
	"testing"

	"ingot/engine/arch/archtest"
	"ingot/engine/graph"
	"ingot/engine/tensor"
)

// end is the steps from the last attention or recurrence on, and whether rows were chosen before, with the rows that each runs over.
func end(p *Plan) string {
	var b strings.Builder
	early := false
	for _, s := range p.Steps {
		switch s.Op.(type) {
		case graph.Gather:
			early = true
		case graph.Attention, graph.DeltaNet:
			b.Reset()
			if early {
				b.WriteString("gather early\n")
			}
		}
		rows := "all"
		if s.Rows == graph.OutRows {
			rows = "wanted"
		}
		fmt.Fprintf(&b, "%s %s", s.Op.Name(), rows)
		for _, w := range s.W {
			fmt.Fprintf(&b, " %s", w.Name)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestWantedRowsAreChosenEarly(t *testing.T) {
	const early = `gather early
attention all
gather wanted
linear wanted blk.1.attn_output.weight
norm wanted blk.1.ffn_norm.weight
linear wanted blk.1.ffn_gate.weight
linear wanted blk.1.ffn_up.weight
glu wanted
linear wanted blk.1.ffn_down.weight
norm wanted output_norm.weight
linear wanted token_embd.weight
`
	const late = `attention all
linear all blk.1.attn_output.weight
norm all blk.1.ffn_norm.weight
linear all blk.1.ffn_gate.weight
linear all blk.1.ffn_up.weight
glu all
linear all blk.1.ffn_down.weight
gather wanted
norm wanted output_norm.weight
linear wanted token_embd.weight
`
	const half = `attention all
linear all blk.1.attn_output.weight
gather wanted
norm all blk.1.ffn_norm.weight
gather wanted
linear wanted blk.1.ffn_gate.weight
linear wanted blk.1.ffn_up.weight
glu wanted
linear wanted blk.1.ffn_down.weight
norm wanted output_norm.weight
linear wanted token_embd.weight
`
	named := func(layer int, name string) func(*graph.Value) bool {
		return func(v *graph.Value) bool { return v.Layer == layer && v.Name == name }
	}
	g := build(t, "llama", bare)
	last := g.Nodes[len(g.Nodes)-4].Layer
	for name, c := range map[string]struct {
		rows, outs int
		keep       func(*graph.Value) bool
		want       string
	}{
		"a long prompt":                          {8, 2, nil, early},
		"every row wanted":                       {2, 2, nil, late},
		"an earlier layer's result is kept":      {8, 2, named(last-1, graph.LayerOut), early},
		"the last layer's result is kept":        {8, 2, named(last, graph.LayerOut), late},
		"what the last feed-forward reads, kept": {8, 2, named(last, graph.FFNNorm), half},
		"what the head reads is kept":            {8, 2, named(-1, graph.ResultNorm), early},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Make(build(t, "llama", bare), types(tensor.F16), Options{Rows: c.rows, Outs: c.outs, QuantRow: quantRow, Keep: c.keep})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := end(p), strings.ReplaceAll(c.want, "blk.1.", fmt.Sprintf("blk.%d.", last)); got != want {
				t.Errorf("the plan ends with\n%s\nexpected\n%s", got, want)
			}
		})
	}
}

// Kept values have all rows, unless the graph itself has them for the wanted ones only.
func TestKeptValuesHaveAllRows(t *testing.T) {
	for _, name := range archtest.Names() {
		g := build(t, name, full)
		rows := map[*graph.Value]graph.Rows{}
		for _, v := range g.Values {
			rows[v] = v.Rows
		}
		p, err := Make(g, types(tensor.Q8_0), Options{Rows: 8, Outs: 2, QuantRow: quantRow, Keep: func(*graph.Value) bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range p.Kept {
			if want, ok := rows[k.Value]; !ok || k.Value.Rows != want {
				t.Errorf("%s: %s of layer %d is kept for other rows than the graph's", name, k.Value.Name, k.Value.Layer)
			}
		}
		if len(p.Kept) != len(g.Values) {
			t.Errorf("%s: %d of %d values are kept", name, len(p.Kept), len(g.Values))
		}
	}
}
