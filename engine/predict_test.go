package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// What Plan predicts of memory is what Open takes, byte by byte, and the lanes lie where it says.
func TestPlanTellsWhatLoadingTakes(t *testing.T) {
	for _, o := range []Options{
		{Threads: 2, Context: 300}, {Threads: 2, Context: 256, Slots: 2, UBatch: 64, TPS: 2}, {Threads: 2, Cards: []string{"2xcpu"}, Split: "layer", CacheK: "q8_0", CacheV: "f32"},
		{Threads: 2, Cards: []string{"4xcpu"}, TPS: 2},
	} {
		p, err := Plan(sampleFile, PlanOptions{Options: o})
		if err != nil {
			t.Fatal(err)
		}
		top := p.Topologies[max(p.Best, 0)]
		e, err := Open(sampleFile, o)
		if err != nil {
			t.Fatal(err)
		}
		cards := e.Status().Cards
		var n int
		for i, s := range top.Stages {
			for _, l := range s.Lanes {
				if n == len(cards) {
					t.Fatalf("%+v: more lanes than the %d cards in use", o, n)
				}
				c := cards[n]
				if c.Name != l.Card || c.Stage != i+1 || c.Layers != s.Layers || c.Used != l.Total ||
					c.Parts["weights"] != l.Weights || c.Parts["cache"] != l.Cache || c.Parts["state"] != l.State || c.Parts["scratch"] != l.Scratch {
					t.Errorf("%+v: predicted %+v in stage %d, layers %s; in use %+v", o, l, i+1, s.Layers, c)
				}
				n++
			}
		}
		if n != len(cards) || top.Decode <= 0 || top.Prefill <= 0 {
			t.Errorf("%+v: %d lanes predicted, %d cards in use; %+v", o, n, len(cards), top)
		}
		e.Close()
	}
}

// A file that ends after its tensor table is planned like the whole one.
func TestPlanOfAHeader(t *testing.T) {
	whole, err := os.ReadFile(sampleFile)
	if err != nil {
		t.Fatal(err)
	}
	o := PlanOptions{Options: Options{Cards: []string{"4xMI50"}}}
	want, err := Plan(sampleFile, o)
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.gguf")
	// The tensors' data is nearly all of the file; the header ends well before this.
	if err := os.WriteFile(cut, whole[:len(whole)/5], 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := Plan(cut, o)
	if err != nil {
		t.Fatal(err)
	}
	if got.Bytes != want.Bytes || len(got.Topologies) != 4 || got.Topologies[3].Fullest != want.Topologies[3].Fullest {
		t.Errorf("the header gives %+v, the file %+v", got, want)
	}
	if _, err := Open(cut, Options{}); err == nil {
		t.Error("a cut file was opened")
	}
	for _, cards := range [][]string{{"MI51"}, {"0xMI50"}, {"2xMI50", "2xcpu"}, {""}, {"65xMI50"}, {"64xMI50", "MI50"}, {"64xMI50", "cpu"}} {
		if _, err := Plan(sampleFile, PlanOptions{Options: Options{Cards: cards}}); !errors.Is(err, ErrBadRequest) {
			t.Errorf("cards %q: %v", cards, err)
		}
	}
}

// A card that -ot gives many stages has room for all of them together, and its driver takes its part once.
func TestPlanAddsUpTheStagesOfACard(t *testing.T) {
	p, err := Plan("shape/models/Qwen3-14B.json", PlanOptions{Options: Options{Cards: []string{"2xMI50"}, Split: "none", Moves: []string{"ffn_down=MI50:1"}}})
	if err != nil {
		t.Fatal(err)
	}
	top := p.Topologies[0]
	total, drivers := map[string]int64{}, map[string]int{}
	for _, s := range top.Stages {
		for _, l := range s.Lanes {
			total[l.Card] += l.Total
			if l.Overhead > 0 {
				drivers[l.Card]++
			}
		}
	}
	if len(top.Stages) < 80 || drivers["MI50:0"] != 1 || drivers["MI50:1"] != 1 {
		t.Errorf("%d stages; cards with a driver's part: %v", len(top.Stages), drivers)
	}
	if top.Fullest != max(total["MI50:0"], total["MI50:1"]) || top.Fullest < p.Bytes/2 {
		t.Errorf("the fullest card is said to have %d bytes; the cards have %v", top.Fullest, total)
	}
}
