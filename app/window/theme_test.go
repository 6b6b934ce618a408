package window

import (
	"image/color"
	"testing"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	"fyne.io/fyne/v2/test"

	"ingot/app/window/theme"
)

// inks counts the texts that are drawn in a colour.
func inks(o fyne.CanvasObject, c color.Color) (n int) {
	if !o.Visible() {
		return 0
	}
	switch v := o.(type) {
	case *canvas.Text:
		if v.Color == c {
			n++
		}
	case *fyne.Container:
		for _, in := range v.Objects {
			n += inks(in, c)
		}
	case fyne.Widget:
		for _, in := range test.WidgetRenderer(v).Objects() {
			n += inks(in, c)
		}
	}
	return n
}

// What is not in the window while the theme changes is drawn in the new one when it comes back.
func TestThemeReachesEveryScreen(t *testing.T) {
	f := newFake()
	f.fill()
	w, q := open(t, f)
	w.setTheme(theme.Dark)
	q.until(t, "conversations", func() bool { return says(w, "Names for a cat") })
	test.Tap(row(t, w, "Names for a cat").(fyne.Tappable))
	q.until(t, "a conversation", func() bool { return says(w, "about bicycles") })
	for _, to := range []theme.Mode{theme.Light, theme.Dark, theme.Light} {
		old := theme.Color(theme.Text)
		if n := inks(w.win.Content(), old); n < 10 {
			t.Fatalf("%d texts in the colour before %s", n, to)
		}
		w.Go(screenSettings)
		w.setTheme(to)
		for _, s := range []int{screenSettings, screenChat, screenLibrary, screenServer, screenCards, screenChat} {
			w.Go(s)
			if n := inks(w.win.Content(), old); n > 0 {
				t.Errorf("%s, screen %d: %d texts in the colour of before", to, s, n)
			}
		}
		if n := inks(w.win.Content(), theme.Color(theme.Text)); n < 10 {
			t.Errorf("%s: %d texts in its colour", to, n)
		}
	}
}
