package window

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ingot/app/window/cards"
	"ingot/app/window/chat"
	"ingot/app/window/library"
	"ingot/app/window/live"
	"ingot/app/window/server"
	"ingot/app/window/settings"
)

// fake stands behind the window in tests and in the demonstration: conversations in memory, an engine that says
// what it is told to.
type fake struct {
	mu        sync.Mutex
	state     live.State
	watchers  []func(live.State)
	chats     []chat.Thread
	updated   map[chat.ID]time.Time
	deleted   map[chat.ID]chat.Thread
	changed   []func()
	next      chat.ID
	models    []library.Model
	chosen    string // model of new conversations
	removed   map[string]library.Model
	server    server.State
	serverFn  []func()
	portInUse string // what starting the endpoint fails with
	values    settings.Values
	plan      cards.Plan
	used      []string // ways that were chosen
	machine   settings.Machine

	answer   string        // what the engine says
	thoughts string        // before it
	pace     time.Duration // between words
	dieAfter int           // words; the engine ends then, once
	started  []string      // models that were loaded
	asks     []chat.Ask
}

func newFake() *fake {
	f := &fake{updated: map[chat.ID]time.Time{}, deleted: map[chat.ID]chat.Thread{}, removed: map[string]library.Model{}, next: 1,
		pace: time.Millisecond, answer: "Hello there."}
	f.state = live.State{Cards: []live.Card{{Name: "cpu", Description: "Intel Xeon, 8 cores", CPU: true, Total: 24e9, Free: 19e9, Load: -1}}}
	f.chosen = "sample"
	f.models = []library.Model{{ID: "sample", Name: "Ingot Sample", Sample: true, Architecture: "qwen35", Quantization: "Q8_0", Bytes: 18e6,
		Parameters: 17_000_000, Context: 2048, Layers: 8, Embedding: 256, Vocab: 4096, HasTemplate: true, CanThink: true, Fit: library.Fits,
		Reason: "Needs about 60 MB of the 19 GB that are free."}}
	f.server.Config = server.Config{Port: 8080}
	f.values = settings.Values{Temperature: 0.7, TopK: 40, TopP: 0.95, MinP: 0.05, RepeatPenalty: 1, Theme: "system"}
	f.machine = settings.Machine{Cores: 8, Cards: []settings.Card{{Name: "cpu", Description: "Intel Xeon, 8 cores", CPU: true}}, Folder: "/home/user/.local/share/ingot"}
	return f
}

func (f *fake) deps() Deps {
	return Deps{
		Engine: f, Conversations: fakeChats{f}, Answers: f, Models: fakePicks{f}, Library: fakeLibrary{f}, Server: fakeServer{f},
		Settings: fakeSettings{f}, Planner: fakePlanner{f}, Version: "0.1",
	}
}

// killed is how the end of the engine is told.
type killed struct{}

func (killed) Error() string { return "The engine was ended by the system." }
func (killed) Unwrap() error { return chat.ErrEngineGone }

// The engine.

func (f *fake) State() live.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state
}

func (f *fake) Subscribe(fn func(live.State)) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchers = append(f.watchers, fn)
	return func() {}
}

// loads is the models that were loaded, asked what was asked.
func (f *fake) loads() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.started)
}

func (f *fake) asked() []chat.Ask {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.asks)
}

func (f *fake) tell(change func(*live.State)) {
	f.mu.Lock()
	change(&f.state)
	s, fns := f.state, slices.Clone(f.watchers)
	f.mu.Unlock()
	for _, fn := range fns {
		fn(s)
	}
}

