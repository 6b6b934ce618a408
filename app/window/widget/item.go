// Package widget holds the controls of Ingot's window: text that wraps and can be selected, documents made of
// Markdown blocks, a virtualised feed, and the small parts (buttons, meters, badges) the screens are set from.
//
// Widgets only call back; they know no use case. All of them belong to the UI goroutine.
package widget

import (
	"math"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/container"
	fw "fyne.io/fyne/v2/widget"
)

// Item is an object whose height follows from its width, as wrapped text does. Fyne asks for a minimum size
// without naming a width, so layouts in this package ask for HeightFor instead.
type Item interface {
	fyne.CanvasObject
	HeightFor(width float32) float32
}

// HeightLayout is a layout that can tell the height its objects take at a width.
type HeightLayout interface {
	fyne.Layout
	HeightFor(objects []fyne.CanvasObject, width float32) float32
}

// HeightOf returns the height an object takes at a width: an Item's answer, a container's by its layout,
// that of what a theme is laid over, otherwise the minimum height.
func HeightOf(o fyne.CanvasObject, width float32) float32 {
	switch v := o.(type) {
	case Item:
		return v.HeightFor(width)
	case *fyne.Container:
		if l, ok := v.Layout.(HeightLayout); ok {
			return l.HeightFor(v.Objects, width)
		}
	case *container.ThemeOverride:
		return HeightOf(v.Content, width)
	}
	return o.MinSize().Height
}

// AsItem makes a container an Item.
func AsItem(c *fyne.Container) Item {
	i := &containerItem{all: c}
	i.ExtendBaseWidget(i)
	return i
}

type containerItem struct {
	fw.BaseWidget
	all *fyne.Container
}

func (c *containerItem) HeightFor(width float32) float32     { return HeightOf(c.all, width) }
func (c *containerItem) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(c.all) }

// SetVisible shows or hides an object, where that changes something.
func SetVisible(o fyne.CanvasObject, on bool) {
	if on && !o.Visible() {
		o.Show()
	} else if !on && o.Visible() {
		o.Hide()
	}
}

// whole rounds a position to whole points: text drawn between pixels is blurred.
func whole(x, y float32) fyne.Position {
	return fyne.NewPos(float32(math.Round(float64(x))), float32(math.Round(float64(y))))
}
