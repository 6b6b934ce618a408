package widget

import (
	"fyne.io/fyne/v2"
)

// Column stacks objects top to bottom at full width, gap apart.
func Column(gap float32, objects ...fyne.CanvasObject) *fyne.Container {
	return &fyne.Container{Layout: &columnLayout{gap: gap, grow: -1}, Objects: objects}
}

// ColumnGrow is a Column whose object number grow takes the height that is left.
func ColumnGrow(gap float32, grow int, objects ...fyne.CanvasObject) *fyne.Container {
	return &fyne.Container{Layout: &columnLayout{gap: gap, grow: grow}, Objects: objects}
}

// Row sets objects side by side at their own sizes, centred on one line, gap apart.
func Row(gap float32, objects ...fyne.CanvasObject) *fyne.Container {
	return &fyne.Container{Layout: &rowLayout{gap: gap, grow: -1}, Objects: objects}
}

// RowGrow is a Row whose object number grow takes the width that is left.
func RowGrow(gap float32, grow int, objects ...fyne.CanvasObject) *fyne.Container {
	return &fyne.Container{Layout: &rowLayout{gap: gap, grow: grow}, Objects: objects}
}

// RowFill is a RowGrow whose objects are all as high as the row.
func RowFill(gap float32, grow int, objects ...fyne.CanvasObject) *fyne.Container {
	return &fyne.Container{Layout: &rowLayout{gap: gap, grow: grow, fill: true}, Objects: objects}
}

// RowTop is a RowGrow whose objects begin at the same height.
func RowTop(gap float32, grow int, objects ...fyne.CanvasObject) *fyne.Container {
	return &fyne.Container{Layout: &rowLayout{gap: gap, grow: grow, top: true}, Objects: objects}
}

// Wrap sets objects side by side at their own widths, on as many lines as they need.
func Wrap(gap float32, objects ...fyne.CanvasObject) *fyne.Container {
	return &fyne.Container{Layout: wrapLayout{gap}, Objects: objects}
}

// Inset leaves space around one object.
func Inset(top, right, bottom, left float32, o fyne.CanvasObject) *fyne.Container {
	return &fyne.Container{Layout: &insetLayout{top, right, bottom, left}, Objects: []fyne.CanvasObject{o}}
}

// Pad is Inset with the same space on every side.
func Pad(all float32, o fyne.CanvasObject) *fyne.Container { return Inset(all, all, all, all, o) }

// Measure centres one object and keeps it no wider than max: long lines are hard to read.
func Measure(max float32, o fyne.CanvasObject) *fyne.Container {
	return &fyne.Container{Layout: &measureLayout{max}, Objects: []fyne.CanvasObject{o}}
}

// Fixed gives one object a size of its own; 0 keeps the object's minimum in that direction.
func Fixed(width, height float32, o fyne.CanvasObject) *fyne.Container {
	return &fyne.Container{Layout: &fixedLayout{fyne.NewSize(width, height)}, Objects: []fyne.CanvasObject{o}}
}

// Stack lays objects over one another, the last on top.
func Stack(objects ...fyne.CanvasObject) *fyne.Container {
	return &fyne.Container{Layout: &insetLayout{}, Objects: objects}
}

// Spring is an empty object that a RowGrow or ColumnGrow can stretch.
func Spring() fyne.CanvasObject { return &fyne.Container{} }

type columnLayout struct {
	gap   float32
	grow  int
	width float32 // of the last Layout: MinSize answers for it
}

func (l *columnLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	l.width = size.Width
	spare := size.Height - l.HeightFor(objects, size.Width)
	y := float32(0)
	for i, o := range objects {
		if !o.Visible() {
			continue
		}
		h := HeightOf(o, size.Width)
		if i == l.grow {
			h = max(h+spare, 0)
		}
		o.Move(fyne.NewPos(0, y))
		o.Resize(fyne.NewSize(size.Width, h))
		y += h + l.gap
	}
}

func (l *columnLayout) HeightFor(objects []fyne.CanvasObject, width float32) float32 {
	sum, seen := float32(0), false
	for _, o := range objects {
		if !o.Visible() {
			continue
		}
		if seen {
			sum += l.gap
		}
		sum, seen = sum+HeightOf(o, width), true
	}
	return sum
}

func (l *columnLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	w := float32(0)
	for _, o := range objects {
		if o.Visible() {
			w = max(w, o.MinSize().Width)
		}
	}
	return fyne.NewSize(w, l.HeightFor(objects, max(w, l.width)))
}

type rowLayout struct {
	gap  float32
	grow int
	fill bool
	top  bool
}

// widths gives each visible object its width in a row of the given width.
func (l *rowLayout) widths(objects []fyne.CanvasObject, width float32) []float32 {
	out := make([]float32, len(objects))
	left, seen := width, false
	for i, o := range objects {
		if !o.Visible() {
			continue
		}
		if seen {
			left -= l.gap
		}
		seen = true
		if i != l.grow {
			out[i] = o.MinSize().Width
			left -= out[i]
		}
	}
	if l.grow >= 0 && l.grow < len(objects) {
		out[l.grow] = max(left, 0)
	}
	return out
}

