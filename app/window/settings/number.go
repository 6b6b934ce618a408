package settings

import (
	"fmt"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"

	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// number is a field for a value. It writes the value while what is typed is one, and says what is wrong while it is not.
type number struct {
	field   *widget.Field
	note    *widget.Prose
	name    string
	set     func(text string) bool // false: not a value
	bounds  string                 // " from 0 to 1"
	problem string
	warning func() string // of a value that can be set but may not be meant; nil: none
	changed func(relayout bool)
}

func newNumber(text, placeholder, bounds string, set func(string) bool) *number {
	n := &number{field: widget.NewField(text, placeholder), set: set, bounds: bounds, changed: func(bool) {}}
	n.note = widget.NewProse(widget.Style{Size: "helperText", Color: theme.Bad})
	n.note.Hide()
	n.field.OnChanged = n.typed
	return n
}

func (n *number) typed(text string) {
	n.problem = ""
	if !n.set(strings.TrimSpace(text)) {
		n.problem = fmt.Sprintf(words.T().NumberBadF, n.name, n.bounds)
	}
	was, rows := n.note.Visible(), n.note.Text()
	n.tell()
	n.changed(was != n.note.Visible() || rows != n.note.Text())
}

// tell shows what is wrong with the value, or what to know of it.
func (n *number) tell() {
	text, color := n.problem, theme.Bad
	if text == "" && n.warning != nil {
		text, color = n.warning(), theme.Warn
	}
	n.note.SetText(text)
	n.note.SetColor(color)
	widget.SetVisible(n.note, text != "")
}

// row is the field with its name and what it does.
func (n *number) row(name, about string) fyne.CanvasObject {
	n.name = name
	n.tell()
	return widget.Column(theme.XS, widget.Setting(name, about, 110, widget.Box(n.field)), n.note)
}

// newWhole edits an integer. An empty field is 0, which stands for a default, unless 0 is a value like any other.
func newWhole(at *int, low, high int, empty string) *number {
	text := ""
	if *at != 0 || empty == "0" {
		text = strconv.Itoa(*at)
	}
	return newNumber(text, empty, fmt.Sprintf(words.T().BoundsF, strconv.Itoa(low), strconv.Itoa(high)), func(text string) bool {
		if text == "" {
			*at = 0
			return true
		}
		v, err := strconv.Atoi(text)
		if err != nil || (v != 0 || low == 0) && v < low || v > high {
			return false
		}
		*at = v
		return true
	})
}

// newReal edits a decimal number.
func newReal(at *float64, low, high float64) *number {
	text := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	return newNumber(text(*at), "", fmt.Sprintf(words.T().BoundsF, text(low), text(high)), func(s string) bool {
		v, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", "."), 64)
		if err != nil || !(v >= low && v <= high) {
			return false
		}
		*at = v
		return true
	})
}

// newSeed edits the seed; an empty field draws one each time.
func newSeed(v *Values) *number {
	text := ""
	if v.Seeded {
		text = strconv.FormatUint(v.Seed, 10)
	}
	return newNumber(text, words.T().Random, "", func(s string) bool {
		if s == "" {
			v.Seed, v.Seeded = 0, false
			return true
		}
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			return false
		}
		v.Seed, v.Seeded = n, true
		return true
	})
}
