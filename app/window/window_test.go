package window

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"

	"ingot/app/window/live"
	"ingot/app/window/server"
	"ingot/app/window/widget"
)

// queue stands in for the UI goroutine: the test runs what was queued, one after the other.
type queue struct {
	mu   sync.Mutex
	wait []func()
	ran  int
}

func (q *queue) do(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.wait = append(q.wait, f)
}

// until runs what comes until a condition holds.
func (q *queue) until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		q.mu.Lock()
		fns := q.wait
		q.wait = nil
		q.mu.Unlock()
		for _, f := range fns {
			f()
			q.ran++
		}
		if ok() {
			return
		}
	}
	t.Fatalf("waited in vain: %s", what)
}

// open makes a window over a fake, in the test driver.
func open(t *testing.T, f *fake) (*Window, *queue) {
	t.Helper()
	a := test.NewTempApp(t)
	q := &queue{}
	d := f.deps()
	d.Do = q.do
	w := New(a, d)
	w.win.Resize(fyne.NewSize(1280, 800))
	q.until(t, "models", func() bool { return says(w, "Answered by") || len(f.models) == 0 })
	t.Cleanup(w.close)
	return w, q
}

// texts walks the window for what can be read.
func texts(o fyne.CanvasObject, out *[]string) {
	if !o.Visible() {
		return
	}
	switch v := o.(type) {
	case *widget.Label:
		*out = append(*out, v.Text)
	case *widget.Prose:
		*out = append(*out, v.Text())
	case *widget.Button:
		*out = append(*out, v.Text)
	case *fyne.Container:
		for _, c := range v.Objects {
			texts(c, out)
		}
	}
	if w, ok := o.(fyne.Widget); ok {
		for _, c := range test.WidgetRenderer(w).Objects() {
			texts(c, out)
		}
	}
}

func says(w *Window, text string) bool { return strings.Contains(read(w), text) }

func read(w *Window) string {
	var all []string
	texts(w.win.Content(), &all)
	return strings.Join(all, "\n")
}

// button finds a visible button by its text or hint.
func button(t *testing.T, o fyne.CanvasObject, name string) *widget.Button {
	t.Helper()
	b := find(o, func(b *widget.Button) bool { return b.Text == name || (b.Text == "" && b.Hint == name) })
	if b == nil {
		t.Fatalf("no button %q", name)
	}
	return b
}

func find[T fyne.CanvasObject](o fyne.CanvasObject, ok func(T) bool) (none T) {
	if !o.Visible() {
		return none
	}
	if v, is := o.(T); is && ok(v) {
		return v
	}
	var inside []fyne.CanvasObject
	if c, is := o.(*fyne.Container); is {
		inside = c.Objects
	}
	if w, is := o.(fyne.Widget); is {
		inside = append(inside, test.WidgetRenderer(w).Objects()...)
	}
	for _, c := range inside {
		if v := find(c, ok); any(v) != any(none) {
			return v
		}
	}
	return none
}

// row finds a conversation in the list by its title.
func row(t *testing.T, w *Window, title string) fyne.CanvasObject {
	t.Helper()
	o := find(w.side, func(o fyne.CanvasObject) bool {
		if _, ok := o.(fyne.SecondaryTappable); !ok {
			return false
		}
		var all []string
		texts(o, &all)
		return len(all) > 0 && all[0] == title
	})
	if o == nil {
		t.Fatalf("no conversation %q in the list", title)
	}
	return o
}

func typeLine(w *Window, text string) {
	focused := w.win.Canvas().Focused()
	test.Type(focused, text)
	focused.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
}

func shortcut(w *Window, key fyne.KeyName) {
	s := &desktop.CustomShortcut{KeyName: key, Modifier: fyne.KeyModifierShortcutDefault}
	w.win.Canvas().(fyne.Shortcutable).TypedShortcut(s)
}

