package widget

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	ft "fyne.io/fyne/v2/theme"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/theme"
)

// Label is one line of text in a colour and size of the theme. Where it is given less room than it needs it
// ends in an ellipsis; its minimum width is its text's unless Shrink is set.
type Label struct {
	fw.BaseWidget
	Text   string
	Color  fyne.ThemeColorName
	Size_  fyne.ThemeSizeName
	Bold   bool
	Mono   bool
	Shrink bool // may be cut
	Align  fyne.TextAlign
}

// NewLabel makes a label in the colour of running text.
func NewLabel(text string) *Label {
	l := &Label{Text: text, Color: theme.Text, Size_: ft.SizeNameText}
	l.ExtendBaseWidget(l)
	return l
}

// Caption is a small, muted label.
func Caption(text string) *Label {
	l := NewLabel(text)
	l.Color, l.Size_ = theme.Muted, ft.SizeNameCaptionText
	return l
}

// Strong is a bold label.
func Strong(text string) *Label {
	l := NewLabel(text)
	l.Bold = true
	return l
}

// Title is a screen's heading.
func Title(text string) *Label {
	l := Strong(text)
	l.Size_ = theme.SizeTitle
	return l
}

// Cut lets the label shrink below its text and returns it.
func (l *Label) Cut() *Label {
	l.Shrink = true
	return l
}

// Set changes the text.
func (l *Label) Set(text string) {
	if l.Text != text {
		l.Text = text
		l.Refresh()
	}
}

// SetColor changes the colour.
func (l *Label) SetColor(name fyne.ThemeColorName) {
	if l.Color != name {
		l.Color = name
		l.Refresh()
	}
}

func (l *Label) style() face {
	return face{size: theme.Size(l.Size_), bold: l.Bold, mono: l.Mono}
}

// CreateRenderer implements fyne.Widget.
func (l *Label) CreateRenderer() fyne.WidgetRenderer {
	r := &labelRenderer{label: l, text: canvas.NewText("", nil)}
	r.Refresh()
	return r
}

type labelRenderer struct {
	label *Label
	text  *canvas.Text
}

func (r *labelRenderer) Destroy()                     {}
func (r *labelRenderer) Objects() []fyne.CanvasObject { return []fyne.CanvasObject{r.text} }

func (r *labelRenderer) MinSize() fyne.Size {
	f := r.label.style()
	h := f.height()
	if r.label.Shrink {
		return fyne.NewSize(f.width("…"), h)
	}
	return fyne.NewSize(f.width(r.label.Text), h)
}

func (r *labelRenderer) Layout(size fyne.Size) {
	f := r.label.style()
	text := f.cut(r.label.Text, size.Width)
	w, h := f.width(text), f.height()
	x := float32(0)
	switch r.label.Align {
	case fyne.TextAlignCenter:
		x = (size.Width - w) / 2
	case fyne.TextAlignTrailing:
		x = size.Width - w
	}
	r.text.Move(whole(max(x, 0), (size.Height-h)/2))
	r.text.Resize(fyne.NewSize(w, h))
	if r.text.Text != text {
		r.text.Text = text
		r.text.Refresh()
	}
}

func (r *labelRenderer) Refresh() {
	f := r.label.style()
	r.text.TextSize, r.text.TextStyle = f.size, f.textStyle()
	r.text.Color = theme.Color(r.label.Color)
	r.Layout(r.label.Size())
	r.text.Refresh()
}

// Icon draws a line icon in a colour of the theme.
type Icon struct {
	fw.BaseWidget
	icon  theme.Icon
	color fyne.ThemeColorName
	side  float32
}

// NewIcon makes an icon of the given side.
func NewIcon(icon theme.Icon, color fyne.ThemeColorName, side float32) *Icon {
	i := &Icon{icon: icon, color: color, side: side}
	i.ExtendBaseWidget(i)
	return i
}

// Set changes icon and colour.
func (i *Icon) Set(icon theme.Icon, color fyne.ThemeColorName) {
	i.icon, i.color = icon, color
	i.Refresh()
}

// CreateRenderer implements fyne.Widget.
func (i *Icon) CreateRenderer() fyne.WidgetRenderer {
	img := canvas.NewImageFromResource(i.icon.In(i.color))
	img.FillMode = canvas.ImageFillContain
	return &iconRenderer{i, img}
}

type iconRenderer struct {
	icon  *Icon
	image *canvas.Image
}

func (r *iconRenderer) Destroy()                     {}
func (r *iconRenderer) Objects() []fyne.CanvasObject { return []fyne.CanvasObject{r.image} }
func (r *iconRenderer) MinSize() fyne.Size           { return fyne.NewSquareSize(r.icon.side) }

func (r *iconRenderer) Layout(size fyne.Size) {
	r.image.Move(fyne.NewPos((size.Width-r.icon.side)/2, (size.Height-r.icon.side)/2))
	r.image.Resize(fyne.NewSquareSize(r.icon.side))
}

func (r *iconRenderer) Refresh() {
	r.image.Resource = r.icon.icon.In(r.icon.color)
	r.Layout(r.icon.Size())
	r.image.Refresh()
}

// Panel is a rectangle in a colour of the theme, to be stacked under content.
type Panel struct {
	fw.BaseWidget
	Fill, Line fyne.ThemeColorName // Line "" draws no outline
	Radius     float32
}

// NewPanel makes a panel.
func NewPanel(fill, line fyne.ThemeColorName, radius float32) *Panel {
	p := &Panel{Fill: fill, Line: line, Radius: radius}
	p.ExtendBaseWidget(p)
	return p
}

// Card sets content on a rounded surface with space around it.
func Card(space float32, content fyne.CanvasObject) *fyne.Container {
	return Stack(NewPanel(theme.Surface, theme.Border, theme.Radius), Pad(space, content))
}

// SetFill changes the colour.
func (p *Panel) SetFill(fill fyne.ThemeColorName) {
	if p.Fill != fill {
		p.Fill = fill
		p.Refresh()
	}
}

// CreateRenderer implements fyne.Widget.
func (p *Panel) CreateRenderer() fyne.WidgetRenderer {
	r := &panelRenderer{p, canvas.NewRectangle(nil)}
	r.Refresh()
	return r
}

type panelRenderer struct {
	panel *Panel
	rect  *canvas.Rectangle
}

func (r *panelRenderer) Destroy()                     {}
func (r *panelRenderer) Objects() []fyne.CanvasObject { return []fyne.CanvasObject{r.rect} }
func (r *panelRenderer) MinSize() fyne.Size           { return fyne.Size{} }
func (r *panelRenderer) Layout(size fyne.Size)        { r.rect.Resize(size) }

func (r *panelRenderer) Refresh() {
	fill := r.panel.Fill
	if fill == theme.Clear && r.panel.Line != "" {
		fill = "background" // an outline over a clear ground is blended twice, and comes out darker
	}
	r.rect.FillColor = theme.Color(fill)
	r.rect.CornerRadius = r.panel.Radius
	r.rect.StrokeWidth = 0
	if r.panel.Line != "" {
		r.rect.StrokeColor, r.rect.StrokeWidth = theme.Color(r.panel.Line), 1
	}
	r.rect.Refresh()
}

// Hairline is a line of one pixel: horizontal where it is wide, vertical where it is high.
type Hairline struct{ Panel }

// NewHairline makes a line in the border colour.
func NewHairline() *Hairline {
	h := &Hairline{Panel{Fill: theme.Border}}
	h.ExtendBaseWidget(h)
	return h
}

// MinSize is one pixel each way.
func (h *Hairline) MinSize() fyne.Size { return fyne.NewSquareSize(1) }
