package widget

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	"fyne.io/fyne/v2/test"

	"ingot/app/window/theme"
)

func testApp(t *testing.T) {
	t.Helper()
	was := later
	later = func(time.Duration, func()) *time.Timer { return time.NewTimer(time.Hour) }
	t.Cleanup(func() { later = was })
	a := test.NewTempApp(t)
	a.Settings().SetTheme(&theme.Theme{Mode: theme.Light})
}

// rowsOf sets a text and returns its rows.
func rowsOf(t *testing.T, width float32, pre bool, runs ...Run) []string {
	t.Helper()
	p := NewProse(Style{Pre: pre}, runs...)
	p.HeightFor(width)
	var out []string
	for i, r := range p.rows {
		if i > 0 && r.start != p.rows[i-1].end {
			t.Errorf("row %d begins at %d, the one before ends at %d", i, r.start, p.rows[i-1].end)
		}
		line := ""
		for _, f := range r.frags {
			line += p.text[f.start:f.end]
			if f.x+f.w > width+0.5 && len(r.frags) > 1 {
				t.Errorf("row %q reaches %.1f of %.1f", line, f.x+f.w, width)
			}
		}
		out = append(out, line)
	}
	if n := len(p.rows); n == 0 || p.rows[n-1].end != len(p.text) {
		t.Error("rows do not reach the end of the text")
	}
	return out
}