func (l *rowLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	x := float32(0)
	for i, w := range l.widths(objects, size.Width) {
		o := objects[i]
		if !o.Visible() {
			continue
		}
		h := size.Height
		if !l.fill {
			h = min(HeightOf(o, w), h)
		}
		y := (size.Height - h) / 2
		if l.top {
			y = 0
		}
		o.Move(fyne.NewPos(x, y))
		o.Resize(fyne.NewSize(w, h))
		x += w + l.gap
	}
}

func (l *rowLayout) HeightFor(objects []fyne.CanvasObject, width float32) float32 {
	h := float32(0)
	for i, w := range l.widths(objects, width) {
		if objects[i].Visible() {
			h = max(h, HeightOf(objects[i], w))
		}
	}
	return h
}

func (l *rowLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	size, seen := fyne.Size{}, false
	for _, o := range objects {
		if !o.Visible() {
			continue
		}
		if seen {
			size.Width += l.gap
		}
		seen = true
		m := o.MinSize()
		size.Width += m.Width
		size.Height = max(size.Height, m.Height)
	}
	return size
}

type insetLayout struct{ top, right, bottom, left float32 }

func (l *insetLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	for _, o := range objects {
		o.Move(fyne.NewPos(l.left, l.top))
		o.Resize(fyne.NewSize(max(size.Width-l.left-l.right, 0), max(size.Height-l.top-l.bottom, 0)))
	}
}

func (l *insetLayout) HeightFor(objects []fyne.CanvasObject, width float32) float32 {
	h := float32(0)
	for _, o := range objects {
		if o.Visible() {
			h = max(h, HeightOf(o, width-l.left-l.right))
		}
	}
	return h + l.top + l.bottom
}

func (l *insetLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	size := fyne.Size{}
	for _, o := range objects {
		if o.Visible() {
			size = size.Max(o.MinSize())
		}
	}
	return size.AddWidthHeight(l.left+l.right, l.top+l.bottom)
}

type measureLayout struct{ max float32 }

func (l *measureLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	w := min(size.Width, l.max)
	for _, o := range objects {
		o.Move(fyne.NewPos((size.Width-w)/2, 0))
		o.Resize(fyne.NewSize(w, size.Height))
	}
}

func (l *measureLayout) HeightFor(objects []fyne.CanvasObject, width float32) float32 {
	h := float32(0)
	for _, o := range objects {
		h = max(h, HeightOf(o, min(width, l.max)))
	}
	return h
}

func (l *measureLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	size := fyne.Size{}
	for _, o := range objects {
		size = size.Max(o.MinSize())
	}
	return size
}

type fixedLayout struct{ size fyne.Size }

func (l *fixedLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	for _, o := range objects {
		o.Move(fyne.Position{})
		o.Resize(size)
	}
}

func (l *fixedLayout) HeightFor(objects []fyne.CanvasObject, width float32) float32 {
	if l.size.Height > 0 {
		return l.size.Height
	}
	h := float32(0)
	for _, o := range objects {
		h = max(h, HeightOf(o, width))
	}
	return h
}

func (l *fixedLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	size := l.size
	for _, o := range objects {
		m := o.MinSize()
		if l.size.Width == 0 {
			size.Width = max(size.Width, m.Width)
		}
		if l.size.Height == 0 {
			size.Height = max(size.Height, m.Height)
		}
	}
	return size
}

type wrapLayout struct{ gap float32 }

// flow calls place with each visible object's position and returns the height.
func (l wrapLayout) flow(objects []fyne.CanvasObject, width float32, place func(fyne.CanvasObject, fyne.Position)) float32 {
	x, y, line := float32(0), float32(0), float32(0)
	for _, o := range objects {
		if !o.Visible() {
			continue
		}
		m := o.MinSize()
		if x > 0 && x+m.Width > width {
			x, y, line = 0, y+line+l.gap/2, 0
		}
		place(o, fyne.NewPos(x, y))
		x += m.Width + l.gap
		line = max(line, m.Height)
	}
	return y + line
}

func (l wrapLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	l.flow(objects, size.Width, func(o fyne.CanvasObject, at fyne.Position) {
		o.Move(at)
		o.Resize(o.MinSize())
	})
}

func (l wrapLayout) HeightFor(objects []fyne.CanvasObject, width float32) float32 {
	return l.flow(objects, width, func(fyne.CanvasObject, fyne.Position) {})
}

func (l wrapLayout) MinSize(objects []fyne.CanvasObject) fyne.Size {
	size := fyne.Size{}
	for _, o := range objects {
		size = size.Max(o.MinSize())
	}
	return size
}
