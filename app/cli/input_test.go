package cli

import (
	"io"
	"strings"
	"testing"
)

// endless is a stream like /dev/zero.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) { e.read += len(p); return len(p), nil }

func TestInputWithoutEndIsRefused(t *testing.T) {
	in := &endless{}
	_, err := readAll(&Env{Stdin: in}, "-")
	if err == nil || !strings.Contains(err.Error(), "longer than 256 MB") {
		t.Fatalf("read %d bytes, error %v", in.read, err)
	}
	if b, err := readAll(&Env{Stdin: io.LimitReader(&endless{}, 1000)}, "-"); len(b) != 1000 || err != nil {
		t.Errorf("read %d bytes of 1000, %v", len(b), err)
	}
}
