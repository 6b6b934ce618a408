package driver

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"unsafe"
)

// ErrCollectives is returned when a library of collectives refuses or fails; the message names it and the call.
var ErrCollectives = errors.New("the library of collectives failed")

// Comm is one card's member of a group that sums together; 0 is none.
type Comm uintptr

// Collectives is RCCL or NCCL: a library beside the driver, which need not be there.
//
// One process has all members, each used by the one thread that also drives its card: a member takes one call at a time, members of
// different cards may be called at once. Every member of a group makes the same calls in the same order, each on its card's stream; what
// it puts there waits for the others' on the card, not on the host, so no call needs to be grouped with another.
type Collectives struct {
	Name    string // "RCCL" or "NCCL"
	Version string // of the library

	// Join makes a group, a member for each card. One thread calls it; it returns when all are connected.
	Join func(cards []int) ([]Comm, error)
	// Sum puts on the stream: to = the sum of all members' from, in an order of the library's choice. to may be from.
	Sum func(to, from Ptr, floats int64, c Comm, s Stream) error
	// Failed tells what went wrong since a call that had succeeded.
	Failed func(Comm) error
	// Abort ends what a member has on its stream, whatever it waits for, and frees it; nobody may use it afterwards. It may wait for the card.
	Abort func(Comm) error
	// Leave frees a member that has nothing left to do.
	Leave func(Comm) error
}

// nccl is the interface that both libraries have.
type nccl struct {
	name string
	// ncclResult_t ncclGetVersion(int *version)
	getVersion uintptr
	// ncclResult_t ncclCommInitAll(ncclComm_t *comms, int ndev, const int *devlist)
	commInitAll uintptr
	// ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count, ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
	//     cudaStream_t stream)
	allReduce uintptr
	// ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *asyncError)
	commGetAsyncError uintptr
	// ncclResult_t ncclCommAbort(ncclComm_t comm)
	commAbort uintptr
	// ncclResult_t ncclCommDestroy(ncclComm_t comm)
	commDestroy uintptr
	// const char *ncclGetErrorString(ncclResult_t result)
	getErrorString uintptr
}

func (n *nccl) bind(l *library) error {
	for name, at := range map[string]*uintptr{
		"ncclGetVersion": &n.getVersion, "ncclCommInitAll": &n.commInitAll, "ncclAllReduce": &n.allReduce,
		"ncclCommGetAsyncError": &n.commGetAsyncError, "ncclCommAbort": &n.commAbort, "ncclCommDestroy": &n.commDestroy,
		"ncclGetErrorString": &n.getErrorString,
	} {
		*at = l.symbol(name)
	}
	return l.complete()
}

const (
	ncclInProgress = 7
	ncclFloat32    = 7 // ncclDataType_t
	ncclSum        = 0 // ncclRedOp_t
)

// pin leaves the library one algorithm for all sizes, so that a sum of some size is made in one order as long as the cards and what
// connects them are the same; what the environment says already stands. The library reads it when it is first used.
var pin = sync.OnceFunc(func() {
	for name, value := range map[string]string{"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple"} {
		if _, said := os.LookupEnv(name); !said {
			os.Setenv(name, value)
		}
	}
})

// Collectives loads the driver's library of collectives.
func (d *Driver) Collectives() (*Collectives, error) {
	pin()
	n := &nccl{name: "NCCL"}
	var l *library
	var err error
	if d.Kind == "hip" {
		n.name = "RCCL"
		l, err = open("INGOT_RCCL_LIBRARY", "librccl.so.1", "librccl.so", "/opt/rocm/lib/librccl.so.1")
	} else {
		l, err = open("INGOT_NCCL_LIBRARY", "libnccl.so.2", "libnccl.so")
	}
	if err != nil {
		return nil, err
	}
	if err := n.bind(l); err != nil {
		return nil, err
	}
	// A library linked to another runtime than ours would know none of our streams. What a library finds, its dependencies included, tells.
	if theirs := l.optional("hipStreamQuery"); d.Kind == "hip" && theirs != 0 {
		if ours, err := d.Symbol("hipStreamQuery"); err != nil || ours != theirs {
			return nil, fmt.Errorf("%w: %s belongs to another HIP runtime than the one in use", ErrCollectives, l.name)
		}
	}
	c := &Collectives{Name: n.name}
	var v int32
	if err := n.error("ncclGetVersion", call(n.getVersion, uintptr(unsafe.Pointer(&v)))); err != nil {
		return nil, err
	}
	c.Version = ncclVersion(int(v))
	n.fill(c)
	return c, nil
}

// ncclVersion reads the number: 2.8 and older have one digit for what newer ones have two for.
func ncclVersion(v int) string {
	if v < 10000 {
		return fmt.Sprintf("%d.%d.%d", v/1000, v/100%10, v%100)
	}
	return fmt.Sprintf("%d.%d.%d", v/10000, v/100%100, v%100)
}

func (n *nccl) error(name string, code int) error {
	if code == 0 {
		return nil
	}
	text := strings.ReplaceAll(gostring(word(n.getErrorString, uintptr(code))), "\n", "; ")
	return fmt.Errorf("%w: %s: %s: %s (%d)", ErrCollectives, n.name, name, text, code)
}

func (n *nccl) fill(c *Collectives) {
	c.Join = func(cards []int) ([]Comm, error) {
		list, comms := make([]int32, len(cards)), make([]Comm, len(cards))
		for i, card := range cards {
			list[i] = int32(card)
		}
		err := n.error("ncclCommInitAll", call(n.commInitAll, uintptr(unsafe.Pointer(&comms[0])), uintptr(len(list)), uintptr(unsafe.Pointer(&list[0]))))
		return comms, err
	}
	c.Sum = func(to, from Ptr, floats int64, m Comm, s Stream) error {
		return n.error("ncclAllReduce", call(n.allReduce, uintptr(from), uintptr(to), uintptr(floats), ncclFloat32, ncclSum, uintptr(m), uintptr(s)))
	}
	c.Failed = func(m Comm) error {
		var code int32
		if err := n.error("ncclCommGetAsyncError", call(n.commGetAsyncError, uintptr(m), uintptr(unsafe.Pointer(&code)))); err != nil {
			return err
		}
		if code == ncclInProgress {
			return nil
		}
		return n.error("ncclAllReduce", int(code))
	}
	c.Abort = func(m Comm) error { return n.error("ncclCommAbort", call(n.commAbort, uintptr(m))) }
	c.Leave = func(m Comm) error { return n.error("ncclCommDestroy", call(n.commDestroy, uintptr(m))) }
}
