package widget

import (
	"image/color"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/driver/desktop"
	ft "fyne.io/fyne/v2/theme"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/theme"
)

// Style is how a prose is set.
type Style struct {
	Size   fyne.ThemeSizeName  // "": running text
	Color  fyne.ThemeColorName // "": theme.Text
	Bold   bool
	Italic bool
	Align  fyne.TextAlign
	Lead   float32 // row height over text height; 0: 1.18
	Pre    bool    // spaces and newlines kept
}

// Prose is wrapped text in runs. It breaks rows by words measured once each, so that a growing answer costs
// little, keeps the canvas objects of rows that did not change, and can be selected.
type Prose struct {
	fw.BaseWidget
	runs   []Run
	style  Style
	beside bool      // in one row with the prose before it: copied with a tab between
	host   *Document // draws selections over several pieces; nil: not selectable

	text     string
	faces    []face
	rows     []row
	setWidth float32 // what rows are broken for; < 0: not yet
	from, to int     // selected bytes; equal: none
	hovering bool    // a link

	seen               bool // told what is in view: rows from top to bottom
	top, bottom        int
	drawnFrom, drawnTo int // rows that have canvas objects
}

// NewProse makes a prose.
func NewProse(style Style, runs ...Run) *Prose {
	p := &Prose{style: style, setWidth: -1}
	p.ExtendBaseWidget(p)
	p.SetRuns(runs)
	return p
}

// Paragraph is plain text that wraps.
func Paragraph(text string) *Prose { return NewProse(Style{}, Run{Text: text}) }

// Note is small, muted text that wraps.
func Note(text string) *Prose {
	return NewProse(Style{Size: ft.SizeNameCaptionText, Color: theme.Muted}, Run{Text: text})
}

// SetText replaces the content by plain text.
func (p *Prose) SetText(text string) {
	if len(p.runs) != 1 || p.text != text {
		p.SetRuns([]Run{{Text: text}})
	}
}

// SetColor changes the colour of runs that name none.
func (p *Prose) SetColor(name fyne.ThemeColorName) {
	if p.style.Color != name {
		p.style.Color = name
		p.Refresh()
	}
}

// SetRuns replaces the content.
func (p *Prose) SetRuns(runs []Run) {
	if p.setWidth >= 0 && slices.Equal(p.runs, runs) {
		return
	}
	p.runs = runs
	var b strings.Builder
	for _, r := range runs {
		b.WriteString(r.Text)
	}
	p.text = b.String()
	p.from, p.to = 0, 0
	p.reset()
	p.Refresh()
}

// Text returns the content without its styles.
func (p *Prose) Text() string { return p.text }

func (p *Prose) reset() {
	p.faces = p.faces[:0]
	for _, r := range p.runs {
		p.faces = append(p.faces, p.face(r))
	}
	p.setWidth = -1
}

func (p *Prose) face(r Run) face {
	name := p.style.Size
	if name == "" {
		name = ft.SizeNameText
	}
	size := theme.Size(name)
	if (r.Code || r.Mono) && name == ft.SizeNameText {
		size = theme.Size(theme.SizeCode) // the monospaced face is large for its size
	}
	return face{size: size, bold: r.Bold || p.style.Bold, italic: r.Italic || p.style.Italic, mono: r.Mono || r.Code}
}

func (p *Prose) rowHeight() float32 {
	lead := p.style.Lead
	if lead == 0 {
		lead = 1.18
	}
	return float32(int(p.face(Run{}).height()*lead + 0.5))
}

// HeightFor implements Item.
func (p *Prose) HeightFor(width float32) float32 {
	p.breakFor(width)
	return float32(len(p.rows)) * p.rowHeight()
}

// Rows is how many rows the text takes at a width.
func (p *Prose) Rows(width float32) int {
	p.breakFor(width)
	return len(p.rows)
}

// NaturalWidth is the width at which no row wraps.
func (p *Prose) NaturalWidth() float32 {
	w, line := float32(0), float32(0)
	for i, r := range p.runs {
		for j, part := range strings.Split(r.Text, "\n") {
			if j > 0 {
				w, line = max(w, line), 0
			}
			line += p.faces[i].width(part)
		}
	}
	return max(w, line)
}

func (p *Prose) breakFor(width float32) {
	if p.setWidth == width {
		return
	}
	p.rows = breakRows(p.runs, p.faces, width, p.rowHeight(), p.style.Pre)
	p.setWidth = width
}

