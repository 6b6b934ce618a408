//go:build !headless

package wire

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"ingot/app/client"
	"ingot/app/feed"
	"ingot/app/library"
	"ingot/app/openai"
	"ingot/app/prefs"
	"ingot/app/window/live"
	"ingot/engine"
)

// deskEngine is the engine process as the window sees it.
type deskEngine struct {
	feed.Of[live.State]
	local *client.Local
	lib   *library.Library
	prefs *prefs.Service
	ready func(ctx context.Context) // called when a model has been loaded

	loading sync.Mutex // held while a model is being loaded
	mu      sync.Mutex
	state   live.State
	model   library.Entry // that runs or is being loaded
	served  string        // the id it answers to
	busy    int           // answers under way
	unwatch context.CancelFunc
}

func newDeskEngine(lib *library.Library, p *prefs.Service) *deskEngine {
	d := &deskEngine{lib: lib, prefs: p}
	d.state.Cards = here()
	d.local = client.NewLocal(d.changed)
	return d
}

// here is the machine's cards before an engine runs.
func here() []live.Card {
	devices, err := engine.Devices()
	if err != nil {
		return nil
	}
	return cards(devices)
}

func cards(from []engine.Card) []live.Card {
	var out []live.Card
	for _, c := range from {
		step := max(c.Total/100, 64<<20) // free memory wobbles all the time; finer steps are not worth a redraw
		c.Free = c.Free / step * step
		out = append(out, live.Card{Name: c.Name, Description: c.Description, CPU: c.Name == "cpu" || strings.HasPrefix(c.Name, "cpu:"), Total: c.Total, Used: c.Used, Free: c.Free,
			Parts:       live.Parts{Weights: c.Parts["weights"], Cache: c.Parts["cache"], State: c.Parts["state"], Scratch: c.Parts["scratch"]},
			Temperature: c.Temperature, Load: c.Load})
	}
	return out
}

// stages are the loaded model's lanes, and how many a stage has.
func stages(from []engine.Card) (all [][]live.Lane, tps int) {
	for _, c := range from {
		if c.Stage < 1 {
			continue
		}
		for len(all) < c.Stage {
			all = append(all, nil)
		}
		at := &all[c.Stage-1]
		*at = append(*at, live.Lane{Card: c.Name, Layers: c.Layers})
		tps = max(tps, len(*at))
	}
	return all, tps
}

// State returns the last known state.
func (d *deskEngine) State() live.State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state
}

// update changes the state and tells everyone, unless it is still the same: an idle window must not draw.
func (d *deskEngine) update(f func(*live.State)) {
	d.mu.Lock()
	before := d.state
	f(&d.state)
	if d.state.Phase == live.Ready && d.busy > 0 {
		d.state.Phase = live.Answering
	} else if d.state.Phase == live.Answering && d.busy == 0 {
		d.state.Phase = live.Ready
	}
	s := d.state
	d.mu.Unlock()
	if !reflect.DeepEqual(before, s) {
		d.Send(s)
	}
}

// answering counts answers under way.
func (d *deskEngine) answering(n int) {
	d.mu.Lock()
	d.busy += n
	d.mu.Unlock()
	d.update(func(*live.State) {})
}

// Start loads a model in a fresh engine process and returns when it is ready or has failed.
func (d *deskEngine) Start(ctx context.Context, model string) error {
	d.loading.Lock()
	defer d.loading.Unlock()
	return d.load(ctx, model)
}

// need makes sure that a model is loaded.
func (d *deskEngine) need(ctx context.Context, model string) error {
	d.loading.Lock()
	defer d.loading.Unlock()
	if model == "" {
		model = d.chosen()
	}
	d.mu.Lock()
	running := d.model.Key()
	d.mu.Unlock()
	if d.local.State().Phase == client.Ready && running == model {
		return nil
	}
	return d.load(ctx, model)
}

// chosen is the model of new conversations.
func (d *deskEngine) chosen() string {
	if m := d.prefs.Get().Model; m != "" {
		return m
	}
	return library.SourceSample
}

func (d *deskEngine) load(ctx context.Context, model string) error {
	if model == "" {
		model = d.chosen()
	}
	entry, err := d.lib.Find(model)
	if err != nil {
		d.update(func(s *live.State) { s.Phase, s.Problem = live.Failed, sentence(err) })
		return err
	}
	d.local.Stop(ctx)
	d.mu.Lock()
	d.model = entry
	d.mu.Unlock()
	d.update(func(s *live.State) {
		*s = live.State{Phase: live.Loading, Model: entry.Key(), Name: readable(entry), CanThink: entry.Info.CanThink, Cards: here()}
	})
	o := client.LocalOptions{Args: engineArgs(d.prefs.Get(), entry), Model: entry.Path(), Stderr: os.Stderr}
	if err := d.local.Start(ctx, o); err != nil {
		d.update(func(s *live.State) { s.Phase, s.Problem = live.Failed, sentence(err) })
		return err
	}
	st, err := d.local.Wait(ctx)
	if err != nil {
		return err
	}
	d.mu.Lock()
	d.served = st.Model
	d.mu.Unlock()
	return nil
}

