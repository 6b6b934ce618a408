package chat

import (
	"fmt"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/live"
	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// actions is what a message can ask of the screen.
type actions struct {
	edit       func()
	again      func()
	sibling    func(ID)
	more       func() // go on, after starting the engine where it ended
	openClosed func() // the thoughts were opened or closed
}

// bubble is a message of the user: a tinted box at the right, as wide as its text asks.
type bubble struct {
	fw.BaseWidget
	body   *widget.Document
	panel  *widget.Panel
	footer *fyne.Container
	pager  *pager
}

func newBubble(m Message, sel *widget.Selection, act actions) *bubble {
	b := &bubble{body: widget.NewDocument(sel), panel: widget.NewPanel(theme.Surface, "", 14)}
	b.ExtendBaseWidget(b)
	b.body.SetPlain(m.Text)
	copy := footButton(theme.IconCopy, words.T().Copy, nil)
	copyOnTap(copy, func() string { return m.Text })
	edit := footButton(theme.IconPencil, words.T().EditHint, act.edit)
	b.pager = newPager(m, act.sibling)
	b.footer = widget.Row(2, b.pager.all, edit, copy)
	return b
}

const (
	bubbleX float32 = 16
	bubbleY float32 = 10
	footH   float32 = 28
)

// box is how wide and high the bubble is in a column of a width.
func (b *bubble) box(width float32) fyne.Size {
	w := min(b.body.NaturalWidth()+1, width*0.86-2*bubbleX)
	return fyne.NewSize(w+2*bubbleX, b.body.HeightFor(w)+2*bubbleY)
}

// HeightFor implements widget.Item.
func (b *bubble) HeightFor(width float32) float32 { return b.box(width).Height + footH }

// See implements widget.Viewer.
func (b *bubble) See(top, bottom float32) { b.body.See(top-bubbleY, bottom-bubbleY) }

// CreateRenderer implements fyne.Widget.
func (b *bubble) CreateRenderer() fyne.WidgetRenderer { return &bubbleRenderer{b} }

type bubbleRenderer struct{ b *bubble }

func (r *bubbleRenderer) Destroy() {}
func (r *bubbleRenderer) Objects() []fyne.CanvasObject {
	return []fyne.CanvasObject{r.b.panel, r.b.body, r.b.footer}
}
func (r *bubbleRenderer) MinSize() fyne.Size {
	return fyne.NewSize(80, r.b.HeightFor(max(r.b.Size().Width, 80)))
}
func (r *bubbleRenderer) Refresh() {
	r.b.panel.Refresh()
	r.b.body.Refresh()
	r.Layout(r.b.Size())
}

func (r *bubbleRenderer) Layout(size fyne.Size) {
	box := r.b.box(size.Width)
	x := size.Width - box.Width
	r.b.panel.Move(fyne.NewPos(x, 0))
	r.b.panel.Resize(box)
	r.b.body.Move(fyne.NewPos(x+bubbleX, bubbleY))
	r.b.body.Resize(box.Subtract(fyne.NewSize(2*bubbleX, 2*bubbleY)))
	foot := r.b.footer.MinSize()
	r.b.footer.Move(fyne.NewPos(size.Width-foot.Width, box.Height+2))
	r.b.footer.Resize(foot)
}

// answer is a message of the model: folded thoughts, the text, and a line about it.
type answer struct {
	fw.BaseWidget
	message Message
	act     actions

	thought *widget.Button
	mind    *widget.Document
	mindBox *fyne.Container
	waiting *widget.Label
	body    *widget.Document
	footer  *fyne.Container
	pager   *pager
	again   *widget.Button
	more    *widget.Button // go on with an answer that ended early
	last    bool
	blocked bool // the model cannot answer: nothing offers to go on
	stats   *widget.Label
	trouble *trouble
	column  *fyne.Container
	open    bool // the thoughts are shown
	draws   int  // how often the answer was shown anew
}

func newAnswer(m Message, last, blocked, open bool, sel *widget.Selection, act actions) *answer {
	a := &answer{act: act, open: open}
	a.ExtendBaseWidget(a)
	t := words.T()
	a.thought = widget.NewButton(t.Thought, theme.IconThought, widget.Quiet, a.toggle)
	a.thought.Small = true
	a.mind = widget.NewDocument(sel)
	a.mind.SetStyle(widget.Style{Color: theme.Muted, Size: theme.SizeAside})
	a.mindBox = widget.Beside(widget.NewPanel(theme.Border, "", 1), 2, theme.M, a.mind)
	a.waiting = widget.Caption("")
	a.body = widget.NewDocument(sel)
	copy := footButton(theme.IconCopy, t.Copy, nil)
	copyOnTap(copy, func() string { return a.message.Text })
	a.again = footButton(theme.IconRefresh, t.Regenerate, act.again)
	a.more = widget.NewButton(t.GoOn, theme.Icon{}, widget.Quiet, act.more)
	a.more.Small = true
	a.stats = widget.Caption("")
	a.stats.Color = theme.Faint
	a.pager = newPager(m, act.sibling)
	a.footer = widget.Row(2, copy, a.again, a.pager.all, a.more, widget.Inset(0, 0, 0, 6, a.stats))
	a.trouble = newTrouble(act.more)
	// Buttons keep their own width at the left.
	a.column = widget.Column(0,
		widget.Inset(0, 0, theme.XS, -8, widget.RowGrow(0, 1, a.thought, widget.Spring())),
		widget.Inset(0, 0, theme.S, 0, a.mindBox),
		widget.Inset(theme.XS, 0, theme.XS, 0, a.waiting),
		a.body,
		widget.Inset(theme.M, 0, 0, 0, a.trouble),
		widget.Inset(2, 0, 0, -7, widget.RowGrow(0, 1, a.footer, widget.Spring())),
	)
	a.last = last
	a.blocked = blocked
	widget.SetVisible(a.again, last && !blocked)
	widget.SetVisible(a.trouble.button, !blocked)
	a.show(m, nil)
	return a
}

func (a *answer) toggle() {
	a.open = !a.open
	a.show(a.message, nil)
	if a.act.openClosed != nil {
		a.act.openClosed()
	}
}

// show draws a message. prompt tells how far its prompt is read; nil: nothing to tell.
func (a *answer) show(m Message, prompt *Progress) {
	a.message = m
	a.draws++
	t := words.T()
	thinking := m.State == Writing && m.Text == "" && m.Reasoning != ""

	title := t.Thought
	switch {
	case thinking:
		title = t.Thinking
	case m.Thought >= 50*time.Millisecond: // less would read 0.0 s
		title = fmt.Sprintf(t.ThoughtF, live.Seconds(m.Thought))
	}
	a.thought.Trailing = theme.IconRight
	if a.open {
		a.thought.Trailing = theme.IconDown
	}
	a.thought.Text = title
	a.thought.Refresh()
	widget.SetVisible(a.column.Objects[0], m.Reasoning != "")
	widget.SetVisible(a.column.Objects[1], m.Reasoning != "" && a.open)
	if a.open {
		a.mind.SetPlain(strings.TrimSpace(m.Reasoning))
	}

	wait := ""
	if m.State == Writing && m.Text == "" && m.Reasoning == "" {
		wait = t.ReadingAll
		if prompt != nil && prompt.Total > 0 {
			wait = fmt.Sprintf(t.ReadingF, live.Number(prompt.Read), live.Number(prompt.Total))
		}
	}
	a.waiting.Set(wait)
	widget.SetVisible(a.column.Objects[2], wait != "")
	a.body.SetMarkdown(m.Text)
	widget.SetVisible(a.body, m.Text != "")

	a.trouble.show(m)
	widget.SetVisible(a.column.Objects[4], m.State == Failed || m.State == Partial)
	widget.SetVisible(a.more, a.last && !a.blocked && (m.State == Stopped || m.State == Complete && m.Stats.Length))
	a.stats.Set(statsLine(m))
	a.pager.set(m)
	widget.SetVisible(a.column.Objects[5], m.State != Writing)
}

// statsLine is the small text under an answer.
func statsLine(m Message) string {
	t := words.T()
	var parts []string
	if m.State == Stopped {
		parts = append(parts, t.Interrupted)
	}
	if m.Stats.Length {
		parts = append(parts, t.LengthEnd)
	}
	if m.Stats.Completion > 0 {
		parts = append(parts, fmt.Sprintf(t.StatsF, live.Number(m.Stats.Completion)))
	}
	if m.Stats.Decode > 0 {
		parts = append(parts, fmt.Sprintf(t.StatsRateF, live.Rate(m.Stats.Decode)))
	}
	if m.Stats.First > 0 {
		parts = append(parts, fmt.Sprintf(t.StatsFirstF, live.Seconds(m.Stats.First)))
	}
	if m.Model != "" {
		parts = append(parts, m.Model)
	}
	return strings.Join(parts, "  ·  ")
}

// HeightFor implements widget.Item.
func (a *answer) HeightFor(width float32) float32 { return widget.HeightOf(a.column, width) }

// CreateRenderer implements fyne.Widget.
func (a *answer) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(a.column) }

