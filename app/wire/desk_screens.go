//go:build !headless

package wire

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"ingot/app/client"
	"ingot/app/feed"
	"ingot/app/library"
	"ingot/app/openai"
	"ingot/app/prefs"
	"ingot/app/window/live"

	libraryscreen "ingot/app/window/library"
	serverscreen "ingot/app/window/server"
	settingsscreen "ingot/app/window/settings"
	"ingot/engine"
	"ingot/storage"
)

// sentence is an error as a person reads it.
func sentence(err error) string {
	var died *client.EngineDied
	if errors.As(err, &died) {
		return died.Sentence
	}
	var told *openai.Error
	text := err.Error()
	if errors.As(err, &told) {
		text = told.Message
	}
	r, n := utf8.DecodeRuneInString(text)
	text = string(unicode.ToUpper(r)) + text[n:]
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

func choose(d *deskEngine, model string) error {
	return d.prefs.Update(func(s *prefs.Settings) { s.Model = model })
}

// deskLibrary is the library for its screen.
type deskLibrary struct {
	desk *deskEngine

	mu   sync.Mutex
	undo map[string]func() error
}

var fits = map[library.Verdict]libraryscreen.Fit{library.Fits: libraryscreen.Fits, library.Tight: libraryscreen.Tight, library.NoFit: libraryscreen.TooBig}

func (l *deskLibrary) List(context.Context) ([]libraryscreen.Model, error) {
	all, err := l.desk.lib.List()
	if err != nil {
		return nil, err
	}
	mem, memErr := library.SystemMemory()
	p := l.desk.prefs.Get()
	keys, values := p.Engine.CacheTypes()
	var out []libraryscreen.Model
	for _, e := range all {
		m := libraryscreen.Model{ID: e.Key(), Name: readable(e), Path: e.Path(), Files: len(e.Paths), Architecture: e.Info.Architecture,
			Quantization: e.Info.Quantization, Bytes: e.Info.FileBytes, Parameters: e.Info.Parameters, Context: e.Info.Context, Layers: e.Info.Layers,
			Vocab: e.Info.Vocab, NoVocab: e.Info.NoVocab, HasTemplate: e.Info.HasTemplate, CanThink: e.Info.CanThink, Sample: e.IsSample(), Missing: e.Missing != "", Problem: e.Info.Problem}
		if memErr == nil {
			f := library.FitOf(e.Info, library.Load{Context: p.Engine.Context, Slots: p.Engine.Slots, Keys: keys, Values: values}, mem)
			m.Fit, m.Reason = fits[f.Verdict], f.Text
		}
		out = append(out, m)
	}
	return out, nil
}

var stores = map[string]string{library.SourceHF: "Hugging Face", library.SourceLMStudio: "LM Studio", library.SourceOllama: "Ollama", library.SourceLlama: "llama.cpp"}

func (l *deskLibrary) Found(context.Context) ([]libraryscreen.Found, error) {
	var out []libraryscreen.Found
	for _, f := range l.desk.lib.Discover() {
		if f.Added || len(f.Paths) == 0 {
			continue
		}
		out = append(out, libraryscreen.Found{Path: f.Paths[0], Name: f.Name, From: stores[f.Source], Bytes: f.Bytes})
	}
	return out, nil
}

func (l *deskLibrary) Add(ctx context.Context, paths []string) (libraryscreen.Added, error) {
	var out libraryscreen.Added
	for _, path := range paths {
		a, err := l.desk.lib.Add(ctx, path)
		for _, e := range a.Entries {
			out.Names = append(out.Names, e.Name)
		}
		for _, f := range a.Failed {
			out.Failed = append(out.Failed, failed(f.Path, f.Err))
		}
		if err != nil && len(a.Failed) == 0 {
			out.Failed = append(out.Failed, failed(path, err))
		}
	}
	return out, nil
}

// failed names the file that could not be added, without its folders, and says why.
func failed(path string, err error) string {
	why := strings.TrimPrefix(err.Error(), "add ")
	return filepath.Base(path) + ": " + strings.TrimPrefix(why, path+": ")
}

func (l *deskLibrary) Remove(_ context.Context, id string) error {
	e, err := l.entry(id)
	if err != nil {
		return err
	}
	undo, err := l.desk.lib.Remove(e.ID)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.undo == nil {
		l.undo = map[string]func() error{}
	}
	l.undo[id] = undo
	return nil
}

func (l *deskLibrary) entry(id string) (library.Entry, error) {
	all, err := l.desk.lib.List()
	if err != nil {
		return library.Entry{}, err
	}
	i := slices.IndexFunc(all, func(e library.Entry) bool { return e.Key() == id })
	if i < 0 {
		return library.Entry{}, library.ErrNotFound
	}
	return all[i], nil
}

func (l *deskLibrary) Restore(_ context.Context, id string) error {
	l.mu.Lock()
	undo := l.undo[id]
	delete(l.undo, id)
	l.mu.Unlock()
	if undo == nil {
		return storage.ErrNotFound
	}
	return undo()
}

func (l *deskLibrary) Subscribe(fn func()) (cancel func()) {
	return l.desk.lib.Subscribe(func(library.Change) { fn() })
}

// deskServer is the public endpoint: a second listener of the engine process. It comes back with every engine.
type deskServer struct {
	feed.Of[struct{}]
	desk *deskEngine

	mu    sync.Mutex
	state serverscreen.State
	seq   int64 // of the log
	ready bool  // a model is loaded
}

func newDeskServer(d *deskEngine) *deskServer {
	s := &deskServer{desk: d}
	p := d.prefs.Get().Server
	s.state.Config = serverscreen.Config{Port: p.Port, Network: !prefs.IsLoopback(p.Host), Key: p.Key}
	d.ready = s.reopen
	d.Subscribe(func(st live.State) {
		if st.Phase == live.None || st.Phase == live.Failed {
			s.update(func(v *serverscreen.State) { v.On, v.Address, v.Model = false, "", "" })
		}
		ready := st.Phase == live.Ready || st.Phase == live.Answering
		s.mu.Lock()
		changed := ready != s.ready
		s.ready = ready
		s.mu.Unlock()
		if changed { // a model can be named that could not before
			s.Send(struct{}{})
		}
	})
	go s.follow()
	return s
}

func (s *deskServer) State() serverscreen.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.state
	st.Requests = slices.Clone(st.Requests)
	if st.Model == "" && s.running() != "" {
		st.Model = s.desk.serving() // what clients will name
	}
	st.Takes = s.desk.takes()
	return st
}

