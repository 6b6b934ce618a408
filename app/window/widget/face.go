package widget

import (
	"unicode/utf8"

	"fyne.io/fyne/v2"
)

// face is a font at a size.
type face struct {
	size               float32
	bold, italic, mono bool
}

func (f face) textStyle() fyne.TextStyle {
	return fyne.TextStyle{Bold: f.bold, Italic: f.italic, Monospace: f.mono}
}

// Widths are asked for again at every piece of a streaming answer, and shaping is slow; so each (face, text) is
// measured once. The cache is dropped when it is full. It belongs to the UI goroutine.
type measureKey struct {
	face face
	text string
}

type metrics struct{ height, baseline float32 }

const measureLimit = 40000

var (
	widthCache   = map[measureKey]float32{}
	metricsCache = map[face]metrics{}
)

// width returns how wide a text is drawn.
func (f face) width(text string) float32 {
	if text == "" {
		return 0
	}
	if f.mono && ascii(text) {
		return f.single("0") * float32(len(text))
	}
	return f.single(text)
}

func (f face) single(text string) float32 {
	key := measureKey{f, text}
	if w, ok := widthCache[key]; ok {
		return w
	}
	size, _ := fyne.CurrentApp().Driver().RenderedTextSize(text, f.size, f.textStyle(), nil)
	if len(widthCache) >= measureLimit {
		clear(widthCache)
	}
	widthCache[key] = size.Width
	return size.Width
}

func (f face) metrics() metrics {
	m, ok := metricsCache[f]
	if !ok {
		size, base := fyne.CurrentApp().Driver().RenderedTextSize("Mg", f.size, f.textStyle(), nil)
		m = metrics{size.Height, base}
		metricsCache[f] = m
	}
	return m
}

func (f face) height() float32 { return f.metrics().height }

// cut shortens a text with an ellipsis so that it fits a width.
func (f face) cut(text string, width float32) string {
	if text == "" || f.width(text) <= width+0.5 {
		return text
	}
	lo, hi := 0, len(text) // the longest prefix that fits, by bisection
	for lo < hi {
		mid := (lo + hi + 1) / 2
		for mid < hi && !utf8.RuneStart(text[mid]) {
			mid++
		}
		if f.width(text[:mid]+"…") <= width {
			lo = mid
		} else {
			hi = mid - 1
			for hi > lo && !utf8.RuneStart(text[hi]) {
				hi--
			}
		}
	}
	return text[:lo] + "…"
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
