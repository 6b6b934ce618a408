package window

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
)

// keys binds the shortcuts: Ctrl (Cmd on a Mac) with N for a new chat, 1 to 5 for the screens, comma for settings;
// Escape stops an answer. What is typed while nothing has the focus goes to the composer.
func (w *Window) keys() {
	c := w.win.Canvas()
	bind := func(key fyne.KeyName, do func()) {
		c.AddShortcut(&desktop.CustomShortcut{KeyName: key, Modifier: fyne.KeyModifierShortcutDefault}, func(fyne.Shortcut) { do() })
	}
	bind(fyne.KeyN, func() {
		w.Go(screenChat)
		w.chat.NewChat()
	})
	for i, key := range []fyne.KeyName{fyne.Key1, fyne.Key2, fyne.Key3, fyne.Key4, fyne.Key5} {
		bind(key, func() { w.Go(i) })
	}
	bind(fyne.KeyComma, func() { w.Go(screenSettings) })
	bind(fyne.KeyQ, w.close)
	bind(fyne.KeyW, w.close)

	c.AddShortcut(&fyne.ShortcutCopy{}, func(fyne.Shortcut) {
		if w.current == screenChat {
			if text := w.chat.Selected(); text != "" {
				w.app.Clipboard().SetContent(text)
			}
		}
	})
	c.AddShortcut(&fyne.ShortcutPaste{}, func(s fyne.Shortcut) {
		if w.current == screenChat {
			w.chat.Paste(s)
		}
	})
	c.SetOnTypedKey(func(ev *fyne.KeyEvent) {
		if ev.Name == fyne.KeyEscape && w.current == screenChat {
			w.chat.Stop()
		}
	})
	c.SetOnTypedRune(func(r rune) {
		if w.current == screenChat {
			w.chat.TypeRune(r)
		}
	})
}
