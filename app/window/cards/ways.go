package cards

import (
	"context"
	"fmt"
	"strings"

	"fyne.io/fyne/v2"

	"ingot/app/window/live"
	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// ways is the part of the screen that shows predictions and lets one be chosen.
type ways struct {
	planner Planner
	notice  func(text, button string, do func())
	load    live.Loader[Plan]
	use     live.Loader[struct{}]
	plan    Plan
	about   string // the model and state that the plan was made for; "": another is needed
	object  *fyne.Container
	changed func() // the object is to be laid out again
}

func newWays(p Planner, do func(func()), notice func(string, string, func()), changed func()) *ways {
	t := words.T()
	w := &ways{planner: p, notice: notice, changed: changed, object: widget.Column(theme.S, widget.Strong(t.Ways), widget.Note(t.Predicting))}
	w.load.Do, w.use.Do = do, do
	return w
}

// show predicts again when another model is chosen or the engine started or failed.
func (w *ways) show(st live.State) {
	if about := fmt.Sprint(st.Model, st.Phase == live.Ready || st.Phase == live.Answering, st.NoRoom); about != w.about {
		w.about = about
		w.fetch()
	}
}

// fetch predicts; what was predicted before stays in view, and nothing of it can be chosen.
func (w *ways) fetch() {
	w.load.Load(w.planner.Plan, func(p Plan, err error) {
		if w.plan = p; err != nil {
			w.plan = Plan{Problem: err.Error()}
		}
		w.build()
	})
	if len(w.plan.Ways) > 0 {
		w.build()
	}
}

// busy tells whether a choice has to wait for another or for what it would be made from.
func (w *ways) busy() bool { return w.load.Busy() || w.use.Busy() }

// way is the one in use, or else the best; nil: there is none.
func (w *ways) way() *Way {
	var best *Way
	for i := range w.plan.Ways {
		switch v := &w.plan.Ways[i]; {
		case v.InUse:
			return v
		case v.Best:
			best = v
		}
	}
	return best
}

func (w *ways) build() {
	t := words.T()
	w.object.Objects = nil
	if w.plan.Problem != "" {
		w.object.Objects = []fyne.CanvasObject{widget.Strong(t.Ways), widget.Note(w.plan.Problem)}
	} else if len(w.plan.Ways) > 0 {
		list := widget.Column(0)
		for i := range w.plan.Ways {
			if i > 0 {
				list.Add(widget.NewHairline())
			}
			list.Add(w.row(&w.plan.Ways[i]))
		}
		repack := widget.NewSwitch(w.plan.Repack, func(on bool) { w.choose(w.way(), on, 0) })
		if w.busy() {
			repack.Disable()
		}
		list.Add(widget.NewHairline())
		list.Add(widget.Inset(theme.M, theme.L, theme.M, theme.L, widget.Setting(t.RepackLabel, w.repackHint(), 0, repack)))
		w.object.Objects = []fyne.CanvasObject{
			widget.Column(2, widget.Strong(fmt.Sprintf(t.WaysF, w.plan.Name)), widget.Note(fmt.Sprintf(t.WaysHintF, live.Number(w.plan.Context)))),
			widget.Stack(widget.NewPanel(theme.Sheet, theme.Border, theme.Radius), list),
		}
	}
	w.object.Refresh()
	w.changed()
}

// repackHint says what repacking does, and what the way in use would give with the other choice.
func (w *ways) repackHint() string {
	t := words.T()
	v := w.way()
	if v == nil || v.OtherDecode == 0 || live.Rate(v.OtherDecode)+live.Rate(v.OtherPrefill) == live.Rate(v.Decode)+live.Rate(v.Prefill) {
		return t.RepackCards
	}
	pattern := t.RepackOffF
	if !w.plan.Repack {
		pattern = t.RepackOnF
	}
	return t.RepackCards + " " + fmt.Sprintf(pattern, live.Rate(v.OtherDecode), live.Rate(v.OtherPrefill))
}

// row is one way: its name, what it would give and take, and a button to use it.
func (w *ways) row(v *Way) fyne.CanvasObject {
	t := words.T()
	tag := widget.NewBadge()
	switch {
	case v.InUse && v.Fits:
		tag.Set(t.WayInUse, theme.Accent)
	case !v.Fits:
		tag.Set(t.TooBig, theme.Bad)
	case v.Best:
		tag.Set(t.WayBest, theme.Good)
	default:
		tag.Hide()
	}
	figures := "-sm " + v.Split
	if v.TPS > 0 {
		figures += fmt.Sprintf(" -tps %d", v.TPS)
	}
	figures += "  ·  " + fmt.Sprintf(t.WayFiguresF, live.Rate(v.Decode), live.Rate(v.Prefill), live.Bytes(v.Fullest), live.Bytes(v.Room))
	text := widget.Column(2, widget.RowGrow(theme.S, 0, widget.NewLabel(wayName(v)).Cut(), tag), widget.Note(figures))
	use := widget.NewButton(t.Use, theme.Icon{}, widget.Plain, func() { w.choose(v, w.plan.Repack, 0) })
	use.Small = true
	if v.InUse || !v.Fits || w.busy() {
		use.Disable()
	}
	return widget.Inset(theme.M, theme.L, theme.M, theme.L, widget.RowGrow(theme.L, 0, text, use))
}

// wayName says in words how the cards share the model.
func wayName(v *Way) string {
	t := words.T()
	lanes := 0
	for _, s := range v.Stages {
		lanes = max(lanes, len(s))
	}
	if len(v.Stages) == 1 && lanes > 0 {
		switch card := v.Stages[0][0].Card; {
		case card == "cpu":
			return t.WayProcessor
		case strings.HasPrefix(card, "cpu:"):
			return fmt.Sprintf(t.WayPartsF, lanes)
		}
	}
	switch {
	case len(v.Stages) <= 1 && lanes <= 1:
		return t.WayOne
	case len(v.Stages) <= 1:
		return fmt.Sprintf(t.WayLanesF, lanes)
	case lanes == 1:
		return fmt.Sprintf(t.WayStagesF, len(v.Stages))
	}
	return fmt.Sprintf(t.WayBothF, len(v.Stages), lanes)
}

// choose keeps a way and predicts again.
func (w *ways) choose(v *Way, repack bool, tokens int) {
	if v == nil || w.busy() {
		return
	}
	way := *v
	w.use.Load(func(ctx context.Context) (struct{}, error) {
		return struct{}{}, w.planner.Use(ctx, way, repack, tokens)
	}, func(_ struct{}, err error) {
		if err != nil {
			w.notice(err.Error(), "", nil)
		}
		w.fetch()
	})
	w.build()
}

// refusal is what to do about a model that had no room; nil: it has.
func (w *ways) refusal(st live.State) fyne.CanvasObject {
	t := words.T()
	if !st.NoRoom {
		return nil
	}
	buttons := widget.Wrap(theme.S)
	if now := w.way(); now != nil && w.plan.Fitting > 0 {
		b := widget.NewButton(fmt.Sprintf(t.ShorterF, live.Number(w.plan.Fitting)), theme.Icon{}, widget.Plain, func() { w.choose(now, w.plan.Repack, w.plan.Fitting) })
		buttons.Add(b)
	}
	for i := range w.plan.Ways {
		if v := &w.plan.Ways[i]; v.Best && !v.InUse {
			buttons.Add(widget.NewButton(fmt.Sprintf(t.OtherWayF, wayName(v)), theme.Icon{}, widget.Primary, func() { w.choose(v, w.plan.Repack, 0) }))
		}
	}
	return widget.Stack(widget.NewPanel(theme.BadSoft, "", theme.Radius), widget.Pad(theme.L,
		widget.Column(theme.S, widget.Strong(t.NoRoom), widget.Paragraph(st.Problem), buttons)))
}

func (w *ways) close() {
	w.load.Close()
	w.use.Close()
}