func TestProseBreaksRows(t *testing.T) {
	testApp(t)
	w := face{size: 14}.width("one two three")
	for _, c := range []struct {
		name string
		pre  bool
		runs []Run
		want []string
	}{
		{"at words", false, []Run{{Text: "one two three four"}}, []string{"one two three", "four"}},
		{"a hard break", false, []Run{{Text: "one\ntwo"}}, []string{"one", "two"}},
		{"an empty line", false, []Run{{Text: "one\n\ntwo"}}, []string{"one", "", "two"}},
		{"not inside a word of two styles", false, []Run{{Text: "one two thr"}, {Text: "eex", Bold: true}}, []string{"one two", "threex"}},
		{"spaces kept in code", true, []Run{{Text: "a\n    b"}}, []string{"a", "    b"}},
		{"nothing", false, nil, []string{""}},
	} {
		if got := rowsOf(t, w+1, c.pre, c.runs...); strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := rowsOf(t, 60, false, Run{Text: strings.Repeat("x", 100)}); len(got) < 5 || strings.Join(got, "") != strings.Repeat("x", 100) {
		t.Errorf("a word wider than the row: %q", got)
	}
	if got := rowsOf(t, 60, false, Run{Text: "三亚的天气怎么样，今天很热。"}); len(got) < 3 || strings.HasPrefix(got[1], "，") || strings.Join(got, "") != "三亚的天气怎么样，今天很热。" {
		t.Errorf("text without spaces: %q", got)
	}
	rowsOf(t, 1, false, Run{Text: "narrow 三 \t x"}, Run{Text: "-y"})
}

func TestLabelIsCutWithAnEllipsis(t *testing.T) {
	testApp(t)
	f := face{size: 14}
	for _, w := range []float32{0, 5, 30, 60, 200} {
		got := f.cut("Größe einer Überschrift", w)
		if w >= 30 && f.width(got) > w+0.5 {
			t.Errorf("%q is %.1f wide, room %.1f", got, f.width(got), w)
		}
		if !strings.HasSuffix(got, "…") && got != "Größe einer Überschrift" {
			t.Errorf("%q", got)
		}
	}
}

func TestDocumentKeepsWidgetsThatDidNotChange(t *testing.T) {
	testApp(t)
	d := NewDocument(nil)
	d.Resize(fyne.NewSize(400, 1000))
	d.SetMarkdown("# Title\n\nfirst\n\n```go\nfunc f() {}\n```\n\nlast wor")
	before := append([]Item(nil), d.views...)
	d.SetMarkdown("# Title\n\nfirst\n\n```go\nfunc f() {}\n```\n\nlast word, and more\n\n- item")
	for i := range before {
		if d.views[i] != before[i] {
			t.Errorf("block %d was made anew", i)
		}
	}
	if len(d.views) != 5 {
		t.Fatalf("%d blocks, want 5", len(d.views))
	}
	if got := before[3].(*Prose).Text(); got != "last word, and more" {
		t.Errorf("the last paragraph says %q", got)
	}
	if n := d.Set(d.blocks); n != 0 {
		t.Errorf("%d widgets changed by the same blocks", n)
	}
}

func TestDocumentStructure(t *testing.T) {
	testApp(t)
	d := NewDocument(nil)
	d.SetMarkdown("## H\n\npara **b** `c` [l](https://x.org)\n\n> q\n\n1. one\n2. two\n   - in\n\n```py\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n")
	want := []string{"*widget.Prose", "*widget.Prose", "*widget.quote", "*widget.bullets", "*widget.CodeBlock", "*widget.Table", "*widget.containerItem"}
	for i, v := range d.views {
		if got := fmt.Sprintf("%T", v); got != want[i] {
			t.Errorf("block %d is a %s, want %s", i, got, want[i])
		}
	}
	runs := d.views[1].(*Prose).runs
	if !runs[1].Bold || !runs[3].Code || runs[5].Link != "https://x.org" {
		t.Errorf("runs %+v", runs)
	}
	if got := d.PlainText(); got != "H\npara b c l\nq\none\ntwo\nin\nx = 1\na\nb\n1\n2" {
		t.Errorf("text %q", got)
	}
	list := d.views[3].(*bullets)
	if list.marks[0].Text != "1." || list.marks[1].Text != "2." {
		t.Errorf("marks %q %q", list.marks[0].Text, list.marks[1].Text)
	}
	narrow, wide := d.HeightFor(60), d.HeightFor(800)
	if narrow <= wide {
		t.Errorf("height %.0f at 60, %.0f at 800", narrow, wide)
	}
}

func TestCodeBlockCopies(t *testing.T) {
	testApp(t)
	w := test.NewTempWindow(t, nil)
	c := NewCodeBlock(nil)
	c.Set("go", "a\n\tb")
	w.SetContent(c)
	test.Tap(c.copy)
	if got := fyne.CurrentApp().Clipboard().Content(); got != "a\n\tb" {
		t.Errorf("copied %q", got)
	}
	if c.label.Text != "go" || c.copy.Text != "Copied" {
		t.Errorf("label %q, button %q", c.label.Text, c.copy.Text)
	}
}

func TestSelectionOverBlocks(t *testing.T) {
	testApp(t)
	var sel Selection
	d := NewDocument(&sel)
	d.SetMarkdown("first line\n\nsecond line\n\nthird")
	w := test.NewTempWindow(t, d)
	w.SetPadded(false)
	w.Resize(fyne.NewSize(400, 300))
	all := leaves(d)
	all[0].MouseDown(&desktop.MouseEvent{Button: desktop.MouseButtonPrimary, PointEvent: fyne.PointEvent{Position: fyne.NewPos(face{size: 14}.width("first "), 5)}})
	all[0].Dragged(&fyne.DragEvent{PointEvent: fyne.PointEvent{AbsolutePosition: all[1].Position().AddXY(face{size: 14}.width("second")-2, 5)}})
	if got := sel.Text(); got != "line\nsecond" {
		t.Errorf("selected %q", got)
	}
	sel.Clear()
	if got := sel.Text(); got != "" {
		t.Errorf("still selected %q", got)
	}
}

func TestHighlight(t *testing.T) {
	for _, lang := range []string{"go", "python", "sql", "sh", ""} {
		for _, text := range []string{"", "\"open", "/* open", "'''open", "x = \"a\\\"b\" # note", "a -- b", "`q\nr`", "ünïcödé 12.5e3 // c\n"} {
			joined := ""
			for _, r := range highlight(lang, text) {
				joined += r.Text
			}
			if joined != text {
				t.Errorf("%s: %q became %q", lang, text, joined)
			}
		}
	}
	runs := highlight("go", "func f() { return 12 } // note")
	if runs[0].Color != theme.CodeWord || runs[len(runs)-1].Color != theme.CodeNote {
		t.Errorf("runs %+v", runs)
	}
}

func TestMenuKeys(t *testing.T) {
	testApp(t)
	o := NewLabel("x")
	w := test.NewTempWindow(t, o)
	w.Resize(fyne.NewSize(300, 300))
	taken := ""
	entry := func(name string) Choose { return Choose{Text: name, OnTap: func() { taken = name }} }
	off := entry("b")
	off.Disabled = true
	ShowMenu(o, fyne.NewPos(5, 5), entry("a"), off, Choose{}, entry("c"))
	m := w.Canvas().Focused().(*menu)
	for range 2 {
		m.TypedKey(&fyne.KeyEvent{Name: fyne.KeyDown})
	}
	m.TypedKey(&fyne.KeyEvent{Name: fyne.KeyReturn})
	if taken != "c" {
		t.Errorf("took %q, want the second that can be taken", taken)
	}
	if w.Canvas().Overlays().Top() != nil {
		t.Error("the menu is still open")
	}
}

// block is an item of a known height.
type block struct {
	Label
	high float32
}

func (b *block) HeightFor(float32) float32 { return b.high }

func newTestFeed(t *testing.T, heights []float32) (*Feed, *int) {
	testApp(t)
	built := 0
	f := NewFeed(func(i int) Item {
		built++
		b := &block{high: heights[i]}
		b.Text = fmt.Sprint(i)
		b.ExtendBaseWidget(b)
		return b
	}, func(int, float32) float32 { return 50 })
	w := test.NewTempWindow(t, f)
	w.SetPadded(false)
	w.Resize(fyne.NewSize(300, 400))
	return f, &built
}

func TestFeedBuildsOnlyWhatIsSeen(t *testing.T) {
	heights := make([]float32, 2000)
	for i := range heights {
		heights[i] = 30 + float32(i%7)*20
	}
	f, built := newTestFeed(t, heights)
	f.Reset(len(heights))
	if *built > 20 {
		t.Errorf("%d of 2000 items built", *built)
	}
	last, ok := f.Built(1999)
	if !ok || last.Position().Y+last.Size().Height > 400.5 || last.Position().Y+last.Size().Height < 399.5 {
		t.Errorf("the last item does not end at the bottom: %v %v", last.Position(), last.Size())
	}
	for range 3000 {
		f.scrollBy(-37)
	}
	if n := f.BuiltCount(); n > 20+keepItems {
		t.Errorf("%d items kept", n)
	}
	if f.AtBottom() {
		t.Error("at the bottom after scrolling up")
	}
	f.ToBottom()
	if !f.AtBottom() || f.Len() != 2000 {
		t.Error("not at the bottom")
	}
}

// What is read must not move when items above it turn out higher than estimated.
func TestFeedDoesNotJump(t *testing.T) {
	heights := make([]float32, 100)
	for i := range heights {
		heights[i] = 90
	}
	f, _ := newTestFeed(t, heights)
	f.Reset(100)
	f.scrollBy(-1000)
	top := f.first
	y := f.items[top].Position().Y
	f.scrollBy(-40)
	if got := f.items[top].Position().Y; got != y+40 {
		t.Errorf("item %d moved from %.1f to %.1f by scrolling 40", top, y, got)
	}
}

func TestFeedFollowsItsEndOnlyFromTheBottom(t *testing.T) {
	heights := make([]float32, 20)
	for i := range heights {
		heights[i] = 90
	}
	f, _ := newTestFeed(t, heights)
	f.Reset(20)
	grow := func() {
		heights[19] += 60
		it, _ := f.Built(19)
		if it != nil {
			it.(*block).high = heights[19]
		}
		f.Resized(19)
	}
	end := func() float32 {
		it, ok := f.Built(19)
		if !ok {
			return -1
		}
		return it.Position().Y + it.Size().Height
	}
	grow()
	if e := end(); e != 400 {
		t.Errorf("the end is at %.1f, want 400", e)
	}
	f.scrollBy(-100)
	if f.AtBottom() {
		t.Fatal("still at the bottom")
	}
	at := f.items[f.first].Position().Y
	first := f.first
	grow()
	if f.first != first || f.items[first].Position().Y != at {
		t.Error("the view moved although the reader had scrolled up")
	}
	f.scrollBy(1e6)
	if !f.AtBottom() || end() != 400 {
		t.Errorf("not at the bottom: %.1f", end())
	}
}

func TestFeedFromTopBeginsAtItsFirstItem(t *testing.T) {
	heights := []float32{90, 90, 90, 90, 90, 90, 90}
	f, _ := newTestFeed(t, heights)
	f.FromTop = true
	f.Reset(7)
	if it, ok := f.Built(0); !ok || it.Position().Y != 0 {
		t.Error("does not begin at the top")
	}
	f.scrollBy(1e6)
	f.Refill(7)
	if it, ok := f.Built(6); !ok || it.Position().Y+90 != 400 {
		t.Error("lost its place when filled anew")
	}
	f.Refill(0)
	f.Refill(2)
	if it, ok := f.Built(0); !ok || it.Position().Y != 0 {
		t.Error("a short list does not begin at the top")
	}
}

func TestOnlyRowsInViewAreDrawn(t *testing.T) {
	testApp(t)
	text := "# Title\n\n```go\n" + strings.Repeat("x := 1\n", 3000) + "```\n\nend"
	var d *Document
	f := NewFeed(func(int) Item { d = NewDocument(nil); d.SetMarkdown(text); return d }, func(int, float32) float32 { return 100 })
	w := test.NewTempWindow(t, f)
	w.SetPadded(false)
	w.Resize(fyne.NewSize(600, 400))
	f.Reset(1)
	code := d.views[1].(*CodeBlock).body
	drawn := func() int { return len(test.WidgetRenderer(code).(*proseRenderer).texts) }
	if n := drawn(); n == 0 || n > 300 {
		t.Errorf("%d pieces drawn at the end", n)
	}
	f.scrollBy(-20000)
	if n := drawn(); n == 0 || n > 300 {
		t.Errorf("%d pieces drawn in the middle", n)
	}
	if code.drawnFrom == 0 || code.drawnTo == len(code.rows) {
		t.Errorf("rows %d to %d of %d drawn", code.drawnFrom, code.drawnTo, len(code.rows))
	}
	seen := test.WidgetRenderer(code).(*proseRenderer).texts[0]
	if y := seen.Position().Y; y <= 0 {
		t.Errorf("the first piece is at %.0f", y)
	}
}

// An answer grows through every prefix: blocks change their kind and their number under the widgets.
func TestDocumentGrowsThroughEveryPrefix(t *testing.T) {
	testApp(t)
	text := "# A\n\nSetext\n---\n\n* one\n* two\n  > quoted\n\n| a | b |\n|---|:-:|\n| 1 | `2` |\n| 3 | **4** |\n\n1. x\n\n   y\n\n```js\nlet a = \"三\"\n```\n\n- [x] done\n\n[l](http://x.y) <br> ~~s~~\n"
	var sel Selection
	d := NewDocument(&sel)
	w := test.NewTempWindow(t, d)
	w.Resize(fyne.NewSize(320, 900))
	for i := range text {
		d.SetMarkdown(text[:i])
		d.Resize(fyne.NewSize(float32(200+i%150), d.HeightFor(float32(200+i%150))))
		d.See(0, 300)
	}
	d.SetMarkdown(text)
	grown := d.PlainText()
	fresh := NewDocument(&sel)
	fresh.SetMarkdown(text)
	if grown != fresh.PlainText() || d.HeightFor(300) != fresh.HeightFor(300) {
		t.Errorf("grown:\n%s\nfresh:\n%s", grown, fresh.PlainText())
	}
	d.SetMarkdown("short")
	if got := d.PlainText(); got != "short" {
		t.Errorf("after shrinking: %q", got)
	}
}

// The wheel moves a page wherever it is turned, and an area is as high as its text.
func TestWheelOverAnArea(t *testing.T) {
	testApp(t)
	a := NewArea("", 3)
	p := NewPage(400, 0, 0, Column(0, Box(&a.Field), Fixed(0, 900, NewPanel(theme.Sheet, "", 0))))
	w := test.NewTempWindow(t, p)
	w.SetPadded(false)
	w.Resize(fyne.NewSize(400, 300))
	test.Scroll(w.Canvas(), fyne.NewPos(100, 20), 0, -40)
	if p.above() != 40 {
		t.Errorf("the page moved by %.0f, want 40", p.above())
	}
	low := a.Size().Height
	a.SetText(strings.Repeat("line\n", 9) + strings.Repeat("wide ", 100))
	p.Refresh()
	if high := a.Size().Height; high < 4*low || high > 7*low {
		t.Errorf("%.0f high for more than 12 rows, %.0f for 3", high, low)
	}
}
