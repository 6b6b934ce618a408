// Package cards is the screen of compute devices: what is here, what its memory is used for, and how the loaded
// model lies over it.
package cards

import (
	"fmt"
	"strings"

	"fyne.io/fyne/v2"

	"ingot/app/window/live"
	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// Screen is the cards screen. Its methods belong to the UI goroutine.
type Screen struct {
	stop    func()
	state   live.State
	shown   bool   // in front: else nothing is drawn
	built   string // what is here, as drawn: rebuilt only when that changes
	devices []*device
	ways    *ways
	column  *fyne.Container
	page    *widget.Page
}

// Deps is what the screen is built from.
type Deps struct {
	Engine  live.Engine
	Planner Planner
	Notice  func(text, button string, do func())
	Do      func(func()) // runs on the UI goroutine; nil: fyne.Do
}

// NewScreen builds the screen; it follows the engine until Close.
func NewScreen(d Deps) *Screen {
	if d.Do == nil {
		d.Do = fyne.Do
	}
	s := &Screen{column: widget.Column(theme.XL)}
	s.page = widget.NewPage(860, theme.XL, 20, s.column)
	s.ways = newWays(d.Planner, d.Do, d.Notice, func() {
		s.built = "" // predictions are drawn beside what is measured
		if s.shown {
			s.show()
		}
	})
	s.stop = live.Watch(d.Engine, d.Do, func(st live.State) {
		s.state = st
		if s.shown {
			s.show()
		}
	})
	return s
}

// Main is the screen's content.
func (s *Screen) Main() fyne.CanvasObject { return s.page }

// Shown predicts anew: the settings may have changed.
func (s *Screen) Shown() {
	s.shown = true
	s.ways.about = ""
	s.show()
}

// Hidden implements the window's screen.
func (s *Screen) Hidden() { s.shown = false }

// Close stops following the engine.
func (s *Screen) Close() {
	s.stop()
	s.ways.close()
}

// show draws the state: numbers change every second, devices and layout rarely.
func (s *Screen) show() {
	st := s.state
	s.ways.show(st)
	if shape := shapeOf(st); shape != s.built {
		s.built = shape
		s.build(st)
	}
	for i, d := range s.devices {
		d.show(st.Cards[i], st)
	}
	s.page.Refresh()
}

// shapeOf is everything that needs other widgets when it changes.
func shapeOf(st live.State) string {
	var b strings.Builder
	for _, c := range st.Cards {
		fmt.Fprintf(&b, "%s|%s|%v;", c.Name, c.Description, c.Temperature > 0)
	}
	fmt.Fprint(&b, st.Stages, st.Name, st.Level, st.NoRoom, st.Problem)
	for _, c := range st.Cards { // drawn beside what was predicted
		fmt.Fprintf(&b, "%d ", c.Used>>24)
	}
	return b.String()
}

func (s *Screen) build(st live.State) {
	t := words.T()
	s.devices = s.devices[:0]
	cpuOnly := true
	list := widget.Column(theme.M)
	for _, c := range st.Cards {
		cpuOnly = cpuOnly && c.CPU
		d := newDevice(c)
		s.devices = append(s.devices, d)
		list.Add(d.object)
	}
	rows := []fyne.CanvasObject{widget.Column(2, widget.Title(t.Cards), widget.Note(t.CardsIntro))}
	if refused := s.ways.refusal(st); refused != nil {
		rows = append(rows, refused)
	}
	if cpuOnly {
		rows = append(rows, widget.Stack(widget.NewPanel(theme.Surface, "", theme.Radius), widget.Pad(theme.L,
			widget.RowGrow(theme.M, 1, widget.NewIcon(theme.IconCards, theme.Muted, 22),
				widget.Column(2, widget.NewLabel(t.CPUOnly), widget.Note(t.CPUOnlyHint))))))
	}
	rows = append(rows, widget.Column(theme.S, widget.Strong(t.Topology), topology(st, s.ways.way())))
	if len(s.ways.object.Objects) > 0 { // something is predicted
		rows = append(rows, s.ways.object)
	}
	if len(st.Cards) > 0 {
		rows = append(rows, widget.Column(theme.S, widget.Strong(t.Devices), list))
	}
	s.column.Objects = rows
	s.column.Refresh()
}

// device is a card with its memory.
type device struct {
	meter  *widget.Meter
	amount *widget.Label
	extra  *widget.Label
	legend []*widget.Label
	keys   []*fyne.Container // a dot, a name and the label: hidden where it is nothing
	object *fyne.Container
}

// parts of a card's memory in the order they are drawn.
var partColors = []fyne.ThemeColorName{theme.Accent, theme.CodeNumber, theme.CodeWord, theme.CodeText, theme.Faint}

func partsOf(c live.Card) []int64 {
	others := max(c.Total-c.Free-c.Used, 0)
	known := c.Parts.Weights + c.Parts.Cache + c.Parts.State + c.Parts.Scratch
	weights := c.Parts.Weights
	if known == 0 {
		weights = c.Used // the engine gives no parts: all of it is drawn as one
	}
	return []int64{weights, c.Parts.Cache, c.Parts.State, c.Parts.Scratch, others}
}

func newDevice(c live.Card) *device {
	t := words.T()
	d := &device{meter: widget.NewMeter(100, 10), amount: widget.Caption(""), extra: widget.Caption("")}
	name := widget.Strong(c.Description).Cut()
	legend := widget.Wrap(theme.L)
	for i, text := range []string{t.Weights, t.Cache, t.State, t.Scratch, t.Other} {
		l := widget.Caption("")
		d.legend = append(d.legend, l)
		key := widget.Row(6, widget.NewDot(partColors[i]), widget.Caption(text), l)
		d.keys = append(d.keys, key)
		legend.Add(key)
	}
	tag := widget.NewBadge()
	tag.Set(c.Name, "")
	d.object = widget.Stack(widget.NewPanel(theme.Sheet, theme.Border, theme.Radius), widget.Pad(theme.L, widget.Column(theme.M,
		widget.RowGrow(theme.M, 1, tag, name, d.extra, d.amount),
		d.meter,
		legend,
	)))
	return d
}

func (d *device) show(c live.Card, st live.State) {
	t := words.T()
	d.amount.Set(fmt.Sprintf(t.MemoryF, live.Bytes(c.Total-c.Free), live.Bytes(c.Total)))
	var shares []widget.Part
	for i, n := range partsOf(c) {
		d.legend[i].Set(live.Bytes(n))
		widget.SetVisible(d.keys[i], n > 0)
		if c.Total > 0 && n > 0 {
			shares = append(shares, widget.Part{Share: float64(n) / float64(c.Total), Color: partColors[i]})
		}
	}
	d.meter.SetParts(shares...)
	var extra []string
	if c.Temperature > 0 {
		extra = append(extra, fmt.Sprintf("%.0f °C", c.Temperature))
	}
	if c.Load > 0 {
		extra = append(extra, fmt.Sprintf(t.LoadF, c.Load*100))
	}
	if c.CPU && st.Level != "" {
		if !strings.Contains(c.Description, " thread") { // a part of the processor has some of the threads, and says how many
			extra = append(extra, fmt.Sprintf(t.ThreadsF, st.Threads))
		}
		if !strings.Contains(c.Description, st.Level) {
			extra = append(extra, st.Level)
		}
	}
	d.extra.Set(strings.Join(extra, "  ·  "))
}

// evenLayout gives objects equal shares of the width, wrapping where they would be narrower than 110.
type evenLayout struct{ gap float32 }

func (l evenLayout) columns(n int, width float32) int {
	return min(max(int((width+l.gap)/(110+l.gap)), 1), max(n, 1))
}

func (l evenLayout) rowHeight(objects []fyne.CanvasObject, width float32) (cell, height float32) {
	cols := l.columns(len(objects), width)
	cell = (width - l.gap*float32(cols-1)) / float32(cols)
	for _, o := range objects {
		height = max(height, widget.HeightOf(o, cell))
	}
	return cell, height
}

func (l evenLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	cols := l.columns(len(objects), size.Width)
	cell, h := l.rowHeight(objects, size.Width)
	for i, o := range objects {
		o.Move(fyne.NewPos(float32(i%cols)*(cell+l.gap), float32(i/cols)*(h+l.gap)))
		o.Resize(fyne.NewSize(cell, h))
	}
}

// HeightFor implements widget.HeightLayout.
func (l evenLayout) HeightFor(objects []fyne.CanvasObject, width float32) float32 {
	cols := l.columns(len(objects), width)
	_, h := l.rowHeight(objects, width)
	rows := (len(objects) + cols - 1) / cols
	return float32(rows)*(h+l.gap) - l.gap
}

func (l evenLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	return fyne.NewSize(110, l.HeightFor(objects, 110))
}
