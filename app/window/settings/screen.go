package settings

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"fyne.io/fyne/v2"

	"ingot/app/window/live"
	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// Deps is what the screen is built from.
type Deps struct {
	Store    Store
	Engine   live.Engine
	Notice   func(text, button string, do func())
	Passing  func(text string) (over func() bool) // a notice until over is called, which tells whether it still stood
	SetTheme func(theme.Mode)
	Version  string
	Do       func(func()) // runs on the UI goroutine; nil: fyne.Do
}

// Screen is the settings screen. Its methods belong to the UI goroutine.
type Screen struct {
	deps    Deps
	do      func(func())
	load    live.Loader[loaded]
	changes live.Sequence
	machine Machine
	saved   Values // on disk
	edited  Values
	read    bool
	stop    func()
	engine  live.State

	fields  []*number
	cards   []*widget.Switch
	tps     *widget.Choice
	repack  *widget.Switch
	think   *widget.Choice
	look    *widget.Choice
	system  *widget.Area
	bar     *fyne.Container
	barText *widget.Label
	apply   *widget.Button
	revert  *widget.Button
	holder  *fyne.Container
	main    *fyne.Container
}

type loaded struct {
	values  Values
	machine Machine
}

var (
	thinkings = []string{"", "on", "off"}
	looks     = []theme.Mode{theme.System, theme.Light, theme.Dark}
	// cacheTypes are what keys and values can be kept as, the usual one first.
	cacheTypes = []string{"f16", "bf16", "q8_0", "q4_0", "f32"}
	// loadModes are the ways a file gets into memory, the usual one first.
	loadModes = []string{"mmap", "none", "dio", "mlock"}
)

// NewScreen builds the screen; its values come in when they are read.
func NewScreen(deps Deps) *Screen {
	if deps.Do == nil {
		deps.Do = fyne.Do
	}
	t := words.T()
	s := &Screen{deps: deps, do: deps.Do, holder: widget.Stack()}
	s.load.Do = s.do
	s.barText = widget.NewLabel("").Cut()
	s.apply = widget.NewButton("", theme.IconCheck, widget.Primary, s.applyNow)
	s.revert = widget.NewButton(t.Revert, theme.Icon{}, widget.Quiet, s.undo)
	s.bar = widget.Column(0, widget.NewHairline(), widget.Inset(theme.M, theme.XL, theme.M, theme.XL,
		widget.Measure(760, widget.RowGrow(theme.S, 0, s.barText, s.revert, s.apply))))
	s.main = widget.ColumnGrow(0, 0, s.holder, s.bar)
	s.stop = live.Watch(deps.Engine, s.do, func(st live.State) { s.engine = st; s.showBar() })
	return s
}

// Main is the screen's content.
func (s *Screen) Main() fyne.CanvasObject { return s.main }

// Shown reads the values, unless some are being edited.
func (s *Screen) Shown() {
	if s.read && !equal(s.saved, s.edited) {
		return
	}
	s.load.Load(func(ctx context.Context) (loaded, error) {
		v, m, err := s.deps.Store.Load(ctx)
		return loaded{v, m}, err
	}, func(l loaded, err error) {
		if err != nil {
			s.holder.Objects = []fyne.CanvasObject{widget.Pad(theme.XL, widget.Paragraph(err.Error()))}
			s.holder.Refresh()
			return
		}
		s.saved, s.edited, s.machine, s.read = l.values, l.values, l.machine, true
		s.build()
	})
}

// Hidden implements the window's screen.
func (s *Screen) Hidden() {}

// Close stops following the engine.
func (s *Screen) Close() {
	s.stop()
	s.load.Close()
}

