package widget

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/theme"
)

// Choose is an entry of a menu. A zero Choose is a line between entries.
type Choose struct {
	Text     string
	Detail   string // muted, at the right
	Icon     theme.Icon
	Checked  bool
	Disabled bool
	Danger   bool
	OnTap    func()
}

// ShowMenu opens a menu at a position of the window that holds an object. It is used with the pointer, or with the
// arrow keys, Enter and Escape.
func ShowMenu(o fyne.CanvasObject, at fyne.Position, entries ...Choose) {
	c := fyne.CurrentApp().Driver().CanvasForObject(o)
	if c == nil {
		return
	}
	m := &menu{entries: entries, at: -1, before: c.Focused()}
	m.ExtendBaseWidget(m)
	col := Column(0)
	for i, e := range entries {
		r := newMenuRow(m, i, e)
		m.rows = append(m.rows, r)
		col.Add(r)
	}
	m.all = Inset(theme.XS-2, theme.XS, theme.XS-2, theme.XS, col)
	m.popup = fw.NewPopUp(m, c)
	size := m.popup.MinSize()
	at.X = max(min(at.X, c.Size().Width-size.Width-theme.S), theme.S)
	if at.Y+size.Height > c.Size().Height-theme.S {
		at.Y = max(c.Size().Height-size.Height-theme.S, theme.S)
	}
	m.popup.ShowAtPosition(at)
	c.Focus(m)
}

// ShowMenuUnder opens a menu under an object.
func ShowMenuUnder(o fyne.CanvasObject, entries ...Choose) {
	pos := fyne.CurrentApp().Driver().AbsolutePositionForObject(o)
	ShowMenu(o, pos.AddXY(0, o.Size().Height+4), entries...)
}

// menu is the content of the pop-up.
type menu struct {
	fw.BaseWidget
	entries []Choose
	rows    []*menuRow
	at      int // the entry that Enter takes; -1: none
	before  fyne.Focusable
	all     *fyne.Container
	popup   *fw.PopUp
}

func (m *menu) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(m.all) }
func (m *menu) FocusGained()                        {}
func (m *menu) FocusLost()                          {}
func (m *menu) TypedRune(rune)                      {}

// TypedKey moves through the entries.
func (m *menu) TypedKey(key *fyne.KeyEvent) {
	switch key.Name {
	case fyne.KeyEscape:
		m.close()
	case fyne.KeyDown:
		m.step(1)
	case fyne.KeyUp:
		m.step(-1)
	case fyne.KeyReturn, fyne.KeyEnter, fyne.KeySpace:
		if m.at >= 0 {
			m.take(m.at)
		}
	}
}

func (m *menu) step(by int) {
	for range m.entries {
		m.at = (m.at + by + len(m.entries)) % len(m.entries)
		if e := m.entries[m.at]; e.OnTap != nil && !e.Disabled {
			break
		}
	}
	m.paint()
}

func (m *menu) paint() {
	for i, r := range m.rows {
		r.panel.SetFill(theme.Clear)
		if i == m.at {
			r.panel.SetFill(theme.Hover)
		}
	}
}

func (m *menu) close() {
	c := fyne.CurrentApp().Driver().CanvasForObject(m)
	m.popup.Hide()
	if c != nil && m.before != nil {
		c.Focus(m.before)
	}
}

func (m *menu) take(i int) {
	e := m.entries[i]
	if e.Disabled || e.OnTap == nil {
		return
	}
	m.close()
	e.OnTap()
}

// menuRow is one entry.
type menuRow struct {
	fw.BaseWidget
	menu  *menu
	index int
	panel *Panel
	all   *fyne.Container
}

func newMenuRow(m *menu, i int, e Choose) *menuRow {
	r := &menuRow{menu: m, index: i, panel: NewPanel(theme.Clear, "", theme.RadiusSmall)}
	r.ExtendBaseWidget(r)
	if e.Text == "" {
		r.all = Inset(theme.XS, theme.S, theme.XS, theme.S, NewHairline())
		return r
	}
	text, detail := NewLabel(e.Text), Caption(e.Detail)
	icon := NewIcon(theme.IconCheck, theme.Accent, 16)
	switch {
	case e.Icon != (theme.Icon{}):
		icon.Set(e.Icon, theme.Muted)
	case !e.Checked:
		icon.Set(theme.IconCheck, theme.Clear)
	}
	switch {
	case e.Disabled:
		text.Color, detail.Color = theme.Faint, theme.Faint
	case e.Danger:
		text.Color = theme.Bad
		icon.Set(e.Icon, theme.Bad)
	}
	line := RowGrow(theme.S, 2, icon, text, Fixed(theme.L, 0, Spring()), detail)
	r.all = Stack(r.panel, Inset(7, theme.M, 7, theme.S, line))
	return r
}

func (r *menuRow) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(r.all) }
func (r *menuRow) Tapped(*fyne.PointEvent)             { r.menu.take(r.index) }
func (r *menuRow) MouseMoved(*desktop.MouseEvent)      {}
func (r *menuRow) MouseOut()                           {}

func (r *menuRow) MouseIn(*desktop.MouseEvent) {
	if e := r.menu.entries[r.index]; e.OnTap != nil && !e.Disabled {
		r.menu.at = r.index
		r.menu.paint()
	}
}
