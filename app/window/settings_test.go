package window

import (
	"fmt"
	"slices"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"ingot/app/window/settings"
	"ingot/app/window/widget"
)

func TestSettingsAreSavedAndReload(t *testing.T) {
	f := newFake()
	f.fill()
	w, q := open(t, f)
	shortcut(w, fyne.KeyComma)
	q.until(t, "the form", func() bool { return says(w, "Lanes a stage (-tps)") })
	field := find(w.win.Content(), func(*widget.Field) bool { return true })
	field.SetText("x")
	if !says(w, "Threads must be a number from 0 to 1024.") || !button(t, w.win.Content(), "Apply").Disabled() {
		t.Error("a word is taken for a number of threads")
	}
	field.SetText("4")
	test.Tap(button(t, w.win.Content(), "Apply and reload the model"))
	q.until(t, "the model", func() bool {
		n := len(f.loads())
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.values.Threads == 4 && n == 1
	})
	q.until(t, "the bar gone", func() bool { return !says(w, "Apply and reload") })
	q.until(t, "the model ready", func() bool { return says(w, "Ready") && says(w, "Saved") && !says(w, "is loading") })
}

// A context beyond what the model was trained for can be set, with a warning beside it.
func TestLongContextIsWarnedOf(t *testing.T) {
	f := newFake()
	f.machine.Model, f.machine.Trained, f.values.Context = "Ingot Sample", 2048, 4096
	w, q := open(t, f)
	w.Go(screenSettings)
	const warning = "Ingot Sample was trained for 2,048 tokens"
	q.until(t, "the warning", func() bool { return says(w, warning) })
	var fields []*widget.Field
	find(w.win.Content(), func(x *widget.Field) bool { fields = append(fields, x); return false })
	fields[1].SetText("2048")
	if says(w, warning) {
		t.Error("warns of what the model was trained for")
	}
	fields[1].SetText("16000000")
	if !says(w, warning) || button(t, w.win.Content(), "Apply").Disabled() {
		t.Error("takes 16,000,000 without a word, or not at all")
	}
	fields[1].SetText("x")
	if says(w, warning) || !says(w, "Context must be a number") {
		t.Errorf("the window says:\n%s", read(w))
	}
}

// Lanes are offered where there are cards, or parts of memory, to share a layer; what was saved elsewhere can be taken back.
func TestLanesOffered(t *testing.T) {
	for _, c := range []struct {
		name        string
		gpus, nodes int
		saved       int
		options     []string
		chosen      int
		off         bool
		hint        string
	}{
		{"one processor", 0, 1, 0, []string{"1"}, 0, true, "a single processor"},
		{"one processor, two lanes saved", 0, 1, 2, []string{"1", "2"}, 1, false, "a single processor"},
		{"four nodes", 0, 4, 2, []string{"1", "2", "4"}, 1, false, "Main memory lies in 4 parts"},
		{"one card", 1, 2, 0, []string{"All cards", "1"}, 0, true, "a single processor"},
		{"four cards", 4, 2, 4, []string{"All cards", "1", "2", "4"}, 3, false, "How many cards share each layer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := newFake()
			f.machine.Nodes, f.values.TPS = c.nodes, c.saved
			for i := range c.gpus {
				f.machine.Cards = append(f.machine.Cards, settings.Card{Name: fmt.Sprintf("hip:%d", i)})
			}
			w, q := open(t, f)
			w.Go(screenSettings)
			q.until(t, "the form", func() bool { return says(w, "Lanes a stage (-tps)") })
			got := find(w.win.Content(), func(x *widget.Choice) bool { return slices.Equal(x.Options, c.options) })
			if got == nil || got.Chosen() != c.chosen || got.Disabled() != c.off || !says(w, c.hint) {
				t.Errorf("offered %+v; the window says:\n%s", got, read(w))
			}
		})
	}
}

// A theme is saved when it is chosen, without what else is being edited.
func TestThemeIsSavedAtOnce(t *testing.T) {
	f := newFake()
	f.fill()
	w, q := open(t, f)
	w.Go(screenSettings)
	q.until(t, "the form", func() bool { return says(w, "Theme") })
	values := func() settings.Values {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.values
	}
	choose := func(i int) {
		c := find(w.win.Content(), func(c *widget.Choice) bool { return len(c.Options) == 3 && c.Options[2] == "Dark" })
		c.Set(i)
		c.OnChanged(i)
	}
	choose(2)
	q.until(t, "the theme", func() bool { return values().Theme == "dark" })
	if w.theme.Mode != "dark" || says(w, "Not saved yet") || says(w, "Undo changes") {
		t.Errorf("theme %q; the window says:\n%s", w.theme.Mode, read(w))
	}
	find(w.win.Content(), func(*widget.Field) bool { return true }).SetText("4")
	choose(1)
	q.until(t, "the theme", func() bool { return values().Theme == "light" })
	if values().Threads != 0 || !says(w, "Undo changes") {
		t.Errorf("%d threads were saved with the theme", values().Threads)
	}
	test.Tap(button(t, w.win.Content(), "Undo changes"))
	if w.theme.Mode != "light" || says(w, "Undo changes") {
		t.Errorf("theme %q after the threads were undone", w.theme.Mode)
	}
}
