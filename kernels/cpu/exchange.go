package cpu

// #include "exchange.h"
import "C"

import (
	"fmt"
	"unsafe"
)

// Exchange is the memory through which the lanes of a stage pass values: AllReduce and AllGather steps of programs that
// run at once, each on a team of its own. Free it when done.
type Exchange struct {
	c      *C.ig_exchange
	floats int64
}

// NewExchange returns an exchange for lanes with that many threads each and values of up to floats floats. It wraps
// ErrMemory.
func NewExchange(threads []int, floats int64) (*Exchange, error) {
	n := make([]C.int32_t, len(threads))
	for i, t := range threads {
		n[i] = C.int32_t(t)
	}
	c := C.ig_exchange_new(C.int(len(n)), &n[0], C.int64_t(floats))
	if c == nil {
		return nil, fmt.Errorf("%w: an exchange of %d lanes and %d values", ErrMemory, len(n), floats)
	}
	return &Exchange{c, floats}, nil
}

// ExchangeBytes is the memory that a lane adds to an exchange for values of up to floats floats.
func ExchangeBytes(floats int64) int64 { return 2 * 4 * ((floats + 1023) &^ 1023) }

// Pointer is what steps name the exchange by.
func (e *Exchange) Pointer() unsafe.Pointer { return unsafe.Pointer(e.c) }

// GiveUp ends all waiting in the exchange's steps, whose results then mean nothing: a lane has failed. It may be called from
// any goroutine, at any time.
func (e *Exchange) GiveUp() { C.ig_exchange_give_up(e.c) }

// Reset makes an exchange usable again. No lane may be running.
func (e *Exchange) Reset() { C.ig_exchange_reset(e.c) }

// Free returns the memory. Freeing twice is harmless.
func (e *Exchange) Free() {
	if e.c != nil {
		C.ig_exchange_free(e.c)
		e.c = nil
	}
}