// Resize breaks the rows anew where the width changed.
func (p *Prose) Resize(size fyne.Size) {
	if size == p.Size() {
		return
	}
	p.BaseWidget.Resize(size)
}

// offsetAt returns the byte of the text nearest to a position in the prose.
func (p *Prose) offsetAt(pos fyne.Position) int {
	if len(p.rows) == 0 {
		return 0
	}
	i := int(pos.Y / p.rowHeight())
	if pos.Y < 0 {
		return 0
	}
	if i >= len(p.rows) {
		return len(p.text)
	}
	r := p.rows[i]
	shift := p.shift(r)
	for _, f := range r.frags {
		if pos.X > shift+f.x+f.w {
			continue
		}
		x, text := shift+f.x, p.text[f.start:f.end]
		for n := 0; n < len(text); {
			_, k := utf8.DecodeRuneInString(text[n:])
			w := p.faces[f.run].width(text[n : n+k])
			if pos.X < x+w/2 {
				return f.start + n
			}
			x, n = x+w, n+k
		}
		return f.end
	}
	if n := len(r.frags); n > 0 {
		return r.frags[n-1].end
	}
	return r.start
}

// shift is how far an aligned row is moved to the right.
func (p *Prose) shift(r row) float32 {
	if p.style.Align == fyne.TextAlignLeading || len(r.frags) == 0 {
		return 0
	}
	last := r.frags[len(r.frags)-1]
	spare := p.Size().Width - last.x - last.w
	if p.style.Align == fyne.TextAlignCenter {
		spare /= 2
	}
	return max(spare, 0)
}

func (p *Prose) linkAt(pos fyne.Position) string {
	i := int(pos.Y / p.rowHeight())
	if pos.Y < 0 || i >= len(p.rows) {
		return ""
	}
	shift := p.shift(p.rows[i])
	for _, f := range p.rows[i].frags {
		if pos.X >= shift+f.x && pos.X <= shift+f.x+f.w {
			return p.runs[f.run].Link
		}
	}
	return ""
}

// Tapped opens the link under the pointer; only web and mail addresses are opened.
func (p *Prose) Tapped(ev *fyne.PointEvent) {
	u, err := url.Parse(p.linkAt(ev.Position))
	if err == nil && (u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "mailto") {
		fyne.CurrentApp().OpenURL(u)
	}
}

// MouseIn, MouseMoved and MouseOut follow the pointer over links.
func (p *Prose) MouseIn(ev *desktop.MouseEvent)    { p.MouseMoved(ev) }
func (p *Prose) MouseMoved(ev *desktop.MouseEvent) { p.hovering = p.linkAt(ev.Position) != "" }
func (p *Prose) MouseOut()                         { p.hovering = false }

// Cursor is a hand over a link, a text bar over text that can be selected.
func (p *Prose) Cursor() desktop.Cursor {
	switch {
	case p.hovering:
		return desktop.PointerCursor
	case p.host != nil:
		return desktop.TextCursor
	}
	return desktop.DefaultCursor
}

// MouseDown begins a selection.
func (p *Prose) MouseDown(ev *desktop.MouseEvent) {
	if p.host != nil && ev.Button == desktop.MouseButtonPrimary {
		p.host.beginSelection(p, p.offsetAt(ev.Position))
	}
}

// MouseUp implements desktop.Mouseable.
func (p *Prose) MouseUp(*desktop.MouseEvent) {}

// Dragged extends the selection to the pointer, in other pieces of the document too.
func (p *Prose) Dragged(ev *fyne.DragEvent) {
	if p.host != nil {
		p.host.extendSelection(ev.AbsolutePosition)
	}
}

// DragEnd implements fyne.Draggable.
func (p *Prose) DragEnd() {}

func (p *Prose) selectBytes(from, to int) {
	if p.from != from || p.to != to {
		p.from, p.to = from, to
		p.Refresh()
	}
}

// CreateRenderer implements fyne.Widget.
func (p *Prose) CreateRenderer() fyne.WidgetRenderer {
	r := &proseRenderer{prose: p, drawnWidth: -1}
	r.draw(p.Size())
	return r
}

// proseRenderer keeps its canvas objects: tints and marks below, then one text a fragment.
type proseRenderer struct {
	prose      *Prose
	texts      []*canvas.Text
	rects      []*canvas.Rectangle
	used       int // rects in use
	objects    []fyne.CanvasObject
	drawnWidth float32
}

