// Package driver is the border to graphics drivers: HIP (hip.go) and CUDA (cuda.go), loaded at run time, behind one struct of
// functions. A library or a symbol that is missing is an error with its name.
//
// The functions speak of the calling thread's current card, as the drivers do: a goroutine that uses them is locked to its thread
// and calls Use first.
package driver

import (
	"errors"
	"fmt"
	"time"
	"unsafe"
)

var (
	// ErrMissing is returned when a driver's library or one of its symbols is not there; the message names it.
	ErrMissing = errors.New("not found")
	// ErrNoCard is returned when a driver is there and has no card.
	ErrNoCard = errors.New("no card")
	// ErrMemory is returned when a card's memory, or the host's pinned memory, is used up.
	ErrMemory = errors.New("out of memory")
	// ErrCapture is returned when a stream cannot be captured.
	ErrCapture = errors.New("capture refused")
	// ErrNoPeer is returned when a card cannot reach another's memory.
	ErrNoPeer = errors.New("no peer access")
	// ErrHung is returned when a card did not finish its work in the time it was given.
	ErrHung = errors.New("the card does not answer")
	// ErrCompile is returned when the driver's compiler refuses a kernel; the message has its log.
	ErrCompile = errors.New("kernels do not compile")
)

// The handles of a driver; 0 is none.
type (
	Ptr      uintptr // an address in a card's memory
	Stream   uintptr
	Event    uintptr
	Module   uintptr
	Function uintptr
	Graph    uintptr // ready to be launched
)

// Props describe a card.
type Props struct {
	Name  string
	Arch  string // as the compiler takes it: "gfx906:sramecc+:xnack-", "sm_90"
	Total int64
	Units int // compute units
	Wave  int // threads that run in step: 64 or 32
	BusID string
}

// Source is a file of kernels: Text includes its headers by the names they have in Headers.
type Source struct {
	Name, Text string
	Headers    map[string]string
}

// Driver is what Ingot asks of a graphics driver. Copies, launches and records are put on a stream and return at once.
type Driver struct {
	Kind    string // "hip" or "cuda"
	Version string // of the driver
	Count   int    // cards

	Props func(card int) (Props, error)
	// Use makes a card the calling thread's.
	Use     func(card int) error
	MemInfo func() (free, total int64, err error) // of the thread's card

	Malloc func(bytes int64) (Ptr, error)
	// MallocShared is memory that other cards write to and poll while kernels run.
	MallocShared func(bytes int64) (Ptr, error)
	Free         func(Ptr) error
	// HostMalloc is pinned host memory, which all cards can reach at the same address.
	HostMalloc func(bytes int64) (unsafe.Pointer, error)
	HostFree   func(unsafe.Pointer) error

	// Copies; host memory must be pinned for the copy to go on beside the caller, and stay until it is done.
	Upload   func(to Ptr, from unsafe.Pointer, bytes int64, s Stream) error
	Download func(to unsafe.Pointer, from Ptr, bytes int64, s Stream) error
	Copy     func(to, from Ptr, bytes int64, s Stream) error // within a card
	CopyPeer func(to Ptr, toCard int, from Ptr, fromCard int, bytes int64, s Stream) error
	Clear    func(to Ptr, bytes int64, s Stream) error // to zero

	NewStream   func() (Stream, error)
	FreeStream  func(Stream) error
	Sync        func(Stream) error
	Done        func(Stream) (bool, error) // whether all that was put on it has ended
	Wait        func(Stream, Event) error  // what follows on the stream waits for the event
	NewEvent    func(timed bool) (Event, error)
	FreeEvent   func(Event) error
	Record      func(Event, Stream) error
	Passed      func(Event) (bool, error)
	Elapsed     func(from, to Event) (time.Duration, error)
	CanReach    func(card, peer int) bool
	Reach       func(peer int) error // lets kernels of the thread's card use the peer's memory
	Load        func(image []byte) (Module, error)
	Unload      func(Module) error
	Find        func(Module, string) (Function, error)
	Launch      func(f Function, grid [3]int, threads int, s Stream, args unsafe.Pointer) error // args: the kernel's one struct
	Capture     func(Stream) error                                                              // what follows on the stream is recorded instead of done
	EndCapture  func(Stream) (Graph, error)
	LaunchGraph func(Graph, Stream) error
	FreeGraph   func(Graph) error

	// Compile makes an image for an architecture. Compiler names the compiler and its version.
	Compile  func(src Source, arch string, options []string) (image []byte, log string, err error)
	Compiler string

	// Symbol is the address of another function of the driver's library.
	Symbol func(name string) (uintptr, error)
}

// SyncWithin waits until a stream has done all that was put on it, but no longer than so long: then it returns ErrHung. meanwhile, where
// set, is called now and then.
func (d *Driver) SyncWithin(s Stream, patience time.Duration, meanwhile func()) error {
	start := time.Now()
	for n := 0; ; n++ {
		done, err := d.Done(s)
		if done || err != nil {
			return err
		}
		if n > 200 { // a token takes milliseconds: after the first tens of microseconds the core is of more use to others
			passed := time.Since(start)
			time.Sleep(min(max(20*time.Microsecond, passed/256), 5*time.Millisecond)) // waking a thread costs, too: what takes long is asked for less often
			if n%16 != 0 {
				continue
			}
			if meanwhile != nil {
				meanwhile()
			}
			if passed > patience {
				return fmt.Errorf("%w after %v", ErrHung, patience)
			}
		}
	}
}

// Open loads a kind of driver: "hip" or "cuda".
func Open(kind string) (*Driver, error) {
	switch kind {
	case "hip":
		return HIP()
	case "cuda":
		return CUDA()
	}
	return nil, fmt.Errorf("no driver of kind %q", kind)
}

// Call calls another function of the driver's library, one that takes and returns whole numbers.
func (d *Driver) Call(name string, args ...uintptr) (int64, error) {
	f, err := d.Symbol(name)
	if err != nil {
		return 0, err
	}
	return int64(word(f, args...)), nil
}

// CallText calls another function of the driver's library, one that returns a text.
func (d *Driver) CallText(name string, args ...uintptr) (string, error) {
	f, err := d.Symbol(name)
	if err != nil {
		return "", err
	}
	return gostring(word(f, args...)), nil
}