// build makes the form for the values as edited.
func (s *Screen) build() {
	t := words.T()
	s.fields, s.cards = nil, nil
	v := &s.edited
	whole := func(at *int, low, high int) *number {
		return s.number(newWhole(at, low, high, t.Automatic))
	}
	real := func(at *float64, low, high float64) *number { return s.number(newReal(at, low, high)) }

	s.repack = widget.NewSwitch(!v.NoRepack, func(on bool) { v.NoRepack = !on; s.showBar() })
	s.think = widget.NewChoice([]string{t.ReasoningAuto, t.ReasoningOn, t.ReasoningOff}, max(slices.Index(thinkings, v.Reasoning), 0),
		func(i int) { v.Reasoning = thinkings[i]; s.showBar() })
	s.look = widget.NewChoice([]string{t.ThemeSystem, t.ThemeLight, t.ThemeDark}, max(slices.Index(looks, theme.Mode(v.Theme)), 0),
		func(i int) { s.chooseTheme(looks[i]) })
	s.system = widget.NewArea(v.System, 3)

	oneOf := func(names []string, at *string) *widget.Choice {
		return widget.NewChoice(names, max(slices.Index(names, *at), 0), func(i int) { *at = names[i]; s.showBar() })
	}

	context := whole(&v.Context, 64, 1<<24)
	context.warning = func() string {
		if m := s.machine; m.Trained > 0 && v.Context > m.Trained {
			return fmt.Sprintf(t.ContextLongF, m.Model, live.Number(m.Trained))
		}
		return ""
	}
	engine := widget.Section(t.EngineSection,
		whole(&v.Threads, 0, 1024).row(t.ThreadsLabel, fmt.Sprintf(t.ThreadsHintF, s.machine.Cores)),
		context.row(t.ContextLabel, t.ContextHint),
		whole(&v.Slots, 1, 256).row(t.SlotsLabel, t.SlotsHint),
		widget.Setting(t.KeysLabel, t.KeysHint, 0, oneOf(cacheTypes, &v.Keys)),
		widget.Setting(t.ValuesLabel, t.ValuesHint, 0, oneOf(cacheTypes, &v.Values)),
		widget.Setting(t.RepackLabel, t.RepackHint, 0, s.repack),
		widget.Setting(t.LoadLabel, t.LoadHint, 0, oneOf(loadModes, &v.LoadMode)),
		s.cardsRow(),
		s.tpsRow(),
	)
	answers := widget.Section(t.AnswerSection,
		widget.Setting(t.ReasoningLabel, t.ReasoningDefaultHint, 0, s.think),
		widget.Column(theme.S, widget.Column(2, widget.NewLabel(t.SystemLabel), widget.Note(t.SystemHint)), widget.Box(&s.system.Field)),
		whole(&v.MaxTokens, 1, 1<<24).row(t.MaxTokensLabel, t.MaxTokensHint),
		real(&v.Temperature, 0, 5).row(t.TemperatureLabel, t.TemperatureHint),
		s.number(newWhole(&v.TopK, 0, 1<<20, "0")).row(t.TopKLabel, t.TopKHint),
		real(&v.TopP, 0, 1).row(t.TopPLabel, t.TopPHint),
		real(&v.MinP, 0, 1).row(t.MinPLabel, t.MinPHint),
		real(&v.RepeatPenalty, 0.1, 10).row(t.RepeatLabel, t.RepeatHint),
		s.number(newSeed(v)).row(t.SeedLabel, t.SeedHint),
	)
	look := widget.Section(t.LookSection, widget.Setting(t.ThemeLabel, "", 0, s.look))
	open := widget.NewButton(t.OpenFolder, theme.IconFolder, widget.Plain, func() {
		fyne.CurrentApp().OpenURL(&url.URL{Scheme: "file", Path: s.machine.Folder})
	})
	open.Small = true
	folder := widget.NewProse(widget.Style{Size: theme.SizeCode}, widget.Run{Text: s.machine.Folder, Mono: true})
	data := widget.Section(t.DataSection, widget.RowGrow(theme.XL, 0, widget.Column(2, widget.NewLabel(t.DataLabel), widget.Note(t.DataHint), folder), open))
	column := widget.Column(theme.XL, widget.Title(t.Settings), engine, answers, look, data, widget.Note(fmt.Sprintf(t.VersionF, s.deps.Version)))
	page := widget.NewPage(760, theme.XL, 20, column)
	s.holder.Objects = []fyne.CanvasObject{page}
	s.system.OnChanged = func(text string) {
		v.System = text
		if size := s.system.Size(); s.system.HeightFor(size.Width) != size.Height {
			page.Refresh()
		}
		s.showBar()
	}
	for _, f := range s.fields {
		f.changed = func(relayout bool) {
			if relayout {
				page.Refresh()
			}
			s.showBar()
		}
	}
	s.holder.Refresh()
	s.showBar()
}

func (s *Screen) number(n *number) *number {
	s.fields = append(s.fields, n)
	return n
}

// graphics are the cards beside the processor.
func (s *Screen) graphics() []Card {
	return slices.DeleteFunc(slices.Clone(s.machine.Cards), func(c Card) bool { return c.CPU })
}

// cardsRow chooses devices; with only the CPU there is nothing to choose, and it says so.
func (s *Screen) cardsRow() fyne.CanvasObject {
	t := words.T()
	gpus := s.graphics()
	if len(gpus) == 0 {
		name := ""
		if len(s.machine.Cards) > 0 {
			name = s.machine.Cards[0].Description
		}
		l := widget.NewLabel(name).Cut()
		l.Color, l.Align = theme.Faint, fyne.TextAlignTrailing
		return widget.Setting(t.CardsLabel, t.CardsHintCPU, 240, l)
	}
	list := widget.Column(theme.S)
	for _, c := range gpus {
		on := len(s.edited.Cards) == 0 || slices.Contains(s.edited.Cards, c.Name)
		sw := widget.NewSwitch(on, func(bool) { s.cardsChanged(gpus) })
		s.cards = append(s.cards, sw)
		list.Add(widget.RowGrow(theme.S, 0, widget.NewLabel(c.Name+"  "+c.Description).Cut(), sw))
	}
	return widget.Column(theme.S, widget.NewLabel(t.CardsLabel), list)
}