func (r *proseRenderer) Destroy()                     {}
func (r *proseRenderer) Objects() []fyne.CanvasObject { return r.objects }

func (r *proseRenderer) MinSize() fyne.Size {
	return fyne.NewSize(20, r.prose.HeightFor(max(r.prose.Size().Width, 20)))
}

func (r *proseRenderer) Layout(size fyne.Size) {
	if size.Width != r.drawnWidth {
		r.draw(size)
	}
}

func (r *proseRenderer) Refresh() {
	r.prose.faceChanged()
	r.draw(r.prose.Size())
	canvas.Refresh(r.prose)
}

// faceChanged notices a theme with other text sizes.
func (p *Prose) faceChanged() {
	for i, run := range p.runs {
		if p.faces[i] != p.face(run) {
			p.reset()
			return
		}
	}
}

func (r *proseRenderer) draw(size fyne.Size) {
	p := r.prose
	p.breakFor(size.Width)
	r.drawnWidth, r.used = size.Width, 0
	base := p.face(Run{}).metrics()
	used := 0
	p.drawnFrom, p.drawnTo = p.drawRange()
	for _, line := range p.rows[p.drawnFrom:p.drawnTo] {
		shift := p.shift(line)
		r.mark(line, shift)
		for _, f := range line.frags {
			run, face := p.runs[f.run], p.faces[f.run]
			m := face.metrics()
			y := line.y + (line.h-base.height)/2 + base.baseline - m.baseline
			pos := whole(shift+f.x, y)
			if run.Code {
				r.rect(theme.Color(theme.Surface), fyne.NewPos(pos.X-2, line.y+1.5), fyne.NewSize(f.w+4, line.h-3), 4)
			}
			if run.Strike {
				r.rect(r.colorOf(run), fyne.NewPos(pos.X, y+m.baseline*0.68), fyne.NewSize(f.w, 1), 0)
			}
			r.text(used, p.text[f.start:f.end], face, r.colorOf(run), pos, fyne.NewSize(f.w, m.height))
			used++
		}
	}
	r.texts = r.texts[:used]
	r.objects = r.objects[:0]
	for _, o := range r.rects[:r.used] {
		r.objects = append(r.objects, o)
	}
	for _, o := range r.texts {
		r.objects = append(r.objects, o)
	}
}

func (r *proseRenderer) colorOf(run Run) color.Color {
	switch {
	case run.Color != "":
		return theme.Color(run.Color)
	case run.Link != "":
		return theme.Color(theme.Accent)
	case r.prose.style.Color != "":
		return theme.Color(r.prose.style.Color)
	}
	return theme.Color(theme.Text)
}

// mark tints the selected part of a row.
func (r *proseRenderer) mark(line row, shift float32) {
	p := r.prose
	if p.from >= p.to || line.end <= p.from || line.start >= p.to {
		return
	}
	left, right := float32(-1), float32(0)
	for _, f := range line.frags {
		from, to := max(f.start, p.from), min(f.end, p.to)
		if from >= to {
			continue
		}
		face := p.faces[f.run]
		x := f.x + face.width(p.text[f.start:from])
		if left < 0 {
			left = x
		}
		right = x + face.width(p.text[from:to])
	}
	if left >= 0 {
		r.rect(theme.Color(theme.Mark), fyne.NewPos(shift+left, line.y), fyne.NewSize(right-left, line.h), 0)
	}
}

func (r *proseRenderer) rect(c color.Color, pos fyne.Position, size fyne.Size, radius float32) {
	if r.used == len(r.rects) {
		r.rects = append(r.rects, canvas.NewRectangle(nil))
	}
	o := r.rects[r.used]
	r.used++
	o.FillColor, o.CornerRadius = c, radius
	o.Move(pos)
	o.Resize(size)
}

func (r *proseRenderer) text(i int, text string, f face, c color.Color, pos fyne.Position, size fyne.Size) {
	if i == len(r.texts) {
		r.texts = append(r.texts, canvas.NewText("", nil))
	}
	o := r.texts[i]
	o.Move(pos)
	o.Resize(size)
	if o.Text != text || o.TextSize != f.size || o.TextStyle != f.textStyle() || o.Color != c {
		o.Text, o.TextSize, o.TextStyle, o.Color = text, f.size, f.textStyle(), c
		o.Refresh()
	}
}
