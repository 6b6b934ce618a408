package widget

import (
	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/canvas"
	fw "fyne.io/fyne/v2/widget"

	"ingot/app/window/theme"
)

// Meter is a bar that is filled in parts, each with its colour. Shares of the whole add up to 1 at most.
type Meter struct {
	fw.BaseWidget
	parts []Part
	wide  float32 // minimum width
	high  float32
}

// Part is a share of a meter.
type Part struct {
	Share float64
	Color fyne.ThemeColorName
}

// NewMeter makes an empty meter.
func NewMeter(wide, high float32) *Meter {
	m := &Meter{wide: wide, high: high}
	m.ExtendBaseWidget(m)
	return m
}

// Set shows one share, in the colour of warning where little is left.
func (m *Meter) Set(share float64) {
	color := theme.Accent
	if share > 0.97 {
		color = theme.Bad
	}
	m.SetParts(Part{share, color})
}

// SetParts shows parts side by side.
func (m *Meter) SetParts(parts ...Part) {
	m.parts = parts
	m.Refresh()
}

// CreateRenderer implements fyne.Widget.
func (m *Meter) CreateRenderer() fyne.WidgetRenderer {
	r := &meterRenderer{meter: m, track: canvas.NewRectangle(nil)}
	r.Refresh()
	return r
}

type meterRenderer struct {
	meter   *Meter
	track   *canvas.Rectangle
	fills   []*canvas.Rectangle
	objects []fyne.CanvasObject
}

func (r *meterRenderer) Destroy()                     {}
func (r *meterRenderer) MinSize() fyne.Size           { return fyne.NewSize(r.meter.wide, r.meter.high) }
func (r *meterRenderer) Objects() []fyne.CanvasObject { return r.objects }

func (r *meterRenderer) Layout(size fyne.Size) {
	h := r.meter.high
	y := (size.Height - h) / 2
	r.track.CornerRadius = h / 2
	r.track.Move(fyne.NewPos(0, y))
	r.track.Resize(fyne.NewSize(size.Width, h))
	x := float32(0)
	for i, p := range r.meter.parts {
		w := min(max(float32(p.Share), 0)*size.Width, size.Width-x)
		if w > 0 && w < 2 {
			w = 2
		}
		f := r.fills[i]
		f.Move(fyne.NewPos(x, y))
		f.Resize(fyne.NewSize(max(w, 0), h))
		f.CornerRadius = 0
		left, right := i == 0, i == len(r.meter.parts)-1
		corner := min(h/2, w/2)
		if left {
			f.TopLeftCornerRadius, f.BottomLeftCornerRadius = corner, corner
		}
		if right {
			f.TopRightCornerRadius, f.BottomRightCornerRadius = corner, corner
		}
		x += w
	}
}

func (r *meterRenderer) Refresh() {
	r.track.FillColor = theme.Color(theme.Selected)
	for len(r.fills) < len(r.meter.parts) {
		r.fills = append(r.fills, canvas.NewRectangle(nil))
	}
	r.objects = append(r.objects[:0], r.track)
	for i, p := range r.meter.parts {
		r.fills[i].FillColor = theme.Color(p.Color)
		r.objects = append(r.objects, r.fills[i])
	}
	r.Layout(r.meter.Size())
	canvas.Refresh(r.meter)
}

// Spark is a small graph of the last values, newest at the right, scaled to the highest of them.
type Spark struct {
	fw.BaseWidget
	values []float64
	bars   int
}

const (
	sparkStep float32 = 3 // a bar of two pixels and a space
	sparkHigh float32 = 16
)

// NewSpark makes a graph of n values.
func NewSpark(n int) *Spark {
	s := &Spark{bars: n}
	s.ExtendBaseWidget(s)
	return s
}

// Set shows values, oldest first.
func (s *Spark) Set(values []float64) {
	s.values = values
	s.Refresh()
}

// CreateRenderer implements fyne.Widget.
func (s *Spark) CreateRenderer() fyne.WidgetRenderer {
	r := &sparkRenderer{spark: s}
	for range s.bars {
		o := canvas.NewRectangle(nil)
		r.bars = append(r.bars, o)
		r.objects = append(r.objects, o)
	}
	r.Refresh()
	return r
}

type sparkRenderer struct {
	spark   *Spark
	bars    []*canvas.Rectangle
	objects []fyne.CanvasObject
}

func (r *sparkRenderer) Destroy()                     {}
func (r *sparkRenderer) Objects() []fyne.CanvasObject { return r.objects }
func (r *sparkRenderer) MinSize() fyne.Size {
	return fyne.NewSize(float32(r.spark.bars)*sparkStep-1, sparkHigh)
}

func (r *sparkRenderer) Layout(size fyne.Size) {
	top := 0.0
	for _, v := range r.spark.values {
		top = max(top, v)
	}
	y := (size.Height + sparkHigh) / 2
	for i, o := range r.bars {
		h := float32(1)
		if j := len(r.spark.values) - len(r.bars) + i; j >= 0 && top > 0 {
			h = max(1, float32(r.spark.values[j]/top)*sparkHigh)
		}
		o.Move(fyne.NewPos(float32(i)*sparkStep, y-h))
		o.Resize(fyne.NewSize(sparkStep-1, h))
	}
}

func (r *sparkRenderer) Refresh() {
	for i, o := range r.bars {
		o.FillColor = theme.Color(theme.Border)
		if j := len(r.spark.values) - len(r.bars) + i; j >= 0 && r.spark.values[j] > 0 {
			o.FillColor = theme.Color(theme.Accent)
		}
	}
	r.Layout(r.spark.Size())
	canvas.Refresh(r.spark)
}
