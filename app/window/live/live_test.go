package live

import (
	"context"
	"testing"
	"time"
)

// ui runs functions one after the other, as the UI goroutine does.
type ui struct{ queue chan func() }

func newUI() *ui { return &ui{make(chan func(), 1000)} }

func (u *ui) do(f func()) { u.queue <- f }

// next runs one function, or fails.
func (u *ui) next(t *testing.T) {
	t.Helper()
	select {
	case f := <-u.queue:
		f()
	case <-time.After(5 * time.Second):
		t.Fatal("nothing came to the UI")
	}
}

func TestLateResultsAreDropped(t *testing.T) {
	u := newUI()
	l := Loader[int]{Do: u.do}
	var got []int
	publish := func(v int, err error) { got = append(got, v) }
	slow := make(chan int)
	l.Load(func(context.Context) (int, error) { return <-slow, nil }, publish)
	l.Load(func(context.Context) (int, error) { return 2, nil }, publish)
	u.next(t)
	slow <- 1
	u.next(t)
	if len(got) != 1 || got[0] != 2 {
		t.Errorf("published %v, want only the second", got)
	}
}

func TestLoadEndsTheContextOfTheOneBefore(t *testing.T) {
	u := newUI()
	l := Loader[int]{Do: u.do}
	ended := make(chan struct{})
	l.Load(func(ctx context.Context) (int, error) { <-ctx.Done(); close(ended); return 0, ctx.Err() }, func(int, error) {
		t.Error("published a fetch that was replaced")
	})
	l.Load(func(context.Context) (int, error) { return 2, nil }, func(int, error) {})
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Fatal("the first fetch goes on")
	}
	u.next(t)
	u.next(t)
}

func TestClosedLoaderPublishesNothing(t *testing.T) {
	u := newUI()
	l := Loader[int]{Do: u.do}
	l.Load(func(context.Context) (int, error) { return 1, nil }, func(int, error) { t.Error("published after Close") })
	l.Close()
	u.next(t)
	l.Load(func(context.Context) (int, error) { return 1, nil }, func(int, error) { t.Error("loaded after Close") })
	if l.Busy() {
		t.Error("busy after Close")
	}
}

type engine struct{ fn func(State) }

func (e *engine) State() State                        { return State{} }
func (e *engine) Subscribe(fn func(State)) func()     { e.fn = fn; return func() {} }
func (e *engine) Start(context.Context, string) error { return nil }

func TestWatchSkipsStatesTheUIHasNoTimeFor(t *testing.T) {
	u, e := newUI(), &engine{}
	var seen []float64
	stop := Watch(e, u.do, func(s State) { seen = append(seen, s.Progress) })
	for i := 1; i <= 100; i++ {
		e.fn(State{Progress: float64(i)})
	}
	u.next(t)
	if n := len(u.queue); n != 0 {
		t.Errorf("%d more calls wait for the UI", n)
	}
	if len(seen) != 2 || seen[1] != 100 {
		t.Errorf("saw %v, want the first and the newest", seen)
	}
	stop()
	e.fn(State{Progress: 101})
	u.next(t)
	if len(seen) != 2 {
		t.Error("called after stop")
	}
}

func TestSequenceKeepsItsOrder(t *testing.T) {
	var s Sequence
	got := make(chan int, 100)
	for i := range 100 {
		s.Do(func() {
			if i == 0 {
				time.Sleep(5 * time.Millisecond)
			}
			got <- i
		})
	}
	for i := range 100 {
		if v := <-got; v != i {
			t.Fatalf("%d ran in the place of %d", v, i)
		}
	}
}

func TestFormats(t *testing.T) {
	for got, want := range map[string]string{
		Bytes(1_190_000_000): "1.2 GB", Bytes(34_000_000_000): "34.0 GB", Bytes(0): "0 B", Bytes(900 << 20): "944 MB", Bytes(2048): "2 kB",
		Count(4_020_000_000): "4.0 B", Count(812_000_000): "812 M", Count(0): "",
		Number(32768): "32,768", Number(999): "999", Number(1000): "1,000", Number(-1234): "-1,234", Number(1234567): "1,234,567",
		Rate(0): "–", Rate(4.214): "4.21", Rate(38.52): "38.5", Rate(1412): "1,412",
		Seconds(800 * time.Millisecond): "0.8 s", Seconds(14 * time.Second): "14 s", Seconds(125 * time.Second): "2 min 5 s",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
