package widget

import (
	"image/color"
	"slices"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/container"
	"fyne.io/fyne/v2/driver/desktop"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/theme"
)

// keepItems is how many items outside the view stay built.
const keepItems = 24

// Feed is a virtualised column of items of different heights, read from the bottom. Only items in view are built;
// heights of the others are estimates, which nothing on screen depends on: the feed's place is an item and a
// distance into it, so that it does not jump when an estimate turns out wrong.
//
// While the reader is at the bottom the feed stays there as items grow, unless it is a list read from the top.
type Feed struct {
	fw.BaseWidget
	FromTop  bool // a list: begins at its first item, and does not follow its end
	Build    func(i int) Item
	Estimate func(i int, width float32) float32
	Gap      float32
	Top      float32 // space before the first item
	Bottom   float32 // and after the last
	Width    float32 // widest an item may be; 0: the feed's width
	Side     float32 // space at both sides
	Moved    func(atBottom bool)

	heights  []float32 // measured or estimated
	measured []bool
	items    map[int]Item
	order    []int // built items, oldest use first
	first    int   // the item at the top of the view
	into     float32
	stick    bool
	itemW    float32
	ink      color.Color // the theme's text colour when the items were last drawn

	layer *fyne.Container
	clip  *container.Clip
	bar   *feedBar
}

// NewFeed makes an empty feed, at the bottom.
func NewFeed(build func(i int) Item, estimate func(i int, width float32) float32) *Feed {
	f := &Feed{}
	f.setUp(build, estimate)
	f.ExtendBaseWidget(f)
	return f
}

func (f *Feed) setUp(build func(i int) Item, estimate func(i int, width float32) float32) {
	f.Build, f.Estimate, f.items, f.stick = build, estimate, map[int]Item{}, true
	f.layer = &fyne.Container{}
	f.clip = container.NewClip(f.layer)
	f.bar = newFeedBar(f)
}

// Reset drops every item and shows n new ones, from the bottom.
func (f *Feed) Reset(n int) {
	clear(f.items)
	f.order = f.order[:0]
	f.heights, f.measured = make([]float32, n), make([]bool, n)
	f.first, f.into, f.stick = 0, 0, !f.FromTop
	f.estimateAll()
	f.arrange()
}

// SetLen adds items at the end, or removes them there.
func (f *Feed) SetLen(n int) {
	for i := n; i < len(f.heights); i++ {
		f.forget(i)
	}
	for len(f.heights) < n {
		i := len(f.heights)
		f.heights = append(f.heights, f.Estimate(i, max(f.itemW, 1)))
		f.measured = append(f.measured, false)
	}
	f.heights, f.measured = f.heights[:n], f.measured[:n]
	f.first = min(f.first, max(n-1, 0))
	f.arrange()
}

// Refill drops every item and shows n new ones from the same place.
func (f *Feed) Refill(n int) {
	clear(f.items)
	f.order = f.order[:0]
	clear(f.measured)
	f.SetLen(n)
}

// Len is the number of items.
func (f *Feed) Len() int { return len(f.heights) }

// Rebuild makes an item anew.
func (f *Feed) Rebuild(i int) {
	f.forget(i)
	f.arrange()
}

// Resized says that an item's content changed and its height may have.
func (f *Feed) Resized(i int) {
	if i >= 0 && i < len(f.measured) {
		f.measured[i] = false
		f.arrange()
	}
}

// Built returns an item if it is built now.
func (f *Feed) Built(i int) (Item, bool) {
	it, ok := f.items[i]
	return it, ok
}

// BuiltCount is how many items are built now.
func (f *Feed) BuiltCount() int { return len(f.items) }

// AtBottom reports whether the end of the last item is in view.
func (f *Feed) AtBottom() bool { return f.stick }

// ToBottom goes to the end and stays there.
func (f *Feed) ToBottom() {
	f.stick = true
	f.arrange()
	f.moved()
}

func (f *Feed) forget(i int) {
	delete(f.items, i)
	if i < len(f.measured) {
		f.measured[i] = false
	}
}

// forgetUnseen drops the items that are built and out of view.
func (f *Feed) forgetUnseen() {
	seen := f.layer.Objects
	for i, it := range f.items {
		if !slices.Contains(seen, fyne.CanvasObject(it)) {
			f.forget(i)
		}
	}
	f.order = slices.DeleteFunc(f.order, func(i int) bool { return f.items[i] == nil })
}

func (f *Feed) moved() {
	if f.Moved != nil {
		f.Moved(f.stick)
	}
}

// Scrolled moves by the wheel.
func (f *Feed) Scrolled(ev *fyne.ScrollEvent) { f.scrollBy(-ev.Scrolled.DY) }

