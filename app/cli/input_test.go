package cli

import (
	"io"
	"strings"
	"syscall"
	"testing"
)

func TestLostOutputIsAnError(t *testing.T) {
	var said strings.Builder
	env := &Env{Stdin: strings.NewReader(""), Stdout: full{}, Stderr: &said, Version: "1"}
	if code := Main(t.Context(), env, []string{"help"}); code != 1 || !strings.Contains(said.String(), "no space left") {
		t.Errorf("exit %d, %q", code, said.String())
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestControlCharactersDoNotReachTheTerminal(t *testing.T) {
	if got := visible("a\x1b]0;x\x07\nb"); got != "a\ufffd]0;x\ufffd\ufffdb" {
		t.Errorf("%q", got)
	}
}

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
