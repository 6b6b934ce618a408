package window

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"

	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// Refusal is why the application cannot open.
type Refusal struct {
	InUse  bool   // another Ingot has the library
	Reason string // one sentence
	Folder string // where the library lies
	Open   func() // shows the folder; nil: it is not there
	// Anew sets a damaged library aside, after which the window ends; its error is one sentence. nil: that would not help.
	Anew func() error
}

// refusalWidth holds a path of usual length on one line.
const refusalWidth = 520

// NewRefusal makes the small window that is shown instead of the application's: what is wrong, where, and a button
// that ends the program. Nothing of the settings is known where it is shown, so it looks as the desktop asks.
func NewRefusal(a fyne.App, r Refusal) fyne.Window {
	t := words.T()
	a.Settings().SetTheme(&theme.Theme{Mode: theme.System})
	w := a.NewWindow(Title)
	w.SetPadded(false)
	w.SetMaster()

	title := widget.NewProse(widget.Style{Size: theme.SizeTitle, Bold: true}, widget.Run{Text: t.NotOpened})
	why := widget.Paragraph(r.Reason)
	texts := widget.Column(theme.S, title, why)
	quit := widget.NewButton(t.Quit, theme.Icon{}, widget.Primary, a.Quit)
	buttons := widget.RowGrow(theme.S, 0, widget.Spring(), quit)
	if r.InUse {
		title.SetText(t.AlreadyOpen)
		texts.Objects = []fyne.CanvasObject{title, widget.Paragraph(t.AlreadyOpenHint), widget.Note(r.Reason)}
	} else {
		folder := widget.NewProse(widget.Style{Size: theme.SizeCode}, widget.Run{Text: r.Folder, Mono: true})
		texts.Add(widget.Inset(theme.S, 0, 0, 0, widget.Column(2, widget.NewLabel(t.DataLabel), widget.Note(t.DataHint), folder)))
		buttons.Objects = []fyne.CanvasObject{widget.Spring()}
		if r.Open != nil {
			buttons.Add(widget.NewButton(t.OpenFolder, theme.IconFolder, widget.Plain, r.Open))
		}
		if r.Anew != nil {
			buttons.Add(widget.NewButton(t.StartAnew, theme.Icon{}, widget.Plain, func() {
				if err := r.Anew(); err != nil {
					why.SetText(err.Error())
					return
				}
				a.Quit()
			}))
		}
		buttons.Add(quit)
	}
	content := widget.Pad(theme.XL, widget.Column(theme.XL,
		widget.RowTop(theme.L, 1, widget.NewIcon(theme.IconIngot, theme.Accent, 36), texts), buttons))
	fixed := widget.Fixed(refusalWidth, widget.HeightOf(content, refusalWidth), content) // by itself text asks for one word's width
	w.SetContent(widget.Stack(widget.NewPanel("background", "", 0), fixed))
	w.Resize(fixed.MinSize())
	w.SetFixedSize(true)
	w.CenterOnScreen()

	c := w.Canvas()
	for _, key := range []fyne.KeyName{fyne.KeyQ, fyne.KeyW} {
		c.AddShortcut(&desktop.CustomShortcut{KeyName: key, Modifier: fyne.KeyModifierShortcutDefault}, func(fyne.Shortcut) { a.Quit() })
	}
	c.SetOnTypedKey(func(ev *fyne.KeyEvent) {
		switch ev.Name {
		case fyne.KeyEscape, fyne.KeyReturn, fyne.KeyEnter:
			a.Quit()
		}
	})
	return w
}