func (f *fake) Start(ctx context.Context, model string) error {
	f.mu.Lock()
	f.started = append(f.started, model)
	name := model
	for _, m := range f.models {
		if m.ID == model {
			name = m.Name
		}
	}
	f.mu.Unlock()
	for i := range 5 {
		f.tell(func(s *live.State) {
			s.Phase, s.Progress, s.Model, s.Name, s.Problem = live.Loading, float64(i)/5, model, name, ""
		})
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(4 * f.pace):
		}
	}
	f.tell(func(s *live.State) {
		s.Phase, s.Progress, s.Context, s.Level, s.Threads, s.CanThink = live.Ready, 1, 4096, "avx512", 8, true
		s.Cards = slices.Clone(s.Cards)
		s.Cards[0].Used, s.Cards[0].Parts = 3e9, live.Parts{Weights: 2e9, Cache: 700e6, State: 90e6, Scratch: 180e6}
		s.Cards[0].Free = 17e9
		if s.Stages == nil {
			s.Stages = [][]live.Lane{{{Card: "cpu", Layers: "0–31"}}}
		}
	})
	return nil
}

// Answers.

func (f *fake) Answer(ctx context.Context, ask chat.Ask, update func(chat.Update)) error {
	f.mu.Lock()
	f.asks = append(f.asks, ask)
	ready := f.state.Phase == live.Ready
	f.mu.Unlock()
	conv, question, answer := f.begin(ask)
	update(chat.Update{Conversation: conv, Question: question, Answer: answer})
	if !ready {
		if err := f.Start(ctx, ask.Model); err != nil {
			return f.save(conv, answer, chat.Stopped, err)
		}
	}
	f.tell(func(s *live.State) { s.Phase = live.Answering })
	defer f.tell(func(s *live.State) {
		if s.Phase == live.Answering {
			s.Phase, s.Decode = live.Ready, 0
		}
	})
	update(chat.Update{Prompt: &chat.Progress{Total: 1200, Read: 600}})
	say := func(text string, thought bool) error {
		for i, word := range strings.SplitAfter(text, " ") {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(f.pace):
			}
			f.mu.Lock()
			die := !thought && f.dieAfter > 0 && i == f.dieAfter
			if die {
				f.dieAfter = 0
			}
			f.mu.Unlock()
			if die {
				f.tell(func(s *live.State) { s.Phase, s.Problem = live.Failed, "The engine was ended by the system." })
				return killed{}
			}
			if thought {
				f.grow(conv, answer, "", word)
				update(chat.Update{Reasoning: word})
			} else {
				f.grow(conv, answer, word, "")
				update(chat.Update{Text: word})
			}
			f.tell(func(s *live.State) {
				s.Prefill, s.Decode, s.ContextUsed = 412, 38+float64(i%7), 600+i
			})
		}
		return nil
	}
	text := f.answer
	if ask.Kind == chat.Continue {
		text = " and the rest."
	} else if f.thoughts != "" && ask.Reasoning != "off" {
		if err := say(f.thoughts, true); err != nil {
			return f.save(conv, answer, chat.Stopped, err)
		}
	}
	if err := say(text, false); err != nil {
		state := chat.Failed
		if errors.Is(err, context.Canceled) {
			state = chat.Stopped
		}
		return f.save(conv, answer, state, err)
	}
	update(chat.Update{Done: &chat.Stats{Prompt: 1200, Completion: len(strings.Fields(text)), Decode: 38.4, First: 820 * time.Millisecond}})
	return f.save(conv, answer, chat.Complete, nil)
}

func (f *fake) thread(id chat.ID) *chat.Thread {
	for i := range f.chats {
		if f.chats[i].ID == id {
			return &f.chats[i]
		}
	}
	return nil
}

func (f *fake) begin(ask chat.Ask) (conv, question, answer chat.ID) {
	f.mu.Lock()
	th := f.thread(ask.Conversation)
	if th == nil {
		f.next++
		title := ask.Text
		if len(title) > 40 {
			title = title[:40]
		}
		f.chats = append(f.chats, chat.Thread{ID: f.next, Title: title})
		th = &f.chats[len(f.chats)-1]
	}
	at := slices.IndexFunc(th.Messages, func(m chat.Message) bool { return m.ID == ask.Message })
	if ask.Kind == chat.Edit || ask.Kind == chat.Again {
		th.Messages = th.Messages[:max(at, 0)]
	}
	if ask.Kind == chat.New || ask.Kind == chat.Edit {
		f.next++
		question = f.next
		th.Messages = append(th.Messages, chat.Message{ID: question, User: true, Text: ask.Text})
	}
	answer = ask.Message
	if ask.Kind != chat.Continue {
		f.next++
		answer = f.next
		th.Messages = append(th.Messages, chat.Message{ID: answer, State: chat.Writing, Model: "Ingot Sample"})
	}
	f.updated[th.ID] = time.Now()
	conv = th.ID
	f.mu.Unlock()
	f.tellChats()
	return conv, question, answer
}