func TestTypingWorksAtOnce(t *testing.T) {
	f := newFake()
	w, q := open(t, f)
	w.focus()
	typeLine(w, "Hi")
	q.until(t, "the answer", func() bool { return says(w, "Hello there.") && !says(w, "Answering") })
	q.until(t, "the list", func() bool { return strings.Count(read(w), "Hi") == 2 }) // the message and the list
	if len(f.loads()) != 1 || f.loads()[0] != "sample" {
		t.Errorf("models loaded: %v", f.loads())
	}
	if !says(w, "38.4 tok/s") || says(w, "What can I help with?") {
		t.Errorf("the window says:\n%s", read(w))
	}
}

func TestEmptyStates(t *testing.T) {
	f := newFake()
	w, q := open(t, f)
	for _, want := range []string{"What can I help with?", "Answered by Ingot Sample", "What does brave mean?", "Your conversations will be listed here", "No model"} {
		q.until(t, want, func() bool { return says(w, want) })
	}
	test.Tap(button(t, w.win.Content(), "What does brave mean?"))
	q.until(t, "the answer", func() bool { return says(w, "Hello there.") })
	if f.asked()[0].Text != "What does brave mean?" {
		t.Errorf("asked %q", f.asked()[0].Text)
	}
	shortcut(w, fyne.Key4)
	if !says(w, "Requests will be listed here.") {
		t.Error("the server screen has no empty state")
	}
	shortcut(w, fyne.Key3)
	q.until(t, "the cards", func() bool { return says(w, "Running on the processor") })
}

func TestNoModels(t *testing.T) {
	f := newFake()
	f.models = nil
	w, q := open(t, f)
	q.until(t, "the greeting", func() bool { return says(w, "Choose a model to start") })
	test.Tap(button(t, w.win.Content(), "Open the library"))
	q.until(t, "the library", func() bool { return says(w, "No models yet") })
}

func TestThoughtsAreFolded(t *testing.T) {
	f := newFake()
	f.thoughts = "I ponder the question."
	w, q := open(t, f)
	w.focus()
	typeLine(w, "Hi")
	q.until(t, "the answer", func() bool { return says(w, "Hello there.") && says(w, "Thought for") && !says(w, "Answering") })
	if says(w, "I ponder") {
		t.Error("the thoughts are open")
	}
	b := find(w.win.Content(), func(b *widget.Button) bool { return strings.HasPrefix(b.Text, "Thought for") })
	test.Tap(b)
	q.until(t, "the thoughts", func() bool { return says(w, "I ponder the question.") })
}

func TestEngineDiesAndGoesOn(t *testing.T) {
	f := newFake()
	f.answer = "one two three four five six"
	f.dieAfter = 3
	w, q := open(t, f)
	w.focus()
	typeLine(w, "Count")
	q.until(t, "the error bar", func() bool { return says(w, "The engine was ended by the system. What it had written is kept.") })
	if !says(w, "one two three") || says(w, "four") {
		t.Errorf("the text so far is not kept:\n%s", read(w))
	}
	starts := len(f.loads())
	test.Tap(button(t, w.win.Content(), "Start again and continue"))
	q.until(t, "the rest", func() bool {
		return says(w, "one two three  and the rest.") && !says(w, "Start again") && !says(w, "Answering")
	})
	if len(f.loads()) != starts+1 {
		t.Errorf("the engine was started %d times more, want once", len(f.loads())-starts)
	}
	if last := f.asked()[len(f.asked())-1]; last.Kind != 3 || last.Message == 0 {
		t.Errorf("asked %+v, want to continue the answer", last)
	}
}

func TestStopKeepsWhatWasWritten(t *testing.T) {
	f := newFake()
	f.pace = 3 * time.Millisecond
	f.answer = strings.Repeat("word ", 2000)
	w, q := open(t, f)
	w.focus()
	typeLine(w, "Go on")
	q.until(t, "some words", func() bool { return says(w, "word word word") })
	w.win.Canvas().Focused().TypedKey(&fyne.KeyEvent{Name: fyne.KeyEscape})
	q.until(t, "the end", func() bool { return says(w, "Stopped  ·") })
	if !says(w, "word word word") {
		t.Error("the text is gone")
	}
	button(t, w.win.Content(), "Send")
	test.Tap(button(t, w.win.Content(), "Continue"))
	q.until(t, "the rest", func() bool { return says(w, " and the rest.") && !says(w, "Answering") })
}

