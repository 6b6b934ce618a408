package window

import (
	"strings"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"ingot/app/window/chat"
	"ingot/app/window/library"
)

// The menu gives the reason for which a model cannot be chosen.
func TestMenuTellsWhyAModelCannotBeUsed(t *testing.T) {
	f := newFake()
	f.models = append(f.models, library.Model{ID: "odd", Name: "Odd", Problem: "architecture \"odd\" is not known"},
		library.Model{ID: "gone", Name: "Gone", Missing: true})
	w, q := open(t, f)
	q.until(t, "the models", func() bool { return true })
	test.Tap(button(t, w.win.Content(), "Ingot Sample"))
	var all []string
	for _, o := range w.win.Canvas().Overlays().List() {
		texts(o, &all)
	}
	menu := strings.Join(all, "|")
	for _, want := range []string{"Odd|Cannot be used: architecture \"odd\" is not known", "Gone|its file is missing"} {
		if !strings.Contains(menu, want) {
			t.Errorf("the menu says %s, want %s", menu, want)
		}
	}
}

// A model that only continues text says so where it is chosen.
func TestModelsThatAreNotForChat(t *testing.T) {
	f := newFake()
	f.models = append(f.models, library.Model{ID: "base", Name: "Base 1B", Fit: library.Fits})
	w, q := open(t, f)
	w.Go(screenLibrary)
	q.until(t, "the models", func() bool { return says(w, "Base 1B") })
	if strings.Count(read(w), "not for chat") != 1 {
		t.Errorf("the library says:\n%s", read(w))
	}
	test.Tap(find(w.win.Content(), func(o fyne.CanvasObject) bool {
		var all []string
		if _, ok := o.(fyne.Tappable); ok {
			texts(o, &all)
		}
		return len(all) > 0 && all[0] == "Base 1B"
	}).(fyne.Tappable))
	if !says(w, "cannot hold a conversation") {
		t.Errorf("the details say:\n%s", read(w))
	}
}

// Used for chat all the same, it says so before anything is sent, and offers a model that can.
func TestChatWithAModelThatCannot(t *testing.T) {
	f := newFake()
	f.models = append(f.models, library.Model{ID: "base", Name: "Base 1B"}, library.Model{ID: "ids", Name: "Numbers", NoVocab: true})
	f.chosen = "base"
	w, q := open(t, f) // a new chat begins with the sample instead
	w.use("ids")
	q.until(t, "the reason", func() bool { return says(w, "This model is not for chat") && says(w, "has no vocabulary") })
	w.use("base")
	q.until(t, "the reason", func() bool { return says(w, "This model is not for chat") && says(w, "has no chat template") })
	if says(w, "What can I help with?") || says(w, "What does brave mean?") || says(w, "Answered by") {
		t.Errorf("the window says:\n%s", read(w))
	}
	w.focus()
	typeLine(w, "Hi")
	if !button(t, w.win.Content(), "Send").Disabled() || len(f.asked()) != 0 {
		t.Error("something can be sent")
	}
	test.Tap(button(t, w.win.Content(), "Base 1B"))
	var all []string
	for _, o := range w.win.Canvas().Overlays().List() {
		texts(o, &all)
	}
	if menu := strings.Join(all, "|"); strings.Count(menu, "not for chat") != 2 {
		t.Errorf("the menu says %s", menu)
	}
	w.win.Canvas().Focused().TypedKey(&fyne.KeyEvent{Name: fyne.KeyEscape})
	test.Tap(button(t, w.win.Content(), "Chat with Ingot Sample"))
	q.until(t, "the greeting", func() bool { return says(w, "Answered by Ingot Sample") && says(w, "What does brave mean?") })
	test.Tap(button(t, w.win.Content(), "Send"))
	q.until(t, "the answer", func() bool { return says(w, "Hello there.") && !says(w, "Answering") })
	w.use("base")
	w.chat.NewChat()
	if !says(w, "Answered by Ingot Sample") {
		t.Error("a new chat begins with a model that cannot chat")
	}
}

// An answer that failed offers to try again only where the model could give one.
func TestNothingOffersWhatCannotSucceed(t *testing.T) {
	f := newFake()
	f.models = append(f.models, library.Model{ID: "base", Name: "Base 1B"})
	f.chats = []chat.Thread{{ID: 7, Title: "Old", Model: "base", Messages: []chat.Message{{ID: 8, User: true, Text: "Hi"},
		{ID: 9, State: chat.Failed, Problem: "This model has no chat template."}}}}
	w, q := open(t, f)
	q.until(t, "the list", func() bool { return says(w, "Old") })
	row(t, w, "Old").(fyne.Tappable).Tapped(nil)
	q.until(t, "the conversation", func() bool { return says(w, "This model has no chat template.") })
	if says(w, "Try again") {
		t.Error("offers to try again")
	}
	test.Tap(button(t, w.win.Content(), "Base 1B"))
	for _, key := range []fyne.KeyName{fyne.KeyDown, fyne.KeyReturn} { // the sample
		w.win.Canvas().Focused().TypedKey(&fyne.KeyEvent{Name: key})
	}
	q.until(t, "the offer", func() bool { return says(w, "Try again") })
}
