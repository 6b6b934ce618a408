package widget

import (
	"image/color"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	ft "fyne.io/fyne/v2/theme"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/theme"
)

// Field is a line of input. Escape gives the focus back.
type Field struct {
	fw.Entry
	OnFocus func(bool)
	self    fyne.Widget // the widget that embeds this one: what the toolkit knows
	steady  *fyne.Animation
}

// ExtendBaseWidget remembers which widget the toolkit knows this one by.
func (f *Field) ExtendBaseWidget(w fyne.Widget) {
	f.self = w
	f.Entry.ExtendBaseWidget(w)
}

// NewField makes a field with a text and what stands in it while it is empty.
func NewField(text, placeholder string) *Field {
	f := &Field{}
	f.ExtendBaseWidget(f)
	f.SetPlaceHolder(placeholder)
	f.SetText(text)
	return f
}

// Area is a field of several lines that is as high as its text, so that all of it is seen without a wheel of its own.
type Area struct {
	Field
	least, rows int
	measure     *Prose // tells how many rows the text takes
}

// NewArea makes an area of at least so many rows.
func NewArea(text string, rows int) *Area {
	a := &Area{least: rows, measure: NewProse(Style{})}
	a.MultiLine = true
	a.Wrapping = fyne.TextWrapWord
	a.ExtendBaseWidget(a)
	a.SetText(text)
	return a
}

// HeightFor implements Item.
func (a *Area) HeightFor(width float32) float32 {
	a.measure.SetText(a.Text)
	if rows := max(a.measure.Rows(width-2*theme.S-2), a.least); rows != a.rows {
		a.rows = rows
		a.SetMinRowsVisible(rows)
	}
	return a.MinSize().Height
}

// Box sets a field in a panel that takes the accent while the field has the focus.
func Box(f *Field) *fyne.Container {
	panel := NewPanel(theme.Raised, theme.Border, theme.RadiusSmall+1)
	f.OnFocus = func(on bool) {
		panel.Line = theme.Border
		if on {
			panel.Line = theme.Accent
		}
		panel.Refresh()
	}
	return Stack(panel, Inset(-2, 2, -2, 2, Bare(f.self)))
}

// Bare shows an entry without a box of its own.
func Bare(o fyne.CanvasObject) fyne.CanvasObject { return container.NewThemeOverride(o, bare{}) }

// bare is the running theme without an entry's box. The toolkit makes the caret as wide as the box's line, which is
// therefore there and clear.
type bare struct{}

const caretWidth float32 = 1.5

func (bare) theme() fyne.Theme { return fyne.CurrentApp().Settings().Theme() }

func (b bare) Color(name fyne.ThemeColorName, v fyne.ThemeVariant) color.Color {
	switch name {
	case ft.ColorNameInputBackground, ft.ColorNameInputBorder:
		name = theme.Clear
	case ft.ColorNamePrimary: // the line of an entry that has the focus; without animations also the caret
		if fyne.CurrentApp().Settings().ShowAnimations() {
			name = theme.Clear
		}
	}
	return b.theme().Color(name, v)
}

func (b bare) Font(s fyne.TextStyle) fyne.Resource     { return b.theme().Font(s) }
func (b bare) Icon(n fyne.ThemeIconName) fyne.Resource { return b.theme().Icon(n) }

func (b bare) Size(name fyne.ThemeSizeName) float32 {
	if name == ft.SizeNameInputBorder {
		return caretWidth
	}
	return b.theme().Size(name)
}

// FocusGained tells OnFocus. The toolkit blinks the caret by fading it, which draws the whole window twelve times a
// second: a tenth of a core where no graphics card helps. It holds the caret still while someone types, and a key
// without a name is taken for typing.
func (f *Field) FocusGained() {
	f.Entry.FocusGained()
	f.blink()
	f.steady = fyne.NewAnimation(time.Second, func(float32) { f.Entry.TypedKey(&fyne.KeyEvent{}) })
	f.steady.RepeatCount = fyne.AnimationRepeatForever
	f.steady.Start()
	if f.OnFocus != nil {
		f.OnFocus(true)
	}
}

// blink gives the caret back to the toolkit.
func (f *Field) blink() {
	if f.steady != nil {
		f.steady.Stop()
		f.steady = nil
	}
}

// FocusLost tells OnFocus.
func (f *Field) FocusLost() {
	f.Entry.FocusLost()
	f.blink()
	if f.OnFocus != nil {
		f.OnFocus(false)
	}
}

// TypedKey gives the focus back on Escape.
func (f *Field) TypedKey(key *fyne.KeyEvent) {
	if key.Name == fyne.KeyEscape {
		if c := fyne.CurrentApp().Driver().CanvasForObject(f.self); c != nil {
			c.Unfocus()
		}
		return
	}
	f.Entry.TypedKey(key)
}

// Setting is a row of a form: what it is and what it does at the left, the control at the right.
func Setting(name, about string, wide float32, control fyne.CanvasObject) *fyne.Container {
	left := Column(2, NewLabel(name))
	if about != "" {
		left.Add(Note(about))
	}
	if wide > 0 {
		control = Fixed(wide, 0, control)
	}
	return RowGrow(24, 0, left, control)
}

// Section is a titled card of rows with lines between them.
func Section(title string, rows ...fyne.CanvasObject) *fyne.Container {
	body := Column(0)
	for i, r := range rows {
		if i > 0 {
			body.Add(NewHairline())
		}
		body.Add(Inset(12, 16, 12, 16, r))
	}
	box := Stack(NewPanel(theme.Sheet, theme.Border, theme.Radius), body)
	if title == "" {
		return box
	}
	name := Strong(title)
	return Column(8, name, box)
}
