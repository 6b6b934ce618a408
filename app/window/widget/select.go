package widget

import (
	"strings"

	"fyne.io/fyne/v2"
)

// Selection holds the one document of a view that has selected text.
type Selection struct{ doc *Document }

// Text returns what is selected.
func (s *Selection) Text() string {
	if s.doc == nil {
		return ""
	}
	return s.doc.selectedText()
}

// Clear selects nothing.
func (s *Selection) Clear() {
	if s.doc != nil {
		for _, p := range leaves(s.doc) {
			p.selectBytes(0, 0)
		}
		s.doc = nil
	}
}

func (d *Document) beginSelection(p *Prose, at int) {
	if d.selection == nil {
		return
	}
	d.selection.Clear()
	for i, q := range leaves(d) {
		if q == p {
			d.selection.doc, d.selAnchor, d.selByte = d, i, at
		}
	}
}

// extendSelection selects from where it began to a position of the window.
func (d *Document) extendSelection(abs fyne.Position) {
	if d.selection == nil || d.selection.doc != d {
		return
	}
	all := leaves(d)
	if d.selAnchor >= len(all) {
		return
	}
	end, at := d.nearest(all, abs)
	first, from, last, to := d.selAnchor, d.selByte, end, at
	if last < first || (last == first && to < from) {
		first, from, last, to = last, to, first, from
	}
	for i, p := range all {
		a, b := 0, len(p.text)
		if i == first {
			a = from
		}
		if i == last {
			b = to
		}
		if i < first || i > last || a >= b {
			a, b = 0, 0
		}
		p.selectBytes(a, b)
	}
}

// nearest returns the prose under or nearest above a position of the window, and the byte there.
func (d *Document) nearest(all []*Prose, abs fyne.Position) (int, int) {
	driver := fyne.CurrentApp().Driver()
	best, at := 0, 0
	for i, p := range all {
		pos := driver.AbsolutePositionForObject(p)
		if i > 0 && abs.Y < pos.Y {
			break
		}
		in := abs.Subtract(pos)
		if in.X < 0 && i > 0 && all[i-1].sameRow(pos, driver) { // another column of a table
			break
		}
		best, at = i, p.offsetAt(fyne.NewPos(in.X, in.Y))
	}
	return best, at
}

// sameRow reports whether a prose lies beside one at pos, not above it.
func (p *Prose) sameRow(pos fyne.Position, driver fyne.Driver) bool {
	return driver.AbsolutePositionForObject(p).Y == pos.Y
}

func (d *Document) selectedText() string {
	var b strings.Builder
	for _, p := range leaves(d) {
		if p.from >= p.to || p.to > len(p.text) {
			continue
		}
		if b.Len() > 0 && p.beside {
			b.WriteByte('\t')
		} else if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(p.text[p.from:p.to])
	}
	return b.String()
}