// Page moves by most of the view's height: down for 1, up for -1.
func (f *Feed) Page(direction float32) { f.scrollBy(direction * f.Size().Height * 0.85) }

// scrollBy moves the view down by dy.
func (f *Feed) scrollBy(dy float32) {
	if len(f.heights) == 0 || dy == 0 {
		return
	}
	was := f.stick
	f.stick = false
	f.into += dy
	f.arrange()
	if f.stick != was {
		f.moved()
	}
}

// scrollTo goes to a share of the whole, 0 the top and 1 the bottom.
func (f *Feed) scrollTo(share float32) {
	if len(f.heights) == 0 {
		return
	}
	target := share * max(f.total()-f.Size().Height, 0)
	f.first, f.into, f.stick = 0, target, false
	for f.first < len(f.heights)-1 && f.into > f.span(f.first) {
		f.into -= f.span(f.first)
		f.first++
	}
	f.arrange()
	f.moved()
}

// span is an item's height with the space after it (and, for the first, before it).
func (f *Feed) span(i int) float32 {
	h := f.heights[i]
	if i == 0 {
		h += f.Top
	}
	if i == len(f.heights)-1 {
		return h + f.Bottom
	}
	return h + f.Gap
}

func (f *Feed) total() float32 {
	sum := float32(0)
	for i := range f.heights {
		sum += f.span(i)
	}
	return sum
}

// above is the height before the view.
func (f *Feed) above() float32 {
	sum := f.into
	for i := range f.first {
		sum += f.span(i)
	}
	return sum
}

func (f *Feed) estimateAll() {
	for i := range f.heights {
		if !f.measured[i] {
			f.heights[i] = f.Estimate(i, max(f.itemW, 1))
		}
	}
}

// measure builds an item and takes its height.
func (f *Feed) measure(i int) {
	it, ok := f.items[i]
	if !ok {
		it = f.Build(i)
		f.items[i] = it
		f.order = append(f.order, i)
	}
	if !f.measured[i] {
		f.heights[i] = it.HeightFor(f.itemW)
		f.measured[i] = true
	}
}

// arrange settles first and into, then builds and places what is in view.
func (f *Feed) arrange() {
	size := f.Size()
	if size.Height <= 0 || size.Width <= 0 {
		return
	}
	w := size.Width - 2*f.Side
	if f.Width > 0 {
		w = min(w, f.Width)
	}
	if w != f.itemW {
		f.itemW = w
		clear(f.measured)
		f.estimateAll()
	}
	f.stick = f.stick && !f.FromTop
	n := len(f.heights)
	f.layer.Objects = f.layer.Objects[:0]
	if n == 0 {
		f.done()
		return
	}
	if f.stick {
		f.fromBottom(size.Height)
	} else {
		f.settle(size.Height)
	}
	x := (size.Width - w) / 2
	y := -f.into
	last := f.first
	for i := f.first; i < n && y < size.Height; i++ {
		f.measure(i)
		if i == 0 {
			y += f.Top
		}
		it := f.items[i]
		it.Move(fyne.NewPos(x, y))
		it.Resize(fyne.NewSize(w, f.heights[i]))
		See(it, -y, size.Height-y)
		f.layer.Objects = append(f.layer.Objects, it)
		y += f.heights[i] + f.Gap
		last = i
	}
	f.drop(f.first, last)
	f.done()
}

// fromBottom places the view so that it ends with the last item.
func (f *Feed) fromBottom(height float32) {
	sum, i := float32(0), len(f.heights)
	for i > 0 && sum < height {
		i--
		f.measure(i)
		sum += f.span(i)
	}
	f.first, f.into = i, sum-height
	if sum < height { // all fit: read from the top
		f.first, f.into = 0, 0
	}
}

// settle moves first so that into lies in it, and stops at both ends.
func (f *Feed) settle(height float32) {
	f.first = min(max(f.first, 0), len(f.heights)-1)
	for f.into < 0 && f.first > 0 {
		f.first--
		f.measure(f.first)
		f.into += f.span(f.first)
	}
	f.into = max(f.into, 0)
	for f.first < len(f.heights)-1 {
		f.measure(f.first)
		if f.into < f.span(f.first) {
			break
		}
		f.into -= f.span(f.first)
		f.first++
	}
	rest := -f.into
	for i := f.first; i < len(f.heights); i++ {
		f.measure(i)
		if rest += f.span(i); rest > height {
			return
		}
	}
	f.stick = !f.FromTop
	f.fromBottom(height)
}

