package exec

import (
	"slices"

	"ingot/engine/device"
	"ingot/engine/graph"
)

const wantedRows = graph.OutRows

// piece is some rows of a batch, as a batch of its own.
type piece struct{ batch device.Batch }

// out is a wanted row of the batch: a row of the last piece's results, or what was set aside of an earlier one.
type out struct {
	row    int
	aside  bool
	scores device.Scores
	hidden []float32
}

// cut divides a batch into pieces of up to that many rows, in order. A sequence that is cut goes on where it was: its cells
// follow, and its recurrent state is read from the plane that the piece before wrote.
func cut(pieces []piece, b *device.Batch, rows int) []piece {
	if len(b.Tokens) <= rows {
		return append(pieces, piece{*b})
	}
	outs := b.Outs
	for from := 0; from < len(b.Tokens); from += rows {
		to := min(from+rows, len(b.Tokens))
		p := device.Batch{Tokens: b.Tokens[from:to], Best: b.Best}
		for len(outs) > 0 && int(outs[0]) < to {
			p.Outs = append(p.Outs, outs[0]-int32(from))
			outs = outs[1:]
		}
		for _, s := range b.Seqs {
			lo, hi := max(int(s.Row0), from), min(int(s.Row0+s.Rows), to)
			if lo >= hi {
				continue
			}
			done := int32(lo) - s.Row0
			if done > 0 {
				s.PlaneIn = s.PlaneOut
			}
			s.Pos0 += done
			s.Row0, s.Rows = int32(lo-from), int32(hi-lo)
			p.Seqs = append(p.Seqs, s)
		}
		pieces = append(pieces, piece{p})
	}
	return pieces
}

// stash is memory for results of earlier pieces, kept from batch to batch.
type stash struct {
	floats []float32
	used   int
}

func (s *stash) copy(v []float32) []float32 {
	if len(s.floats)-s.used < len(v) {
		s.floats = make([]float32, max(2*len(s.floats), len(v))) // what was handed out keeps the old memory alive
		s.used = 0
	}
	c := s.floats[s.used : s.used+len(v) : s.used+len(v)]
	s.used += len(v)
	copy(c, v)
	return c
}

// keep sets a piece's results aside.
func (r *Runner) keep(p *piece) {
	for i := range p.batch.Outs {
		s := r.head().Scores(i)
		s.Logits, s.IDs = r.stashed.copy(s.Logits), slices.Clone(s.IDs)
		r.outs = append(r.outs, out{aside: true, scores: s, hidden: r.stashed.copy(r.head().Hidden(i))})
	}
}
