package widget

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	ft "fyne.io/fyne/v2/theme"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/theme"
)

// Kind is how much a button asks for attention.
type Kind int

const (
	Plain   Kind = iota // outlined
	Primary             // filled with the accent: one a view
	Quiet               // text only, tinted under the pointer
	Danger              // outlined, in the colour of loss
	Nav                 // a row of the sidebar: quiet, text at the left
)

// Button is an icon, a text, or both. It has a hint where only an icon is shown.
type Button struct {
	fw.BaseWidget
	Text     string
	Icon     theme.Icon
	Kind     Kind
	Small    bool
	Round    bool
	MaxWidth float32 // 0: as wide as its text
	Strong   bool    // bold
	Pale     bool    // barely seen until the pointer is on it
	Hint     string
	Selected bool
	Trailing theme.Icon // after the text, such as an arrow
	OnTap    func()

	disabled, hovered, pressed, focused bool
}

// NewButton makes a button; a zero icon shows none.
func NewButton(text string, icon theme.Icon, kind Kind, tap func()) *Button {
	b := &Button{Text: text, Icon: icon, Kind: kind, OnTap: tap}
	b.ExtendBaseWidget(b)
	return b
}

// NewIconButton makes a quiet button of one icon; the hint says what it does.
func NewIconButton(icon theme.Icon, hint string, tap func()) *Button {
	b := NewButton("", icon, Quiet, tap)
	b.Hint = hint
	return b
}

// Set changes text and icon.
func (b *Button) Set(text string, icon theme.Icon) {
	if b.Text != text || b.Icon != icon {
		b.Text, b.Icon = text, icon
		b.Refresh()
	}
}

// Select marks a row of the sidebar as the current one.
func (b *Button) Select(on bool) {
	if b.Selected != on {
		b.Selected = on
		b.Refresh()
	}
}

// Enable and Disable say whether the button can be pressed.
func (b *Button) Enable() { b.setDisabled(false) }

// Disable greys the button.
func (b *Button) Disable() { b.setDisabled(true) }

// Disabled reports whether the button is greyed.
func (b *Button) Disabled() bool { return b.disabled }

func (b *Button) setDisabled(off bool) {
	if b.disabled != off {
		b.disabled = off
		b.Refresh()
	}
}

// Tapped implements fyne.Tappable.
func (b *Button) Tapped(*fyne.PointEvent) {
	hideHint(b)
	if !b.disabled && b.OnTap != nil {
		b.OnTap()
	}
}

// MouseIn shows the hint and the tint.
func (b *Button) MouseIn(*desktop.MouseEvent) {
	b.hovered = true
	b.Refresh()
	if b.Hint != "" {
		showHint(b, b.Hint)
	}
}

// MouseMoved implements desktop.Hoverable.
func (b *Button) MouseMoved(*desktop.MouseEvent) {}

// MouseOut implements desktop.Hoverable.
func (b *Button) MouseOut() {
	b.hovered, b.pressed = false, false
	hideHint(b)
	b.Refresh()
}

// MouseDown and MouseUp darken the button while it is held.
func (b *Button) MouseDown(*desktop.MouseEvent) {
	b.pressed = true
	b.Refresh()
}

// MouseUp implements desktop.Mouseable.
func (b *Button) MouseUp(*desktop.MouseEvent) {
	b.pressed = false
	b.Refresh()
}

// Cursor is a hand while the button can be pressed.
func (b *Button) Cursor() desktop.Cursor {
	if b.disabled {
		return desktop.DefaultCursor
	}
	return desktop.PointerCursor
}

func (b *Button) face() face {
	f := face{size: theme.Size(ft.SizeNameText), bold: b.Kind == Primary || b.Strong}
	if b.Small {
		f.size = theme.Size(ft.SizeNameCaptionText)
	}
	return f
}

// CreateRenderer implements fyne.Widget.
func (b *Button) CreateRenderer() fyne.WidgetRenderer {
	r := &buttonRenderer{
		button: b, ground: canvas.NewRectangle(nil), tint: canvas.NewRectangle(nil), ring: newRing(0),
		text: canvas.NewText("", nil), icon: canvas.NewImageFromResource(nil), trail: canvas.NewImageFromResource(nil),
	}
	r.icon.FillMode, r.trail.FillMode = canvas.ImageFillContain, canvas.ImageFillContain
	r.Refresh()
	return r
}

type buttonRenderer struct {
	button       *Button
	ground, tint *canvas.Rectangle
	ring         *canvas.Rectangle
	text         *canvas.Text
	icon, trail  *canvas.Image
}

func (r *buttonRenderer) Destroy() {}

func (r *buttonRenderer) Objects() []fyne.CanvasObject {
	if r.button.focused {
		return []fyne.CanvasObject{r.ground, r.tint, r.icon, r.text, r.trail, r.ring}
	}
	return []fyne.CanvasObject{r.ground, r.tint, r.icon, r.text, r.trail}
}

