//go:build linux && !headless

package e2e

import (
	"image"
	"image/color"
)

// Colours of the light palette by which parts of the window are found.
var (
	sidebar = color.NRGBA{0xF7, 0xF6, 0xF4, 255} // sidebar and strip
	bubble  = color.NRGBA{0xF5, 0xF4, 0xF1, 255} // behind a question
	page    = color.NRGBA{0xFF, 0xFF, 0xFF, 255}
	warning = color.NRGBA{0xFB, 0xF0, 0xDA, 255} // behind the sentence about what went wrong
	good    = color.NRGBA{0x2B, 0x7A, 0x4B, 255} // a model is loaded
	accent  = color.NRGBA{0xB0, 0x53, 0x2A, 255}
	faint   = color.NRGBA{0xA8, 0xA2, 0x9A, 255} // a switch that is off
	chosen  = color.NRGBA{0xEA, 0xE7, 0xE2, 255} // the open conversation in the list
)

// goodDark is good in the dark palette.
var goodDark = color.NRGBA{0x74, 0xC2, 0x91, 255}

// picture is what a screen showed.
type picture struct{ *image.NRGBA }

// whole is every place of any picture.
var whole = image.Rect(0, 0, 1<<14, 1<<14)

// count tells how many pixels of a place have exactly a colour.
func (p picture) count(r image.Rectangle, c color.NRGBA) int {
	n := 0
	p.each(r, func(_, _ int, have color.NRGBA) {
		if have == c {
			n++
		}
	})
	return n
}

// ink counts the pixels of a place that differ clearly from its background.
func (p picture) ink(r image.Rectangle, ground color.NRGBA) int {
	n := 0
	p.each(r, func(_, _ int, c color.NRGBA) {
		if apart(c.R, ground.R)+apart(c.G, ground.G)+apart(c.B, ground.B) > 120 {
			n++
		}
	})
	return n
}

// bounds returns the smallest place that holds every pixel of a colour; empty: there is none.
func (p picture) bounds(r image.Rectangle, c color.NRGBA) image.Rectangle {
	var b image.Rectangle
	p.each(r, func(x, y int, have color.NRGBA) {
		if have == c {
			b = b.Union(image.Rect(x, y, x+1, y+1))
		}
	})
	return b
}

// colours counts the different colours of a picture.
func (p picture) colours() int {
	seen := map[color.NRGBA]bool{}
	p.each(whole, func(_, _ int, c color.NRGBA) { seen[c] = true })
	return len(seen)
}

// differs counts the pixels of a place that are not the same in two pictures.
func (p picture) differs(q picture, r image.Rectangle) int {
	if p.Rect != q.Rect {
		return p.Rect.Dx() * p.Rect.Dy()
	}
	n := 0
	p.each(r, func(x, y int, c color.NRGBA) {
		if c != q.NRGBAAt(x, y) {
			n++
		}
	})
	return n
}

func (p picture) each(r image.Rectangle, do func(x, y int, c color.NRGBA)) {
	r = r.Intersect(p.Rect)
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			do(x, y, p.NRGBAAt(x, y))
		}
	}
}

func apart(a, b uint8) int { return max(int(a), int(b)) - min(int(a), int(b)) }

func middle(r image.Rectangle) image.Point { return r.Min.Add(r.Size().Div(2)) }
