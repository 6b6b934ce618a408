package device

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ingot/engine/arch"
	"ingot/engine/arch/archtest"
	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/engine/tensor"
)

// spec is a tiny model, planned, with its weights; Slots, Cells and Planes are set.
func spec(t *testing.T, name string, rows int) (*CPU, Spec) {
	t.Helper()
	card, err := NewCPU(2, "")
	if err != nil {
		t.Fatal(err)
	}
	m := archtest.Meta(name)
	model, err := arch.New(m, archtest.Vocab)
	if err != nil {
		t.Fatal(err)
	}
	ts, err := archtest.Tensors(m, tensor.F16, nil)
	if err != nil {
		t.Fatal(err)
	}
	h := model.Common()
	s := Spec{Weights: make([]Weight, len(h.Weights)), Slots: 2, Cells: 32, Planes: 5, Keys: tensor.F16, Values: tensor.F16}
	for i, w := range ts {
		s.Weights[i] = Weight{w.Type, w.Data}
	}
	b := graph.NewBuilder()
	model.Forward(b)
	s.Plan, err = plan.Make(b.Graph(), func(w *graph.Weight) tensor.Type { return s.Weights[w.ID].Type },
		plan.Options{Rows: rows, Outs: 4, QuantRow: card.Plan().QuantRow})
	if err != nil {
		t.Fatal(err)
	}
	return card, s
}

func load(t *testing.T, name string, rows int) Lane {
	t.Helper()
	card, s := spec(t, name, rows)
	ls, err := Load([]Card{card}, []Spec{s})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ls[0].Close)
	return ls[0]
}

func TestBatchesThatDoNotFit(t *testing.T) {
	l := load(t, "qwen35", 8)
	good := Seq{Row0: 0, Rows: 3, Slot: 1, Pos0: 0, PlaneIn: -1, PlaneOut: 4}
	for _, c := range []struct {
		name  string
		batch Batch
		want  string // "": it fits
	}{
		{"fits", Batch{Tokens: []int32{1, 2, 3}, Outs: []int32{2}, Seqs: []Seq{good}}, ""},
		{"fills the slot", Batch{Tokens: []int32{1, 2, 3}, Outs: []int32{2}, Seqs: []Seq{{0, 3, 0, 29, 0, 0}}}, ""},
		{"too many rows", Batch{Tokens: make([]int32, 9), Seqs: []Seq{{0, 9, 0, 0, -1, 0}}}, "batch of 9 rows"},
		{"too many sequences", Batch{Tokens: []int32{1, 2, 3}, Seqs: []Seq{{0, 1, 0, 0, -1, 0}, {1, 1, 1, 0, -1, 1}, {2, 1, 1, 1, -1, 2}}}, "3 sequences"},
		{"too many outputs", Batch{Tokens: make([]int32, 5), Outs: []int32{0, 1, 2, 3, 4}, Seqs: []Seq{{0, 5, 0, 0, -1, 0}}}, "5 outputs"},
		{"more outputs than rows", Batch{Tokens: []int32{1}, Outs: []int32{0, 0}, Seqs: []Seq{{0, 1, 0, 0, -1, 0}}}, "2 outputs"},
		{"no such slot", Batch{Tokens: []int32{1, 2, 3}, Seqs: []Seq{{0, 3, 2, 0, -1, 0}}}, "slot 2"},
		{"a negative slot", Batch{Tokens: []int32{1, 2, 3}, Seqs: []Seq{{0, 3, -1, 0, -1, 0}}}, "slot -1"},
		{"beyond the cells", Batch{Tokens: []int32{1, 2, 3}, Seqs: []Seq{{0, 3, 0, 30, -1, 0}}}, "positions 30+3"},
		{"no such plane to write", Batch{Tokens: []int32{1, 2, 3}, Seqs: []Seq{{0, 3, 0, 0, -1, 5}}}, "planes -1 and 5 of 5"},
		{"no such plane to read", Batch{Tokens: []int32{1, 2, 3}, Seqs: []Seq{{0, 3, 0, 0, 7, 0}}}, "planes 7 and 0 of 5"},
		{"rows of nobody", Batch{Tokens: []int32{1, 2, 3}, Seqs: []Seq{{0, 2, 0, 0, -1, 0}}}, "2 of 3"},
		{"rows beyond the batch", Batch{Tokens: []int32{1, 2, 3}, Seqs: []Seq{{0, 4, 0, 0, -1, 0}}}, "rows 0+4 of 3"},
		{"rows from nowhere", Batch{Tokens: []int32{1, 2, 3}, Seqs: []Seq{{-1, 3, 0, 0, -1, 0}}}, "rows -1+3"},
		{"outputs out of order", Batch{Tokens: []int32{1, 2, 3}, Outs: []int32{2, 1}, Seqs: []Seq{good}}, "output"},
	} {
		err := l.Run(&c.batch)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v; expected %q", c.name, err, c.want)
		}
	}
}

