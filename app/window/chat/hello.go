package chat

import (
	"fmt"

	"fyne.io/fyne/v2"

	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// hello is what an empty conversation shows: a greeting, the model, and questions to begin with.
type hello struct {
	screen   *Screen
	greeting *widget.Label
	using    *widget.Prose
	examples []*widget.Button
	library  *widget.Button
	instead  *widget.Button // an able model, where the chosen one is not
	column   *fyne.Container
	object   *fyne.Container
}

func newHello(s *Screen) *hello {
	t := words.T()
	h := &hello{screen: s}
	h.greeting = widget.Strong(t.Greeting)
	h.greeting.Size_, h.greeting.Align = theme.SizeHero, fyne.TextAlignCenter
	h.using = widget.NewProse(widget.Style{Color: theme.Muted, Align: fyne.TextAlignCenter})
	h.column = widget.Column(theme.S,
		widget.NewIcon(theme.IconIngot, theme.Accent, 44),
		widget.Inset(theme.XS, 0, 0, 0, h.greeting),
		widget.Inset(0, 0, theme.L, 0, h.using),
	)
	for range t.Examples {
		b := widget.NewButton("", theme.Icon{}, widget.Plain, nil)
		h.examples = append(h.examples, b)
		h.column.Add(widget.Fixed(0, 40, b))
	}
	h.library = widget.NewButton(t.GetModel, theme.IconLibrary, widget.Primary, func() { s.deps.OpenLibrary() })
	h.column.Add(&fyne.Container{Layout: middleLayout{}, Objects: []fyne.CanvasObject{h.library}})
	h.instead = widget.NewButton("", theme.IconChat, widget.Primary, nil)
	h.column.Add(&fyne.Container{Layout: middleLayout{}, Objects: []fyne.CanvasObject{h.instead}})
	h.object = &fyne.Container{Layout: middleLayout{width: 440}, Objects: []fyne.CanvasObject{h.column}}
	return h
}

// show draws what the models ask for.
func (h *hello) show() {
	t := words.T()
	m, ok := h.screen.picked()
	none := !ok && len(h.screen.picks) == 0 && h.screen.picksRead
	h.greeting.Set(t.Greeting)
	using, blocked := "", h.screen.blocked()
	switch {
	case none && h.screen.picksErr != nil:
		using = h.screen.picksErr.Error()
	case none:
		h.greeting.Set(t.GreetingNoModel)
		using = t.EmptyHint
	case blocked:
		h.greeting.Set(t.GreetingNoChat)
		switch {
		case m.Missing:
			using = t.MissingHint
		case m.Problem != "":
			using = t.Unreadable + ": " + m.Problem
		case m.NoVocab:
			using = t.NoVocabHint
		default:
			using = t.OnlyContinuesHint
		}
	case ok:
		using = fmt.Sprintf(t.UsingF, m.Name)
	}
	h.using.SetText(using)
	examples := t.Examples
	if m.Sample {
		examples = t.SampleExamples
	}
	for i, b := range h.examples {
		b.Set(examples[i], theme.Icon{})
		b.OnTap = func() { h.screen.send(examples[i]) }
		widget.SetVisible(h.column.Objects[3+i], !none && !blocked)
		enable(b, ok)
	}
	other, found := h.screen.other()
	widget.SetVisible(h.column.Objects[3+len(h.examples)], none || blocked && !found)
	widget.SetVisible(h.column.Objects[4+len(h.examples)], blocked && found)
	if found {
		h.instead.Set(fmt.Sprintf(t.UseInsteadF, other.Name), theme.IconChat)
		h.instead.OnTap = func() { h.screen.pick(other) }
	}
	h.object.Refresh()
}

// middleLayout centres one object, at a width of its own or its minimum.
type middleLayout struct{ width float32 }

func (l middleLayout) MinSize(objects []fyne.CanvasObject) fyne.Size { return objects[0].MinSize() }

func (l middleLayout) Layout(objects []fyne.CanvasObject, size fyne.Size) {
	w := objects[0].MinSize().Width
	if l.width > 0 {
		w = min(l.width, size.Width-2*theme.L)
	}
	h := widget.HeightOf(objects[0], w)
	objects[0].Resize(fyne.NewSize(w, h))
	objects[0].Move(fyne.NewPos((size.Width-w)/2, max((size.Height-h)/2, 0)))
}