func TestEngineEndsWhileIdle(t *testing.T) {
	f := newFake()
	f.fill()
	w, q := open(t, f)
	f.tell(func(s *live.State) { s.Phase, s.Problem = live.Failed, "The engine ran out of memory." })
	q.until(t, "the notice", func() bool { return says(w, "The engine ran out of memory.") })
	test.Tap(button(t, w.win.Content(), "Start again"))
	q.until(t, "the engine", func() bool { return says(w, "Ready") && f.State().Phase == live.Ready })
	f.tell(func(s *live.State) { s.Phase, s.Problem = live.Failed, "The engine was killed." })
	q.until(t, "the notice", func() bool { return says(w, "The engine was killed.") })
	f.Start(t.Context(), "sample") // as sending a message does
	q.until(t, "the engine", func() bool { return says(w, "Ready") })
	if says(w, "Start again") {
		t.Errorf("the notice outlives what it says:\n%s", read(w))
	}
}

// A notice covers nothing: the screen makes room for it.
func TestNoticeHasItsOwnPlace(t *testing.T) {
	w, _ := open(t, newFake())
	whole := w.body.Size().Height
	w.notice.Say("Saved", "", nil)
	end, at := w.body.Position().Y+w.body.Size().Height, w.notice.Position().Y
	if h := w.notice.Size().Height; h < 30 || h > 80 || at < end || whole-w.body.Size().Height != h {
		t.Errorf("a notice %v high at %v, the screen ends at %v and was %v high", h, at, end, whole)
	}
	test.Tap(button(t, w.notice, "Close"))
	if w.body.Size().Height != whole {
		t.Errorf("the screen is %v high after the notice, was %v", w.body.Size().Height, whole)
	}
}

func TestDeleteAndUndo(t *testing.T) {
	f := newFake()
	f.fill()
	w, q := open(t, f)
	q.until(t, "the list", func() bool { return says(w, "Names for a cat") })
	row(t, w, "Names for a cat").(fyne.SecondaryTappable).TappedSecondary(&fyne.PointEvent{})
	for _, key := range []fyne.KeyName{fyne.KeyDown, fyne.KeyDown, fyne.KeyReturn} { // the second entry: delete
		w.win.Canvas().Focused().TypedKey(&fyne.KeyEvent{Name: key})
	}
	if strings.Contains(strings.ReplaceAll(read(w), "“Names for a cat” deleted", ""), "Names for a cat") {
		t.Error("the conversation is still listed")
	}
	if !says(w, "“Names for a cat” deleted") {
		t.Error("nothing offers to undo")
	}
	test.Tap(button(t, w.win.Content(), "Undo"))
	q.until(t, "the conversation back", func() bool { return says(w, "Names for a cat") })
	if says(w, "deleted") {
		t.Error("the notice is still there")
	}
}

// An answer goes on while another conversation is on screen, and is there when one comes back.
func TestAnswerGoesOnUnseen(t *testing.T) {
	f := newFake()
	f.pace = 2 * time.Millisecond
	f.answer = strings.Repeat("word ", 60) + "finis"
	w, q := open(t, f)
	w.focus()
	typeLine(w, "Write")
	q.until(t, "some words", func() bool { return says(w, "word word") })
	shortcut(w, fyne.KeyN)
	if says(w, "word word") {
		t.Error("a new chat shows the old answer")
	}
	q.until(t, "the answer's end", func() bool { return f.State().Decode == 0 && !says(w, "Answering") })
	if says(w, "word word") {
		t.Error("a late piece of another conversation was drawn")
	}
	q.until(t, "the list", func() bool { return says(w, "Write") })
	row(t, w, "Write").(fyne.Tappable).Tapped(nil)
	q.until(t, "the whole answer", func() bool { return says(w, "finis") })
}

