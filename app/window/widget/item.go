// Package widget holds the controls of Ingot's window: text that wraps and can be selected, documents made of
// Markdown blocks, a virtualised feed, and the small parts (buttons, meters, badges) the screens are set from.
//
// Widgets only call back; they know no use case. All of them belong to the UI goroutine.
package widget

import (
	"fyne.io/fyne/v2"
)

// Item is an object whose height follows from its width, as wrapped text does. Fyne asks for a minimum size
// without naming a width, so layouts in this package ask for HeightFor instead.
type Item interface {
	fyne.CanvasObject
	HeightFor(width float32) float32
}

// heightLayout is a layout that can tell the height its objects take at a width.
type heightLayout interface {
	fyne.Layout
	heightFor(objects []fyne.CanvasObject, width float32) float32
}

// HeightOf returns the height an object takes at a width: an Item's answer, a container's by its layout,
// otherwise the minimum height.
func HeightOf(o fyne.CanvasObject, width float32) float32 {
	switch v := o.(type) {
	case Item:
		return v.HeightFor(width)
	case *fyne.Container:
		if l, ok := v.Layout.(heightLayout); ok {
			return l.heightFor(v.Objects, width)
		}
	}
	return o.MinSize().Height
}
