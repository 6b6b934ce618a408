package cards

import (
	"fmt"

	"fyne.io/fyne/v2"

	"ingot/app/window/live"
	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// topology draws stages as boxes from left to right, lanes as boxes inside them, with the memory that was predicted for each
// card and, where the model is loaded, what it takes. predicted may be nil.
func topology(st live.State, predicted *Way) fyne.CanvasObject {
	t := words.T()
	stages := st.Stages
	loaded := len(stages) > 0
	if !loaded && predicted != nil {
		for _, s := range predicted.Stages {
			var lanes []live.Lane
			for _, l := range s {
				lanes = append(lanes, live.Lane{Card: l.Card, Layers: l.Layers})
			}
			stages = append(stages, lanes)
		}
	}
	if len(stages) == 0 {
		return widget.Stack(widget.NewPanel(theme.Clear, theme.Border, theme.Radius), widget.Pad(theme.L, widget.Note(t.NoTopology)))
	}
	row := &fyne.Container{Layout: evenLayout{theme.M}}
	for i, stage := range stages {
		lanes := &fyne.Container{Layout: evenLayout{theme.S}}
		for k, lane := range stage {
			lanes.Add(laneBox(st, lane, k, len(stage) > 1, shareOf(predicted, stages, i, k), loaded))
		}
		title := fmt.Sprintf(t.StageF, i+1)
		if len(stage) > 0 && stage[0].Layers != "" {
			title += "  ·  " + fmt.Sprintf(t.LayersF, stage[0].Layers)
		}
		row.Add(widget.Stack(widget.NewPanel(theme.Sheet, theme.Border, theme.Radius),
			widget.Pad(theme.M, widget.Column(theme.S, widget.Caption(title).Cut(), lanes))))
	}
	return widget.Column(theme.S, row, widget.Note(t.TopologyHint))
}

// shareOf is what was predicted for a lane; nil where the layout is another.
func shareOf(w *Way, stages [][]live.Lane, i, k int) *Share {
	if w == nil || len(w.Stages) != len(stages) || len(w.Stages[i]) != len(stages[i]) || w.Stages[i][k].Card != stages[i][k].Card {
		return nil
	}
	return &w.Stages[i][k]
}

// laneBox is a card's place in the picture.
func laneBox(st live.State, lane live.Lane, k int, several bool, predicted *Share, loaded bool) fyne.CanvasObject {
	t := words.T()
	centred := func(l *widget.Label) *widget.Label {
		l.Align = fyne.TextAlignCenter
		return l.Cut()
	}
	box := widget.Column(2, centred(widget.NewLabel(lane.Card)))
	if several {
		box.Add(centred(widget.Caption(fmt.Sprintf(t.LaneF, k+1))))
	}
	share := widget.NewMeter(60, 6)
	shown := false
	if predicted != nil && predicted.Memory > 0 {
		shown = true
		share.Set(float64(predicted.Bytes) / float64(predicted.Memory))
	}
	for _, c := range st.Cards {
		if loaded && c.Name == lane.Card && c.Total > 0 && c.Used > 0 {
			shown = true
			share.Set(float64(c.Used) / float64(c.Total))
			box.Add(centred(widget.Caption(fmt.Sprintf(t.MeasuredF, live.Bytes(c.Used)))))
		}
	}
	if predicted != nil {
		box.Add(centred(widget.Caption(fmt.Sprintf(t.PredictedF, live.Bytes(predicted.Bytes)))))
	}
	if shown {
		box.Add(widget.Inset(4, 0, 0, 0, share))
	}
	return widget.Stack(widget.NewPanel(theme.AccentSoft, "", theme.RadiusSmall), widget.Inset(theme.M, theme.S, theme.M, theme.S, box))
}
