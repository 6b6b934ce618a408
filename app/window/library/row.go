package library

import (
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/live"
	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// row is a model in the list; tapping it shows its details.
type row struct {
	fw.BaseWidget
	screen  *Screen
	model   Model
	panel   *widget.Panel
	all     *fyne.Container
	hovered bool
	focused bool
}

func newRow(s *Screen, m Model) *row {
	t := words.T()
	r := &row{screen: s, model: m, panel: widget.NewPanel(theme.Sheet, theme.Border, theme.Radius)}
	r.ExtendBaseWidget(r)
	name := widget.Strong(m.Name).Cut()
	line := widget.Caption(summary(m)).Cut()
	right := widget.Row(theme.S, fitBadge(m))
	if !m.Missing && m.Problem == "" {
		if m.ID == s.running {
			in := widget.NewBadge()
			in.Set(t.InUse, theme.Accent)
			right.Objects = append([]fyne.CanvasObject{in}, right.Objects...)
		}
		right.Add(s.useButton(m, theme.Icon{}, widget.Plain, true))
	}
	r.all = widget.Stack(r.panel, widget.Inset(10, theme.M, 10, theme.L, widget.RowGrow(theme.M, 0, widget.Column(3, name, line), right)))
	r.paint()
	return r
}

// useButton begins a conversation with a model, unless it is loaded already.
func (s *Screen) useButton(m Model, icon theme.Icon, kind widget.Kind, small bool) *widget.Button {
	use := widget.NewButton(words.T().Use, icon, kind, func() { s.deps.Use(m.ID) })
	use.Small = small
	if m.ID == s.running {
		use.Disable()
	}
	return use
}

// summary is the line under a model's name.
func summary(m Model) string {
	t := words.T()
	if m.Missing {
		return m.Path
	}
	var parts []string
	if m.Sample {
		parts = append(parts, t.Sample)
	}
	for _, p := range []string{m.Architecture, m.Quantization, live.Count(m.Parameters), size(m.Bytes)} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	if m.Context > 0 {
		parts = append(parts, live.Number(m.Context)+" "+t.Tokens)
	}
	if m.onlyContinues() {
		parts = append(parts, t.OnlyContinues)
		if m.NoVocab {
			parts = append(parts, t.NoVocab)
		}
	}
	return strings.Join(parts, "  ·  ")
}

func size(n int64) string {
	if n <= 0 {
		return ""
	}
	return live.Bytes(n)
}

// fitBadge tells whether a model can be loaded.
func fitBadge(m Model) *widget.Badge {
	t := words.T()
	b := widget.NewBadge()
	switch {
	case m.Missing:
		b.Set(t.Missing, theme.Bad)
	case m.Problem != "":
		b.Set(t.Unreadable, theme.Bad)
	case m.Fit == Fits:
		b.Set(t.Fits, theme.Good)
	case m.Fit == Tight:
		b.Set(t.Tight, theme.Warn)
	case m.Fit == TooBig:
		b.Set(t.TooBig, theme.Bad)
	default:
		b.Set(t.FitUnknown, "")
	}
	return b
}

func (r *row) paint() {
	fill := theme.Sheet
	switch {
	case r.screen.selected == r.model.ID:
		fill = theme.Selected
	case r.hovered:
		fill = theme.Surface
	}
	r.panel.Fill, r.panel.Line = fill, theme.Border
	if r.focused {
		r.panel.Line = theme.Accent
	}
	r.panel.Refresh()
}

// FocusGained and FocusLost implement fyne.Focusable: Enter shows the details.
func (r *row) FocusGained()   { r.focused = true; r.paint() }
func (r *row) FocusLost()     { r.focused = false; r.paint() }
func (r *row) TypedRune(rune) {}

// TypedKey implements fyne.Focusable.
func (r *row) TypedKey(key *fyne.KeyEvent) {
	if key.Name == fyne.KeyReturn || key.Name == fyne.KeyEnter || key.Name == fyne.KeySpace {
		r.Tapped(nil)
	}
}

// HeightFor implements widget.Item.
func (r *row) HeightFor(width float32) float32 { return widget.HeightOf(r.all, width) }

// CreateRenderer implements fyne.Widget.
func (r *row) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(r.all) }

// settling is how long a row ignores taps after a removal: the details close, and the second half of a double click
// on Remove would open another model's, with its Remove under the pointer.
const settling = time.Second

// Tapped shows the details.
func (r *row) Tapped(*fyne.PointEvent) {
	if time.Since(r.screen.removed) > settling {
		r.screen.selectModel(r.model.ID)
	}
}

// MouseIn, MouseMoved and MouseOut tint the row under the pointer.
func (r *row) MouseIn(*desktop.MouseEvent)    { r.hovered = true; r.paint() }
func (r *row) MouseMoved(*desktop.MouseEvent) {}
func (r *row) MouseOut()                      { r.hovered = false; r.paint() }

// newFoundRow is a model that another program has.
func newFoundRow(s *Screen, f Found) widget.Item {
	parts := []string{f.From}
	for _, p := range []string{f.Quantization, size(f.Bytes)} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	add := widget.NewButton(words.T().Add, theme.IconPlus, widget.Plain, nil)
	add.Small = true
	add.OnTap = func() {
		add.Disable()
		s.Add([]string{f.Path})
	}
	return widget.AsItem(widget.Stack(
		widget.NewPanel(theme.Clear, theme.Border, theme.Radius),
		widget.Inset(10, theme.M, 10, theme.L, widget.RowGrow(theme.M, 0,
			widget.Column(3, widget.NewLabel(f.Name).Cut(), widget.Caption(strings.Join(parts, "  ·  ")).Cut()), add)),
	))
}
