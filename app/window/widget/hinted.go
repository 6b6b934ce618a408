package widget

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	fw "fyne.io/fyne/v2/widget"
)

// Hinted shows a hint while the pointer rests on an object.
type Hinted struct {
	fw.BaseWidget
	OnTap  func()
	object fyne.CanvasObject
	hint   string
}

// NewHinted wraps an object.
func NewHinted(o fyne.CanvasObject, hint string) *Hinted {
	h := &Hinted{object: o, hint: hint}
	h.ExtendBaseWidget(h)
	return h
}

// SetHint changes the hint.
func (h *Hinted) SetHint(hint string) { h.hint = hint }

// CreateRenderer implements fyne.Widget.
func (h *Hinted) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(h.object) }

// Tapped implements fyne.Tappable.
func (h *Hinted) Tapped(*fyne.PointEvent) {
	if h.OnTap != nil {
		h.OnTap()
	}
}

// MouseIn, MouseMoved and MouseOut implement desktop.Hoverable.
func (h *Hinted) MouseIn(*desktop.MouseEvent) {
	if h.hint != "" {
		showHint(h, h.hint)
	}
}

// MouseMoved implements desktop.Hoverable.
func (h *Hinted) MouseMoved(*desktop.MouseEvent) {}

// MouseOut implements desktop.Hoverable.
func (h *Hinted) MouseOut() { hideHint(h) }