// run feeds tokens at a position of a slot and returns the logits of the last.
func run(t *testing.T, l Lane, tokens []int32, slot, pos, in, out int32) []float32 {
	t.Helper()
	n := int32(len(tokens))
	if err := l.Run(&Batch{Tokens: tokens, Outs: []int32{n - 1}, Seqs: []Seq{{0, n, slot, pos, in, out}}}); err != nil {
		t.Fatal(err)
	}
	return slices.Clone(l.Scores(0).Logits)
}

func TestCopiedSlotsGoOnAlike(t *testing.T) {
	for _, name := range []string{"llama", "qwen35"} {
		l := load(t, name, 16)
		run(t, l, []int32{1, 2, 3, 4, 5, 6}, 0, 0, -1, 0)
		run(t, l, []int32{9, 9, 9, 9, 9, 9, 9, 9}, 1, 0, -1, 1) // what the copy goes over
		l.CopySlot(0, 1, 6)
		here := run(t, l, []int32{7, 8}, 0, 6, 0, 2)
		there := run(t, l, []int32{7, 8}, 1, 6, 0, 3)
		if !slices.Equal(here, there) {
			t.Errorf("%s: the copied slot goes on otherwise", name)
		}
		if other := run(t, l, []int32{7, 8}, 1, 8, 3, 4); slices.Equal(here, other) {
			t.Errorf("%s: what came before makes no difference", name)
		}
	}
}

func TestMemoryIsCounted(t *testing.T) {
	_, s := spec(t, "qwen35", 8)
	l := load(t, "qwen35", 8)
	m := l.Memory()
	var weights, cache, state int64
	for _, w := range s.Weights {
		weights += int64(len(w.Data))
	}
	for _, st := range s.Plan.States {
		keep := plan.Storage{Slots: s.Slots, Cells: s.Cells, Planes: s.Planes, Keys: s.Keys, Values: s.Values}
		if st.Recurrent() {
			state += keep.Bytes(st)
		} else {
			cache += keep.Bytes(st)
		}
	}
	if m.Weights != weights || m.Cache != cache || m.State != state || m.Scratch < s.Plan.Arena || cache == 0 || state == 0 {
		t.Errorf("%+v; expected %d, %d, %d and at least %d", m, weights, cache, state, s.Plan.Arena)
	}
}

func TestTooLargeAContextIsRefused(t *testing.T) {
	card, s := spec(t, "qwen3", 8)
	s.Slots, s.Cells = 1<<10, 1<<30
	_, err := Load([]Card{card}, []Spec{s})
	if total, _ := systemMemory(); total == 0 {
		t.Skip("this system does not say how much memory it has")
	}
	if !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), "MiB") {
		t.Error(err)
	}
}

func TestUnsupportedCacheTypes(t *testing.T) {
	for _, c := range []struct {
		keys, values tensor.Type
		dim          int
		want         string
	}{
		{tensor.Q4_K, tensor.F16, 256, "a KV cache of Q4_K"},
		{tensor.F16, tensor.MXFP4, 32, "a KV cache of MXFP4"},
		{tensor.F16, tensor.Q8_0, 80, "heads of whole blocks of 32 values, this model's have 80"},
		{tensor.Q4_0, tensor.F16, 16, "heads of whole blocks of 32 values, this model's have 16"},
	} {
		card, s := spec(t, "qwen3", 8)
		s.Keys, s.Values = c.keys, c.values
		for _, st := range s.Plan.States {
			st.KVDim = c.dim
		}
		if _, err := Load([]Card{card}, []Spec{s}); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, %v: %v; expected %q", c.keys, c.values, err, c.want)
		}
	}
}

func TestCard(t *testing.T) {
	if _, err := NewCPU(1, "mmx"); err == nil {
		t.Error("a level that does not exist")
	}
	c, err := NewCPU(0, "generic")
	if err != nil {
		t.Fatal(err)
	}
	if i := c.Info(); i.Name != "cpu" || i.Threads < 1 || i.Level != "generic" || !strings.Contains(i.Description, "generic") || i.Free > i.Total {
		t.Errorf("%+v", i)
	}
	if c.Plan().QuantRow(64) < 64+2*4 {
		t.Error("a quantized row is too small")
	}
}