// sides returns the space at each end, the icon's side, the gap beside it, and the height.
func (r *buttonRenderer) sides() (pad, side, gap, height float32) {
	if r.button.Small {
		return 8, 14, 5, 26
	}
	if r.button.Kind == Nav {
		return 10, 18, 10, 34
	}
	return 12, 16, 7, 34
}

func (r *buttonRenderer) inner() float32 {
	b := r.button
	_, side, gap, _ := r.sides()
	w := b.face().width(b.Text)
	if b.Icon != (theme.Icon{}) {
		w += side
		if b.Text != "" {
			w += gap
		}
	}
	if b.Trailing != (theme.Icon{}) {
		w += gap + side*0.8
	}
	return w
}

func (r *buttonRenderer) MinSize() fyne.Size {
	pad, _, _, height := r.sides()
	if r.button.Text == "" {
		return fyne.NewSquareSize(height)
	}
	w := r.inner() + 2*pad
	if m := r.button.MaxWidth; m > 0 {
		w = min(w, m)
	}
	return fyne.NewSize(w, height)
}

func (r *buttonRenderer) Layout(size fyne.Size) {
	b := r.button
	pad, side, gap, _ := r.sides()
	r.ground.Resize(size)
	r.tint.Resize(size)
	r.ring.Resize(size)
	trail := float32(0)
	if b.Trailing != (theme.Icon{}) {
		trail = gap + side*0.8
	}
	icon := float32(0)
	if b.Icon != (theme.Icon{}) {
		icon = side
		if b.Text != "" {
			icon += gap
		}
	}
	f := b.face()
	text := f.cut(b.Text, size.Width-icon-trail-1.5*pad)
	w := f.width(text)
	x := max((size.Width-icon-w-trail)/2, pad/2)
	if b.Kind == Nav {
		x = pad
	}
	r.icon.Move(whole(x, (size.Height-side)/2))
	r.icon.Resize(fyne.NewSquareSize(side))
	r.text.Text = text
	r.text.Move(whole(x+icon, (size.Height-f.height())/2))
	r.text.Resize(fyne.NewSize(w, f.height()))
	r.trail.Move(whole(x+icon+w+gap, (size.Height-side*0.8)/2))
	r.trail.Resize(fyne.NewSquareSize(side * 0.8))
	r.text.Refresh()
}

func (r *buttonRenderer) Refresh() {
	b := r.button
	ground, edge, ink, tint := theme.Clear, fyne.ThemeColorName(""), theme.Text, theme.Clear
	switch b.Kind {
	case Plain:
		ground, edge = theme.Raised, theme.Border
	case Danger:
		ground, edge, ink = theme.Raised, theme.Border, theme.Bad
	case Primary:
		ground, ink = theme.Accent, theme.OnAccent
	case Quiet:
		if !b.Strong {
			ink = theme.Muted
		}
	}
	if b.Pale {
		ink = theme.Faint
	}
	if b.Selected {
		ground = theme.Selected
	}
	switch {
	case b.disabled && b.Kind == Primary:
		ground, ink = theme.Selected, theme.Faint
	case b.disabled:
		ink = theme.Faint
	case b.pressed:
		tint = theme.Pressed
	case b.hovered:
		tint = theme.Hover
		if b.Kind == Quiet {
			ink = theme.Text
		}
	}
	radius := theme.RadiusSmall + 1
	if b.Round {
		radius = 17
	}
	r.ground.FillColor, r.ground.CornerRadius, r.ground.StrokeWidth = theme.Color(ground), radius, 0
	if edge != "" {
		r.ground.StrokeColor, r.ground.StrokeWidth = theme.Color(edge), 1
	}
	r.tint.FillColor, r.tint.CornerRadius = theme.Color(tint), radius
	r.ring.CornerRadius = radius
	paintRing(r.ring, b.focused)
	f := b.face()
	r.text.TextSize, r.text.TextStyle, r.text.Color = f.size, f.textStyle(), theme.Color(ink)
	iconInk := ink
	if b.Kind == Nav && !b.Selected && !b.disabled {
		iconInk = theme.Muted
	} else if b.Kind == Nav && b.Selected {
		iconInk = theme.Accent
	}
	r.image(r.icon, b.Icon, iconInk)
	r.image(r.trail, b.Trailing, theme.Muted)
	r.Layout(b.Size())
	r.ground.Refresh()
	r.tint.Refresh()
	r.text.Refresh()
	canvas.Refresh(b)
}

func (r *buttonRenderer) image(img *canvas.Image, icon theme.Icon, ink fyne.ThemeColorName) {
	if icon == (theme.Icon{}) {
		img.Hide()
		return
	}
	img.Resource = icon.In(ink)
	img.Show()
	img.Refresh()
}
