package widget

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	ft "fyne.io/fyne/v2/theme"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/theme"
)

// Badge is a word on a tint: good, warn, bad or neutral.
type Badge struct {
	fw.BaseWidget
	label *Label
	panel *Panel
	all   *fyne.Container
}

// NewBadge makes an empty badge.
func NewBadge() *Badge {
	b := &Badge{label: NewLabel(""), panel: NewPanel(theme.Selected, "", theme.RadiusSmall)}
	b.label.Size_ = theme.SizeSmall
	b.all = Stack(b.panel, Inset(2, 8, 2, 8, b.label))
	b.ExtendBaseWidget(b)
	return b
}

// Set shows a word in a tone: theme.Good, theme.Warn, theme.Bad, theme.Accent; anything else is neutral.
func (b *Badge) Set(text string, tone fyne.ThemeColorName) {
	ground := theme.Selected
	switch tone {
	case theme.Good:
		ground = theme.GoodSoft
	case theme.Warn:
		ground = theme.WarnSoft
	case theme.Bad:
		ground = theme.BadSoft
	case theme.Accent:
		ground = theme.AccentSoft
	default:
		tone = theme.Muted
	}
	b.label.Color = tone
	b.label.Text = text
	b.label.Refresh()
	b.panel.SetFill(ground)
	b.Refresh()
}

// CreateRenderer implements fyne.Widget.
func (b *Badge) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(b.all) }

// Dot is a small disc that tells a state by its colour.
type Dot struct {
	fw.BaseWidget
	color fyne.ThemeColorName
}

// NewDot makes a dot.
func NewDot(color fyne.ThemeColorName) *Dot {
	d := &Dot{color: color}
	d.ExtendBaseWidget(d)
	return d
}

// Set changes the colour.
func (d *Dot) Set(color fyne.ThemeColorName) {
	if d.color != color {
		d.color = color
		d.Refresh()
	}
}

// CreateRenderer implements fyne.Widget.
func (d *Dot) CreateRenderer() fyne.WidgetRenderer {
	r := &dotRenderer{d, canvas.NewCircle(theme.Color(d.color))}
	return r
}

type dotRenderer struct {
	dot    *Dot
	circle *canvas.Circle
}

func (r *dotRenderer) Destroy()                     {}
func (r *dotRenderer) MinSize() fyne.Size           { return fyne.NewSquareSize(8) }
func (r *dotRenderer) Objects() []fyne.CanvasObject { return []fyne.CanvasObject{r.circle} }
func (r *dotRenderer) Layout(size fyne.Size) {
	r.circle.Move(fyne.NewPos((size.Width-8)/2, (size.Height-8)/2))
	r.circle.Resize(fyne.NewSquareSize(8))
}
func (r *dotRenderer) Refresh() {
	r.circle.FillColor = theme.Color(r.dot.color)
	r.circle.Refresh()
}

// Switch is on or off.
type Switch struct {
	fw.BaseWidget
	On        bool
	OnChanged func(bool)
	disabled  bool
	focused   bool
}

// NewSwitch makes a switch.
func NewSwitch(on bool, changed func(bool)) *Switch {
	s := &Switch{On: on, OnChanged: changed}
	s.ExtendBaseWidget(s)
	return s
}

// Set moves the switch without calling back.
func (s *Switch) Set(on bool) {
	s.On = on
	s.Refresh()
}

// Enable and Disable say whether it can be moved.
func (s *Switch) Enable() { s.disabled = false; s.Refresh() }

// Disable greys the switch.
func (s *Switch) Disable() { s.disabled = true; s.Refresh() }

// Tapped implements fyne.Tappable.
func (s *Switch) Tapped(*fyne.PointEvent) {
	if s.disabled {
		return
	}
	s.Set(!s.On)
	if s.OnChanged != nil {
		s.OnChanged(s.On)
	}
}

// Cursor implements desktop.Cursorable.
func (s *Switch) Cursor() desktop.Cursor { return desktop.PointerCursor }

// CreateRenderer implements fyne.Widget.
func (s *Switch) CreateRenderer() fyne.WidgetRenderer {
	r := &switchRenderer{s, canvas.NewRectangle(nil), canvas.NewCircle(nil)}
	r.Refresh()
	return r
}

type switchRenderer struct {
	sw    *Switch
	track *canvas.Rectangle
	knob  *canvas.Circle
}

