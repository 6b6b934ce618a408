package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"fyne.io/fyne/v2"

	"ingot/app/window/live"
	"ingot/app/window/theme"
	"ingot/app/window/widget"
	"ingot/app/window/words"
)

// Deps is what the screen is built from.
type Deps struct {
	Endpoint Endpoint
	Notice   func(text, button string, do func())
	Do       func(func()) // runs on the UI goroutine; nil: fyne.Do
}

// maxRequests is how many requests are listed.
const maxRequests = 50

// Screen is the server screen. Its methods belong to the UI goroutine.
type Screen struct {
	deps     Deps
	do       func(func())
	unlisten func()
	change   live.Loader[struct{}]
	config   Config // as edited
	shown    Config // as the endpoint had it when last shown

	power    *widget.Switch
	dot      *widget.Dot
	state    *widget.Label
	problem  *widget.Prose
	address  *widget.Label
	copyAddr *widget.Button
	model    *widget.Label
	port     *widget.Field
	portBad  *widget.Prose
	host     *widget.Choice
	hostNote *widget.Prose
	key      *widget.Label
	keyNote  *widget.Prose
	copyKey  *widget.Button
	newKey   *widget.Button
	dropKey  *widget.Button
	apply    *widget.Button
	example  *widget.CodeBlock
	requests *fyne.Container
	column   *fyne.Container
	page     *widget.Page
}

// NewScreen builds the screen; it follows the endpoint until Close.
func NewScreen(deps Deps) *Screen {
	if deps.Do == nil {
		deps.Do = fyne.Do
	}
	s := &Screen{deps: deps, do: deps.Do}
	s.change.Do = s.do
	st := deps.Endpoint.State()
	s.config, s.shown = st.Config, st.Config
	s.build()
	s.unlisten = deps.Endpoint.Subscribe(func() { s.do(s.show) })
	s.show()
	return s
}

// Main is the screen's content.
func (s *Screen) Main() fyne.CanvasObject { return s.page }

// Shown implements the window's screen.
func (s *Screen) Shown() { s.show() }

// Hidden implements the window's screen.
func (s *Screen) Hidden() {}

// Close stops following the endpoint.
func (s *Screen) Close() {
	s.unlisten()
	s.change.Close()
}

