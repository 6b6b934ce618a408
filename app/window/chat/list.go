package chat

import (
	"context"
	"fmt"
	"strings"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/live"
	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// list is the conversations in the sidebar, grouped by when they were last written in.
type list struct {
	screen *Screen
	load   live.Loader[[]Summary]
	all    []Summary
	err    error
	loaded bool
	lines  []line
	feed   *widget.Feed
	note   *widget.Prose // instead of the list: empty, or what went wrong
	object *fyne.Container
	naming ID // whose title is being edited
}

// line is a row of the list: a group's name, or a conversation.
type line struct {
	group string
	chat  Summary
}

func newList(s *Screen) *list {
	l := &list{screen: s}
	l.load.Do = s.do
	l.feed = widget.NewFeed(l.build, func(int, float32) float32 { return rowHeight })
	l.feed.FromTop, l.feed.Side, l.feed.Gap, l.feed.Bottom = true, theme.S, 1, theme.S
	l.note = widget.Note("")
	fresh := widget.NewButton(words.T().NewChat, theme.IconPlus, widget.Plain, s.NewChat)
	l.object = widget.ColumnGrow(theme.S, 1,
		widget.Inset(0, theme.S, 0, theme.S, fresh),
		widget.Stack(l.feed, widget.Inset(theme.S, theme.L, 0, theme.L, l.note)),
	)
	return l
}

// reload reads the list again.
func (l *list) reload() {
	l.load.Load(l.screen.deps.Conversations.List, func(all []Summary, err error) {
		l.all, l.err, l.loaded = all, err, true
		l.show()
	})
}

func (l *list) show() {
	t := words.T()
	l.lines = group(l.all, time.Now())
	note := ""
	switch {
	case l.err != nil:
		note = fmt.Sprintf(t.LoadFailedF, l.err)
	case !l.loaded:
		note = t.LoadingConversations
	case len(l.all) == 0:
		note = t.NoConversations
	}
	l.note.SetText(note)
	widget.SetVisible(l.note, note != "")
	l.feed.Refill(len(l.lines))
	l.object.Refresh()
}

// group puts a name before the first conversation of each span of time.
func group(all []Summary, now time.Time) []line {
	t := words.T()
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	name := func(s Summary) string {
		switch u := s.Updated; {
		case s.Pinned:
			return t.Pinned
		case !u.Before(day):
			return t.Today
		case !u.Before(day.AddDate(0, 0, -1)):
			return t.Yesterday
		case !u.Before(day.AddDate(0, 0, -7)):
			return t.Week
		case !u.Before(day.AddDate(0, 0, -30)):
			return t.Month
		}
		return t.Older
	}
	var out []line
	last := ""
	for _, s := range all {
		if g := name(s); g != last {
			out = append(out, line{group: g})
			last = g
		}
		out = append(out, line{chat: s})
	}
	return out
}

func (l *list) build(i int) widget.Item {
	ln := l.lines[i]
	if ln.group != "" {
		c := widget.Caption(ln.group)
		return widget.AsItem(widget.Inset(theme.M, theme.S, 4, 10, c))
	}
	return newRow(l, ln.chat)
}

// mark shows which conversation is open.
func (l *list) mark() {
	for i := range l.lines {
		if it, ok := l.feed.Built(i); ok {
			if r, ok := it.(*row); ok {
				r.paint()
			}
		}
	}
}

func (l *list) rename(s Summary) {
	l.naming = s.ID
	l.show()
}

func (l *list) renamed(s Summary, title string) {
	l.naming = 0
	title = strings.TrimSpace(title)
	if title == "" || title == s.Title {
		l.show()
		return
	}
	for i := range l.all {
		if l.all[i].ID == s.ID {
			l.all[i].Title = title
		}
	}
	l.show()
	l.screen.act(func(ctx context.Context) error { return l.screen.deps.Conversations.Rename(ctx, s.ID, title) })
}

// delete hides a conversation at once and offers to bring it back.
func (l *list) delete(s Summary) {
	for i := range l.all {
		if l.all[i].ID == s.ID {
			l.all = append(l.all[:i:i], l.all[i+1:]...)
			break
		}
	}
	l.show()
	l.screen.deleted(s)
	c := l.screen.deps.Conversations
	l.screen.act(func(ctx context.Context) error { return c.Delete(ctx, s.ID) })
	l.screen.deps.Notice(fmt.Sprintf(words.T().DeletedF, titleOf(s.Title)), words.T().Undo, func() {
		l.screen.act(func(ctx context.Context) error { return c.Restore(ctx, s.ID) })
	})
}

func titleOf(title string) string {
	if title == "" {
		return words.T().Untitled
	}
	return title
}

const rowHeight float32 = 32

// row is a conversation in the list.
type row struct {
	fw.BaseWidget
	list    *list
	chat    Summary
	panel   *widget.Panel
	label   *widget.Label
	more    *widget.Button
	name    *nameEntry
	all     *fyne.Container
	hovered bool
	focused bool
}

func newRow(l *list, s Summary) *row {
	r := &row{list: l, chat: s, panel: widget.NewPanel(theme.Clear, "", theme.RadiusSmall+1)}
	r.ExtendBaseWidget(r)
	r.label = widget.NewLabel(titleOf(s.Title)).Cut()
	r.more = widget.NewIconButton(theme.IconMore, words.T().More, r.menu)
	r.more.Small = true
	if l.naming == s.ID && s.ID != 0 {
		r.name = newNameEntry(s.Title, func(title string) { l.renamed(s, title) })
		r.all = widget.Box(&r.name.Field)
		return r
	}
	r.all = widget.Stack(r.panel, widget.Inset(0, 2, 0, 10, widget.RowGrow(2, 0, r.label, r.more)))
	r.paint()
	return r
}

// HeightFor implements widget.Item.
func (r *row) HeightFor(float32) float32 {
	if r.name != nil {
		return r.name.MinSize().Height
	}
	return rowHeight
}

// CreateRenderer implements fyne.Widget.
func (r *row) CreateRenderer() fyne.WidgetRenderer { return fw.NewSimpleRenderer(r.all) }

func (r *row) paint() {
	if r.name != nil {
		return
	}
	current := r.list.screen.current == r.chat.ID
	switch {
	case current:
		r.panel.SetFill(theme.Selected)
	case r.hovered || r.focused:
		r.panel.SetFill(theme.Hover)
	default:
		r.panel.SetFill(theme.Clear)
	}
	r.panel.Line = ""
	if r.focused {
		r.panel.Line = theme.Accent
	}
	r.panel.Refresh()
	widget.SetVisible(r.more, current || r.hovered)
	r.all.Objects[1].Refresh()
}

// Tapped opens the conversation.
func (r *row) Tapped(*fyne.PointEvent) {
	if r.name == nil {
		r.list.screen.Open(r.chat.ID)
	}
}

// TappedSecondary shows what can be done with it.
func (r *row) TappedSecondary(ev *fyne.PointEvent) {
	if r.name == nil {
		r.menuAt(ev.AbsolutePosition)
	}
}

func (r *row) menu() {
	pos := fyne.CurrentApp().Driver().AbsolutePositionForObject(r.more)
	r.menuAt(pos.AddXY(0, r.more.Size().Height+2))
}

func (r *row) menuAt(pos fyne.Position) {
	t := words.T()
	widget.ShowMenu(r, pos,
		widget.Choose{Text: t.Rename, Icon: theme.IconPencil, OnTap: func() { r.list.rename(r.chat) }},
		widget.Choose{Text: t.Delete, Icon: theme.IconTrash, Danger: true, OnTap: func() { r.list.delete(r.chat) }},
	)
}

// MouseIn, MouseMoved and MouseOut tint the row under the pointer.
func (r *row) MouseIn(*desktop.MouseEvent)    { r.hovered = true; r.paint() }
func (r *row) MouseMoved(*desktop.MouseEvent) {}
func (r *row) MouseOut()                      { r.hovered = false; r.paint() }

// FocusGained and FocusLost implement fyne.Focusable: Enter opens a conversation, Delete deletes it, F2 renames it.
func (r *row) FocusGained()   { r.focused = true; r.paint() }
func (r *row) FocusLost()     { r.focused = false; r.paint() }
func (r *row) TypedRune(rune) {}

// TypedKey implements fyne.Focusable.
func (r *row) TypedKey(key *fyne.KeyEvent) {
	switch key.Name {
	case fyne.KeyReturn, fyne.KeyEnter, fyne.KeySpace:
		r.Tapped(nil)
	case fyne.KeyDelete:
		r.list.delete(r.chat)
	case fyne.KeyF2:
		r.list.rename(r.chat)
	}
}

// nameEntry edits a title in place: Enter keeps it, Escape or leaving does too unless it is empty.
type nameEntry struct {
	widget.Field
	done  func(string)
	ended bool
	old   string
}

func newNameEntry(title string, done func(string)) *nameEntry {
	e := &nameEntry{done: done, old: title}
	e.ExtendBaseWidget(e)
	e.SetText(title)
	e.OnSubmitted = e.end
	go fyne.Do(func() {
		if c := fyne.CurrentApp().Driver().CanvasForObject(e); c != nil {
			c.Focus(e)
			e.TypedShortcut(&fyne.ShortcutSelectAll{})
		}
	})
	return e
}

func (e *nameEntry) end(title string) {
	if !e.ended {
		e.ended = true
		e.done(title)
	}
}

// TypedKey gives up on Escape.
func (e *nameEntry) TypedKey(key *fyne.KeyEvent) {
	if key.Name == fyne.KeyEscape {
		e.end(e.old)
		return
	}
	e.Field.TypedKey(key)
}

// FocusLost keeps what was typed.
func (e *nameEntry) FocusLost() {
	e.Field.FocusLost()
	e.end(e.Text)
}