func (r *switchRenderer) Destroy()                     {}
func (r *switchRenderer) MinSize() fyne.Size           { return fyne.NewSize(38, 22) }
func (r *switchRenderer) Objects() []fyne.CanvasObject { return []fyne.CanvasObject{r.track, r.knob} }

func (r *switchRenderer) Layout(size fyne.Size) {
	y := (size.Height - 22) / 2
	r.track.Move(fyne.NewPos(0, y))
	r.track.Resize(fyne.NewSize(38, 22))
	x := float32(3)
	if r.sw.On {
		x = 19
	}
	r.knob.Move(fyne.NewPos(x, y+3))
	r.knob.Resize(fyne.NewSquareSize(16))
}

func (r *switchRenderer) Refresh() {
	track, knob := theme.Faint, theme.Raised
	switch {
	case r.sw.disabled:
		track = theme.Border
	case r.sw.On:
		track, knob = theme.Accent, theme.OnAccent
	}
	r.track.FillColor, r.track.CornerRadius, r.track.StrokeWidth = theme.Color(track), 11, 0
	if r.sw.focused {
		r.track.StrokeColor, r.track.StrokeWidth = theme.Color(theme.Text), 1.5
	}
	r.knob.FillColor = theme.Color(knob)
	r.Layout(r.sw.Size())
	canvas.Refresh(r.sw)
}

// Choice is a row of words of which one is chosen.
type Choice struct {
	fw.BaseWidget
	Options   []string
	OnChanged func(i int)
	chosen    int
	disabled  bool
	focused   bool
	ground    *Panel
	cells     []*choiceCell
	all       *fyne.Container
}

// NewChoice makes a choice.
func NewChoice(options []string, chosen int, changed func(i int)) *Choice {
	c := &Choice{Options: options, chosen: chosen, OnChanged: changed}
	c.ExtendBaseWidget(c)
	row := Row(0)
	for i, o := range options {
		cell := &choiceCell{choice: c, index: i}
		cell.label = NewLabel(o)
		cell.label.Size_ = ft.SizeNameCaptionText
		cell.panel = NewPanel(theme.Clear, "", theme.RadiusSmall-1)
		cell.all = Stack(cell.panel, Inset(4, 11, 4, 11, cell.label))
		cell.ExtendBaseWidget(cell)
		c.cells = append(c.cells, cell)
		row.Add(cell)
	}
	c.ground = NewPanel(theme.Surface, theme.Border, theme.RadiusSmall+1)
	c.all = Stack(c.ground, Pad(2, row))
	c.paint()
	return c
}

// Chosen is the index of the chosen word.
func (c *Choice) Chosen() int { return c.chosen }

// Set chooses without calling back.
func (c *Choice) Set(i int) {
	if c.chosen != i {
		c.chosen = i
		c.paint()
	}
}

// Disable and Enable say whether it can be changed.
func (c *Choice) Disable() { c.disabled = true; c.paint() }

// Enable lets the choice be changed.
func (c *Choice) Enable() { c.disabled = false; c.paint() }

// Disabled reports whether the choice is greyed.
func (c *Choice) Disabled() bool { return c.disabled }

func (c *Choice) paint() {
	c.ground.Line = theme.Border
	if c.focused {
		c.ground.Line = theme.Accent
	}
	c.ground.Refresh()
	for i, cell := range c.cells {
		ground, edge, ink := theme.Clear, fyne.ThemeColorName(""), theme.Muted
		if i == c.chosen {
			ground, edge, ink = theme.Raised, theme.Border, theme.Text
		}
		if c.disabled {
			ink = theme.Faint
		}
		cell.panel.Fill, cell.panel.Line = ground, edge
		cell.panel.Refresh()
		cell.label.SetColor(ink)
	}
}

// CreateRenderer implements fyne.Widget.
func (c *Choice) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(c.all) }

type choiceCell struct {
	fw.BaseWidget
	choice *Choice
	index  int
	label  *Label
	panel  *Panel
	all    *fyne.Container
}

func (c *choiceCell) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(c.all) }
func (c *choiceCell) Cursor() desktop.Cursor              { return desktop.PointerCursor }

func (c *choiceCell) Tapped(*fyne.PointEvent) {
	if c.choice.disabled || c.choice.chosen == c.index {
		return
	}
	c.choice.Set(c.index)
	if c.choice.OnChanged != nil {
		c.choice.OnChanged(c.index)
	}
}
