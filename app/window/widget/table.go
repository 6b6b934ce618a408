package widget

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/markdown"
	"ingot/app/window/theme"
)

const (
	cellX float32 = 10 // space at the sides of a cell
	cellY float32 = 6
)

// Table sets rows of wrapped cells; columns share the width by what their text asks for.
type Table struct {
	fw.BaseWidget
	host  *Document
	cells [][]*Prose // the first row is the header
	cols  int
}

// NewTable makes a table; host lets its cells be selected with the document's text.
func NewTable(host *Document) *Table {
	t := &Table{host: host}
	t.ExtendBaseWidget(t)
	return t
}

// Set changes the content, keeping the cells that are there.
func (t *Table) Set(b markdown.Block) {
	t.cols = len(b.Align)
	for len(t.cells) < len(b.Rows) {
		t.cells = append(t.cells, nil)
	}
	t.cells = t.cells[:len(b.Rows)]
	for i, row := range b.Rows {
		for len(t.cells[i]) < t.cols {
			p := NewProse(Style{Bold: i == 0, Align: fyne.TextAlign(b.Align[len(t.cells[i])])})
			p.host, p.beside = t.host, len(t.cells[i]) > 0
			t.cells[i] = append(t.cells[i], p)
		}
		t.cells[i] = t.cells[i][:t.cols]
		for j, spans := range row {
			t.cells[i][j].SetRuns(runsOf(spans))
		}
	}
	t.Refresh()
}

func (t *Table) leaves() []*Prose {
	var out []*Prose
	for _, row := range t.cells {
		out = append(out, row...)
	}
	return out
}

// widths shares a width out: each column gets what it needs; where that is too much, wide columns give way first.
func (t *Table) widths(width float32) []float32 {
	want := make([]float32, t.cols)
	sum := float32(0)
	for j := range want {
		for _, row := range t.cells {
			want[j] = max(want[j], row[j].NaturalWidth())
		}
		want[j] = max(want[j], 24) + 2*cellX + 1
		sum += want[j]
	}
	if sum <= width || t.cols == 0 {
		return want
	}
	// Lower the ceiling until the columns fit: those under it keep their width.
	lo, hi := float32(0), width
	for range 24 {
		mid, total := (lo+hi)/2, float32(0)
		for _, w := range want {
			total += min(w, mid)
		}
		if total > width {
			hi = mid
		} else {
			lo = mid
		}
	}
	for j := range want {
		want[j] = min(want[j], lo)
	}
	return want
}

func (t *Table) heights(widths []float32) []float32 {
	out := make([]float32, len(t.cells))
	for i, row := range t.cells {
		for j, c := range row {
			out[i] = max(out[i], c.HeightFor(max(widths[j]-2*cellX, 1)))
		}
		out[i] += 2 * cellY
	}
	return out
}

// HeightFor implements Item.
func (t *Table) HeightFor(width float32) float32 {
	h := float32(0)
	for _, x := range t.heights(t.widths(width)) {
		h += x
	}
	return h
}

// CreateRenderer implements fyne.Widget.
func (t *Table) CreateRenderer() fyne.WidgetRenderer {
	r := &tableRenderer{table: t}
	r.Refresh()
	return r
}

type tableRenderer struct {
	table   *Table
	frame   *canvas.Rectangle
	head    *canvas.Rectangle
	lines   []*canvas.Rectangle // under each row but the last
	objects []fyne.CanvasObject
}

func (r *tableRenderer) Destroy()                     {}
func (r *tableRenderer) Objects() []fyne.CanvasObject { return r.objects }
func (r *tableRenderer) MinSize() fyne.Size {
	return fyne.NewSize(40, r.table.HeightFor(max(r.table.Size().Width, 40)))
}

func (r *tableRenderer) Layout(size fyne.Size) {
	t := r.table
	widths := t.widths(size.Width)
	heights := t.heights(widths)
	total := float32(0)
	for _, w := range widths {
		total += w
	}
	y := float32(0)
	for i, row := range t.cells {
		x := float32(0)
		for j, c := range row {
			c.Move(fyne.NewPos(x+cellX, y+cellY))
			c.Resize(fyne.NewSize(widths[j]-2*cellX, heights[i]-2*cellY))
			x += widths[j]
		}
		y += heights[i]
		if i < len(r.lines) {
			r.lines[i].Move(fyne.NewPos(0, y))
			r.lines[i].Resize(fyne.NewSize(total, 1))
		}
	}
	if len(heights) > 0 {
		r.head.Move(fyne.NewPos(1, 1)) // inside the frame
		r.head.Resize(fyne.NewSize(total-2, heights[0]-1))
	}
	r.frame.Resize(fyne.NewSize(total, y))
}

func (r *tableRenderer) Refresh() {
	if r.frame == nil {
		r.frame, r.head = canvas.NewRectangle(nil), canvas.NewRectangle(nil)
	}
	r.frame.FillColor, r.frame.StrokeColor = theme.Color("background"), theme.Color(theme.Border)
	r.frame.StrokeWidth, r.frame.CornerRadius = 1, theme.RadiusSmall
	r.head.FillColor = theme.Color(theme.Surface)
	r.head.TopLeftCornerRadius, r.head.TopRightCornerRadius = theme.RadiusSmall, theme.RadiusSmall
	for len(r.lines) < len(r.table.cells)-1 {
		r.lines = append(r.lines, canvas.NewRectangle(nil))
	}
	r.lines = r.lines[:max(len(r.table.cells)-1, 0)]
	r.objects = append(r.objects[:0], r.frame, r.head)
	for _, l := range r.lines {
		l.FillColor = theme.Color(theme.Border)
		r.objects = append(r.objects, l)
	}
	for _, p := range r.table.leaves() {
		r.objects = append(r.objects, p)
	}
	r.Layout(r.table.Size())
	canvas.Refresh(r.table)
}
