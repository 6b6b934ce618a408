package chat

import (
	"fyne.io/fyne/v2"

	"ingot/app/window/live"
	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// head is the line above the messages: which model answers, and whether it thinks aloud.
type head struct {
	screen *Screen
	picker *widget.Button
	detail *widget.Label
	think  *widget.Choice
	label  *widget.Hinted
	object *fyne.Container
}

var thinkings = []Reasoning{"", "on", "off"}

func newHead(s *Screen) *head {
	t := words.T()
	h := &head{screen: s}
	h.picker = widget.NewButton("", theme.Icon{}, widget.Quiet, h.menu)
	h.picker.Strong, h.picker.Trailing, h.picker.MaxWidth = true, theme.IconDown, 340
	h.detail = widget.Caption("").Cut()
	h.label = widget.NewHinted(widget.Caption(t.Reasoning), t.ReasoningHint)
	h.think = widget.NewChoice([]string{t.ReasoningAuto, t.ReasoningOn, t.ReasoningOff}, 0, func(i int) { s.think(thinkings[i]) })
	h.object = widget.ColumnGrow(0, 0,
		widget.Inset(8, theme.L, 8, theme.M, widget.RowGrow(theme.S, 1, h.picker, h.detail, h.label, h.think)),
		widget.NewHairline(),
	)
	return h
}

// show draws the model of the conversation.
func (h *head) show() {
	t := words.T()
	m, ok := h.screen.picked()
	name, detail := m.Name, m.Detail
	switch {
	case !ok && m.ID == "":
		name, detail = t.PickModel, ""
	case m.Missing:
		detail = t.ModelMissing
	case m.Problem != "":
		detail = t.Unreadable + ": " + m.Problem
	case m.NoVocab:
		detail = t.OnlyContinues + ", " + t.NoVocab + "  ·  " + detail
	case m.NoChat:
		detail = t.OnlyContinues + "  ·  " + detail
	}
	h.detail.Set(detail)
	h.detail.SetColor(theme.Muted)
	if (m.Missing || m.Problem != "") && m.ID != "" {
		h.detail.SetColor(theme.Bad)
	}
	h.picker.Set(name, theme.Icon{})
	for i, r := range thinkings {
		if r == h.screen.reasoning {
			h.think.Set(i)
		}
	}
	can := ok && m.CanThink
	widget.SetVisible(h.label, can)
	widget.SetVisible(h.think, can)
	h.object.Refresh()
}

// engine follows the engine: a model's file may not say what the loaded model can.
func (h *head) engine(live.State) {}

// menu lists the models.
func (h *head) menu() {
	t := words.T()
	var entries []widget.Choose
	current, _ := h.screen.picked()
	for _, m := range h.screen.picks {
		detail := m.Detail
		switch {
		case m.Missing:
			detail = t.ModelMissing
		case m.Problem != "":
			detail = t.Unreadable + ": " + clipped(m.Problem)
		case m.NoChat || m.NoVocab:
			detail = t.OnlyContinues + "  ·  " + detail
		case m.Sample:
			detail = t.SampleTag
		}
		entries = append(entries, widget.Choose{
			Text: m.Name, Detail: detail, Checked: m.ID == current.ID, Disabled: m.Missing || m.Problem != "", OnTap: func() { h.screen.pick(m) },
		})
	}
	if len(entries) > 0 {
		entries = append(entries, widget.Choose{})
	}
	entries = append(entries, widget.Choose{Text: t.AddModels, Icon: theme.IconPlus, OnTap: h.screen.deps.OpenLibrary})
	widget.ShowMenuUnder(h.picker, entries...)
}

// clipped is as much of a reason as a menu has room for; the library has all of it.
func clipped(text string) string {
	const room = 60
	if r := []rune(text); len(r) > room {
		return string(r[:room-1]) + "…"
	}
	return text
}
