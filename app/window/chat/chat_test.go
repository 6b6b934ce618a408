package chat

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"fyne.io/fyne/v2"
	"fyne.io/fyne/v2/test"

	"ingot/app/window/live"
	"ingot/app/window/theme"
)

func TestCoalescerDrawsAtMostTwentyTimesASecond(t *testing.T) {
	var mu sync.Mutex
	var at []time.Time
	c := coalescer{do: func(f func()) { f() }, flush: func() { mu.Lock(); at = append(at, time.Now()); mu.Unlock() }}
	start := time.Now()
	for time.Since(start) < 500*time.Millisecond {
		c.mark()
		time.Sleep(100 * time.Microsecond)
	}
	time.Sleep(100 * time.Millisecond)
	mu.Lock()
	defer mu.Unlock()
	if n := len(at); n < 2 || n > 12 {
		t.Errorf("%d draws in half a second, want at most 12", n)
	}
	for i := 1; i < len(at); i++ {
		if d := at[i].Sub(at[i-1]); d < drawEvery*3/4 { // one draw may have been held up, the next be on time
			t.Errorf("draws %d and %d are %v apart", i-1, i, d)
		}
	}
}

func TestCoalescerWaitsForASlowUI(t *testing.T) {
	queued := make(chan func(), 100)
	drawn := 0
	c := coalescer{do: func(f func()) { queued <- f }, flush: func() { drawn++ }}
	for range 50 {
		c.mark()
		time.Sleep(4 * time.Millisecond)
	}
	if n := len(queued); n != 1 {
		t.Fatalf("%d draws wait for the UI, want 1", n)
	}
	(<-queued)()
	c.mark()
	select {
	case f := <-queued:
		f()
	case <-time.After(5 * time.Second):
		t.Fatal("the last mark was not drawn")
	}
	if drawn != 2 {
		t.Errorf("drawn %d times", drawn)
	}
}

func TestGroups(t *testing.T) {
	now := time.Date(2026, 8, 20, 9, 0, 0, 0, time.UTC)
	all := []Summary{
		{ID: 1, Pinned: true, Updated: now.AddDate(-1, 0, 0)}, {ID: 2, Updated: now.Add(-time.Hour)}, {ID: 3, Updated: now.Add(-10 * time.Hour)},
		{ID: 4, Updated: now.AddDate(0, 0, -3)}, {ID: 5, Updated: now.AddDate(0, 0, -4)}, {ID: 6, Updated: now.AddDate(0, 0, -20)}, {ID: 7, Updated: now.AddDate(-2, 0, 0)},
	}
	var got []string
	for _, l := range group(all, now) {
		if l.group != "" {
			got = append(got, l.group)
		}
	}
	if want := "Pinned,Today,Yesterday,Last 7 days,Last 30 days,Older"; strings.Join(got, ",") != want {
		t.Errorf("groups %v, want %s", got, want)
	}
}

// empty is what the screen needs, with one conversation of many messages.
type empty struct{ messages []Message }

func (e empty) List(context.Context) ([]Summary, error) {
	return []Summary{{ID: 1, Title: "Long"}}, nil
}
func (e empty) Load(context.Context, ID) (Thread, error) {
	return Thread{ID: 1, Messages: e.messages}, nil
}
func (empty) Rename(context.Context, ID, string) error          { return nil }
func (empty) Delete(context.Context, ID) error                  { return nil }
func (empty) Restore(context.Context, ID) error                 { return nil }
func (empty) SetModel(context.Context, ID, string) error        { return nil }
func (empty) SetReasoning(context.Context, ID, Reasoning) error { return nil }
func (empty) Switch(context.Context, ID, ID) error              { return nil }
func (empty) Subscribe(func()) func()                           { return func() {} }
func (empty) Answer(context.Context, Ask, func(Update)) error   { return nil }

type noModels struct{}

func (noModels) List(context.Context) ([]Model, error) { return nil, nil }
func (noModels) Choose(context.Context, string) error  { return nil }
func (noModels) Subscribe(func()) func()               { return func() {} }

type noEngine struct{}

func (noEngine) State() live.State                   { return live.State{} }
func (noEngine) Subscribe(func(live.State)) func()   { return func() {} }
func (noEngine) Start(context.Context, string) error { return nil }

// A conversation of 2,000 messages is opened by building the few that are seen.
func TestLongConversationIsVirtual(t *testing.T) {
	a := test.NewTempApp(t)
	a.Settings().SetTheme(&theme.Theme{Mode: theme.Dark})
	var e empty
	for i := range 2000 {
		e.messages = append(e.messages, Message{ID: ID(i + 1), User: i%2 == 0, Text: strings.Repeat("Some words to be set. ", 1+i%40)})
	}
	queued := make(chan func(), 1000)
	s := NewScreen(Deps{Conversations: e, Answers: e, Models: noModels{}, Engine: noEngine{}, Do: func(f func()) { queued <- f },
		Notice: func(string, string, func()) {}, OpenLibrary: func() {}})
	defer s.Close()
	w := test.NewTempWindow(t, s.Main())
	w.Resize(fyne.NewSize(1000, 700))
	s.Open(1)
	for end := time.Now().Add(10 * time.Second); s.feed.Len() != 2000 && time.Now().Before(end); {
		select {
		case f := <-queued:
			f()
		case <-time.After(10 * time.Millisecond):
		}
	}
	if s.feed.Len() != 2000 || s.feed.BuiltCount() > 12 {
		t.Errorf("%d messages, %d built", s.feed.Len(), s.feed.BuiltCount())
	}
	if _, ok := s.feed.Built(1999); !ok {
		t.Error("the last message is not shown")
	}
}

func TestStreamGathersPieces(t *testing.T) {
	s := &stream{draw: coalescer{do: func(func()) {}, flush: func() {}}}
	s.add(Update{Conversation: 3, Question: 4, Answer: 5, Prompt: &Progress{Total: 9, Read: 2}})
	if snap := s.snapshot(); snap.conv != 3 || snap.prompt.Read != 2 || snap.message.State != Writing {
		t.Errorf("%+v", snap)
	}
	s.add(Update{Reasoning: "hm"})
	s.add(Update{Text: "a"})
	s.add(Update{Text: "b", Done: &Stats{Completion: 2}})
	s.end(nil)
	snap := s.snapshot()
	if snap.message.Text != "ab" || snap.message.Reasoning != "hm" || snap.message.State != Complete || snap.message.Stats.Completion != 2 || snap.prompt != nil {
		t.Errorf("%+v", snap)
	}
	for err, want := range map[error]State{context.Canceled: Stopped, ErrEngineGone: Failed} {
		s.end(err)
		if got := s.snapshot().message; got.State != want || got.Gone != (want == Failed) {
			t.Errorf("%v: %+v", err, got)
		}
	}
}