// See implements widget.Viewer.
func (a *answer) See(top, bottom float32) { widget.See(a.column, top, bottom) }

// relayout places the parts anew after show changed them.
func (a *answer) relayout() {
	a.column.Layout.Layout(a.column.Objects, a.column.Size())
	canvas.Refresh(a)
}

// trouble says in one sentence what went wrong, with a button that goes on.
type trouble struct {
	fw.BaseWidget
	text   *widget.Prose
	button *widget.Button
	all    *fyne.Container
}

func newTrouble(restart func()) *trouble {
	tr := &trouble{text: widget.Paragraph("")}
	tr.ExtendBaseWidget(tr)
	tr.button = widget.NewButton("", theme.IconRefresh, widget.Plain, restart)
	icon := widget.NewIcon(theme.IconWarning, theme.Warn, 18)
	tr.all = widget.Stack(
		widget.NewPanel(theme.WarnSoft, "", theme.Radius),
		widget.Inset(10, theme.M, 10, theme.M, widget.RowGrow(theme.M, 1, icon, tr.text, tr.button)),
	)
	return tr
}

func (tr *trouble) show(m Message) {
	t := words.T()
	text, button := m.Problem, t.TryAgain
	if m.Text != "" {
		button = t.GoOn
	}
	switch {
	case m.State == Partial:
		text, button = t.ClosedEarly, t.GoOn
	case m.Gone:
		button = t.StartAgain
		if text == "" {
			text = t.EngineGone
		}
		if m.Text != "" || m.Reasoning != "" {
			text += " " + t.Kept
		}
	}
	tr.text.SetText(text)
	tr.button.Set(button, theme.IconRefresh)
}

