package window

import (
	"strings"
	"time"

	"fyne.io/fyne/v2"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// noticeFor is how long a notice of one sentence stays: long enough to read it and reach for Undo.
const noticeFor = 8 * time.Second

// noticeWidth is the widest a notice is: that of a conversation.
const noticeWidth = 760

// notice is a bar below a screen: a sentence, perhaps a button, and a way to put it away. It has a place of its own
// while it is there, since over the screen it would cover what is read or typed.
type notice struct {
	fw.BaseWidget
	text   *widget.Prose
	button *widget.Button
	box    *fyne.Container
	do     func(func())
	placed func() // called when it took or left its place
	turn   int    // counts notices, so that a timer hides only its own
}

func newNotice(do func(func())) *notice {
	n := &notice{text: widget.Paragraph(""), do: do}
	n.ExtendBaseWidget(n)
	n.button = widget.NewButton("", theme.Icon{}, widget.Plain, nil)
	n.button.Small = true
	closing := widget.NewIconButton(theme.IconClose, words.T().Close, n.hide)
	closing.Small = true
	n.box = widget.Inset(0, theme.L, theme.M, theme.L, widget.Measure(noticeWidth, widget.Stack(
		widget.NewPanel(theme.Sheet, theme.Border, theme.Radius),
		widget.Inset(8, 8, 8, theme.L, widget.RowGrow(theme.S, 0, n.text, n.button, closing)),
	)))
	n.Hide()
	return n
}

// Say replaces the notice. do runs, once, when its button is pressed.
func (n *notice) Say(text, button string, do func()) { n.SayUntil(text, button, do) }

// SayUntil is Say for what will be over: over puts the notice away and reports whether it still stood.
func (n *notice) SayUntil(text, button string, do func()) (over func() bool) {
	n.turn++
	turn := n.turn
	over = func() bool {
		stood := n.turn == turn
		if stood {
			n.hide()
		}
		return stood
	}
	n.text.SetText(text)
	n.button.Set(button, theme.Icon{})
	widget.SetVisible(n.button, button != "")
	n.button.OnTap = func() {
		n.hide()
		do()
	}
	n.Show()
	n.Refresh()
	n.placed()
	lines := strings.Count(text, "\n")
	time.AfterFunc(noticeFor+time.Duration(lines)*noticeFor/4, func() { n.do(func() { over() }) })
	return over
}

func (n *notice) hide() {
	n.turn++
	n.Hide()
	n.placed()
}

// HeightFor implements widget.Item.
func (n *notice) HeightFor(width float32) float32 { return widget.HeightOf(n.box, width) }

// CreateRenderer implements fyne.Widget.
func (n *notice) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(n.box) }
