package widget

import (
	"strings"
	"time"

	"fyne.io/fyne/v2"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/theme"
	"ingot/app/window/words"
)

// CodeBlock shows monospaced text under a bar with its language and a copy button. Long lines wrap: a block that
// scrolled sideways would catch the wheel on its way down a conversation.
type CodeBlock struct {
	fw.BaseWidget
	lang, text string
	label      *Label
	copy       *Button
	body       *Prose
	content    *fyne.Container
}

// NewCodeBlock makes a code block; host lets its text be selected with the document's.
func NewCodeBlock(host *Document) *CodeBlock {
	c := &CodeBlock{label: Caption("")}
	c.ExtendBaseWidget(c)
	c.body = NewProse(Style{Size: theme.SizeCode, Pre: true, Lead: 1.25})
	c.body.host = host
	c.copy = NewCopyButton(words.T().Copy, func() string { return c.text })
	bar := Inset(2, 4, 2, theme.M, RowGrow(theme.S, 1, c.label, Spring(), c.copy))
	c.content = Stack(
		NewPanel(theme.Surface, theme.Border, theme.Radius),
		Column(0, bar, NewHairline(), Inset(theme.S, theme.M, theme.M, theme.M, c.body)),
	)
	return c
}

// Set changes the content.
func (c *CodeBlock) Set(lang, text string) {
	if c.lang == lang && c.text == text {
		return
	}
	c.lang, c.text = lang, text
	name := lang
	if name == "" {
		name = words.T().CodeNoLanguage
	}
	c.label.Set(name)
	shown := strings.ReplaceAll(text, "\t", "    ")
	runs := highlight(lang, shown)
	for i := range runs {
		runs[i].Mono = true
	}
	c.body.SetRuns(runs)
}

// HeightFor implements Item.
func (c *CodeBlock) HeightFor(width float32) float32 { return HeightOf(c.content, width) }

// CreateRenderer implements fyne.Widget.
func (c *CodeBlock) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(c.content) }

// NewCopyButton makes a quiet button that copies what text returns.
func NewCopyButton(label string, text func() string) *Button {
	b := NewButton(label, theme.IconCopy, Quiet, nil)
	b.Small = true
	b.OnTap = CopyAction(b, text)
	return b
}

// CopyAction returns what a button does to copy a text: it says so for a moment.
func CopyAction(b *Button, text func() string) func() {
	label := b.Text
	done := words.T().Copied
	if label == "" {
		done = ""
	}
	return func() {
		fyne.CurrentApp().Clipboard().SetContent(text())
		b.Set(done, theme.IconCheck)
		later(1500*time.Millisecond, func() { b.Set(label, theme.IconCopy) })
	}
}

// later runs a function on the UI goroutine after a time. Tests, whose driver has no such goroutine, replace it.
var later = func(d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() { fyne.Do(f) })
}
