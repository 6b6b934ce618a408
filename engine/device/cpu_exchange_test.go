package device

import (
	"errors"
	"testing"
)

// One lane fails before it comes to where the other waits for it: both leave, the failure is told as such, and the next
// run is whole again.
func TestALaneThatFailsFreesTheOthers(t *testing.T) {
	x, err := newExchange([]int{1, 1}, 64)
	if err != nil {
		t.Fatal(err)
	}
	defer x.memory.Free()
	broken := errors.New("broken")
	for range 3 {
		failed := make(chan struct{})
		errs := make(chan error, 1)
		go func() {
			errs <- x.run(func() error { <-failed; return nil })
		}()
		if err := x.run(func() error { return broken }); !errors.Is(err, broken) {
			t.Errorf("the lane that failed says %v", err)
		}
		close(failed)
		if err := <-errs; !errors.Is(err, ErrPeer) {
			t.Errorf("the other says %v", err)
		}
		for lane := range 2 {
			if err := x.run(func() error { return nil }); err != nil {
				t.Errorf("lane %d, next run: %v", lane, err)
			}
		}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("a panic was swallowed")
			}
		}()
		x.run(func() error { panic("fault") })
	}()
	if err := x.run(func() error { return nil }); !errors.Is(err, ErrPeer) {
		t.Errorf("beside a panic: %v", err)
	}
}
