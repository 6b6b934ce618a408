package library

import (
	"fmt"
	"path/filepath"

	"fyne.io/fyne/v2"

	"ingot/app/window/live"
	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

const detailsWidth float32 = 280

// details is the pane at the right with everything the file says.
type details struct {
	screen *Screen
	holder *fyne.Container
	object *fyne.Container
}

func newDetails(s *Screen) *details {
	d := &details{screen: s, holder: widget.Stack()}
	d.object = widget.Fixed(detailsWidth, 0, widget.Stack(widget.NewPanel(theme.Side, "", 0), widget.RowFill(0, 1, widget.NewHairline(), d.holder)))
	d.object.Hide()
	return d
}

// show draws a model, or hides the pane.
func (d *details) show(m *Model) {
	widget.SetVisible(d.object, m != nil)
	if m == nil {
		return
	}
	t := words.T()
	s, model := d.screen, *m
	shut := widget.NewIconButton(theme.IconClose, t.Close, func() { s.selectModel(model.ID) })
	shut.Small = true
	name := widget.NewProse(widget.Style{Bold: true, Size: "subHeadingText"}, widget.Run{Text: m.Name})
	rows := widget.Column(theme.M, widget.RowGrow(theme.S, 0, widget.Caption(t.Details), shut), name,
		widget.RowGrow(0, 1, fitBadge(*m), widget.Spring()))
	if reason := reasonOf(*m); reason != "" {
		rows.Add(widget.Note(reason))
	}
	buttons := widget.Row(theme.S)
	if !m.Missing && m.Problem == "" {
		buttons.Add(s.useButton(model, theme.IconChat, widget.Primary, false))
	}
	if !m.Sample {
		buttons.Add(widget.NewButton(t.Remove, theme.IconTrash, widget.Plain, func() { s.remove(model) }))
	}
	rows.Add(widget.RowGrow(0, 1, buttons, widget.Spring()))
	rows.Add(widget.NewHairline())
	facts := widget.Column(theme.S)
	for _, f := range factsOf(*m) {
		value := widget.NewProse(widget.Style{Size: "helperText"}, widget.Run{Text: f[1]})
		facts.Add(widget.RowTop(theme.S, 1, widget.Fixed(96, 0, widget.Note(f[0])), value))
	}
	rows.Add(facts)
	d.holder.Objects = []fyne.CanvasObject{widget.NewPage(0, theme.L, theme.L, rows)}
	d.holder.Refresh()
}

// reasonOf explains the badge.
func reasonOf(m Model) string {
	t := words.T()
	switch {
	case m.Missing:
		return t.MissingHint
	case m.Problem != "":
		return m.Problem
	case m.Sample && m.Reason == "":
		return t.SampleNote
	case m.Sample:
		return t.SampleNote + " " + m.Reason
	case m.onlyContinues() && m.NoVocab:
		return t.NoVocabHint + " " + m.Reason
	case m.onlyContinues():
		return t.OnlyContinuesHint + " " + m.Reason
	}
	return m.Reason
}

// factsOf is what is known of a model, unknown things left out.
func factsOf(m Model) [][2]string {
	t := words.T()
	var out [][2]string
	add := func(name, value string) {
		if value != "" {
			out = append(out, [2]string{name, value})
		}
	}
	number := func(n int) string {
		if n <= 0 {
			return ""
		}
		return live.Number(n)
	}
	add(t.Architecture, m.Architecture)
	add(t.Quantization, m.Quantization)
	add(t.Parameters, live.Count(m.Parameters))
	add(t.Size, size(m.Bytes))
	if m.Files > 1 {
		add(t.Files, number(m.Files))
	}
	if m.Context > 0 {
		add(t.Context, number(m.Context)+" "+t.Tokens)
	}
	add(t.Layers, number(m.Layers))
	add(t.Embedding, number(m.Embedding))
	if m.NoVocab {
		add(t.Vocab, fmt.Sprintf(t.NoVocabF, number(m.Vocab)))
	} else {
		add(t.Vocab, number(m.Vocab))
	}
	if !m.Missing && m.Problem == "" && !m.NoVocab {
		switch {
		case m.HasTemplate && m.CanThink:
			add(t.Template, t.ThinkYes)
		case m.HasTemplate:
			add(t.Template, t.TemplateYes)
		default:
			add(t.Template, t.TemplateNo)
		}
	}
	add(t.License, m.License)
	if m.Path != "" {
		add(t.Path, filepath.Base(m.Path))
		add(t.InFolder, filepath.Dir(m.Path))
	}
	return out
}
