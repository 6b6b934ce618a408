package widget

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"

	"ingot/app/window/theme"
)

// Controls take the focus with Tab, show it by a ring, and are worked with Space, Enter and the arrow keys. A click
// does not move the focus: after Copy one goes on typing.

// ring is the mark of the focus around a control.
func newRing(radius float32) *canvas.Rectangle {
	r := canvas.NewRectangle(nil)
	r.CornerRadius, r.StrokeWidth = radius, 1.5
	return r
}

func paintRing(r *canvas.Rectangle, on bool) {
	r.FillColor = theme.Color(theme.Clear)
	r.StrokeColor = theme.Color(theme.Clear)
	if on {
		r.StrokeColor = theme.Color(theme.Accent)
	}
}

func pressKey(key *fyne.KeyEvent) bool {
	return key.Name == fyne.KeySpace || key.Name == fyne.KeyReturn || key.Name == fyne.KeyEnter
}

// FocusGained implements fyne.Focusable.
func (b *Button) FocusGained() { b.focused = true; b.Refresh() }

// FocusLost implements fyne.Focusable.
func (b *Button) FocusLost() { b.focused = false; b.Refresh() }

// TypedRune implements fyne.Focusable.
func (b *Button) TypedRune(rune) {}

// TypedKey presses the button.
func (b *Button) TypedKey(key *fyne.KeyEvent) {
	if pressKey(key) {
		b.Tapped(nil)
	}
}

// FocusGained implements fyne.Focusable.
func (s *Switch) FocusGained() { s.focused = true; s.Refresh() }

// FocusLost implements fyne.Focusable.
func (s *Switch) FocusLost() { s.focused = false; s.Refresh() }

// TypedRune implements fyne.Focusable.
func (s *Switch) TypedRune(rune) {}

// TypedKey moves the switch.
func (s *Switch) TypedKey(key *fyne.KeyEvent) {
	if pressKey(key) {
		s.Tapped(nil)
	}
}

// FocusGained implements fyne.Focusable.
func (c *Choice) FocusGained() { c.focused = true; c.paint() }

// FocusLost implements fyne.Focusable.
func (c *Choice) FocusLost() { c.focused = false; c.paint() }

// TypedRune implements fyne.Focusable.
func (c *Choice) TypedRune(rune) {}

// TypedKey chooses the word at the left or at the right.
func (c *Choice) TypedKey(key *fyne.KeyEvent) {
	i := c.chosen
	switch key.Name {
	case fyne.KeyLeft:
		i--
	case fyne.KeyRight:
		i++
	}
	if i >= 0 && i < len(c.cells) {
		c.cells[i].Tapped(nil)
	}
}
