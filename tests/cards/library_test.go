package cards

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"ingot/engine/device"
	"ingot/engine/device/driver"
	"ingot/engine/exec"
	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/engine/tensor"
)

// The library's functions as Ingot calls them: each card's thread puts its sums on its own stream.
func TestLibrarySums(t *testing.T) {
	emulatedOnly(t)
	const lanes, n = 4, 1001
	for kind, name := range map[string]string{"hip": "RCCL", "cuda": "NCCL"} {
		emulate(t, fmt.Sprintf("cards=%d arch=sm_80", lanes))
		d, err := driver.Open(kind)
		if err != nil {
			t.Fatal(err)
		}
		c, err := d.Collectives()
		if err != nil {
			t.Fatal(err)
		}
		if c.Name != name || c.Version != "2.18.3" {
			t.Errorf("%s: %s %s", kind, c.Name, c.Version)
		}
		if err := d.Use(0); err != nil {
			t.Fatal(err)
		}
		comms, err := c.Join([]int{0, 1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Join([]int{0, 0}); !errors.Is(err, driver.ErrCollectives) || !strings.Contains(err.Error(), name+": ncclCommInitAll: invalid usage") {
			t.Errorf("%s: a card twice: %v", kind, err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		in, want := [lanes][]float32{}, make([]float32, n)
		for i := range in {
			in[i] = make([]float32, n)
			for k := range in[i] {
				in[i][k] = float32(r.NormFloat64())
				want[k] += in[i][k]
			}
		}
		var got [lanes][]float32
		var wait sync.WaitGroup
		for i := range lanes {
			wait.Go(func() {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				for range 2 { // the second time with the same bits
					v, err := sumOnce(d, c, i, comms[i], in[i])
					if err != nil || got[i] != nil && !slices.Equal(got[i], v) {
						t.Errorf("%s:%d: %v", kind, i, err)
					}
					got[i] = v
				}
				if err := c.Leave(comms[i]); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		for i := range lanes {
			if e := distance(got[i], want); !(e < 1e-6) || !slices.Equal(got[i], got[0]) {
				t.Errorf("%s:%d: %.2g away", kind, i, e)
			}
			if count(t, i, sums) != 2 || count(t, i, summed) != 2*4*n || count(t, i, members) != 0 {
				t.Errorf("%s:%d: %d sums, %d bytes, %d members left", kind, i, count(t, i, sums), count(t, i, summed), count(t, i, members))
			}
		}
	}
}

func sumOnce(d *driver.Driver, c *driver.Collectives, card int, m driver.Comm, in []float32) ([]float32, error) {
	if err := d.Use(card); err != nil {
		return nil, err
	}
	bytes := int64(len(in)) * 4
	s, err := d.NewStream()
	if err != nil {
		return nil, err
	}
	defer d.FreeStream(s)
	p, err := d.Malloc(bytes)
	if err != nil {
		return nil, err
	}
	host, err := d.HostMalloc(bytes)
	if err != nil {
		return nil, err
	}
	defer d.HostFree(host)
	v := unsafe.Slice((*float32)(host), len(in))
	copy(v, in)
	if err := errors.Join(d.Upload(p, host, bytes, s), c.Sum(p, p, int64(len(in)), m, s), d.Download(host, p, bytes, s)); err != nil {
		return nil, err
	}
	if err := d.SyncWithin(s, time.Minute, func() { err = errors.Join(err, c.Failed(m)) }); err != nil {
		return nil, err
	}
	return slices.Clone(v), err
}

// byLibrary lets sums of so many floats go by the library: a prompt of the conversation has 11 rows of 64.
func byLibrary(t *testing.T, least int) {
	t.Helper()
	t.Setenv("GGML_CUDA_ALLREDUCE", "nccl")
	t.Setenv("INGOT_NCCL_MIN_NE", fmt.Sprint(least))
}

const promptFloats = 11 * 64

// Long sums go by the library, with the answer of our own kernels but for the order of sums and the same bits every time; shorter ones
// and those of decoding do not.
func TestLongSums(t *testing.T) {
	emulatedOnly(t)
	m := tiny(t, "llama", tensor.F16)
	for _, c := range []struct {
		config string
		topology
	}{
		{"", topology{cards: 4, tps: 4, mode: plan.ModeTensor}},
		{"", topology{cards: 4, tps: 2, mode: plan.ModeTensor}},
		{"peers=0", topology{cards: 4, tps: 4, mode: plan.ModeTensor}},
	} {
		t.Run(c.String()+" "+c.config, func(t *testing.T) {
			config := "cards=4 " + c.config
			emulate(t, config)
			r, top := m.open(t, some(t, "hip", 4), c.topology)
			want := answer(t, r)
			if n := count(t, 0, sums); n != 0 {
				t.Errorf("%d sums by the library, which nobody asked for", n)
			}
			each := int64(0) // sums of a run of the first stage
			for i := range top.Stages[0].Lanes[0].Plan.Steps {
				s := &top.Stages[0].Lanes[0].Plan.Steps[i]
				if _, ok := s.Op.(plan.AllReduce); ok && s.Rows == graph.AllRows { // not those of the rows that are wanted
					each++
				}
			}
			for _, l := range []struct {
				least int
				runs  int64 // that use it
			}{{promptFloats, 1}, {promptFloats + 1, 0}} {
				byLibrary(t, l.least)
				emulate(t, config)
				r, _, err := m.load(some(t, "hip", 4), c.topology)
				if err != nil {
					t.Fatal(err)
				}
				before := count(t, 0, sums)
				got := answer(t, r)
				if n := count(t, 0, sums) - before; n != l.runs*each || each == 0 {
					t.Errorf("from %d floats on: %d sums by the library, expected %d", l.least, n, l.runs*each)
				}
				if d := distance(got, want); !(d < 1e-5) || l.runs == 0 && d != 0 {
					t.Errorf("from %d floats on: %.2g away", l.least, d)
				}
				if again := answer(t, r); !slices.Equal(got, again) {
					t.Errorf("from %d floats on: the second answer has other bits", l.least)
				}
				r.Close()
				if n := count(t, 3, members); n != 0 {
					t.Errorf("%d members of groups are left", n)
				}
			}
		})
	}
}

// Without the library, or with one that does not work from the start, our own kernels sum; the lanes say why.
func TestLibraryThatCannotBeUsed(t *testing.T) {
	emulatedOnly(t)
	m := tiny(t, "llama", tensor.F16)
	c := topology{cards: 2, tps: 2, mode: plan.ModeTensor}
	emulate(t, "cards=2")
	r, _ := m.open(t, some(t, "hip", 2), c)
	want := answer(t, r)
	byLibrary(t, promptFloats)
	whole, err := os.ReadFile(os.Getenv("INGOT_RCCL_LIBRARY"))
	if err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(t.TempDir(), "librccl.so")
	if err := os.WriteFile(foreign, whole, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]struct{ config, library, text string }{
		"no library":            {library: "/nowhere/librccl.so", text: "librccl.so: not found"},
		"a symbol missing":      {library: partial(t), text: "symbol ncclCommAbort"},
		"of another runtime":    {library: foreign, text: "another HIP runtime"},
		"does not connect":      {config: "nccl=0", text: "RCCL: ncclCommInitAll: unhandled system error"},
		"the first sum refused": {config: "sum_fails=1:1", text: "hip:1: the library of collectives failed: RCCL: ncclAllReduce"},
		"the first sum is lost": {config: "sum_lost=1:1", text: "hip:1: the library of collectives failed: RCCL: ncclAllReduce: remote"},
	} {
		t.Run(name, func(t *testing.T) {
			emulate(t, "cards=2 "+f.config)
			if f.library != "" {
				t.Setenv("INGOT_RCCL_LIBRARY", f.library)
			}
			r, lanes := m.lanes(t, some(t, "hip", 2), c)
			if got := answer(t, r); !slices.Equal(got, want) {
				t.Errorf("other bits: %.2g away", distance(got, want))
			}
			if how := lanes[0].(interface{ Meets() string }).Meets(); !strings.HasPrefix(how, "by kernels, card to card (") || !strings.Contains(how, f.text) {
				t.Errorf("the lanes meet %s", how)
			}
			for i := range 2 {
				if n := count(t, i, members); n != 0 {
					t.Errorf("card %d is still a member of %d groups", i, n)
				}
			}
		})
	}
}

// A sum that fails ends the run with the library's and the card's name, at once on all lanes; from then on our own kernels sum.
func TestLibraryFaults(t *testing.T) {
	emulatedOnly(t)
	m := tiny(t, "llama", tensor.F16)
	for _, c := range []struct {
		config, text string
		topology
	}{
		{"sum_fails=2:3", "hip:2: the library of collectives failed: RCCL: ncclAllReduce: unhandled system error (2)", topology{cards: 4, tps: 4, mode: plan.ModeTensor}},
		{"sum_lost=1:2", "hip:1: the library of collectives failed: RCCL: ncclAllReduce: remote process exited", topology{cards: 4, tps: 2, mode: plan.ModeTensor}},
	} {
		emulate(t, "cards=4")
		r, _ := m.open(t, some(t, "hip", 4), c.topology)
		want := answer(t, r)
		byLibrary(t, promptFloats)
		emulate(t, "cards=4 "+c.config)
		r, lanes := m.lanes(t, some(t, "hip", 4), c.topology)
		start := time.Now()
		_, err := conversation(r)
		if !errors.Is(err, driver.ErrCollectives) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.config, err)
		}
		if took := time.Since(start); took > time.Minute { // a hung card is given two
			t.Errorf("%s: the run ended after %v", c.config, took)
		}
		before := count(t, 0, sums)
		if got := answer(t, r); !slices.Equal(got, want) {
			t.Errorf("%s: afterwards %.2g away", c.config, distance(got, want))
		}
		if n := count(t, 0, sums); n != before {
			t.Errorf("%s: %d sums by the library afterwards", c.config, n-before)
		}
		if how := lanes[0].(interface{ Meets() string }).Meets(); !strings.Contains(how, "given up") {
			t.Errorf("%s: the lanes meet %s", c.config, how)
		}
		t.Setenv("GGML_CUDA_ALLREDUCE", "")
	}
}

// lanes is open with the first stage's lanes.
func (m *model) lanes(t testing.TB, on []device.Card, c topology) (*exec.Runner, []device.Lane) {
	t.Helper()
	stages, _, err := m.stages(on, c)
	if err != nil {
		t.Fatal(err)
	}
	r := exec.New(stages...)
	t.Cleanup(r.Close)
	return r, stages[0].Lanes
}
