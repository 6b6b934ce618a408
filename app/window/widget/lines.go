package widget

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"fyne.io/fyne/v2"
)

// Run is a stretch of text in one style.
type Run struct {
	Text               string
	Bold, Italic, Mono bool
	Strike             bool
	Code               bool // inline code: monospaced on a tinted ground
	Link               string
	Color              fyne.ThemeColorName // "": the prose's own
}

// frag is a part of one run on one line: bytes [start,end) of the whole text, at x.
type frag struct {
	run        int
	start, end int
	x, w       float32
}

// row is one line: bytes [start,end) of the whole text, from y, h high.
type row struct {
	start, end int
	y, h       float32
	frags      []frag
}

// breaker fills rows with runs.
type breaker struct {
	runs  []Run
	faces []face
	width float32
	high  float32 // height of a row
	pre   bool    // spaces and newlines are kept, rows break anywhere

	rows []row
	cur  row
	x    float32

	word  []frag // pieces since the last place a row may break
	wordW float32
	gap   []frag // the spaces before word
	gapW  float32
	open  bool // the word ends in a single: a row may break here
}

// breakRows sets runs into rows no wider than width; offsets count bytes of the runs' text joined.
func breakRows(runs []Run, faces []face, width, high float32, pre bool) []row {
	b := &breaker{runs: runs, faces: faces, width: max(width, 1), high: high, pre: pre}
	at := 0
	for i, r := range runs {
		b.run(i, r.Text, at)
		at += len(r.Text)
	}
	b.flush()
	b.newRow(at)
	for i := range b.rows {
		b.rows[i].y, b.rows[i].h = float32(i)*high, high
	}
	return b.rows
}

func (b *breaker) run(i int, text string, at int) {
	for len(text) > 0 {
		n, kind := atom(text)
		f := frag{run: i, start: at, end: at + n}
		switch kind {
		case newline:
			b.flush()
			b.newRow(at + n)
		case space:
			f.w = b.faces[i].width(text[:n])
			b.flush()
			if b.pre || b.x > 0 {
				b.gap, b.gapW = append(b.gap, f), b.gapW+f.w
			}
			if b.pre {
				b.flushGap()
			}
		case letter, single: // a row may break around a single, but not before a closing mark
			f.w = b.faces[i].width(text[:n])
			if !stuck(text) && (b.open || kind == single) {
				b.flush()
			}
			b.word, b.wordW = append(b.word, f), b.wordW+f.w
			b.open = kind == single
		}
		text, at = text[n:], at+n
	}
}

// stuck reports whether the text starts with a mark that must not begin a row.
func stuck(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return strings.ContainsRune("，。、；：？！）」』】》〉”’…", r)
}

// flush sets the pending word, on the next row where it does not fit.
func (b *breaker) flush() {
	b.open = false
	if len(b.word) == 0 {
		return
	}
	if b.x > 0 && b.x+b.gapW+b.wordW > b.width {
		b.newRow(b.word[0].start)
	}
	b.flushGap()
	for _, f := range b.word {
		b.set(f)
	}
	b.word, b.wordW = b.word[:0], 0
}

func (b *breaker) flushGap() {
	for _, f := range b.gap {
		b.place(f)
	}
	b.gap, b.gapW = b.gap[:0], 0
}

// set places a piece, cutting it over several rows where it is wider than one.
func (b *breaker) set(f frag) {
	for b.x+f.w > b.width && f.end-f.start > 1 {
		n, w := b.fit(f, b.width-b.x)
		if n == 0 {
			if b.x > 0 {
				b.newRow(f.start)
				continue
			}
			one := b.first(f)
			if n, w = one.end-one.start, one.w; one.end == f.end {
				break
			}
		}
		b.place(frag{run: f.run, start: f.start, end: f.start + n, w: w})
		f.start += n
		f.w = b.faces[f.run].width(b.slice(f))
		b.newRow(f.start)
	}
	b.place(f)
}

// first is the first character of a piece: a row holds at least one.
func (b *breaker) first(f frag) frag {
	_, n := utf8.DecodeRuneInString(b.slice(f))
	f.end = f.start + n
	f.w = b.faces[f.run].width(b.slice(f))
	return f
}

// fit returns how many bytes of a piece fit a width, whole characters only.
func (b *breaker) fit(f frag, width float32) (int, float32) {
	text, face := b.slice(f), b.faces[f.run]
	n, w := 0, float32(0)
	for n < len(text) {
		_, k := utf8.DecodeRuneInString(text[n:])
		next := face.width(text[n : n+k])
		if w+next > width {
			break
		}
		n, w = n+k, w+next
	}
	return n, w
}

func (b *breaker) slice(f frag) string {
	at := 0
	for i := 0; i < f.run; i++ {
		at += len(b.runs[i].Text)
	}
	return b.runs[f.run].Text[f.start-at : f.end-at]
}

// place puts a piece at the end of the row, joined to the last one where they are of one run.
func (b *breaker) place(f frag) {
	if n := len(b.cur.frags); n > 0 && b.cur.frags[n-1].run == f.run && b.cur.frags[n-1].end == f.start {
		b.cur.frags[n-1].end = f.end
		b.cur.frags[n-1].w += f.w
	} else {
		f.x = b.x
		b.cur.frags = append(b.cur.frags, f)
	}
	b.x += f.w
}

// newRow ends the row; the spaces that would have begun the next belong to it, unseen.
func (b *breaker) newRow(next int) {
	b.gap, b.gapW = b.gap[:0], 0
	b.cur.end = next
	b.rows = append(b.rows, b.cur)
	b.cur, b.x = row{start: next}, 0
}

type atomKind int

const (
	letter atomKind = iota
	space
	newline
	single
)

// atom returns the length and kind of what a text starts with.
func atom(text string) (int, atomKind) {
	r, n := utf8.DecodeRuneInString(text)
	switch {
	case r == '\n':
		return n, newline
	case r == ' ' || r == '\t':
		for n < len(text) && (text[n] == ' ' || text[n] == '\t') {
			n++
		}
		return n, space
	case ideograph(r):
		return n, single
	}
	for n < len(text) {
		r, k := utf8.DecodeRuneInString(text[n:])
		if r == '\n' || r == ' ' || r == '\t' || ideograph(r) {
			break
		}
		n += k
		if (r == '-' || r == '/' || r == '—') && n < len(text) {
			return n, single
		}
	}
	return n, letter
}

// ideograph reports whether rows may break around a character without a space.
func ideograph(r rune) bool {
	return r >= 0x2E80 && (unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) ||
		(r >= 0x3000 && r <= 0x303F) || (r >= 0xFF00 && r <= 0xFFEF))
}
