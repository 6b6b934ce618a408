package widget

import (
	"reflect"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"
	ft "fyne.io/fyne/v2/theme"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/markdown"
	"ingot/app/window/theme"
)

// Document sets Markdown blocks one below the other. Set keeps the widget of every block that did not change, so a
// growing answer touches its last block only.
type Document struct {
	fw.BaseWidget
	style     Style // of running text
	blocks    []markdown.Block
	views     []Item
	content   *fyne.Container
	root      *Document  // of a document inside a quote or a list; nil: this one
	selection *Selection // nil: text cannot be selected
	selAnchor int        // index into leaves where a selection began
	selByte   int
}

// NewDocument makes an empty document. All documents of one view share a Selection.
func NewDocument(selection *Selection) *Document {
	d := &Document{selection: selection}
	d.ExtendBaseWidget(d)
	d.content = &fyne.Container{Layout: &documentLayout{d}}
	return d
}

// nested makes a document inside this one; its text is selected with the rest.
func (d *Document) nested(style Style) *Document {
	in := NewDocument(nil)
	in.root, in.style = d.top(), style
	return in
}

func (d *Document) top() *Document {
	if d.root != nil {
		return d.root
	}
	return d
}

// SetStyle changes how running text looks; call it before Set.
func (d *Document) SetStyle(s Style) { d.style = s }

// NaturalWidth is the width at which no line of running text wraps.
func (d *Document) NaturalWidth() float32 {
	w := float32(0)
	for _, p := range leaves(d) {
		w = max(w, p.NaturalWidth())
	}
	return w
}

// SetMarkdown parses and shows a text.
func (d *Document) SetMarkdown(text string) { d.Set(markdown.Parse(text)) }

// SetPlain shows a text as it stands.
func (d *Document) SetPlain(text string) {
	d.Set([]markdown.Block{{Kind: markdown.Paragraph, Spans: []markdown.Span{{Text: text}}}})
}

// Set shows blocks. It returns how many block widgets were made or changed.
func (d *Document) Set(blocks []markdown.Block) int {
	changed := 0
	for i, b := range blocks {
		if i < len(d.views) && reflect.DeepEqual(d.blocks[i], b) {
			continue
		}
		changed++
		if i < len(d.views) && d.blocks[i].Kind == b.Kind && d.update(d.views[i], b) {
			continue
		}
		v := d.view(b)
		if i < len(d.views) {
			d.views[i] = v
		} else {
			d.views = append(d.views, v)
		}
	}
	d.blocks, d.views = blocks, d.views[:len(blocks)]
	if changed > 0 || len(d.content.Objects) != len(d.views) {
		d.content.Objects = d.content.Objects[:0]
		for _, v := range d.views {
			d.content.Objects = append(d.content.Objects, v)
		}
		d.content.Layout.Layout(d.content.Objects, d.content.Size())
		d.content.Refresh()
	}
	return changed
}

// view makes the widget of a block.
func (d *Document) view(b markdown.Block) Item {
	var v Item
	switch b.Kind {
	case markdown.Heading:
		v = d.prose(d.headingStyle(b.Level))
	case markdown.Code:
		v = NewCodeBlock(d.top())
	case markdown.Quote:
		v = newQuote(d)
	case markdown.List:
		v = newBullets(d)
	case markdown.Table:
		v = NewTable(d.top())
	case markdown.Rule:
		return AsItem(Inset(theme.S, 0, theme.S, 0, NewHairline()))
	default:
		v = d.prose(d.style)
	}
	d.update(v, b)
	return v
}

func (d *Document) headingStyle(level int) Style {
	s := Style{Bold: true, Size: ft.SizeNameSubHeadingText, Color: d.style.Color, Lead: 1.22}
	switch {
	case level == 1:
		s.Size = theme.SizeTitle
	case level > 3:
		s.Size = ft.SizeNameText
	}
	return s
}

func (d *Document) prose(s Style) *Prose {
	s.Lead = 1.22
	p := NewProse(s)
	p.host = d.top()
	return p
}

// update shows a block in a widget made for its kind; false: the widget cannot.
func (d *Document) update(v Item, b markdown.Block) bool {
	switch v := v.(type) {
	case *Prose:
		if b.Kind == markdown.Heading && v.style != d.headingStyle(b.Level) {
			return false
		}
		v.SetRuns(runsOf(b.Spans))
	case *CodeBlock:
		v.Set(b.Lang, b.Text)
	case *Table:
		v.Set(b)
	case *quote:
		v.body.Set(b.Blocks)
	case *bullets:
		v.set(b)
	}
	return true
}

// runsOf turns spans into runs.
func runsOf(spans []markdown.Span) []Run {
	runs := make([]Run, 0, len(spans))
	for _, s := range spans {
		runs = append(runs, Run{Text: s.Text, Bold: s.Bold, Italic: s.Italic, Code: s.Code, Strike: s.Strike, Link: s.Link})
	}
	return runs
}

// HeightFor implements Item.
func (d *Document) HeightFor(width float32) float32 {
	return d.content.Layout.(HeightLayout).HeightFor(d.content.Objects, width)
}

// CreateRenderer implements fyne.Widget.
func (d *Document) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(d.content) }

// documentLayout leaves more room above a heading, less between the items of a tight list.
type documentLayout struct{ doc *Document }