func (s *Screen) build() {
	t := words.T()
	s.power = widget.NewSwitch(false, s.turn)
	s.dot, s.state = widget.NewDot(theme.Faint), widget.NewLabel("")
	s.problem = widget.NewProse(widget.Style{Color: theme.Bad})
	s.address = widget.NewLabel("").Cut()
	s.address.Mono, s.address.Size_ = true, theme.SizeCode
	s.copyAddr = widget.NewCopyButton(t.Copy, func() string { return s.address.Text })
	s.model = widget.NewLabel("").Cut()
	s.model.Mono, s.model.Size_ = true, theme.SizeCode
	s.port = widget.NewField(strconv.Itoa(s.config.Port), "8080")
	s.port.OnChanged = func(string) { s.edited() }
	s.portBad = widget.NewProse(widget.Style{Size: "helperText", Color: theme.Bad}, widget.Run{Text: t.PortBad})
	s.host = widget.NewChoice([]string{t.HostLocal, t.HostNetwork}, index(s.config.Network), func(i int) {
		s.config.Network = i == 1
		if s.config.Network && s.config.Key == "" {
			s.config.Key = s.deps.Endpoint.NewKey()
			s.deps.Notice(t.KeyNeeded, "", nil)
		}
		s.edited()
	})
	s.hostNote = widget.Note("")
	s.key = widget.NewLabel("").Cut()
	s.keyNote = widget.Note(t.KeyHint)
	s.copyKey = widget.NewCopyButton(t.Copy, func() string { return s.config.Key })
	s.newKey = widget.NewButton(t.KeyNew, theme.IconKey, widget.Plain, func() {
		s.config.Key = s.deps.Endpoint.NewKey()
		s.edited()
	})
	s.newKey.Small = true
	s.dropKey = widget.NewButton(t.KeyRemove, theme.Icon{}, widget.Quiet, func() {
		s.config.Key = ""
		s.edited()
	})
	s.dropKey.Small = true
	s.apply = widget.NewButton(t.ServerApply, theme.IconCheck, widget.Primary, func() { s.set(true) })
	s.example = widget.NewCodeBlock(nil)
	s.requests = widget.Column(0)

	on := widget.Section("",
		widget.RowGrow(theme.M, 1, s.dot, widget.Column(2, s.state, s.problem), s.power),
		widget.RowGrow(theme.M, 1, widget.Fixed(110, 0, widget.Caption(t.Address)), s.address, s.copyAddr),
		widget.RowGrow(theme.M, 1, widget.Fixed(110, 0, widget.Caption(t.ServerModel)), s.model),
	)
	access := widget.Section(t.Access,
		widget.Column(theme.XS, widget.Setting(t.Port, "", 110, widget.Box(s.port)), s.portBad),
		widget.RowGrow(theme.XL, 0, widget.Column(2, widget.NewLabel(t.Host), s.hostNote), s.host),
		widget.RowGrow(theme.S, 0, widget.Column(2, widget.NewLabel(t.Key), s.key, s.keyNote), s.copyKey, s.dropKey, s.newKey),
	)
	s.column = widget.Column(theme.XL,
		widget.Column(2, widget.Title(t.Server), widget.Note(t.ServerIntro)),
		on, access, widget.RowGrow(0, 0, widget.Spring(), s.apply),
		widget.Column(theme.S, widget.Strong(t.Example), s.example),
		widget.Column(theme.S, widget.Strong(t.Requests), s.requests),
	)
	s.page = widget.NewPage(760, theme.XL, 20, s.column)
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// turn is the switch.
func (s *Screen) turn(on bool) {
	if on && !s.portOK() {
		s.power.Set(false)
		return
	}
	s.set(on)
}

// set starts or stops the endpoint with what is edited.
func (s *Screen) set(on bool) {
	c := s.config
	e := s.deps.Endpoint
	s.change.Load(func(ctx context.Context) (struct{}, error) {
		if on {
			return struct{}{}, e.Start(ctx, c)
		}
		return struct{}{}, e.Stop(ctx, c)
	}, func(_ struct{}, err error) {
		if err != nil && e.State().Problem == "" { // the screen says its problem itself
			s.deps.Notice(err.Error(), "", nil)
		}
		s.show()
	})
	s.show()
}

func (s *Screen) portOK() bool {
	n, err := strconv.Atoi(strings.TrimSpace(s.port.Text))
	return err == nil && n >= 1024 && n <= 65535
}

// edited draws what follows from an edit; it is put to use with Apply where the endpoint is on.
func (s *Screen) edited() {
	if s.portOK() {
		s.config.Port, _ = strconv.Atoi(strings.TrimSpace(s.port.Text))
	}
	s.show()
}

// show draws the endpoint's state and what is edited.
func (s *Screen) show() {
	t := words.T()
	st := s.deps.Endpoint.State()
	if st.Config != s.shown { // changed elsewhere: what was edited here gives way
		s.shown, s.config = st.Config, st.Config
		s.port.SetText(strconv.Itoa(st.Config.Port))
		s.host.Set(index(st.Config.Network))
	}
	starting := st.Starting || s.change.Busy()
	s.power.Set(st.On || starting && s.power.On)
	switch {
	case starting:
		s.dot.Set(theme.Warn)
		s.state.Set(t.ServerStarting)
	case st.On:
		s.dot.Set(theme.Good)
		s.state.Set(t.ServerOn)
	default:
		s.dot.Set(theme.Faint)
		s.state.Set(t.ServerOff)
	}
	s.problem.SetText(st.Problem)
	widget.SetVisible(s.problem, st.Problem != "")
	address := st.Address
	if address == "" {
		address = fmt.Sprintf("http://127.0.0.1:%d/v1", s.config.Port)
	}
	s.address.Set(address)
	s.address.SetColor(theme.Muted)
	if st.On {
		s.address.SetColor(theme.Text)
	}
	model := st.Model
	if model == "" {
		model = t.NoModel
	}
	s.model.Set(model)
	s.model.SetColor(s.address.Color)
	widget.SetVisible(s.portBad, !s.portOK())
	s.hostNote.SetText("")
	if s.config.Network {
		s.hostNote.SetText(t.HostNetworkHint)
	}
	widget.SetVisible(s.hostNote, s.config.Network)
	key := s.config.Key
	s.key.Mono, s.key.Size_, s.key.Color = true, theme.SizeCode, theme.Text
	if key == "" {
		key = t.KeyNone
		s.key.Mono, s.key.Size_, s.key.Color = false, "helperText", theme.Muted
	}
	s.key.Set(key)
	s.key.Refresh()
	widget.SetVisible(s.keyNote, s.config.Key != "")
	widget.SetVisible(s.copyKey, s.config.Key != "")
	widget.SetVisible(s.dropKey, s.config.Key != "" && !s.config.Network)
	widget.SetVisible(s.apply, st.On && s.config != st.Config && s.portOK())
	widget.SetVisible(s.column.Objects[3], s.apply.Visible())
	s.example.Set("sh", curl(address, st.Model, s.config.Key, st.Takes))
	s.showRequests(st.Requests)
	s.page.Refresh()
}

// curl is a command that asks the endpoint something that the model takes.
func curl(address, model, key string, takes Takes) string {
	if model == "" {
		model = "sample"
	}
	auth := ""
	if key != "" {
		auth = fmt.Sprintf("  -H \"Authorization: Bearer %s\" \\\n", key)
	}
	path, ask := "chat/completions", `"messages": [{"role": "user", "content": "Hello"}]`
	switch takes {
	case Text:
		path, ask = "completions", `"prompt": "Once upon a time", "max_tokens": 50`
	case Numbers:
		path, ask = "completions", `"prompt": [1, 2, 3], "max_tokens": 5, "logprobs": 1`
	}
	return fmt.Sprintf("curl %s/%s \\\n%s  -H \"Content-Type: application/json\" \\\n"+
		"  -d '{\"model\": \"%s\", %s}'", address, path, auth, model, ask)
}

func (s *Screen) showRequests(all []Request) {
	t := words.T()
	s.requests.Objects = nil
	if len(all) == 0 {
		s.requests.Add(widget.Stack(widget.NewPanel(theme.Clear, theme.Border, theme.Radius), widget.Pad(theme.L, widget.Note(t.NoRequests))))
		return
	}
	rows := []fyne.CanvasObject{}
	for _, r := range all[:min(len(all), maxRequests)] {
		rows = append(rows, requestRow(r))
	}
	s.requests.Add(widget.Section("", rows...))
}

func requestRow(r Request) fyne.CanvasObject {
	status := widget.NewBadge()
	tone := theme.Good
	switch {
	case r.Status >= 500:
		tone = theme.Bad
	case r.Status >= 400:
		tone = theme.Warn
	}
	status.Set(strconv.Itoa(r.Status), tone)
	path := widget.NewLabel(r.Method + " " + r.Path).Cut()
	path.Mono, path.Size_ = true, theme.SizeCode
	info := live.Seconds(r.Took)
	if r.Tokens > 0 {
		info = fmt.Sprintf(words.T().StatsF, live.Number(r.Tokens)) + "  ·  " + info
	}
	return widget.RowGrow(theme.M, 1, widget.Caption(r.At.Format("15:04:05")), path, widget.Caption(info), status)
}
