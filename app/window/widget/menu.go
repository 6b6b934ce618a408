package widget

import (
	"fyne.io/fyne/v2"
	fw "fyne.io/fyne/v2/widget"
)

// ShowMenu opens a menu at a position of the window that holds an object.
func ShowMenu(o fyne.CanvasObject, at fyne.Position, items ...*fyne.MenuItem) {
	c := fyne.CurrentApp().Driver().CanvasForObject(o)
	if c == nil {
		return
	}
	fw.ShowPopUpMenuAtPosition(fyne.NewMenu("", items...), c, at)
}

// ShowMenuUnder opens a menu under an object.
func ShowMenuUnder(o fyne.CanvasObject, items ...*fyne.MenuItem) {
	pos := fyne.CurrentApp().Driver().AbsolutePositionForObject(o)
	ShowMenu(o, pos.AddXY(0, o.Size().Height+4), items...)
}
