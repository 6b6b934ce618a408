package widget

import (
	"fyne.io/fyne/v2"
	fw "fyne.io/fyne/v2/widget"
)

// Field is a line of input. Escape gives the focus back.
type Field struct {
	fw.Entry
	self fyne.Widget // the widget that embeds this one: what the toolkit knows
}

// ExtendBaseWidget remembers which widget the toolkit knows this one by.
func (f *Field) ExtendBaseWidget(w fyne.Widget) {
	f.self = w
	f.Entry.ExtendBaseWidget(w)
}

// NewField makes a field with a text and what stands in it while it is empty.
func NewField(text, placeholder string) *Field {
	f := &Field{}
	f.ExtendBaseWidget(f)
	f.SetPlaceHolder(placeholder)
	f.SetText(text)
	return f
}

// NewArea makes a field of several lines.
func NewArea(text, placeholder string, rows int) *Field {
	f := &Field{}
	f.MultiLine = true
	f.Wrapping = fyne.TextWrapWord
	f.ExtendBaseWidget(f)
	f.SetMinRowsVisible(rows)
	f.SetPlaceHolder(placeholder)
	f.SetText(text)
	return f
}

// TypedKey gives the focus back on Escape.
func (f *Field) TypedKey(key *fyne.KeyEvent) {
	if key.Name == fyne.KeyEscape {
		if c := fyne.CurrentApp().Driver().CanvasForObject(f.self); c != nil {
			c.Unfocus()
		}
		return
	}
	f.Entry.TypedKey(key)
}

// Setting is a row of a form: what it is and what it does at the left, the control at the right.
func Setting(name, about string, wide float32, control fyne.CanvasObject) *fyne.Container {
	left := Column(2, NewLabel(name))
	if about != "" {
		left.Add(Note(about))
	}
	if wide > 0 {
		control = Fixed(wide, 0, control)
	}
	return RowGrow(24, 0, left, control)
}

// Section is a titled card of rows with lines between them.
func Section(title string, rows ...fyne.CanvasObject) *fyne.Container {
	body := Column(0)
	for i, r := range rows {
		if i > 0 {
			body.Add(NewHairline())
		}
		body.Add(Inset(12, 16, 12, 16, r))
	}
	box := Stack(NewPanel("ingotRaised", "ingotBorder", 10), body)
	if title == "" {
		return box
	}
	name := Strong(title)
	return Column(8, name, box)
}