func (s *deskServer) Subscribe(fn func()) (cancel func()) {
	return s.Of.Subscribe(func(struct{}) { fn() })
}

func (s *deskServer) update(f func(*serverscreen.State)) {
	s.mu.Lock()
	f(&s.state)
	s.mu.Unlock()
	s.Send(struct{}{})
}

func (s *deskServer) Start(ctx context.Context, c serverscreen.Config) error {
	if err := s.keep(c, true); err != nil {
		return err
	}
	s.update(func(v *serverscreen.State) { v.Starting, v.Problem, v.Config = true, "", c })
	err := s.desk.need(ctx, s.running())
	if err == nil {
		err = s.listen(ctx, c)
	}
	s.update(func(v *serverscreen.State) {
		v.Starting = false
		if err != nil {
			v.Problem = sentence(err)
		}
	})
	return err
}

// takes is what the model that is loaded can be asked with.
func (d *deskEngine) takes() serverscreen.Takes {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch i := d.model.Info; {
	case i.NoVocab:
		return serverscreen.Numbers
	case d.model.Key() != "" && !i.HasTemplate:
		return serverscreen.Text
	}
	return serverscreen.Chats
}

// running is the model that answers already; else the one of new conversations.
func (s *deskServer) running() string {
	if st := s.desk.State(); st.Phase == live.Ready || st.Phase == live.Answering {
		return st.Model
	}
	return ""
}

func (s *deskServer) listen(ctx context.Context, c serverscreen.Config) error {
	l, err := s.desk.local.Listen(ctx, openai.ListenRequest{Host: host(c), Port: c.Port, Key: c.Key})
	if err != nil {
		return err
	}
	s.update(func(v *serverscreen.State) {
		v.On, v.Address, v.Model, v.Problem = true, l.URL, s.desk.serving(), ""
	})
	return nil
}

func host(c serverscreen.Config) string {
	if c.Network {
		return "0.0.0.0"
	}
	return "127.0.0.1"
}

// keep remembers the endpoint for the next start.
func (s *deskServer) keep(c serverscreen.Config, on bool) error {
	return s.desk.prefs.Update(func(p *prefs.Settings) {
		p.Server = prefs.Server{Enabled: on, Host: host(c), Port: c.Port, Key: c.Key}
	})
}

func (s *deskServer) Stop(ctx context.Context, c serverscreen.Config) error {
	if err := s.keep(c, false); err != nil {
		return err
	}
	err := s.desk.local.StopListening(ctx)
	if errors.Is(err, client.ErrNotRunning) {
		err = nil
	}
	s.update(func(v *serverscreen.State) { v.On, v.Address, v.Config, v.Problem = false, "", c, "" })
	return err
}

