package widget

import (
	"fyne.io/fyne/v2"
)

// Viewer is an object that draws only what is seen. The toolkit paints every object of an item whose edge is in
// view, so an answer of a thousand rows would paint them all at every frame.
type Viewer interface {
	// See says which part is in view, from top to bottom in the object's own coordinates.
	See(top, bottom float32)
}

// See passes on to everything in an object which part of it is in view.
func See(o fyne.CanvasObject, top, bottom float32) {
	switch v := o.(type) {
	case Viewer:
		v.See(top, bottom)
	case *fyne.Container:
		for _, c := range v.Objects {
			y := c.Position().Y
			See(c, top-y, bottom-y)
		}
	}
}

// spareRows are drawn beyond what is in view, so that scrolling a little draws nothing anew.
const spareRows = 12

// See implements Viewer.
func (p *Prose) See(top, bottom float32) {
	h := p.rowHeight()
	p.seen, p.top, p.bottom = true, int(top/h), int(bottom/h)+1
	missing := max(p.top, 0) < p.drawnFrom || min(p.bottom, len(p.rows)) > p.drawnTo
	if missing || p.drawnTo-p.drawnFrom > p.bottom-p.top+6*spareRows {
		p.Refresh()
	}
}

// drawRange is the rows to be drawn.
func (p *Prose) drawRange() (from, to int) {
	n := len(p.rows)
	if !p.seen {
		return 0, n
	}
	from = min(max(p.top-spareRows, 0), n)
	return from, max(min(p.bottom+spareRows, n), from)
}

// See implements Viewer.
func (d *Document) See(top, bottom float32) { See(d.content, top, bottom) }

// See implements Viewer.
func (c *CodeBlock) See(top, bottom float32) { See(c.content, top, bottom) }

// See implements Viewer.
func (q *quote) See(top, bottom float32) { See(q.content, top, bottom) }

// See implements Viewer.
func (b *bullets) See(top, bottom float32) { See(b.content, top, bottom) }

// See implements Viewer.
func (t *Table) See(top, bottom float32) {
	for _, c := range t.leaves() {
		y := c.Position().Y
		See(c, top-y, bottom-y)
	}
}

// See implements Viewer.
func (c *containerItem) See(top, bottom float32) { See(c.all, top, bottom) }