// chosenCards are the graphics cards of the settings: those named, or where none is named all that are here. None: the processor.
func chosenCards(e prefs.Engine) []string {
	if len(e.Cards) > 0 {
		return e.Cards
	}
	var names []string
	for _, c := range here() {
		if !c.CPU {
			names = append(names, c.Name)
		}
	}
	return names
}

// engineArgs are the engine command's flags for the settings.
func engineArgs(p prefs.Settings, entry library.Entry) []string {
	e := p.Engine
	args := []string{"-alias", entry.Name}
	number := func(flag string, n int) {
		if n > 0 {
			args = append(args, flag, strconv.Itoa(n))
		}
	}
	number("-t", e.Threads)
	number("-c", e.Context)
	number("-np", e.Slots)
	number("-ub", e.UBatch)
	number("-tps", e.TPS)
	if names := chosenCards(e); len(names) > 0 {
		args = append(args, "-cards", strings.Join(names, ","))
	}
	if e.Split != "" {
		args = append(args, "-sm", e.Split)
	}
	args = append(args, "-lm", e.LoadMode())
	if keys, values := e.CacheTypes(); keys != "" {
		args = append(args, "-ctk", keys, "-ctv", values)
	}
	if !e.Repack {
		args = append(args, "-no-repack")
	}
	s := p.Sampling
	args = append(args, "-temp", fmt.Sprint(s.Temperature), "-top-k", strconv.Itoa(s.TopK), "-top-p", fmt.Sprint(s.TopP), "-min-p", fmt.Sprint(s.MinP))
	return args
}

// changed follows the engine process.
func (d *deskEngine) changed(st client.State) {
	switch st.Phase {
	case client.Starting:
		d.update(func(s *live.State) { s.Phase, s.Progress = live.Loading, 0 })
	case client.Loading:
		d.update(func(s *live.State) { s.Phase, s.Progress = live.Loading, st.Progress })
	case client.Ready:
		d.mu.Lock()
		d.served = st.Model
		d.mu.Unlock()
		d.update(func(s *live.State) { s.Phase, s.Progress, s.Problem = live.Ready, 1, "" })
		d.watch()
		if d.ready != nil {
			go d.ready(context.Background())
		}
	case client.Failed:
		d.stopWatching()
		d.update(func(s *live.State) {
			*s = live.State{Phase: live.Failed, Problem: st.Error, NoRoom: noRoom(st.Error), Model: s.Model, Name: s.Name, CanThink: s.CanThink, Cards: here()}
		})
	case client.Stopped:
		d.stopWatching()
		d.update(func(s *live.State) { *s = live.State{Model: s.Model, Name: s.Name, Cards: here()} })
	}
}

// noRoom tells whether an engine ended because a card has too little memory, which its error names.
func noRoom(problem string) bool { return strings.Contains(problem, "not enough memory") }

// watch follows speed and memory until the engine is gone.
func (d *deskEngine) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	d.mu.Lock()
	if d.unwatch != nil {
		d.unwatch()
	}
	d.unwatch = cancel
	d.mu.Unlock()
	go d.local.WatchEngine(ctx, 250*time.Millisecond, func(e client.EngineState) error {
		if e.Status == nil || e.Info == nil || ctx.Err() != nil {
			return ctx.Err()
		}
		d.update(func(s *live.State) {
			if s.Phase != live.Ready && s.Phase != live.Answering {
				return
			}
			s.Prefill, s.Decode = e.Status.Prefill, e.Status.Decode
			s.ContextUsed, s.Context = e.Status.ContextUsed, e.Status.Context
			s.Cards = cards(e.Status.Cards)
			s.Level, s.Threads, s.CanThink = e.Info.Level, e.Info.Threads, e.Info.CanThink
			s.Stages, s.TPS = stages(e.Status.Cards)
		})
		return nil
	})
}

func (d *deskEngine) stopWatching() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.unwatch != nil {
		d.unwatch()
		d.unwatch = nil
	}
}

// serving is the model's id for requests.
func (d *deskEngine) serving() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.served
}

// close ends the engine process.
func (d *deskEngine) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	d.local.Stop(ctx)
}

// request fills in a chat request's sampling from the settings.
func (d *deskEngine) request(messages []openai.Message, reasoning string) openai.ChatRequest {
	s := d.prefs.Get().Sampling
	r := openai.ChatRequest{Model: d.serving(), Messages: messages, Reasoning: "auto"}
	if reasoning != "" {
		r.Reasoning = reasoning
	}
	g := &r.Generation
	g.Temperature, g.TopK, g.TopP, g.MinP = &s.Temperature, &s.TopK, &s.TopP, &s.MinP
	g.RepeatPenalty, g.PresencePenalty, g.FrequencyPenalty = &s.RepeatPenalty, &s.PresencePenalty, &s.FrequencyPenalty
	if s.MaxTokens > 0 {
		g.MaxTokens = &s.MaxTokens
	}
	if s.Seeded {
		seed := int64(s.Seed)
		g.Seed = &seed
	}
	return r
}
