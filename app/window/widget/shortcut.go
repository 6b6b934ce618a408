package widget

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
)

// passOn gives the window's shortcuts to the window: a focused entry gets every shortcut, and would swallow them.
// Keys that move the cursor stay with the entry.
func passOn(o fyne.CanvasObject, s fyne.Shortcut) bool {
	custom, ok := s.(*desktop.CustomShortcut)
	if !ok {
		return false
	}
	switch custom.KeyName {
	case fyne.KeyLeft, fyne.KeyRight, fyne.KeyUp, fyne.KeyDown, fyne.KeyHome, fyne.KeyEnd, fyne.KeyBackspace, fyne.KeyDelete:
		return false
	}
	c, ok := fyne.CurrentApp().Driver().CanvasForObject(o).(fyne.Shortcutable)
	if ok {
		c.TypedShortcut(s)
	}
	return ok
}

// TypedShortcut gives the window what is the window's.
func (f *Field) TypedShortcut(s fyne.Shortcut) {
	if !passOn(f.self, s) {
		f.Entry.TypedShortcut(s)
	}
}