// cardsChanged reads the switches: all on is kept as none named, so that a card added later is used too.
func (s *Screen) cardsChanged(gpus []Card) {
	s.edited.Cards = nil
	for i, sw := range s.cards {
		if sw.On {
			s.edited.Cards = append(s.edited.Cards, gpus[i].Name)
		}
	}
	if len(s.edited.Cards) == len(gpus) {
		s.edited.Cards = nil
	}
	s.showBar()
}

// tpsRow chooses the lanes of a stage: how many cards share it, or without cards into how many parts the processor is cut.
// That is offered where its memory lies in several parts, for elsewhere lanes give it nothing.
func (s *Screen) tpsRow() fyne.CanvasObject {
	t := words.T()
	n := len(s.graphics())
	hint, options, values := t.TPSHint, []string{t.AllCards}, []int{0}
	if n == 0 {
		n, hint, options[0] = s.machine.Nodes, fmt.Sprintf(t.TPSHintNodesF, s.machine.Nodes), "1"
	} else {
		options, values = append(options, "1"), append(values, 1)
	}
	for k := 2; k <= n; k++ {
		if n%k == 0 {
			options, values = append(options, fmt.Sprint(k)), append(values, k)
		}
	}
	if n < 2 {
		hint = t.TPSHintOne
	}
	odd := s.edited.TPS > 1 && !slices.Contains(values, s.edited.TPS) // set when other cards were here: to be seen, and taken back
	if odd {
		options, values = append(options, fmt.Sprint(s.edited.TPS)), append(values, s.edited.TPS)
	}
	s.tps = widget.NewChoice(options, max(slices.Index(values, s.edited.TPS), 0), func(i int) { s.edited.TPS = values[i]; s.showBar() })
	if n < 2 && !odd {
		s.tps.Disable()
	}
	return widget.Setting(t.TPSLabel, hint, 0, s.tps)
}

// showBar tells whether something is to be saved, and what that takes.
func (s *Screen) showBar() {
	t := words.T()
	changed := s.read && !equal(s.saved, s.edited)
	bad := ""
	for _, f := range s.fields {
		if f.problem != "" {
			bad = f.problem
		}
	}
	was := s.bar.Visible()
	widget.SetVisible(s.bar, changed || bad != "")
	text, label := t.Unsaved, t.Apply
	if s.engine.Running() != "" && needsReload(s.saved, s.edited) {
		text, label = t.UnsavedRestart, t.ApplyRestart
	}
	s.barText.SetColor(theme.Muted)
	s.apply.Enable()
	if bad != "" {
		text = bad
		s.barText.SetColor(theme.Bad)
		s.apply.Disable()
	}
	s.barText.Set(text)
	s.apply.Set(label, theme.IconCheck)
	s.bar.Refresh()
	if was != s.bar.Visible() {
		s.main.Layout.Layout(s.main.Objects, s.main.Size())
	}
}

// applyNow saves, and loads the model again where the engine must know.
func (s *Screen) applyNow() {
	v := s.edited
	v.Cards = slices.Clone(v.Cards)
	model := s.engine.Running()
	reload := model != "" && needsReload(s.saved, v)
	s.apply.Disable()
	s.act(func(ctx context.Context) error { return s.deps.Store.Save(ctx, v) }, func(err error) {
		s.apply.Enable()
		if err != nil {
			s.deps.Notice(err.Error(), "", nil)
			return
		}
		s.saved = v
		s.showBar()
		if !reload {
			s.deps.Notice(words.T().Saved, "", nil)
			return
		}
		over := s.deps.Passing(words.T().SavedRestart)
		go func() {
			err := s.deps.Engine.Start(context.Background(), model)
			s.do(func() {
				text := words.T().Saved
				if err != nil {
					text = err.Error()
				}
				if over() { // else the window has said that the engine failed, or something newer
					s.deps.Notice(text, "", nil)
				}
			})
		}()
	})
}

// chooseTheme shows a theme and saves it at once, without what else is being edited.
func (s *Screen) chooseTheme(m theme.Mode) {
	s.deps.SetTheme(m)
	s.saved.Theme, s.edited.Theme = string(m), string(m)
	s.act(func(ctx context.Context) error {
		v, _, err := s.deps.Store.Load(ctx)
		if err != nil {
			return err
		}
		v.Theme = string(m)
		return s.deps.Store.Save(ctx, v)
	}, func(err error) {
		if err != nil {
			s.deps.Notice(err.Error(), "", nil)
		}
	})
}

// act changes what is on disk and tells how that went.
func (s *Screen) act(do func(context.Context) error, done func(error)) {
	s.changes.Do(func() {
		err := do(context.Background())
		s.do(func() { done(err) })
	})
}

// undo goes back to what is on disk.
func (s *Screen) undo() {
	s.edited = s.saved
	s.edited.Cards = slices.Clone(s.saved.Cards)
	s.build()
}
