package exec

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"ingot/engine/device"
	"ingot/engine/graph"
	"ingot/engine/plan"
)

// belt is what lanes of a pipeline did together.
type belt struct {
	mu      sync.Mutex
	working map[int]int // piece by stage, of the runs under way
	most    int         // stages at work at once
	ran     []string
	fail    string // "stage piece" that fails
}

// worker is a lane that holds the number of the piece it has.
type worker struct {
	lane
	b          *belt
	stage, has int
	logits     [][]float32
}

func (w *worker) Run(b *device.Batch) error {
	piece := int(b.Tokens[0])
	what := fmt.Sprint(w.stage, " ", piece)
	w.b.mu.Lock()
	if w.stage > 0 && w.has != piece {
		w.b.mu.Unlock()
		return fmt.Errorf("stage %d runs piece %d with the values of %d", w.stage, piece, w.has)
	}
	w.b.working[w.stage] = piece
	w.b.most = max(w.b.most, len(w.b.working))
	w.b.ran = append(w.b.ran, what)
	w.b.mu.Unlock()
	w.has = piece
	w.logits = w.logits[:0]
	for _, o := range b.Outs {
		w.logits = append(w.logits, []float32{float32(b.Tokens[0]), float32(o)})
	}
	w.b.mu.Lock()
	delete(w.b.working, w.stage)
	fail := w.b.fail == what
	w.b.mu.Unlock()
	if fail {
		return errors.New("broken")
	}
	return nil
}

func (w *worker) Receive(_ plan.Loc, rows int, from device.Lane, _ plan.Loc) error {
	w.has = from.(*worker).has
	return nil
}

func (w *worker) Logits(i int) []float32 { return w.logits[i] }

func pipeline(stages int, cards ...string) (*Runner, *belt) {
	b := &belt{working: map[int]int{}}
	value := &graph.Value{Cols: 1, Times: 1}
	var all []Stage
	for s := range stages {
		p := &plan.Plan{Options: plan.Options{Rows: 4}, In: []plan.Port{{Value: value}}, Out: []plan.Port{{Value: value}}}
		st := Stage{Lanes: []device.Lane{&worker{b: b, stage: s}}, Plans: []*plan.Plan{p}}
		if cards != nil {
			st.Cards = cards[s : s+1]
		}
		all = append(all, st)
	}
	return New(all...), b
}

// batch has 4 rows a piece, whose tokens are the piece's number; the last row of each is wanted.
func batch(pieces int) *device.Batch {
	b := &device.Batch{Seqs: []device.Seq{{Rows: int32(4 * pieces), PlaneIn: -1, PlaneOut: 3}}}
	for i := range pieces {
		b.Tokens = append(b.Tokens, slices.Repeat([]int32{int32(i)}, 4)...)
		b.Outs = append(b.Outs, int32(4*i+3))
	}
	return b
}

func TestPiecesGoThroughAllStages(t *testing.T) {
	for _, cards := range [][]string{nil, {"a", "b", "a"}} {
		r, b := pipeline(3, cards...)
		for _, n := range []int{1, 2, 3, 7} {
			b.ran = nil
			if err := r.Run(batch(n)); err != nil {
				t.Fatal(err)
			}
			if len(b.ran) != 3*n {
				t.Errorf("%d pieces: %v", n, b.ran)
			}
			for i := range n {
				if l := r.Logits(i); l[0] != float32(i) || l[1] != 3 {
					t.Errorf("%d pieces: row %d has the logits %v", n, i, l)
				}
			}
		}
		if cards != nil && b.most != 1 {
			t.Errorf("%d stages worked at once though they share a card", b.most)
		}
		for _, fail := range []string{"0 0", "1 1", "2 0", "0 4", "2 4"} {
			b.fail = fail
			if err := r.Run(batch(5)); err == nil || err.Error() != "broken" {
				t.Errorf("a failure at %s: %v", fail, err)
			}
		}
		b.fail = ""
		if err := r.Run(batch(5)); err != nil {
			t.Errorf("after failures: %v", err)
		}
		r.Close()
	}
}

func seq(row0, rows, slot, pos0, in, out int32) device.Seq {
	return device.Seq{Row0: row0, Rows: rows, Slot: slot, Pos0: pos0, PlaneIn: in, PlaneOut: out}
}

func TestCut(t *testing.T) {
	b := &device.Batch{Tokens: make([]int32, 11), Outs: []int32{0, 3, 4, 10}, Seqs: []device.Seq{{Row0: 0, Rows: 1, Slot: 2, Pos0: 9, PlaneIn: 1, PlaneOut: 5},
		{Row0: 1, Rows: 10, Slot: 0, Pos0: 20, PlaneIn: -1, PlaneOut: 6}}}
	got := cut(nil, b, 4)
	want := []device.Batch{
		{Outs: []int32{0, 3}, Seqs: []device.Seq{seq(0, 1, 2, 9, 1, 5), seq(1, 3, 0, 20, -1, 6)}},
		{Outs: []int32{0}, Seqs: []device.Seq{seq(0, 4, 0, 23, 6, 6)}},
		{Outs: []int32{2}, Seqs: []device.Seq{seq(0, 3, 0, 27, 6, 6)}},
	}
	if len(got) != len(want) {
		t.Fatalf("%d pieces", len(got))
	}
	for i, w := range want {
		if p := got[i].batch; !slices.Equal(p.Outs, w.Outs) || !slices.Equal(p.Seqs, w.Seqs) || len(p.Tokens) != []int{4, 4, 3}[i] {
			t.Errorf("piece %d: %+v, expected %+v", i, p, w)
		}
	}
	if one := cut(nil, b, 11); len(one) != 1 || len(one[0].batch.Tokens) != 11 {
		t.Errorf("%+v", one)
	}
}
