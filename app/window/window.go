// Package window is Ingot's window: a sidebar with the screens and the conversations, the screen that is shown,
// and a strip along the bottom that tells what the engine does.
//
// The window reaches everything through the interfaces that its screens declare; what stands behind them is put
// together in app/wire. It shows before anything is read: lists come in when they are there.
package window

import (
	"context"
	"image/color"
	"sync/atomic"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"

	"ingot/app/window/cards"
	"ingot/app/window/chat"
	"ingot/app/window/library"
	"ingot/app/window/live"
	"ingot/app/window/server"
	"ingot/app/window/settings"
	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// Place is where the window was when it was last closed.
type Place struct {
	Width, Height float32 // 0: the first time
	Screen        int     // index of the screen
}

// Deps is everything the window is built from. All interfaces are needed.
type Deps struct {
	Engine        live.Engine
	Conversations chat.Conversations
	Answers       chat.Answers
	Models        chat.Models
	Library       library.Models
	Server        server.Endpoint
	Settings      settings.Store
	Planner       cards.Planner
	Reasoning     func() chat.Reasoning // what new conversations start with; nil: auto
	Theme         theme.Mode            // at start; "": as the system
	Version       string
	Place         Place
	// Remember is called with where the window is when it closes; nil: forgotten.
	Remember func(Place)
	// Do runs a function on the UI goroutine; nil: fyne.Do.
	Do func(func())
}

// Title is the window's name, for the desktop and for tests that look for it.
const Title = "Ingot"

// screen is one of the five.
type screen interface {
	Main() fyne.CanvasObject
	Shown()  // comes to the front
	Hidden() // another does
	Close()
}

// Window is the application's window. Its methods belong to the UI goroutine.
type Window struct {
	app   fyne.App
	deps  Deps
	win   fyne.Window
	theme *theme.Theme

	chat    *chat.Screen
	screens [5]screen      // built when first shown
	painted [5]color.Color // the theme's text colour when a screen was last in front
	current int
	nav     [5]*widget.Button
	side    *fyne.Container // the conversation list, on the chat screen
	body    *fyne.Container
	strip   *strip
	notice  *notice
	gone    func() bool // puts away the notice that the engine ended; nil: there is none
	hints   *widget.HintLayer
	unwatch func()
	phase   live.Phase // as last seen
	ended   atomic.Bool
}

const (
	screenChat = iota
	screenLibrary
	screenCards
	screenServer
	screenSettings
)

const sideWidth float32 = 232

// New builds the window in an application; Run or Show shows it.
func New(a fyne.App, deps Deps) *Window {
	if deps.Do == nil {
		deps.Do = fyne.Do
	}
	w := &Window{app: a, deps: deps, theme: &theme.Theme{Mode: deps.Theme}, current: -1}
	a.Settings().SetTheme(w.theme)
	w.win = a.NewWindow(Title)
	w.win.SetPadded(false)
	w.win.SetMaster()
	w.notice = newNotice(w.do)
	w.hints = widget.NewHintLayer(w.win.Canvas())
	w.strip = newStrip(func() { w.Go(screenCards) })
	w.body = widget.Stack()
	w.side = widget.Stack()

	page := widget.ColumnGrow(0, 0, w.body, w.notice)
	w.notice.placed = func() {
		page.Layout.Layout(page.Objects, page.Size())
		canvas.Refresh(page)
	}
	w.win.SetContent(widget.Stack(
		widget.NewPanel("background", "", 0),
		widget.ColumnGrow(0, 0,
			widget.RowFill(0, 2,
				widget.Stack(widget.NewPanel(theme.Side, "", 0), widget.Fixed(sideWidth, 0, w.sidebar())),
				widget.NewHairline(),
				page,
			),
			widget.NewHairline(),
			w.strip,
		),
		w.hints,
	))
	size := fyne.NewSize(1160, 760)
	if deps.Place.Width > 400 && deps.Place.Height > 300 {
		size = fyne.NewSize(deps.Place.Width, deps.Place.Height)
	}
	w.win.Resize(size)
	w.win.SetCloseIntercept(w.close)
	w.win.SetOnDropped(w.dropped)
	w.keys()
	w.unwatch = live.Watch(deps.Engine, w.do, w.engineChanged)
	w.Go(screenChat)
	if s := deps.Place.Screen; s > screenChat && s < len(w.screens) {
		w.Go(s)
	}
	return w
}

// engineChanged draws the strip, and says so when the engine ends while nothing waits for it; an answer that it
// leaves unfinished says so itself.
func (w *Window) engineChanged(st live.State) {
	if st.Phase == live.Failed && w.phase != live.Failed && w.chat != nil && !w.chat.Answering() {
		text := st.Problem
		if text == "" {
			text = words.T().EngineGone
		}
		if st.NoRoom {
			w.gone = w.notice.SayUntil(text, words.T().ChooseWay, func() { w.Go(screenCards) })
		} else {
			w.gone = w.notice.SayUntil(text, words.T().StartEngine, func() {
				go w.deps.Engine.Start(context.Background(), st.Model) // what goes wrong is in the next state
			})
		}
	}
	if st.Phase != live.Failed && w.gone != nil { // it was started otherwise
		w.gone()
		w.gone = nil
	}
	w.phase = st.Phase
	w.strip.show(st)
}

// Run shows the window and returns when it is closed. It must be called from the main goroutine.
func (w *Window) Run() {
	w.win.Show()
	w.focus()
	w.app.Run()
	w.end()
}

// Fyne returns the toolkit's window.
func (w *Window) Fyne() fyne.Window { return w.win }

// sidebar is the name, the screens, and the conversations.
func (w *Window) sidebar() fyne.CanvasObject {
	t := words.T()
	name := widget.Strong(t.App)
	name.Size_ = "subHeadingText"
	brand := widget.Inset(theme.L, theme.M, theme.M, 18, widget.Row(theme.S, widget.NewIcon(theme.IconIngot, theme.Accent, 24), name))
	nav := widget.Column(2)
	for i, item := range []struct {
		text string
		icon theme.Icon
	}{{t.Chat, theme.IconChat}, {t.Library, theme.IconLibrary}, {t.Cards, theme.IconCards}, {t.Server, theme.IconServer}, {t.Settings, theme.IconSettings}} {
		w.nav[i] = widget.NewButton(item.text, item.icon, widget.Nav, func() { w.Go(i) })
		nav.Add(w.nav[i])
	}
	return widget.ColumnGrow(0, 2, brand, widget.Inset(0, theme.S, theme.M, theme.S, nav), w.side)
}

// Go shows a screen.
func (w *Window) Go(i int) {
	if i == w.current {
		if i == screenChat {
			w.focus()
		}
		return
	}
	ink := theme.Color(theme.Text)
	if w.current >= 0 {
		w.screens[w.current].Hidden()
		w.painted[w.current] = ink
	}
	w.current = i
	stale := w.screens[i] != nil && w.painted[i] != ink
	for k, b := range w.nav {
		b.Select(k == i)
	}
	s := w.screen(i)
	w.body.Objects = []fyne.CanvasObject{s.Main()}
	w.side.Objects = nil
	if i == screenChat {
		line := widget.Inset(0, theme.L, 0, theme.L, widget.NewHairline())
		w.side.Objects = []fyne.CanvasObject{widget.ColumnGrow(theme.M, 1, line, w.chat.Side())}
	}
	w.body.Refresh()
	w.side.Refresh()
	if stale { // the toolkit applies a theme only to what is in the window at the time
		w.app.Settings().SetTheme(w.theme)
	}
	s.Shown()
	w.focus()
}

// screen builds a screen when it is first needed.
func (w *Window) screen(i int) screen {
	if w.screens[i] != nil {
		return w.screens[i]
	}
	switch i {
	case screenChat:
		w.chat = chat.NewScreen(chat.Deps{
			Conversations: w.deps.Conversations, Answers: w.deps.Answers, Models: w.deps.Models, Engine: w.deps.Engine,
			Notice: w.notice.Say, Reasoning: w.deps.Reasoning, OpenLibrary: func() { w.Go(screenLibrary) }, Do: w.do,
		})
		w.screens[i] = w.chat
	case screenLibrary:
		w.screens[i] = library.NewScreen(library.Deps{
			Models: w.deps.Library, Engine: w.deps.Engine, Window: w.win, Notice: w.notice.Say, Use: w.use, Do: w.do,
		})
	case screenCards:
		w.screens[i] = cards.NewScreen(cards.Deps{Engine: w.deps.Engine, Planner: w.deps.Planner, Notice: w.notice.Say, Do: w.do})
	case screenServer:
		w.screens[i] = server.NewScreen(server.Deps{Endpoint: w.deps.Server, Notice: w.notice.Say, Do: w.do})
	case screenSettings:
		w.screens[i] = settings.NewScreen(settings.Deps{
			Store: w.deps.Settings, Engine: w.deps.Engine, Notice: w.notice.Say, Passing: w.passing, Version: w.deps.Version,
			SetTheme: w.setTheme, Do: w.do,
		})
	}
	return w.screens[i]
}

// use begins a conversation with a model.
func (w *Window) use(id string) {
	w.Go(screenChat)
	w.chat.UseModel(id)
}

// passing shows a sentence that will be over.
func (w *Window) passing(text string) (over func() bool) { return w.notice.SayUntil(text, "", nil) }

func (w *Window) setTheme(m theme.Mode) {
	if w.theme.Mode != m {
		w.theme = &theme.Theme{Mode: m}
		w.app.Settings().SetTheme(w.theme)
	}
}

func (w *Window) focus() {
	if w.current == screenChat && w.chat != nil {
		w.chat.Focus()
	} else {
		w.win.Canvas().Unfocus()
	}
}

// dropped adds files to the library.
func (w *Window) dropped(_ fyne.Position, uris []fyne.URI) {
	var paths []string
	for _, u := range uris {
		if u.Scheme() == "file" {
			paths = append(paths, u.Path())
		}
	}
	if len(paths) > 0 {
		w.Go(screenLibrary)
		w.screens[screenLibrary].(*library.Screen).Add(paths)
	}
}

// close is what the desktop and Ctrl+Q ask for.
func (w *Window) close() {
	w.end()
	w.win.Close()
}

// end remembers the window's place and ends what its screens do. It may be called again.
func (w *Window) end() {
	if w.ended.Swap(true) {
		return
	}
	size := w.win.Canvas().Size()
	if w.deps.Remember != nil {
		w.deps.Remember(Place{Width: size.Width, Height: size.Height, Screen: w.current})
	}
	for _, s := range w.screens {
		if s != nil {
			s.Close()
		}
	}
	w.unwatch()
	w.hints.Close(w.win.Canvas())
}

// do runs a function on the UI goroutine, while there is a window.
func (w *Window) do(f func()) {
	if w.ended.Load() {
		return
	}
	w.deps.Do(func() {
		if !w.ended.Load() {
			f()
		}
	})
}
