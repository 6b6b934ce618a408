package engine

import (
	"ingot/engine/device"
	"ingot/engine/exec"
	"ingot/engine/graph"
	"ingot/engine/plan"
)

// Activation is an intermediate result for the rows that one sequence has in a batch.
type Activation struct {
	Layer int // -1 outside the layers
	// Name says which result. Every architecture has embed, attn_norm, attn_out, ffn_inp, ffn_norm, ffn_out and l_out
	// (a layer's result), result_norm and logits; the product with a weight has the weight's name.
	Name      string
	Slot      int   // whose sequence
	Positions []int // of the rows' tokens in the sequence; result_norm and logits have only the rows the head reads
	// Rows are one a token, the columns of the result long; a mixture's experts follow one another. They are read-only
	// and valid during the call.
	Rows [][]float32
}

// watched tells whether a value is one that Options.Watch chooses.
func (o *Options) watched(v *graph.Value) bool {
	if o.Watch == nil {
		return v.Name == graph.LayerOut
	}
	return o.Watch(v.Layer, v.Name)
}

// hooked shows a plan's kept values to a hook after each run.
type hooked struct {
	run  *exec.Runner
	kept []plan.KeptAt
	call func(Activation)
	pos  []int
	rows [][]float32
}

func (h *hooked) ran(b *device.Batch) {
	for _, k := range h.kept {
		outs := b.Outs
		for _, s := range b.Seqs {
			h.pos, h.rows = h.pos[:0], h.rows[:0]
			if k.Value.Rows == graph.OutRows {
				for i := len(b.Outs) - len(outs); len(outs) > 0 && outs[0] < s.Row0+s.Rows; i++ {
					h.add(&k, i, int(s.Pos0+outs[0]-s.Row0))
					outs = outs[1:]
				}
			} else {
				for r := range int(s.Rows) {
					h.add(&k, int(s.Row0)+r, int(s.Pos0)+r)
				}
			}
			if len(h.rows) > 0 {
				h.call(Activation{k.Value.Layer, k.Value.Name, int(s.Slot), h.pos, h.rows})
			}
		}
	}
}

// add appends row r, of the token at a position.
func (h *hooked) add(k *plan.KeptAt, r, pos int) {
	cols := k.Value.Cols * k.Value.Times // the experts of a token lie together
	at := plan.Loc{Off: k.At.Off, Stride: cols, Heads: 1, Dim: cols, Gap: cols}
	h.pos = append(h.pos, pos)
	if !k.Value.Index {
		h.rows = append(h.rows, h.run.Value(k.Stage, at, r))
		return
	}
	var row []float32
	for _, n := range h.run.Indices(k.Stage, at, r) {
		row = append(row, float32(n))
	}
	h.rows = append(h.rows, row)
}
