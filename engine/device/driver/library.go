package driver

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// library is a shared library with the symbols asked of it so far.
type library struct {
	name   string
	handle uintptr
	missed []string
}

// open loads the first of the candidates that is there; the environment variable, where set, names the only one.
func open(env string, candidates ...string) (*library, error) {
	if path := os.Getenv(env); path != "" {
		candidates = []string{path}
		// Loading a pipe would wait for a writer.
		if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
			return nil, fmt.Errorf("%s: %w (not a regular file)", path, ErrMissing)
		}
	}
	var why []string
	for _, name := range candidates {
		h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err == nil {
			return &library{name: name, handle: h}, nil
		}
		why = append(why, err.Error())
	}
	// of several reasons the one that is no plain absence says most
	reason := why[len(why)-1]
	for _, w := range why {
		if !strings.Contains(w, "No such file") {
			reason = w
		}
	}
	return nil, fmt.Errorf("%s: %w (%s)", candidates[0], ErrMissing, reason)
}

// symbol is a function's address; 0 is remembered as missing.
func (l *library) symbol(name string) uintptr {
	p, err := purego.Dlsym(l.handle, name)
	if err != nil || p == 0 {
		l.missed = append(l.missed, name)
		return 0
	}
	return p
}

// optional is a function's address, or 0.
func (l *library) optional(names ...string) uintptr {
	for _, name := range names {
		if p, err := purego.Dlsym(l.handle, name); err == nil && p != 0 {
			return p
		}
	}
	return 0
}

// complete is an error where symbols were missing.
func (l *library) complete() error {
	if len(l.missed) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w: symbol %s", l.name, ErrMissing, strings.Join(l.missed, ", "))
}

// call calls a C function that takes words and pointers; memory that it sees must not be on a Go stack.
//
//go:uintptrescapes
func call(fn uintptr, args ...uintptr) int {
	r, _, _ := purego.SyscallN(fn, args...)
	return int(int32(r))
}

// word is call for functions that return a pointer.
//
//go:uintptrescapes
func word(fn uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(fn, args...)
	return r
}

// find is an address or an error.
func (l *library) find(name string) (uintptr, error) {
	if p := l.optional(name); p != 0 {
		return p, nil
	}
	return 0, fmt.Errorf("%s: %w: symbol %s", l.name, ErrMissing, name)
}

// cstring is a text as C has it.
func cstring(s string) *byte {
	b := append([]byte(s), 0)
	return &b[0]
}

// gostring is a text of C memory.
func gostring(p uintptr) string {
	if p == 0 {
		return ""
	}
	var b []byte
	for ; ; p++ {
		c := **(**byte)(unsafe.Pointer(&p))
		if c == 0 {
			return string(b)
		}
		b = append(b, c)
	}
}

// numbers of errors that HIP and CUDA share
const (
	errOutOfMemory    = 2
	errNoDevice       = 100
	errInvalidDevice  = 101
	errNotReady       = 600
	errPeerAlready    = 704
	errPeerMissing    = 705
	errPeerUnsupport  = 217
	errCaptureFirst   = 900 // to 908: what a stream that is captured does not allow
	errCaptureLast    = 908
	errNotSupported   = 801
	errInvalidContext = 201
)

// failure is a driver's error number with the call that it came from.
func failure(kind, call string, code int, text string) error {
	if code == 0 {
		return nil
	}
	as := func(err error) error { return fmt.Errorf("%w: %s: %s (%d)", err, call, text, code) }
	switch {
	case code == errOutOfMemory:
		return as(ErrMemory)
	case code == errNoDevice || code == errInvalidDevice:
		return as(ErrNoCard)
	case code == errPeerMissing || code == errPeerUnsupport:
		return as(ErrNoPeer)
	case code >= errCaptureFirst && code <= errCaptureLast || code == errNotSupported:
		return as(ErrCapture)
	}
	return fmt.Errorf("%s driver: %s: %s (%d)", kind, call, text, code)
}

// pointers is a C array of pointers to texts; the second keeps them alive.
func pointers(texts []string) ([]*byte, uintptr) {
	if len(texts) == 0 {
		return nil, 0
	}
	list := make([]*byte, len(texts))
	for i, t := range texts {
		list[i] = cstring(t)
	}
	return list, uintptr(unsafe.Pointer(&list[0]))
}

func keep(x ...any) { runtime.KeepAlive(x) }