// A conversation that is read slowly must not appear over one that was opened after it.
func TestLateConversationIsDropped(t *testing.T) {
	f := newFake()
	f.fill()
	f.long(40)
	w, q := open(t, f)
	q.until(t, "the list", func() bool { return says(w, "A long conversation") })
	row(t, w, "A long conversation").(fyne.Tappable).Tapped(nil)
	row(t, w, "Names for a cat").(fyne.Tappable).Tapped(nil)
	q.until(t, "the second", func() bool { return says(w, "You're welcome.") })
	time.Sleep(20 * time.Millisecond)
	q.until(t, "late results", func() bool { return true })
	if says(w, "A short question?") {
		t.Error("the first conversation was drawn after the second was opened")
	}
}

func TestAnswersAreDrawnAtMostTwentyTimesASecond(t *testing.T) {
	f := newFake()
	f.pace = 200 * time.Microsecond
	f.answer = strings.Repeat("word ", 20000)
	w, q := open(t, f)
	w.focus()
	typeLine(w, "Go on")
	q.until(t, "the first words", func() bool { return says(w, "word word") })
	words := func() int { return strings.Count(read(w), "word ") }
	last, draws, start := words(), 0, time.Now()
	for time.Since(start) < 600*time.Millisecond {
		q.until(t, "", func() bool { return true })
		if n := words(); n != last {
			last, draws = n, draws+1
		}
	}
	took := time.Since(start)
	if limit := int(took/(50*time.Millisecond)) + 2; draws > limit || draws < 2 {
		t.Errorf("the text changed %d times in %v, want 2 to %d", draws, took, limit)
	}
	w.chat.Stop()
	q.until(t, "the end", func() bool { return says(w, "Stopped  ·") })
}

func TestLibrary(t *testing.T) {
	f := newFake()
	f.fill()
	w, q := open(t, f)
	shortcut(w, fyne.Key2)
	q.until(t, "the models", func() bool { return says(w, "Llama 3.3 70B Instruct") && says(w, "llama3.2:3b") })
	for _, want := range []string{"Fits", "Tight", "Does not fit", "File missing", "Found in other apps", "qwen35moe  ·  Q4_K_M"} {
		if !says(w, want) {
			t.Errorf("the library does not say %q", want)
		}
	}
	w.dropped(fyne.Position{}, nil)
	q.until(t, "drop", func() bool { return true })
	// Another model is loaded for a conversation that has it: new ones still begin with the first.
	badge := func(name string) string {
		o := find(w.win.Content(), func(o fyne.CanvasObject) bool {
			var all []string
			if _, ok := o.(fyne.Tappable); ok {
				texts(o, &all)
			}
			return len(all) > 0 && all[0] == name
		})
		var all []string
		texts(o, &all)
		return strings.Join(all, "|")
	}
	f.tell(func(s *live.State) { s.Phase, s.Model, s.Name = live.Ready, "sample", "Ingot Sample" })
	q.until(t, "the mark to follow", func() bool { return strings.Contains(badge("Ingot Sample"), "In use") })
	if strings.Contains(badge("Qwen3.5 4B Instruct"), "In use") || strings.Count(read(w), "In use") != 1 {
		t.Error("a model is marked that is not loaded")
	}
	f.tell(func(s *live.State) { s.Phase, s.Model, s.Name = live.Ready, "q4", "Qwen3.5 4B" })
	q.until(t, "the mark to come back", func() bool { return strings.Contains(badge("Qwen3.5 4B Instruct"), "In use") })
	w.use("q4") // is loaded already
	w.Go(screenLibrary)
	q.until(t, "the models again", func() bool { return says(w, "Llama 3.3 70B Instruct") })
	var uses []*widget.Button
	find(w.win.Content(), func(b *widget.Button) bool {
		if b.Text == "Use" {
			uses = append(uses, b)
		}
		return false
	})
	if uses[0].Disabled() || !uses[1].Disabled() {
		t.Error("the model that is loaded, and no other, cannot be used again")
	}
	test.Tap(uses[0])
	q.until(t, "the chat", func() bool { return w.current == screenChat && len(f.loads()) == 1 })
	if f.loads()[0] != "sample" {
		t.Errorf("loads %q", f.loads()[0])
	}
}

