package window

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"fyne.io/fyne/v2/test"

	"ingot/app/window/widget"
)

func TestRefusal(t *testing.T) {
	const reason, folder = "Could not open /home/user/.local/share/ingot/ingot.db: the database is damaged.", "/home/user/.local/share/ingot"
	for _, c := range []struct {
		name            string
		refusal         Refusal
		says, saysNot   []string
		buttons         []string
		lowest, tallest float32
	}{
		{"in use", Refusal{InUse: true, Reason: "The library is already open in another Ingot (process 41).", Folder: folder},
			[]string{"Ingot is already open", "process 41"}, []string{folder, "cannot"}, []string{"Quit"}, 120, 240},
		{"damaged", Refusal{Reason: reason, Folder: folder, Open: func() {}, Anew: func() error { return nil }},
			[]string{"Ingot cannot open its library", reason, folder + "\n"}, []string{"already"}, []string{"Open folder", "Start anew (keep the old file)", "Quit"}, 200, 340},
		{"no folder", Refusal{Reason: "Could not make the folder of the database: mkdir " + folder + ": permission denied.", Folder: folder},
			[]string{"permission denied"}, []string{"already"}, []string{"Quit"}, 200, 340},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := NewRefusal(test.NewTempApp(t), c.refusal)
			w.Show()
			defer w.Close()
			var all []string
			texts(w.Content(), &all)
			said := strings.Join(all, "\n") + "\n"
			for _, s := range c.says {
				if !strings.Contains(said, s) {
					t.Errorf("it does not say %q:\n%s", s, said)
				}
			}
			for _, s := range c.saysNot {
				if strings.Contains(said, s) {
					t.Errorf("it says %q:\n%s", s, said)
				}
			}
			var buttons []string
			find(w.Content(), func(b *widget.Button) bool { buttons = append(buttons, b.Text); return false })
			if !slices.Equal(buttons, c.buttons) {
				t.Errorf("buttons %q, expected %q", buttons, c.buttons)
			}
			if got := w.Content().MinSize(); got.Width != refusalWidth || got.Height < c.lowest || got.Height > c.tallest {
				t.Errorf("its size is %v, expected %v wide and from %v to %v high", got, refusalWidth, c.lowest, c.tallest)
			}
		})
	}
}

// What keeps the library from being set aside is said instead of what was wrong before.
func TestRefusalStartsAnew(t *testing.T) {
	tries := 0
	w := NewRefusal(test.NewTempApp(t), Refusal{Reason: "The database is damaged.", Folder: "/data", Anew: func() error {
		tries++
		return errors.New("The library is already open in another Ingot (process 41).")
	}})
	w.Show()
	defer w.Close()
	test.Tap(button(t, w.Content(), "Start anew (keep the old file)"))
	var all []string
	texts(w.Content(), &all)
	if said := strings.Join(all, "\n"); tries != 1 || !strings.Contains(said, "process 41") || strings.Contains(said, "damaged.") {
		t.Errorf("after %d tries it says:\n%s", tries, said)
	}
}
