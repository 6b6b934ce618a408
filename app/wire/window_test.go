//go:build !headless

package wire

import (
	"errors"
	"testing"
)

// What stands in the way of the library is told as a sentence, whichever step it stopped.
func TestReason(t *testing.T) {
	for verb, want := range map[string]string{"open": "Could not open", "make": "Could not make", "read": "Could not read", "write": "Could not write", "move": "Could not move"} {
		if got := reason(errors.New(verb + " /x: no space left")); got != want+" /x: no space left." {
			t.Errorf("%s: %q", verb, got)
		}
	}
	if got := reason(errors.New("the database is damaged")); got != "The database is damaged." {
		t.Errorf("another error: %q", got)
	}
}
