// Package gpu checks the kernels of kernels/gpu on a card against their plain meaning: on an emulated one (tests/fakecard), or on the real
// one that INGOT_TEST_CARD names (cuda:0, hip:1).
//
// On the emulated card every access of a kernel is checked too: bounds, and races between blocks and between threads.
package gpu

import (
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"ingot/engine/device/driver"
	"ingot/tests/fakecard"
)

// card is one card with a stream; it belongs to the test's goroutine.
type card struct {
	*driver.Driver
	t      *testing.T
	props  driver.Props
	stream driver.Stream
	number int
}

// cards counts the emulated ones, so that none has a fault of the one before.
var cards int

// open returns the card to test on. arch is what an emulated one is: "gfx906" (waves of 64), "gfx1030" (32), "sm_80" (32 and mma).
func open(t *testing.T, arch string) *card {
	t.Helper()
	return openConfigured(t, "check=1 arch="+arch)
}

// archs are the emulated cards that kernels are tested on: waves of 64 and of 32, and with matrix units.
var archs = []string{"gfx906:sramecc+:xnack-", "gfx1030", "sm_80"}

// onEach runs a test on a card of each kind.
func onEach(t *testing.T, test func(t *testing.T, c *card)) {
	for _, arch := range archs {
		t.Run(arch, func(t *testing.T) { test(t, open(t, arch)) })
		if os.Getenv("INGOT_TEST_CARD") != "" {
			return
		}
	}
}

// openConfigured is open with FAKECARD's words (tests/fakecard/src/card.h) for an emulated card.
func openConfigured(t *testing.T, config string) *card {
	t.Helper()
	runtime.LockOSThread()
	t.Cleanup(runtime.UnlockOSThread)
	kind, number := "hip", 0
	if strings.Contains(config, "arch=sm_") {
		kind = "cuda"
	}
	if name := os.Getenv("INGOT_TEST_CARD"); name != "" {
		var n string
		kind, n, _ = strings.Cut(name, ":")
		number, _ = strconv.Atoi(n)
	} else {
		if fakecard.Compiler() == "" {
			t.Skip("no C++ compiler for the emulated card")
		}
		lib, err := fakecard.Build()
		if err != nil {
			t.Fatal(err)
		}
		cards++
		for _, e := range fakecard.Environment(lib, fmt.Sprintf("%s run=%d", config, cards)) {
			k, v, _ := strings.Cut(e, "=")
			t.Setenv(k, v)
		}
	}
	d, err := driver.Open(kind)
	if err != nil {
		t.Fatal(err)
	}
	c := &card{Driver: d, t: t, number: number}
	c.ok(c.Use(number))
	c.props, err = c.Props(number)
	c.ok(err)
	c.stream, err = c.NewStream()
	c.ok(err)
	t.Cleanup(func() { c.FreeStream(c.stream) })
	return c
}

func (c *card) ok(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// emulated tells whether the card is tests/fakecard's.
func (c *card) emulated() bool {
	_, err := c.Symbol("fakecard_why")
	return err == nil
}

// compile makes a kernel of a file of kernels/gpu; defines are such as "THREADS=256".
func (c *card) compile(src driver.Source, kernel string, defines ...string) driver.Function {
	c.t.Helper()
	var options []string
	for _, d := range defines {
		options = append(options, "-D"+d)
	}
	image, log, err := c.Compile(src, c.props.Arch, options)
	if err != nil {
		c.t.Fatalf("%v\n%s", err, log)
	}
	m, err := c.Load(image)
	c.ok(err)
	f, err := c.Find(m, kernel)
	c.ok(err)
	return f
}

// room is n bytes of the card's memory, freed with the test. New memory is not zero.
func (c *card) room(n int) driver.Ptr {
	c.t.Helper()
	p, err := c.Malloc(int64(n))
	c.ok(err)
	c.t.Cleanup(func() { c.Free(p) })
	return p
}

// put copies values to the card.
func put[T any](c *card, v []T) driver.Ptr {
	c.t.Helper()
	n := int64(len(v)) * int64(unsafe.Sizeof(v[0]))
	p := c.room(int(n))
	c.move(n, func(host unsafe.Pointer) {
		copy(unsafe.Slice((*T)(host), len(v)), v)
		c.ok(c.Upload(p, host, n, c.stream))
		c.ok(c.Sync(c.stream))
	})
	return p
}

// get copies n values from the card, once all that was launched is done.
func get[T any](c *card, p driver.Ptr, n int) []T {
	c.t.Helper()
	v := make([]T, n)
	size := int64(n) * int64(unsafe.Sizeof(v[0]))
	c.move(size, func(host unsafe.Pointer) {
		c.ok(c.Download(host, p, size, c.stream))
		c.sync()
		copy(v, unsafe.Slice((*T)(host), n))
	})
	return v
}

func (c *card) move(n int64, with func(host unsafe.Pointer)) {
	c.t.Helper()
	host, err := c.HostMalloc(n)
	c.ok(err)
	defer c.HostFree(host)
	with(host)
}

// launch starts a kernel; args is a pointer to its struct.
func launch[A any](c *card, f driver.Function, grid [3]int, threads int, args *A) {
	c.t.Helper()
	c.ok(c.Launch(f, grid, threads, c.stream, unsafe.Pointer(args)))
}

// sync waits for the stream; a fault of an emulated card is told in words.
func (c *card) sync() {
	c.t.Helper()
	if err := c.Sync(c.stream); err != nil {
		c.t.Fatalf("%v %s", err, c.why())
	}
}

// why is what an emulated card says of its fault.
func (c *card) why() string {
	s, err := c.CallText("fakecard_why")
	if errors.Is(err, driver.ErrMissing) {
		return ""
	}
	return s
}

// near fails where got is further from want than most, as a share of want's root mean square.
func near(t *testing.T, what string, got, want []float32, most float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d values, expected %d", what, len(got), len(want))
	}
	var sum float64
	for _, w := range want {
		sum += float64(w) * float64(w)
	}
	scale := math.Sqrt(sum / float64(len(want)))
	for i := range want {
		if d := math.Abs(float64(got[i]) - float64(want[i])); !(d <= most*scale) {
			t.Fatalf("%s: value %d is %v, expected %v (%.2g of the root mean square %.3g)", what, i, got[i], want[i], d/scale, scale)
		}
	}
}
