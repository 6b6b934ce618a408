package window

import (
	"time"

	"fyne.io/fyne/v2"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// noticeFor is how long a notice stays: long enough to read it and reach for Undo.
const noticeFor = 8 * time.Second

// notice is a bar over the bottom of a screen: a sentence, perhaps a button, and a way to put it away.
type notice struct {
	fw.BaseWidget
	text   *widget.Prose
	button *widget.Button
	box    *fyne.Container
	do     func(func())
	turn   int // counts notices, so that a timer hides only its own
}

func newNotice(do func(func())) *notice {
	n := &notice{text: widget.Paragraph(""), do: do}
	n.ExtendBaseWidget(n)
	n.button = widget.NewButton("", theme.Icon{}, widget.Plain, nil)
	n.button.Small = true
	closing := widget.NewIconButton(theme.IconClose, words.T().Close, n.hide)
	closing.Small = true
	n.box = widget.Stack(
		widget.NewPanel(theme.Sheet, theme.Border, theme.Radius),
		widget.Inset(8, 8, 8, theme.L, widget.RowGrow(theme.S, 0, n.text, n.button, closing)),
	)
	n.box.Hide()
	return n
}

// Say replaces the notice. do runs, once, when its button is pressed.
func (n *notice) Say(text, button string, do func()) {
	n.turn++
	turn := n.turn
	n.text.SetText(text)
	n.button.Set(button, theme.Icon{})
	if button == "" {
		n.button.Hide()
	} else {
		n.button.Show()
	}
	n.button.OnTap = func() {
		n.hide()
		do()
	}
	n.box.Show()
	n.Refresh()
	time.AfterFunc(noticeFor, func() {
		n.do(func() {
			if n.turn == turn {
				n.hide()
			}
		})
	})
}

func (n *notice) hide() {
	n.turn++
	n.box.Hide()
	n.Refresh()
}

// CreateRenderer implements fyne.Widget.
func (n *notice) CreateRenderer() fyne.WidgetRenderer { return &noticeRenderer{n} }

type noticeRenderer struct{ n *notice }

func (r *noticeRenderer) Destroy()                     {}
func (r *noticeRenderer) MinSize() fyne.Size           { return fyne.Size{} }
func (r *noticeRenderer) Objects() []fyne.CanvasObject { return []fyne.CanvasObject{r.n.box} }

func (r *noticeRenderer) Layout(size fyne.Size) {
	w := min(size.Width-2*theme.L, 460)
	h := widget.HeightOf(r.n.box, w)
	r.n.box.Resize(fyne.NewSize(w, h))
	r.n.box.Move(fyne.NewPos((size.Width-w)/2, size.Height-h-96))
}

func (r *noticeRenderer) Refresh() {
	r.Layout(r.n.Size())
	r.n.box.Refresh()
}