// The details close with a removal, and what then lies under the pointer does not take the second half of a double click.
func TestRemoveClosesTheDetails(t *testing.T) {
	f := newFake()
	f.fill()
	w, q := open(t, f)
	w.Go(screenLibrary)
	q.until(t, "the models", func() bool { return says(w, "Llama 3.3 70B Instruct") })
	tap := func(name string) {
		find(w.body, func(o fyne.CanvasObject) bool {
			r, ok := o.(interface {
				fyne.Tappable
				fyne.Focusable
			})
			var all []string
			if ok {
				texts(o, &all)
			}
			if len(all) < 2 || all[0] != name {
				return false
			}
			r.Tapped(nil)
			return true
		})
	}
	tap("Qwen3.5 4B Instruct")
	test.Tap(button(t, w.body, "Remove"))
	tap("Llama 3.3 70B Instruct")
	q.until(t, "the removal", func() bool { return !says(w, "Qwen3.5 4B Instruct\n") })
	if says(w, "Details") {
		t.Errorf("the details are open after the removal:\n%s", read(w))
	}
}

// The example of the server screen is one that the loaded model answers.
func TestServerExampleSuitsTheModel(t *testing.T) {
	f := newFake()
	f.server.Takes = server.Numbers
	w, _ := open(t, f)
	w.Go(screenServer)
	if !says(w, "/v1/completions") || !says(w, `"prompt": [1, 2, 3]`) || says(w, "messages") {
		t.Errorf("the window says:\n%s", read(w))
	}
}

func TestServerSwitch(t *testing.T) {
	f := newFake()
	w, q := open(t, f)
	shortcut(w, fyne.Key4)
	sw := find(w.win.Content(), func(*widget.Switch) bool { return true })
	test.Tap(sw)
	q.until(t, "the endpoint", func() bool { return says(w, "Running") })
	if !says(w, "http://127.0.0.1:8080/v1") || !says(w, "curl http://127.0.0.1:8080/v1/chat/completions") {
		t.Errorf("the window says:\n%s", read(w))
	}
}

// What keeps the endpoint from starting is said once.
func TestServerPortInUse(t *testing.T) {
	f := newFake()
	f.portInUse = "Port 8080 is in use."
	w, q := open(t, f)
	w.Go(screenServer)
	test.Tap(find(w.win.Content(), func(*widget.Switch) bool { return true }))
	q.until(t, "the problem", func() bool { return says(w, f.portInUse) && !says(w, "Starting") })
	if n := strings.Count(read(w), f.portInUse); n != 1 {
		t.Errorf("the problem is said %d times:\n%s", n, read(w))
	}
}

func TestFitsASmallWindow(t *testing.T) {
	f := newFake()
	f.fill()
	f.gpus()
	long := strings.Repeat("A-very-long-name-", 8)
	for i := range f.models {
		f.models[i].Name, f.models[i].Path, f.models[i].License = long, "/"+long+"/"+long, long
	}
	f.state.Name, f.state.Cards[0].Description = long, long
	f.machine.Cards[0].Description, f.machine.Folder = long, "/"+long
	w, q := open(t, f)
	for i := range w.screens {
		w.Go(i)
		for range 20 {
			q.until(t, "", func() bool { return true })
			time.Sleep(2 * time.Millisecond)
		}
		if size := w.win.Content().MinSize(); size.Width > 900 || size.Height > 600 {
			t.Errorf("screen %d needs %v", i, size)
		}
	}
}

func TestPlaceIsRemembered(t *testing.T) {
	f := newFake()
	a := test.NewTempApp(t)
	q := &queue{}
	d := f.deps()
	d.Do = q.do
	d.Place = Place{Width: 1000, Height: 700, Screen: screenCards}
	var got Place
	d.Remember = func(p Place) { got = p }
	w := New(a, d)
	if w.current != screenCards {
		t.Errorf("screen %d", w.current)
	}
	w.close()
	if fmt.Sprint(got) != fmt.Sprint(d.Place) {
		t.Errorf("remembered %+v, want %+v", got, d.Place)
	}
}
