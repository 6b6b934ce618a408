package feed

import (
	"fmt"
	"sync"
	"testing"
)

func TestSubscribeAndCancel(t *testing.T) {
	var f Of[int]
	f.Send(1) // nobody listens
	var got string
	a := f.Subscribe(func(v int) { got += fmt.Sprint("a", v) })
	var b func()
	b = f.Subscribe(func(v int) { got += fmt.Sprint("b", v); b() }) // may cancel itself
	f.Send(2)
	f.Send(3)
	a()
	a()
	f.Send(4)
	if got != "a2b2a3" {
		t.Error(got)
	}
}

func TestConcurrentUse(t *testing.T) {
	var f Of[int]
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := range 100 {
				cancel := f.Subscribe(func(int) {})
				f.Send(i)
				cancel()
			}
		})
	}
	wg.Wait()
	if len(f.subs) != 0 {
		t.Errorf("%d listeners left", len(f.subs))
	}
}
