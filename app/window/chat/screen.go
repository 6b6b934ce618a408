package chat

import (
	"context"
	"errors"

	"fyne.io/fyne/v2"

	"ingot/app/window/live"
	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// Deps is what the screen is built from.
type Deps struct {
	Conversations Conversations
	Answers       Answers
	Models        Models
	Engine        live.Engine
	// Notice shows a sentence for some seconds; do runs when its button is pressed. "" for no button.
	Notice func(text, button string, do func())
	// Reasoning is what new conversations start with; it does not wait. nil: auto.
	Reasoning func() Reasoning
	// OpenLibrary goes to the library.
	OpenLibrary func()
	// Do runs a function on the UI goroutine; nil: fyne.Do.
	Do func(func())
}

// column is how wide messages are set.
const column float32 = 760

// Screen is the chat screen. Its methods belong to the UI goroutine.
type Screen struct {
	deps Deps
	do   func(func())

	current   ID // 0: a conversation that has not begun
	title     string
	model     string // of the conversation; "": the default
	reasoning Reasoning
	messages  []Message
	opened    map[ID]bool // answers whose thoughts are shown
	streams   []*stream
	shown     *stream // answers the conversation on screen
	editing   ID      // the message being edited
	loading   bool
	state     live.State

	threads   live.Loader[Thread]
	changes   live.Sequence
	models    live.Loader[[]Model]
	picks     []Model
	picksErr  error
	picksRead bool
	unwatch   func()
	unlisten  []func()
	selection widget.Selection

	list     *list
	head     *head
	feed     *widget.Feed
	hello    *hello
	toBottom *widget.Button
	composer *composer
	main     *fyne.Container
}

// NewScreen builds the screen and begins to read its lists.
func NewScreen(deps Deps) *Screen {
	if deps.Do == nil {
		deps.Do = fyne.Do
	}
	s := &Screen{deps: deps, do: deps.Do, opened: map[ID]bool{}}
	s.threads.Do, s.models.Do = s.do, s.do
	s.reasoning = s.defaultReasoning()

	s.feed = widget.NewFeed(s.build, s.estimate)
	s.feed.Width, s.feed.Side, s.feed.Gap, s.feed.Top, s.feed.Bottom = column, theme.XL, theme.M, theme.L, theme.L
	s.feed.Moved = func(atBottom bool) { widget.SetVisible(s.toBottom, !atBottom) }
	s.toBottom = widget.NewButton("", theme.IconToBottom, widget.Plain, func() { s.feed.ToBottom() })
	s.toBottom.Round, s.toBottom.Hint = true, words.T().ToBottom
	s.toBottom.Hide()
	s.hello = newHello(s)
	s.head = newHead(s)
	s.composer = newComposer()
	s.composer.onSend, s.composer.onStop = s.send, s.Stop
	s.composer.onCancel = func() { s.editing = 0 }
	s.composer.onPage, s.composer.onUp = s.feed.Page, s.editLast
	s.list = newList(s)

	body := widget.Stack(s.feed, s.hello.object, &fyne.Container{Layout: cornerLayout{}, Objects: []fyne.CanvasObject{s.toBottom}})
	foot := widget.Inset(0, theme.XL, theme.M, theme.XL, widget.Measure(column, s.composer))
	s.main = widget.ColumnGrow(0, 1, s.head.object, body, foot)
	s.composer.resized = func() { s.main.Layout.Layout(s.main.Objects, s.main.Size()); s.main.Refresh() }

	s.unwatch = live.Watch(deps.Engine, s.do, s.engineChanged)
	s.unlisten = append(s.unlisten,
		deps.Conversations.Subscribe(func() { s.do(s.list.reload) }),
		deps.Models.Subscribe(func() { s.do(s.reloadModels) }),
	)
	s.list.show()
	s.list.reload()
	s.reloadModels()
	s.showThread()
	return s
}

// Main is the messages and the composer; Side the list of conversations.
func (s *Screen) Main() fyne.CanvasObject { return s.main }

// Side is the list of conversations, for the sidebar.
func (s *Screen) Side() fyne.CanvasObject { return s.list.object }

// Answering reports whether an answer is on its way, on screen or not.
func (s *Screen) Answering() bool { return len(s.streams) > 0 }

// Shown is called when the screen comes to the front.
func (s *Screen) Shown() {}

// UseModel begins a conversation with a model.
func (s *Screen) UseModel(id string) {
	s.NewChat()
	for _, m := range s.picks {
		if m.ID == id {
			s.pick(m)
			return
		}
	}
	s.pick(Model{ID: id, Name: id})
}

// Hidden implements the window's screen.
func (s *Screen) Hidden() {}

// Close ends answers on their way and stops listening.
func (s *Screen) Close() {
	for _, st := range s.streams {
		st.cancel()
	}
	for _, f := range s.unlisten {
		f()
	}
	s.unwatch()
	s.threads.Close()
	s.models.Close()
	s.list.load.Close()
}

// Focus puts the cursor into the composer.
func (s *Screen) Focus() { s.composer.focus() }

// TypeRune takes a character typed while nothing had the focus.
func (s *Screen) TypeRune(r rune) {
	s.composer.focus()
	s.composer.entry.TypedRune(r)
}

// Paste takes what is pasted while nothing had the focus.
func (s *Screen) Paste(paste fyne.Shortcut) {
	s.composer.focus()
	s.composer.entry.TypedShortcut(paste)
}

// Selected returns the text that is selected in the messages.
func (s *Screen) Selected() string { return s.selection.Text() }

// NewChat shows an empty conversation; it is kept once something is sent.
func (s *Screen) NewChat() {
	s.leave()
	s.current, s.title, s.model, s.reasoning, s.messages = 0, "", "", s.defaultReasoning(), nil
	s.showThread()
	s.list.mark()
	s.Focus()
}

func (s *Screen) defaultReasoning() Reasoning {
	if s.deps.Reasoning == nil {
		return ""
	}
	return s.deps.Reasoning()
}

// Open shows a conversation.
func (s *Screen) Open(id ID) {
	if id == s.current && id != 0 {
		s.Focus()
		return
	}
	s.leave()
	s.current, s.messages, s.loading = id, nil, true
	s.list.mark()
	s.feed.Reset(0)
	s.hello.object.Hide()
	s.fetch(true)
	s.Focus()
}

// leave puts away what belongs to the conversation on screen. Its answer goes on.
func (s *Screen) leave() {
	s.selection.Clear()
	s.shown, s.editing, s.loading = nil, 0, false
	s.composer.editing.Hide()
	clear(s.opened)
}

// fetch reads the conversation on screen. whole shows it from its end; else only what changed is drawn.
func (s *Screen) fetch(whole bool) {
	id := s.current
	s.threads.Load(func(ctx context.Context) (Thread, error) { return s.deps.Conversations.Load(ctx, id) }, func(th Thread, err error) {
		s.loading = false
		if err != nil {
			s.deps.Notice(err.Error(), "", nil)
			s.NewChat()
			return
		}
		old := s.messages
		s.title, s.model, s.reasoning, s.messages = th.Title, th.Model, th.Reasoning, th.Messages
		for _, st := range s.streams {
			if snap := st.snapshot(); snap.conv == id && !snap.ended {
				s.attach(st, snap)
			}
		}
		if whole {
			s.showThread()
			return
		}
		s.refresh(old)
	})
}

// attach shows a stream as the last message of the thread on screen.
func (s *Screen) attach(st *stream, snap snapshot) {
	s.shown = st
	if n := len(s.messages); n > 0 && !s.messages[n-1].User {
		keep := s.messages[n-1]
		s.messages[n-1] = snap.message
		s.messages[n-1].Siblings, s.messages[n-1].Index = keep.Siblings, keep.Index
	} else {
		s.messages = append(s.messages, snap.message)
	}
}

// showThread draws the conversation on screen from its end.
func (s *Screen) showThread() {
	widget.SetVisible(s.hello.object, len(s.messages) == 0 && !s.loading)
	s.feed.Reset(len(s.messages))
	s.toBottom.Hide()
	s.composer.setBusy(s.shown != nil)
	s.showModel()
}

// refresh draws the messages that differ from old.
func (s *Screen) refresh(old []Message) {
	widget.SetVisible(s.hello.object, len(s.messages) == 0 && !s.loading)
	if len(s.messages) < s.feed.Len() {
		s.feed.SetLen(len(s.messages))
	}
	for i, m := range s.messages {
		if i < s.feed.Len() && (i >= len(old) || !same(old[i], m) || i >= len(s.messages)-2) {
			s.feed.Rebuild(i)
		}
	}
	s.feed.SetLen(len(s.messages))
	s.composer.setBusy(s.shown != nil)
	s.showModel()
}

func same(a, b Message) bool {
	return a.ID == b.ID && a.Text == b.Text && a.State == b.State && a.Index == b.Index && len(a.Siblings) == len(b.Siblings)
}

// build makes the widget of a message.
func (s *Screen) build(i int) widget.Item {
	m := s.messages[i]
	act := actions{
		edit:    func() { s.edit(m) },
		again:   func() { s.again() },
		sibling: func(id ID) { s.sibling(id) },
		more:    func() { s.restart() },
	}
	if m.User {
		return newBubble(m, &s.selection, act)
	}
	var a *answer
	key := m.ID
	act.openClosed = func() {
		s.opened[key] = a.open
		a.relayout()
		s.feed.Resized(i)
	}
	a = newAnswer(m, i == len(s.messages)-1, s.blocked(), s.opened[key], &s.selection, act)
	if i == len(s.messages)-1 && s.shown != nil {
		s.drawWaiting(a, s.shown.snapshot())
	}
	return a
}

// estimate guesses a message's height from its length: about 7 points a character, 24 a row.
func (s *Screen) estimate(i int, width float32) float32 {
	m := s.messages[i]
	rows := float32(1)
	perRow := max(width/7.2, 1)
	start := 0
	for k := range len(m.Text) + 1 {
		if k == len(m.Text) || m.Text[k] == '\n' {
			rows += float32(int(float32(k-start)/perRow)) + 1
			start = k + 1
		}
	}
	return rows*24 + 40
}

// act does something that may wait for the disk, in the order it was asked for; what goes wrong is shown.
func (s *Screen) act(do func(context.Context) error) {
	s.changes.Do(func() {
		if err := do(context.Background()); err != nil && !errors.Is(err, context.Canceled) {
			s.do(func() {
				s.deps.Notice(err.Error(), "", nil)
				s.list.reload()
			})
		}
	})
}

// deleted leaves a conversation that was deleted.
func (s *Screen) deleted(c Summary) {
	for _, st := range s.streams {
		if st.snapshot().conv == c.ID {
			st.cancel()
		}
	}
	if s.current == c.ID {
		s.NewChat()
	}
}

// sibling shows another version of a message.
func (s *Screen) sibling(id ID) {
	if s.shown != nil {
		return
	}
	conv := s.current
	s.threads.Load(func(ctx context.Context) (Thread, error) {
		if err := s.deps.Conversations.Switch(ctx, conv, id); err != nil {
			return Thread{}, err
		}
		return s.deps.Conversations.Load(ctx, conv)
	}, func(th Thread, err error) {
		if err != nil {
			s.deps.Notice(err.Error(), "", nil)
			return
		}
		old := s.messages
		s.messages = th.Messages
		s.refresh(old)
	})
}

// edit puts a question into the composer; sending it replaces what follows.
func (s *Screen) edit(m Message) {
	if s.shown != nil {
		return
	}
	s.editing = m.ID
	s.composer.edit(m.Text)
}

// editLast puts the last question into the composer.
func (s *Screen) editLast() {
	for i := len(s.messages) - 1; i >= 0; i-- {
		if s.messages[i].User {
			s.edit(s.messages[i])
			return
		}
	}
}

// engineChanged follows the engine.
func (s *Screen) engineChanged(st live.State) {
	s.state = st
	s.head.engine(st)
	if s.shown != nil {
		s.shown.draw.mark() // it may be waiting for the model to load
	}
}

// reloadModels reads the picker's list again.
func (s *Screen) reloadModels() {
	s.models.Load(s.deps.Models.List, func(all []Model, err error) {
		s.picks, s.picksErr, s.picksRead = all, err, true
		s.showModel()
	})
}

// picked is the model that answers next.
func (s *Screen) picked() (Model, bool) {
	for _, m := range s.picks {
		if s.model != "" && m.ID == s.model {
			return m, true
		}
	}
	for _, m := range s.picks {
		if s.model == "" && m.Chosen && m.able() {
			return m, true
		}
	}
	if s.model == "" { // the chosen one cannot chat
		if m, ok := s.other(); ok {
			return m, true
		}
	}
	if s.model == "" && len(s.picks) > 0 {
		return s.picks[0], true
	}
	return Model{ID: s.model, Name: s.model, Missing: true}, false
}

// other is a model that can answer: the loaded one, or else the first.
func (s *Screen) other() (m Model, ok bool) {
	for _, p := range s.picks {
		if p.able() && (!ok || p.ID == s.state.Running()) {
			m, ok = p, true
		}
	}
	return m, ok
}

// blocked tells whether the model of this conversation is known not to be one that can answer.
func (s *Screen) blocked() bool {
	m, ok := s.picked()
	return ok && !m.able()
}

// showModel draws what depends on the model: the line above, the greeting, the composer, and under the last answer
// what it offers.
func (s *Screen) showModel() {
	s.head.show()
	s.hello.show()
	blocked := s.blocked()
	if s.composer.blocked != blocked {
		s.composer.block(blocked)
		if n := s.feed.Len(); n > 0 && n == len(s.messages) {
			s.feed.Rebuild(n - 1)
		}
	}
}

// pick makes a model answer from now on, here and in new conversations, and loads it where it is not.
func (s *Screen) pick(m Model) {
	conv := s.current
	s.model = m.ID
	for i := range s.picks {
		s.picks[i].Chosen = s.picks[i].ID == m.ID
	}
	s.showModel()
	s.act(func(ctx context.Context) error {
		if err := s.deps.Models.Choose(ctx, m.ID); err != nil {
			return err
		}
		if conv != 0 {
			if err := s.deps.Conversations.SetModel(ctx, conv, m.ID); err != nil {
				return err
			}
		}
		if s.deps.Engine.State().Running() != m.ID {
			go s.deps.Engine.Start(ctx, m.ID) // what goes wrong is in the engine's next state
		}
		return nil
	})
	s.Focus()
}

// think sets whether the model thinks aloud.
func (s *Screen) think(r Reasoning) {
	conv := s.current
	s.reasoning = r
	if conv != 0 {
		s.act(func(ctx context.Context) error { return s.deps.Conversations.SetReasoning(ctx, conv, r) })
	}
	s.Focus()
}

// cornerLayout sets one object at the bottom, centred.
type cornerLayout struct{}

func (cornerLayout) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.Size{} }
func (cornerLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	objects[0].Resize(fyne.NewSquareSize(34))
	objects[0].Move(fyne.NewPos((size.Width-34)/2, size.Height-34-theme.S))
}
