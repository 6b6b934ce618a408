package widget

import (
	"fyne.io/fyne/v2"
)

// Page scrolls one object down whose height follows from the width.
type Page struct {
	Feed
	content fyne.CanvasObject
}

// NewPage makes a page of content no wider than width, with space around it.
func NewPage(width, side, top float32, content *fyne.Container) *Page {
	p := &Page{content: content}
	item := AsItem(content)
	p.setUp(func(int) Item { return item }, func(int, float32) float32 { return 1 })
	p.FromTop, p.Width, p.Side, p.Top, p.Bottom = true, width, side, top, side
	p.ExtendBaseWidget(p)
	p.Reset(1)
	return p
}

// Refresh lays the content out anew: parts of it may have been shown or hidden.
func (p *Page) Refresh() {
	p.content.Refresh()
	p.Feed.Refresh()
}