// HeightFor implements widget.Item.
func (tr *trouble) HeightFor(width float32) float32 { return widget.HeightOf(tr.all, width) }

// CreateRenderer implements fyne.Widget.
func (tr *trouble) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(tr.all) }

// pager goes between the siblings of a message: ‹ 2 / 3 ›.
type pager struct {
	all        *fyne.Container
	prev, next *widget.Button
	label      *widget.Label
	message    Message
}

func newPager(m Message, choose func(ID)) *pager {
	p := &pager{label: widget.Caption("")}
	p.prev = footButton(theme.IconLeft, "", func() { choose(p.message.Siblings[p.message.Index-1]) })
	p.next = footButton(theme.IconRight, "", func() { choose(p.message.Siblings[p.message.Index+1]) })
	p.all = widget.Row(0, p.prev, p.label, p.next)
	p.set(m)
	return p
}

func (p *pager) set(m Message) {
	p.message = m
	widget.SetVisible(p.all, len(m.Siblings) > 1)
	if len(m.Siblings) > 1 {
		p.label.Set(fmt.Sprintf("%d / %d", m.Index+1, len(m.Siblings)))
		enable(p.prev, m.Index > 0)
		enable(p.next, m.Index < len(m.Siblings)-1)
	}
}

func footButton(icon theme.Icon, hint string, tap func()) *widget.Button {
	b := widget.NewIconButton(icon, hint, tap)
	b.Small, b.Pale = true, true
	return b
}

// copyOnTap makes a button copy a text and say so.
func copyOnTap(b *widget.Button, text func() string) {
	b.OnTap = widget.CopyAction(b, text)
}

func enable(b *widget.Button, on bool) {
	if on {
		b.Enable()
	} else {
		b.Disable()
	}
}
