//go:build !headless

package wire

import (
	"fmt"
	"os"
	"testing"

	"ingot/app/library"
)

func TestFailedNamesTheFile(t *testing.T) {
	for _, c := range []struct {
		path string
		err  error
		want string
	}{
		{"/m/a.gguf", fmt.Errorf("truncated GGUF"), "a.gguf: truncated GGUF"},
		{"/m/a.gguf", library.Failure{Path: "/m/a.gguf", Err: fmt.Errorf("/m/a.gguf: truncated GGUF")}, "a.gguf: truncated GGUF"},
		{"/m", fmt.Errorf("add %s: %w", "/m", os.ErrPermission), "m: permission denied"},
	} {
		if got := failed(c.path, c.err); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
