package window

import (
	"fmt"
	"slices"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/driver/desktop"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/live"
	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

const stripHeight float32 = 30

const (
	sparkBars = 30 // one a second
	maxBars   = 8  // cards drawn; more would not be told apart
)

// strip tells what the engine does: model and state, speed with a graph, context, and the memory of every card.
// Where it gets narrow it leaves parts out, the least needed first.
type strip struct {
	fw.BaseWidget
	dot     *widget.Dot
	state   *widget.Label
	stateIn *widget.Hinted // tells why it stopped
	prefill *widget.Hinted
	decode  *widget.Hinted
	preText *widget.Label
	decText *widget.Label
	graph   *widget.Hinted
	spark   *widget.Spark
	context *widget.Hinted
	ctxText *widget.Label
	ctxBar  *widget.Meter
	cards   *fyne.Container
	bars    []*widget.Meter
	names   []*widget.Label
	wraps   []*widget.Hinted
	openTap func()

	history []float64
	peak    float64 // fastest since the last second began
	second  time.Time
}

func newStrip(openCards func()) *strip {
	t := words.T()
	s := &strip{openTap: openCards, dot: widget.NewDot(theme.Faint), state: small("")}
	s.ExtendBaseWidget(s)
	s.state.Color = theme.Text
	s.stateIn = widget.NewHinted(s.state, "")
	s.preText, s.decText, s.ctxText = small(""), small(""), small("")
	s.prefill = widget.NewHinted(s.preText, t.HintPrefill)
	s.decode = widget.NewHinted(s.decText, t.HintDecode)
	s.spark = widget.NewSpark(sparkBars)
	s.graph = widget.NewHinted(s.spark, t.HintGraph)
	s.ctxBar = widget.NewMeter(44, 5)
	s.context = widget.NewHinted(widget.Row(6, s.ctxBar, s.ctxText), t.HintContext)
	s.cards = widget.Row(theme.M)
	return s
}

func small(text string) *widget.Label {
	l := widget.Caption(text)
	l.Size_ = theme.SizeSmall
	return l
}

// show draws a state of the engine.
func (s *strip) show(st live.State) {
	t := words.T()
	color, state := theme.Faint, t.NoEngine
	switch st.Phase {
	case live.Loading:
		color, state = theme.Warn, fmt.Sprintf(t.LoadingF, int(st.Progress*100))
	case live.Ready:
		color, state = theme.Good, t.Ready
	case live.Answering:
		color, state = theme.Accent, t.Answering
	case live.Failed:
		color, state = theme.Bad, t.Stopped
	}
	s.dot.Set(color)
	if st.Name != "" {
		state = st.Name + "  ·  " + state
	} else if st.Phase == live.None {
		state = t.NoModel
	}
	s.state.Set(state)
	s.stateIn.SetHint(st.Problem)

	running := st.Phase == live.Ready || st.Phase == live.Answering
	s.rate(s.preText, s.prefill, t.PrefillF, st.Prefill, running)
	s.rate(s.decText, s.decode, t.DecodeF, st.Decode, running)
	s.record(max(st.Decode, 0))
	visible(s.graph, running && slices.Max(s.history) > 0)

	if st.Context > 0 {
		s.ctxText.Set(fmt.Sprintf(t.ContextF, live.Number(st.ContextUsed), live.Number(st.Context)))
		s.ctxBar.Set(float64(st.ContextUsed) / float64(st.Context))
	}
	visible(s.context, running && st.Context > 0)
	s.showCards(st.Cards)
	s.Refresh()
}

// rate shows a speed, or in a paler colour the last one there was.
func (s *strip) rate(text *widget.Label, all fyne.CanvasObject, pattern string, v float64, running bool) {
	text.SetColor(theme.Faint)
	if v > 0 {
		text.Set(fmt.Sprintf(pattern, live.Rate(v)))
		text.SetColor(theme.Muted)
	}
	visible(all, running && text.Text != "")
}

// record adds to the graph: one bar a second, the fastest of it.
func (s *strip) record(rate float64) {
	now := time.Now()
	s.peak = max(s.peak, rate)
	if now.Sub(s.second) < time.Second && len(s.history) > 0 {
		s.history[len(s.history)-1] = s.peak
	} else {
		s.history = append(s.history, rate)
		s.peak, s.second = rate, now
		if len(s.history) > sparkBars {
			s.history = s.history[1:]
		}
	}
	s.spark.Set(s.history)
}

func (s *strip) showCards(cards []live.Card) {
	t := words.T()
	n := min(len(cards), maxBars)
	for len(s.bars) < n {
		bar, name := widget.NewMeter(40, 5), small("")
		wrap := widget.NewHinted(widget.Row(6, name, bar), "")
		wrap.OnTap = s.openTap
		s.bars, s.names, s.wraps = append(s.bars, bar), append(s.names, name), append(s.wraps, wrap)
	}
	if len(s.cards.Objects) != n {
		s.cards.Objects = nil
		for _, w := range s.wraps[:n] {
			s.cards.Add(w)
		}
	}
	for i, c := range cards[:n] {
		name := c.Name
		if c.CPU && c.Name == "cpu" { // its parts, as lanes, go by their names
			name = t.Memory
		}
		used := c.Total - c.Free
		s.names[i].Set(name)
		share := 0.0
		if c.Total > 0 {
			share = float64(used) / float64(c.Total)
		}
		s.bars[i].Set(share)
		hint := fmt.Sprintf(t.HintCardF, c.Description, live.Bytes(c.Used), live.Bytes(c.Free), live.Bytes(c.Total))
		if c.Temperature > 0 {
			hint += fmt.Sprintf(t.HintCardTempF, c.Temperature)
		}
		s.wraps[i].SetHint(hint)
	}
}

func visible(o fyne.CanvasObject, on bool) {
	if on {
		o.Show()
	} else {
		o.Hide()
	}
}

// CreateRenderer implements fyne.Widget.
func (s *strip) CreateRenderer() fyne.WidgetRenderer {
	return &stripRenderer{s, widget.NewPanel(theme.Side, "", 0)}
}

// Cursor implements desktop.Cursorable.
func (s *strip) Cursor() desktop.Cursor { return desktop.DefaultCursor }

type stripRenderer struct {
	s     *strip
	panel *widget.Panel
}

func (r *stripRenderer) Destroy()           {}
func (r *stripRenderer) MinSize() fyne.Size { return fyne.NewSize(200, stripHeight) }

func (r *stripRenderer) Objects() []fyne.CanvasObject {
	s := r.s
	return []fyne.CanvasObject{r.panel, s.dot, s.stateIn, s.prefill, s.decode, s.graph, s.context, s.cards}
}

// Layout sets the state at the left and the rest from the right; what has no room is moved out of sight.
func (r *stripRenderer) Layout(size fyne.Size) {
	s := r.s
	r.panel.Resize(size)
	place := func(o fyne.CanvasObject, x, w float32) {
		o.Move(fyne.NewPos(x, 0))
		o.Resize(fyne.NewSize(w, size.Height))
	}
	place(s.dot, 16, 8)
	stateW := s.state.MinSize().Width
	right := size.Width - 16
	left := 16 + 8 + 8 + min(stateW, 260)
	for _, o := range []fyne.CanvasObject{s.cards, s.context, s.decode, s.graph, s.prefill} {
		if !o.Visible() {
			continue
		}
		w := o.MinSize().Width
		if w == 0 || right-w < left+theme.L {
			place(o, size.Width+10, w)
			continue
		}
		place(o, right-w, w)
		right -= w + theme.L + 2
	}
	place(s.stateIn, 32, max(min(stateW, right-32), 0))
}

func (r *stripRenderer) Refresh() {
	r.panel.Refresh()
	r.Layout(r.s.Size())
	for _, o := range r.Objects()[1:] {
		o.Refresh()
	}
}