func (f *fake) grow(conv, answer chat.ID, text, thought string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if th := f.thread(conv); th != nil {
		for i := range th.Messages {
			if th.Messages[i].ID == answer {
				th.Messages[i].Text += text
				th.Messages[i].Reasoning += thought
			}
		}
	}
}

func (f *fake) save(conv, answer chat.ID, state chat.State, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if th := f.thread(conv); th != nil {
		for i := range th.Messages {
			if m := &th.Messages[i]; m.ID == answer {
				m.State = state
				if err == nil {
					m.Stats, m.Thought = chat.Stats{Completion: 120, Decode: 38.4, First: 820 * time.Millisecond}, 3200*time.Millisecond
				} else if state == chat.Failed {
					m.Problem, m.Gone = err.Error(), errors.Is(err, chat.ErrEngineGone)
				}
			}
		}
	}
	return err
}

func (f *fake) tellChats() {
	f.mu.Lock()
	fns := slices.Clone(f.changed)
	f.mu.Unlock()
	for _, fn := range fns {
		fn()
	}
}

// Conversations.

type fakeChats struct{ *fake }

func (f fakeChats) List(context.Context) ([]chat.Summary, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []chat.Summary
	for _, th := range f.chats {
		out = append(out, chat.Summary{ID: th.ID, Title: th.Title, Updated: f.updated[th.ID]})
	}
	slices.SortStableFunc(out, func(a, b chat.Summary) int { return b.Updated.Compare(a.Updated) })
	return out, nil
}

func (f fakeChats) Load(_ context.Context, id chat.ID) (chat.Thread, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	th := f.thread(id)
	if th == nil {
		return chat.Thread{}, errors.New("this conversation is gone")
	}
	out := *th
	out.Messages = slices.Clone(th.Messages)
	return out, nil
}

func (f fakeChats) Rename(_ context.Context, id chat.ID, title string) error {
	f.mu.Lock()
	f.thread(id).Title = title
	f.mu.Unlock()
	f.tellChats()
	return nil
}

func (f fakeChats) Delete(_ context.Context, id chat.ID) error {
	f.mu.Lock()
	f.deleted[id] = *f.thread(id)
	f.chats = slices.DeleteFunc(f.chats, func(t chat.Thread) bool { return t.ID == id })
	f.mu.Unlock()
	f.tellChats()
	return nil
}

func (f fakeChats) Restore(_ context.Context, id chat.ID) error {
	f.mu.Lock()
	f.chats = append(f.chats, f.deleted[id])
	f.mu.Unlock()
	f.tellChats()
	return nil
}

func (f fakeChats) SetModel(context.Context, chat.ID, string) error             { return nil }
func (f fakeChats) SetReasoning(context.Context, chat.ID, chat.Reasoning) error { return nil }
func (f fakeChats) Switch(context.Context, chat.ID, chat.ID) error              { return nil }
func (f fakeChats) Subscribe(fn func()) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changed = append(f.changed, fn)
	return func() {}
}

// The picker.

type fakePicks struct{ *fake }

func (f fakePicks) List(context.Context) ([]chat.Model, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []chat.Model
	for _, m := range f.models {
		out = append(out, chat.Model{ID: m.ID, Name: m.Name, Detail: m.Quantization + "  ·  " + live.Bytes(m.Bytes), Sample: m.Sample,
			Missing: m.Missing, Problem: m.Problem, NoChat: !m.HasTemplate, NoVocab: m.NoVocab, CanThink: m.CanThink, Chosen: m.ID == f.chosen})
	}
	return out, nil
}

