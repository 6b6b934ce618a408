package widget

import (
	"time"

	"fyne.io/fyne/v2"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/theme"
)

// HintLayer is where hints are drawn: an object over the whole window that takes no input. A window has one.
type HintLayer struct {
	fw.BaseWidget
	box   *fyne.Container
	label *Label
	owner fyne.CanvasObject
	wait  *time.Timer
}

// layers finds the layer of a canvas; windows add theirs when they are made, and remove it when closed.
var layers = map[fyne.Canvas]*HintLayer{}

// NewHintLayer makes the layer of a canvas.
func NewHintLayer(c fyne.Canvas) *HintLayer {
	l := &HintLayer{label: NewLabel("")}
	l.label.Size_ = theme.SizeSmall
	l.box = Stack(NewPanel(theme.Raised, theme.Border, theme.RadiusSmall), Inset(5, 9, 5, 9, l.label))
	l.box.Hide()
	l.ExtendBaseWidget(l)
	layers[c] = l
	return l
}

// Close forgets the layer.
func (l *HintLayer) Close(c fyne.Canvas) { delete(layers, c) }

// CreateRenderer implements fyne.Widget.
func (l *HintLayer) CreateRenderer() fyne.WidgetRenderer {
	return fw.NewSimpleRenderer(&fyne.Container{Objects: []fyne.CanvasObject{l.box}})
}

// showHint shows a text beside an object once the pointer has rested on it.
func showHint(o fyne.CanvasObject, text string) {
	driver := fyne.CurrentApp().Driver()
	l := layers[driver.CanvasForObject(o)]
	if l == nil {
		return
	}
	if l.wait != nil {
		l.wait.Stop()
	}
	l.owner = o
	l.wait = later(450*time.Millisecond, func() {
		if l.owner == o {
			l.show(driver.AbsolutePositionForObject(o), o.Size(), text)
		}
	})
}

func (l *HintLayer) show(pos fyne.Position, size fyne.Size, text string) {
	l.label.Set(text)
	need := l.box.MinSize()
	x := min(max(pos.X+size.Width/2-need.Width/2, 4), l.Size().Width-need.Width-4)
	y := pos.Y + size.Height + 6
	if y+need.Height > l.Size().Height-4 {
		y = pos.Y - need.Height - 6
	}
	l.box.Resize(need)
	l.box.Move(fyne.NewPos(x, y))
	l.box.Show()
	l.box.Refresh()
}

func hideHint(o fyne.CanvasObject) {
	for _, l := range layers {
		if l.owner == o {
			l.owner = nil
			l.box.Hide()
		}
	}
}