func (l *documentLayout) gap(i int) float32 {
	switch {
	case i == 0:
		return 0
	case l.doc.blocks[i].Kind == markdown.Heading:
		return 16
	case l.doc.blocks[i-1].Kind == markdown.Heading:
		return 6
	}
	return 10
}

func (l *documentLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	y := float32(0)
	for i, o := range objects {
		y += l.gap(i)
		h := HeightOf(o, size.Width)
		o.Move(fyne.NewPos(0, y))
		o.Resize(fyne.NewSize(size.Width, h))
		y += h
	}
}

func (l *documentLayout) HeightFor(objects []fyne.CanvasObject, width float32) float32 {
	y := float32(0)
	for i, o := range objects {
		y += l.gap(i) + HeightOf(o, width)
	}
	return y
}

func (l *documentLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	return fyne.NewSize(20, l.HeightFor(objects, max(l.doc.Size().Width, 20)))
}

// quote is a document beside a bar.
type quote struct {
	fw.BaseWidget
	body    *Document
	content *fyne.Container
}

func newQuote(in *Document) *quote {
	q := &quote{body: in.nested(Style{Color: theme.Muted})}
	q.ExtendBaseWidget(q)
	bar := NewPanel(theme.Border, "", 1.5)
	q.content = Beside(bar, 3, 12, q.body)
	return q
}

func (q *quote) HeightFor(width float32) float32       { return HeightOf(q.content, width) }
func (q *quote) CreateRenderer() fyne.WidgetRenderer   { return fw.NewSimpleRenderer(q.content) }
func (b *bullets) HeightFor(width float32) float32     { return HeightOf(b.content, width) }
func (b *bullets) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(b.content) }

// bullets is a list: each item a mark and a document.
type bullets struct {
	fw.BaseWidget
	in      *Document
	marks   []*Label
	bodies  []*Document
	content *fyne.Container
}

func newBullets(in *Document) *bullets {
	b := &bullets{in: in}
	b.ExtendBaseWidget(b)
	b.content = Column(4)
	return b
}

func (b *bullets) set(block markdown.Block) {
	wide := float32(18)
	if block.Ordered {
		last := strconv.Itoa(block.Start+len(block.Items)-1) + "."
		wide = face{size: theme.Size(ft.SizeNameText)}.width(last) + 8
	}
	b.content.Layout.(*columnLayout).gap = 4
	if !block.Tight {
		b.content.Layout.(*columnLayout).gap = 8
	}
	for len(b.bodies) < len(block.Items) {
		mark, body := NewLabel(""), b.in.nested(b.in.style)
		mark.Color = theme.Muted
		b.marks, b.bodies = append(b.marks, mark), append(b.bodies, body)
		b.content.Add(&fyne.Container{Layout: &besideLayout{}, Objects: []fyne.CanvasObject{mark, body}})
	}
	b.marks, b.bodies = b.marks[:len(block.Items)], b.bodies[:len(block.Items)]
	b.content.Objects = b.content.Objects[:len(block.Items)]
	for i, it := range block.Items {
		mark := "•"
		switch {
		case it.Done:
			mark = "☑"
		case it.Task:
			mark = "☐"
		case block.Ordered:
			mark = strconv.Itoa(block.Start+i) + "."
		}
		b.marks[i].Set(mark)
		*(b.content.Objects[i].(*fyne.Container).Layout.(*besideLayout)) = besideLayout{wide, 0}
		b.bodies[i].Set(it.Blocks)
	}
	b.content.Refresh()
}

// Beside sets a narrow mark of a width left of an object, gap apart.
func Beside(mark fyne.CanvasObject, wide, gap float32, o fyne.CanvasObject) *fyne.Container {
	return &fyne.Container{Layout: besideLayout{wide, gap}, Objects: []fyne.CanvasObject{mark, o}}
}

// besideLayout sets a mark of fixed width left of a body.
type besideLayout struct{ wide, gap float32 }

func (l besideLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	mark, body := objects[0], objects[1]
	h := size.Height
	if _, isBar := mark.(*Panel); !isBar {
		h = float32(int(mark.MinSize().Height*1.22 + 0.5)) // one row of prose
	}
	mark.Resize(fyne.NewSize(l.wide, h))
	mark.Move(fyne.Position{})
	body.Move(fyne.NewPos(l.wide+l.gap, 0))
	body.Resize(fyne.NewSize(max(size.Width-l.wide-l.gap, 1), size.Height))
}

func (l besideLayout) HeightFor(objects []fyne.CanvasObject, width float32) float32 {
	return HeightOf(objects[1], max(width-l.wide-l.gap, 1))
}

func (l besideLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	return objects[1].MinSize().AddWidthHeight(l.wide+l.gap, 0)
}

// leaves returns the prose under an item in reading order.
func leaves(v fyne.CanvasObject) []*Prose {
	switch v := v.(type) {
	case *Prose:
		return []*Prose{v}
	case *CodeBlock:
		return []*Prose{v.body}
	case *Table:
		return v.leaves()
	case *quote:
		return leaves(v.body)
	case *bullets:
		var out []*Prose
		for _, b := range v.bodies {
			out = append(out, leaves(b)...)
		}
		return out
	case *Document:
		var out []*Prose
		for _, b := range v.views {
			out = append(out, leaves(b)...)
		}
		return out
	}
	return nil
}

// PlainText is the document's text without marks.
func (d *Document) PlainText() string {
	var parts []string
	for _, p := range leaves(d) {
		parts = append(parts, p.text)
	}
	return strings.Join(parts, "\n")
}
