package chat

import (
	"strings"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// maxRows is how far the composer grows before its text scrolls.
const maxRows = 8

// composer is the line one writes in. Enter sends, Shift+Enter begins a new line; while an answer is written its
// button stops it.
type composer struct {
	fw.BaseWidget
	entry   *entry
	button  *widget.Button
	panel   *widget.Panel
	editing *fyne.Container // "Editing a message", with a way out
	all     *fyne.Container
	measure *widget.Prose // tells how many rows the text takes

	onSend   func(text string)
	onStop   func()
	onCancel func() // of editing
	onPage   func(direction float32)
	onUp     func()
	busy     bool
	blocked  bool // the model cannot answer: nothing is sent
	rows     int
	resized  func()
}

func newComposer() *composer {
	t := words.T()
	c := &composer{rows: 1}
	c.ExtendBaseWidget(c)
	c.entry = newEntry()
	c.entry.SetPlaceHolder(t.Placeholder)
	c.entry.onEnter = c.send
	c.entry.onEscape = c.escape
	c.entry.onPage = func(direction float32) { c.onPage(direction) }
	c.entry.onUp = func() { c.onUp() }
	c.entry.OnChanged = func(string) { c.changed() }
	c.entry.OnFocus = func(on bool) {
		c.panel.Line = theme.Border
		if on {
			c.panel.Line = theme.Faint
		}
		c.panel.Refresh()
	}
	c.measure = widget.NewProse(widget.Style{})
	c.button = widget.NewButton("", theme.IconSend, widget.Primary, c.tap)
	c.button.Round = true
	c.panel = widget.NewPanel(theme.Raised, theme.Border, 18)
	themed := widget.Bare(c.entry)

	cancel := widget.NewButton(t.Cancel, theme.Icon{}, widget.Quiet, func() { c.cancelEdit() })
	cancel.Small = true
	c.editing = widget.Inset(6, 8, 0, 16, widget.RowGrow(theme.S, 0, widget.Caption(t.EditHint).Cut(), cancel))
	c.editing.Hide()
	line := &fyne.Container{Layout: lineLayout{c}, Objects: []fyne.CanvasObject{themed, c.button}}
	c.all = widget.Stack(c.panel, widget.Column(0, c.editing, line))
	c.paint()
	return c
}

// CreateRenderer implements fyne.Widget.
func (c *composer) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(c.all) }

// HeightFor implements widget.Item.
func (c *composer) HeightFor(width float32) float32 { return widget.HeightOf(c.all, width) }

func (c *composer) setBusy(busy bool) {
	if c.busy != busy {
		c.busy = busy
		c.paint()
	}
}

// block stops sending, and says why in the place of the hint.
func (c *composer) block(on bool) {
	c.blocked = on
	hint := words.T().Placeholder
	if on {
		hint = words.T().PlaceholderNoChat
	}
	c.entry.SetPlaceHolder(hint)
	c.paint()
}

func (c *composer) paint() {
	t := words.T()
	if c.busy {
		c.button.Set("", theme.IconStop)
		c.button.Hint = t.Stop
		c.button.Enable()
		return
	}
	c.button.Set("", theme.IconSend)
	c.button.Hint = t.Send
	enable(c.button, !c.blocked && strings.TrimSpace(c.entry.Text) != "")
}

func (c *composer) tap() {
	if c.busy {
		c.onStop()
		return
	}
	c.send()
}

// send passes the text on. While an answer is written it stays where it is.
func (c *composer) send() {
	text := strings.TrimSpace(c.entry.Text)
	if text == "" || c.busy || c.blocked {
		return
	}
	c.set("")
	c.editing.Hide()
	c.onSend(text)
}

func (c *composer) escape() {
	switch {
	case c.busy:
		c.onStop()
	case c.editing.Visible():
		c.cancelEdit()
	}
}

func (c *composer) cancelEdit() {
	c.editing.Hide()
	c.set("")
	c.onCancel()
	c.resized()
}

// edit puts an earlier message into the line.
func (c *composer) edit(text string) {
	c.editing.Show()
	c.set(text)
	c.resized()
	c.focus()
}

func (c *composer) set(text string) {
	c.entry.SetText(text)
	c.entry.CursorRow, c.entry.CursorColumn = 0, len([]rune(text))
	if n := strings.LastIndex(text, "\n"); n >= 0 {
		c.entry.CursorRow, c.entry.CursorColumn = strings.Count(text, "\n"), len([]rune(text[n+1:]))
	}
	c.entry.Refresh()
	c.changed()
}

func (c *composer) focus() {
	if canvas := fyne.CurrentApp().Driver().CanvasForObject(c.entry); canvas != nil {
		canvas.Focus(c.entry)
	}
}

// changed grows or shrinks the line with its text.
func (c *composer) changed() {
	c.measure.SetText(c.entry.Text)
	rows := min(max(c.measure.Rows(max(c.entry.Size().Width-2*theme.S-2, 60)), 1), maxRows)
	c.paint()
	if rows != c.rows {
		c.rows = rows
		c.entry.SetMinRowsVisible(rows)
		c.resized()
	}
}

// lineLayout sets the entry beside the button, which stays at the bottom.
type lineLayout struct{ c *composer }

const (
	lineSide float32 = 10
	lineTop  float32 = 5
	sendSide float32 = 34
)

func (l lineLayout) height() float32 {
	return max(l.c.entry.MinSize().Height+2*lineTop, sendSide+2*lineTop+2)
}

func (l lineLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	h := l.c.entry.MinSize().Height
	objects[0].Move(fyne.NewPos(lineSide, (size.Height-h)/2))
	objects[0].Resize(fyne.NewSize(size.Width-lineSide-sendSide-2*theme.S, h))
	objects[1].Move(fyne.NewPos(size.Width-sendSide-6, size.Height-sendSide-6))
	objects[1].Resize(fyne.NewSquareSize(sendSide))
}

func (l lineLayout) MinSize([]fyne.CanvasObject) fyne.Size { return fyne.NewSize(200, l.height()) }

// entry is an area whose Enter key does not write a line.
type entry struct {
	widget.Field
	onEnter  func()
	onEscape func()
	onPage   func(direction float32) // scrolls the messages
	onUp     func()                  // from an empty line: edits the last question
}

func newEntry() *entry {
	e := &entry{}
	e.MultiLine = true
	e.Wrapping = fyne.TextWrapWord
	e.ExtendBaseWidget(e)
	e.SetMinRowsVisible(1)
	return e
}

// TypedKey sends on Enter.
func (e *entry) TypedKey(key *fyne.KeyEvent) {
	switch key.Name {
	case fyne.KeyReturn, fyne.KeyEnter:
		if !shiftHeld() {
			e.onEnter()
			return
		}
	case fyne.KeyEscape:
		e.onEscape()
		return
	case fyne.KeyPageUp:
		e.onPage(-1)
		return
	case fyne.KeyPageDown:
		e.onPage(1)
		return
	case fyne.KeyUp:
		if e.Text == "" {
			e.onUp()
			return
		}
	}
	e.Field.TypedKey(key)
}

// AcceptsTab lets Tab go on to the next control.
func (e *entry) AcceptsTab() bool { return false }

func shiftHeld() bool {
	d, ok := fyne.CurrentApp().Driver().(desktop.Driver)
	return ok && d.CurrentKeyModifiers()&fyne.KeyModifierShift != 0
}