func (s *deskServer) NewKey() string { return prefs.NewKey() }

// reopen listens again when an engine has been loaded and the endpoint is meant to be on.
func (s *deskServer) reopen(ctx context.Context) {
	p := s.desk.prefs.Get().Server
	s.mu.Lock()
	s.seq = 0
	on := s.state.On || s.state.Starting
	s.mu.Unlock()
	if !p.Enabled || on {
		return
	}
	if err := s.listen(ctx, s.State().Config); err != nil {
		s.update(func(v *serverscreen.State) { v.Problem = sentence(err) })
	}
}

// follow fetches the log of requests while the endpoint is on.
func (s *deskServer) follow() {
	const kept = 200
	for range time.Tick(time.Second) {
		s.mu.Lock()
		on, seq := s.state.On, s.seq
		s.mu.Unlock()
		if !on {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		entries, err := s.desk.local.Log(ctx, seq)
		cancel()
		if err != nil || len(entries) == 0 {
			continue
		}
		s.mu.Lock()
		s.seq = entries[len(entries)-1].Seq
		s.mu.Unlock()
		s.update(func(v *serverscreen.State) {
			for _, e := range entries {
				if e.Private {
					continue
				}
				r := serverscreen.Request{At: e.Time, Method: e.Method, Path: e.Path, Status: e.Status,
					Took: time.Duration(e.Milliseconds * float64(time.Millisecond)), Tokens: e.CompletionTokens}
				v.Requests = slices.Insert(v.Requests, 0, r)
			}
			v.Requests = v.Requests[:min(len(v.Requests), kept)]
		})
	}
}

// deskSettings is the settings for their screen.
type deskSettings struct {
	desk   *deskEngine
	folder string
}

func (s *deskSettings) Load(context.Context) (settingsscreen.Values, settingsscreen.Machine, error) {
	p := s.desk.prefs.Get()
	v := settingsscreen.Values{Threads: p.Engine.Threads, Context: p.Engine.Context, Slots: p.Engine.Slots, NoRepack: !p.Engine.Repack,
		Cards: p.Engine.Cards, TPS: p.Engine.TPS, Reasoning: p.Reasoning, System: p.System, Temperature: p.Sampling.Temperature,
		TopK: p.Sampling.TopK, TopP: p.Sampling.TopP, MinP: p.Sampling.MinP, RepeatPenalty: p.Sampling.RepeatPenalty,
		Seed: p.Sampling.Seed, Seeded: p.Sampling.Seeded, MaxTokens: p.Sampling.MaxTokens, Theme: p.Theme}
	v.Keys, v.Values = p.Engine.CacheTypes()
	v.LoadMode = p.Engine.LoadMode()
	m := settingsscreen.Machine{Folder: s.folder}
	model := s.desk.State().Running()
	if model == "" {
		model = s.desk.chosen()
	}
	if e, err := s.desk.lib.Find(model); err == nil {
		m.Model, m.Trained = readable(e), e.Info.Context
	}
	devices, err := engine.Devices()
	if err != nil {
		return v, m, err
	}
	for _, c := range devices {
		m.Cards = append(m.Cards, settingsscreen.Card{Name: c.Name, Description: c.Description, CPU: c.Name == "cpu"})
	}
	m.Cores, m.Nodes = engine.Cores(), engine.MemoryNodes()
	return v, m, nil
}

func (s *deskSettings) Save(_ context.Context, v settingsscreen.Values) error {
	err := s.desk.prefs.Update(func(p *prefs.Settings) {
		e := &p.Engine
		if v.TPS != e.TPS {
			e.Split = "" // chosen on the cards screen, of ways that had other lanes
		}
		e.Threads, e.Context, e.Slots, e.Repack, e.Cards, e.TPS = v.Threads, v.Context, v.Slots, !v.NoRepack, v.Cards, v.TPS
		e.KVType, e.VType, e.Load = v.Keys, v.Values, v.LoadMode
		p.Reasoning, p.System, p.Theme = v.Reasoning, v.System, v.Theme
		a := &p.Sampling
		a.Temperature, a.TopK, a.TopP, a.MinP, a.RepeatPenalty = v.Temperature, v.TopK, v.TopP, v.MinP, v.RepeatPenalty
		a.Seed, a.Seeded, a.MaxTokens = v.Seed, v.Seeded, v.MaxTokens
	})
	var problems prefs.Problems
	if errors.As(err, &problems) && len(problems) > 0 {
		return errors.New(sentence(fmt.Errorf("%s", problems[0].Text)))
	}
	return err
}
