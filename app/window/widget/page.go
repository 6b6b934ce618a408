package widget

import (
	"fyne.io/fyne/v2"
	fw "fyne.io/fyne/v2/widget"
)

// Page scrolls one object down whose height follows from the width.
type Page struct {
	Feed
	content fyne.CanvasObject
}

// NewPage makes a page of content no wider than width, with space around it.
func NewPage(width, side, top float32, content *fyne.Container) *Page {
	p := &Page{content: content}
	item := AsItem(Stack(content, newWheel(&p.Feed)))
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

// wheel lies over a page's content: an entry below would keep the wheel to itself, whether or not it has more to show.
type wheel struct {
	fw.BaseWidget
	feed *Feed
}

func newWheel(f *Feed) *wheel {
	w := &wheel{feed: f}
	w.ExtendBaseWidget(w)
	return w
}

// Scrolled implements fyne.Scrollable.
func (w *wheel) Scrolled(ev *fyne.ScrollEvent) { w.feed.Scrolled(ev) }

// CreateRenderer implements fyne.Widget: there is nothing to see.
func (w *wheel) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(Spring()) }