// drop forgets the items longest out of view, beyond keepItems.
func (f *Feed) drop(first, last int) {
	if len(f.items) <= last-first+1+keepItems {
		return
	}
	kept := f.order[:0]
	spare := len(f.items) - (last - first + 1 + keepItems)
	for _, i := range f.order {
		if spare > 0 && (i < first || i > last) {
			delete(f.items, i)
			spare--
			continue
		}
		if _, ok := f.items[i]; ok {
			kept = append(kept, i)
		}
	}
	f.order = kept
}

func (f *Feed) done() {
	f.bar.update(f.above(), f.Size().Height, f.total())
	canvas.Refresh(f.layer)
}

// CreateRenderer implements fyne.Widget.
func (f *Feed) CreateRenderer() fyne.WidgetRenderer { return &feedRenderer{f} }

type feedRenderer struct{ feed *Feed }

func (r *feedRenderer) Destroy()           {}
func (r *feedRenderer) MinSize() fyne.Size { return fyne.NewSize(120, 60) }
func (r *feedRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.feed.clip, r.feed.bar}
}

func (r *feedRenderer) Layout(size fyne.Size) {
	r.feed.clip.Resize(size)
	r.feed.layer.Resize(size)
	r.feed.bar.Move(fyne.NewPos(size.Width-10, 0))
	r.feed.bar.Resize(fyne.NewSize(10, size.Height))
	r.feed.arrange()
}

func (r *feedRenderer) Refresh() {
	if ink := theme.Color(theme.Text); r.feed.ink != ink { // what is out of view is not drawn anew with the theme
		r.feed.ink = ink
		r.feed.forgetUnseen()
	}
	clear(r.feed.measured)
	r.feed.arrange()
	r.feed.bar.Refresh()
}

// feedBar is the scroll bar of a feed.
type feedBar struct {
	fw.BaseWidget
	feed               *Feed
	thumb              *canvas.Rectangle
	above, view, total float32
	hovered            bool
}

func newFeedBar(f *Feed) *feedBar {
	b := &feedBar{feed: f, thumb: canvas.NewRectangle(nil)}
	b.ExtendBaseWidget(b)
	return b
}

func (b *feedBar) update(above, view, total float32) {
	b.above, b.view, b.total = above, view, total
	b.place()
}

func (b *feedBar) place() {
	size := b.Size()
	if b.total <= b.view || size.Height <= 0 {
		b.thumb.Hide()
		return
	}
	length := max(size.Height*b.view/b.total, 28)
	wide := float32(4)
	if b.hovered {
		wide = 7
	}
	b.thumb.CornerRadius = wide / 2
	b.thumb.Resize(fyne.NewSize(wide, length))
	b.thumb.Move(fyne.NewPos(size.Width-wide-2, (size.Height-length)*min(b.above/(b.total-b.view), 1)))
	b.thumb.Show()
}

// Dragged moves the feed with the thumb.
func (b *feedBar) Dragged(ev *fyne.DragEvent) {
	room := b.Size().Height - b.thumb.Size().Height
	if room > 0 {
		b.feed.scrollTo(min(max((b.thumb.Position().Y+ev.Dragged.DY)/room, 0), 1))
	}
}

// DragEnd implements fyne.Draggable.
func (b *feedBar) DragEnd() {}

// MouseIn widens the thumb.
func (b *feedBar) MouseIn(*desktop.MouseEvent) { b.hover(true) }

// MouseMoved implements desktop.Hoverable.
func (b *feedBar) MouseMoved(*desktop.MouseEvent) {}

// MouseOut implements desktop.Hoverable.
func (b *feedBar) MouseOut() { b.hover(false) }

func (b *feedBar) hover(on bool) {
	b.hovered = on
	b.place()
	canvas.Refresh(b)
}

// Tapped goes to the place tapped on.
func (b *feedBar) Tapped(ev *fyne.PointEvent) {
	if h := b.Size().Height; h > 0 {
		b.feed.scrollTo(ev.Position.Y / h)
	}
}

// CreateRenderer implements fyne.Widget.
func (b *feedBar) CreateRenderer() fyne.WidgetRenderer {
	b.thumb.FillColor = theme.Color(theme.Faint)
	return &feedBarRenderer{b}
}

type feedBarRenderer struct{ bar *feedBar }

func (r *feedBarRenderer) Destroy()                     {}
func (r *feedBarRenderer) MinSize() fyne.Size           { return fyne.NewSize(10, 20) }
func (r *feedBarRenderer) Layout(fyne.Size)             { r.bar.place() }
func (r *feedBarRenderer) Objects() []fyne.CanvasObject { return []fyne.CanvasObject{r.bar.thumb} }
func (r *feedBarRenderer) Refresh() {
	r.bar.thumb.FillColor = theme.Color(theme.Faint)
	r.bar.place()
	canvas.Refresh(r.bar)
}