func (f fakePicks) Choose(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.chosen = id
	return nil
}

func (f fakePicks) Subscribe(func()) func() { return func() {} }

// The library.

type fakeLibrary struct{ *fake }

func (f fakeLibrary) List(context.Context) ([]library.Model, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.models), nil
}

func (f fakeLibrary) Found(context.Context) ([]library.Found, error) {
	if len(f.models) < 2 {
		return nil, nil
	}
	return []library.Found{
		{Path: "/home/user/.cache/huggingface/hub/a.gguf", Name: "gemma-3-4b-it", From: "Hugging Face", Quantization: "Q4_K_M", Bytes: 2_490_000_000},
		{Path: "/home/user/.ollama/models/b", Name: "llama3.2:3b", From: "Ollama", Quantization: "Q4_K_M", Bytes: 2_019_000_000},
	}, nil
}

func (f fakeLibrary) Add(_ context.Context, paths []string) (library.Added, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out library.Added
	for _, p := range paths {
		if !strings.HasSuffix(p, ".gguf") {
			out.Failed = append(out.Failed, p+" is not a GGUF file.")
			continue
		}
		f.models = append(f.models, library.Model{ID: p, Name: p, Path: p})
		out.Names = append(out.Names, p)
	}
	return out, nil
}

func (f fakeLibrary) Remove(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.models {
		if m.ID == id {
			f.removed[id] = m
		}
	}
	f.models = slices.DeleteFunc(f.models, func(m library.Model) bool { return m.ID == id })
	return nil
}

func (f fakeLibrary) Restore(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.models = append(f.models, f.removed[id])
	return nil
}

func (f fakeLibrary) Subscribe(func()) func() { return func() {} }

// The endpoint.

type fakeServer struct{ *fake }

func (f fakeServer) State() server.State {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.server
}

func (f fakeServer) Subscribe(fn func()) func() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.serverFn = append(f.serverFn, fn)
	return func() {}
}

func (f fakeServer) Start(_ context.Context, c server.Config) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.portInUse != "" {
		f.server.Problem = f.portInUse
		return errors.New(f.portInUse)
	}
	f.server.On, f.server.Config, f.server.Model = true, c, "ingot-sample"
	f.server.Address = fmt.Sprintf("http://127.0.0.1:%d/v1", c.Port)
	return nil
}

func (f fakeServer) Stop(_ context.Context, c server.Config) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.server.On, f.server.Config, f.server.Address = false, c, ""
	return nil
}

func (f fakeServer) NewKey() string { return "ingot-7hq2m4xk9t3vbn5cw8rz6ydfpj" }

// Settings.

type fakeSettings struct{ *fake }

func (f fakeSettings) Load(context.Context) (settings.Values, settings.Machine, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.values, f.machine, nil
}

func (f fakeSettings) Save(_ context.Context, v settings.Values) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.values = v
	return nil
}

// Predictions.

// ways is the layouts that were chosen.
func (f *fake) ways() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.used)
}

type fakePlanner struct{ *fake }

func (f fakePlanner) Plan(context.Context) (cards.Plan, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.plan
	p.Ways = slices.Clone(p.Ways)
	for i := range p.Ways { // what was given stays as it was when a test changes the plan
		stages := slices.Clone(p.Ways[i].Stages)
		for k := range stages {
			stages[k] = slices.Clone(stages[k])
		}
		p.Ways[i].Stages = stages
	}
	return p, nil
}

func (f fakePlanner) Use(_ context.Context, w cards.Way, repack bool, tokens int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used = append(f.used, fmt.Sprintf("%s%d %v %d", w.Split, w.TPS, repack, tokens))
	for i := range f.plan.Ways {
		v := &f.plan.Ways[i]
		v.InUse = v.Split == w.Split && v.TPS == w.TPS
	}
	f.plan.Repack = repack
	return nil
}
