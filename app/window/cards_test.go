package window

import (
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2/test"

	"ingot/app/window/cards"
	"ingot/app/window/live"
	"ingot/app/window/widget"
)

// The cards screen draws stages and lanes with what they take and what was predicted, and uses another layout when told to.
func TestLayoutsOfTheCardsScreen(t *testing.T) {
	f := newFake()
	f.fill()
	f.gpus()
	w, q := open(t, f)
	w.Go(screenCards)
	q.until(t, "the predictions", func() bool { return says(w, "Ways to run Qwen3.5 4B") })
	for _, text := range []string{"Stage 2  ·  layers 32–63", "20.0 GB used", "18.0 GB predicted", "4 cards share every layer", "Does not fit", "Recommended",
		"-sm tensor -tps 2  ·  31.5 tok/s out  ·  790 tok/s in  ·  fullest card 18.0 GB of 32.0 GB", "Off, the layout in use would give 31.5 tok/s out and 640 in."} {
		if !says(w, text) {
			t.Errorf("the screen does not say %q:\n%s", text, read(w))
		}
	}
	var uses []*widget.Button
	find(w.win.Content(), func(b *widget.Button) bool {
		if b.Text == "Use" {
			uses = append(uses, b)
		}
		return false
	})
	if len(uses) != 4 || !uses[0].Disabled() || uses[1].Disabled() || !uses[2].Disabled() || uses[3].Disabled() {
		t.Fatalf("%d buttons: what does not fit or is in use cannot be chosen", len(uses))
	}
	test.Tap(uses[3])
	q.until(t, "the choice", func() bool { return slices.Equal(f.ways(), []string{"tensor4 true 0"}) && !says(w, "Recommended") })
}

// Parts of a processor are no cards.
func TestLayoutOfAProcessor(t *testing.T) {
	for _, c := range []struct {
		lanes []string
		want  string
	}{{[]string{"cpu"}, "The processor has all of it"}, {[]string{"cpu:0", "cpu:1"}, "2 parts of the processor share every layer"}} {
		f := newFake()
		f.fill()
		var stage []cards.Share
		for _, l := range c.lanes {
			stage = append(stage, cards.Share{Card: l, Layers: "0–31", Bytes: 1e9, Memory: 10e9})
		}
		f.plan = cards.Plan{Name: "Qwen3.5 4B", Ways: []cards.Way{{Split: "none", Stages: [][]cards.Share{stage}, Decode: 10, Prefill: 100, Fits: true, InUse: true}}}
		if n := len(c.lanes); n > 1 {
			f.state.Level, f.state.Threads, f.state.Cards, f.state.Stages = "avx512", 2*n, nil, [][]live.Lane{nil}
			for _, l := range c.lanes {
				f.state.Cards = append(f.state.Cards, live.Card{Name: l, Description: "Intel Xeon, 2 threads, avx512", CPU: true, Total: 10e9})
				f.state.Stages[0] = append(f.state.Stages[0], live.Lane{Card: l, Layers: "0–31"})
			}
		}
		w, q := open(t, f)
		w.Go(screenCards)
		q.until(t, c.want, func() bool { return says(w, c.want) })
		if foot := read(w)[strings.LastIndex(read(w), "Ready"):]; strings.Contains(foot, "Memory") != (len(c.lanes) == 1) || says(w, "4 threads") {
			t.Errorf("%v: the window says:\n%s", c.lanes, read(w))
		}
	}
}

// What was changed on the settings screen is predicted when the cards screen comes back, and nothing that is out of date can be chosen.
func TestCardsFollowTheSettings(t *testing.T) {
	f := newFake()
	f.fill()
	f.gpus()
	w, q := open(t, f)
	w.Go(screenCards)
	if !says(w, "Ways to run it\nPredicting…") {
		t.Errorf("the screen does not say that it predicts:\n%s", read(w))
	}
	q.until(t, "the predictions", func() bool { return says(w, "18.0 GB predicted") && !says(w, "Predicting…") })
	w.Go(screenSettings)
	f.mu.Lock()
	f.plan.Repack, f.plan.Ways[2].Stages[0][0].Bytes = false, 14e9
	f.mu.Unlock()
	w.Go(screenCards)
	repack := func() *widget.Switch {
		return find(w.screens[screenCards].Main(), func(*widget.Switch) bool { return true })
	}
	test.Tap(repack())
	q.until(t, "the new predictions", func() bool { return says(w, "14.0 GB predicted") })
	if len(f.ways()) != 0 || repack().On {
		t.Errorf("chose %v from what was out of date; repacking shows %v", f.ways(), repack().On)
	}
	test.Tap(repack())
	q.until(t, "the choice", func() bool { return slices.Equal(f.ways(), []string{"tensor2 true 0"}) })
}

// A model that had no room leads to the cards screen, which offers a shorter context and another layout.
func TestNoRoomOffersAWayOut(t *testing.T) {
	f := newFake()
	f.fill()
	f.gpus()
	f.plan.Ways[2].Fits, f.plan.Fitting = false, 8192
	w, q := open(t, f)
	f.tell(func(s *live.State) {
		s.Phase, s.NoRoom, s.Problem, s.Stages = live.Failed, true, "hip:1 has 30012 MiB free and lacks 3188.", nil
	})
	q.until(t, "the notice", func() bool { return says(w, "hip:1 has 30012 MiB free") })
	test.Tap(button(t, w.win.Content(), "Choose a layout"))
	q.until(t, "the ways out", func() bool {
		return says(w, "There is not enough memory") && says(w, "Use another layout: 4 cards share every layer") && says(w, "Use a context of 8,192")
	})
	test.Tap(button(t, w.win.Content(), "Use a context of 8,192"))
	q.until(t, "the context", func() bool { return slices.Equal(f.ways(), []string{"tensor2 true 8192"}) })
}
