package cards

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ingot/engine"
	"ingot/engine/arch/archtest"
	"ingot/engine/device"
	"ingot/engine/device/driver"
	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/engine/tensor"
	"ingot/kernels/gpu"
	"ingot/tests/fakecard"
)

func emulatedOnly(t *testing.T) {
	t.Helper()
	if realCard() != "" {
		t.Skip("faults are those of emulated cards")
	}
}

func TestNoDriver(t *testing.T) {
	emulatedOnly(t)
	t.Setenv("INGOT_HIP_LIBRARY", "/nowhere/libamdhip64.so")
	t.Setenv("INGOT_CUDA_LIBRARY", "/nowhere/libcuda.so")
	for kind, name := range map[string]string{"hip": "libamdhip64", "cuda": "libcuda"} {
		_, err := device.SimtCards(kind)
		if !errors.Is(err, driver.ErrMissing) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// partial is a library of each kind that lacks a function.
func partial(t *testing.T) string {
	t.Helper()
	if fakecard.Compiler() == "" {
		t.Skip("no C++ compiler for the emulated cards")
	}
	lib, err := fakecard.Build("hipGraphLaunch", "cuMemsetD8Async", "ncclCommAbort")
	if err != nil {
		t.Fatal(err)
	}
	return lib
}

func TestDriverWithoutASymbol(t *testing.T) {
	emulatedOnly(t)
	lib := partial(t)
	for _, e := range fakecard.Environment(lib, "cards=1") {
		k, v, _ := strings.Cut(e, "=")
		t.Setenv(k, v)
	}
	for kind, symbol := range map[string]string{"hip": "hipGraphLaunch", "cuda": "cuMemsetD8Async"} {
		if _, err := device.SimtCards(kind); !errors.Is(err, driver.ErrMissing) || !strings.Contains(err.Error(), symbol) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestNoCards(t *testing.T) {
	emulatedOnly(t)
	emulate(t, "cards=0")
	for _, kind := range device.SimtKinds {
		if _, err := device.SimtCards(kind); !errors.Is(err, driver.ErrNoCard) {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// A card that has too little memory is named, with what it lacks; so is one whose driver refuses what it said was free.
func TestOutOfMemory(t *testing.T) {
	emulatedOnly(t)
	m := tiny(t, "llama", tensor.Q8_0)
	for _, c := range []struct{ config, card, text string }{
		{"cards=4 memory=100K", "hip:", "too many"},
		{"cards=4 oom=2 oom_after=64K", "hip:2", "MiB free"},
	} {
		emulate(t, c.config)
		r, _, err := m.load(some(t, "hip", 4), topology{cards: 4, tps: 4, mode: plan.ModeTensor})
		if err == nil {
			r.Close()
		}
		if !errors.Is(err, device.ErrMemory) || !strings.Contains(err.Error(), c.card) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.config, err)
		}
		for i := range 4 { // what the other cards had taken is free again
			if n := count(t, i, used); n != 0 {
				t.Errorf("%s: card %d still holds %d bytes", c.config, i, n)
			}
		}
	}
}

// What a card did, of tests/fakecard/src/hip.cpp.
const (
	launches = iota
	graphs
	bytesUp
	bytesDown
	bytesAcross
	bytesWithin
	used
	sums    // by the library of collectives
	summed  // bytes
	members // of its groups that are not freed
)

func count(t *testing.T, card, what int) int64 {
	t.Helper()
	d, err := driver.Open("hip")
	if err != nil {
		t.Fatal(err)
	}
	n, err := d.Call("fakecard_count", uintptr(card), uintptr(what))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Each way of meeting and of launching gives the same bits, and is the one that was asked for.
func TestSwitches(t *testing.T) {
	emulatedOnly(t)
	for _, name := range []string{"qwen3moe", "qwen35"} {
		m := tiny(t, name, tensor.Q8_0)
		c := topology{cards: 4, tps: 4, mode: plan.ModeTensor, repack: true}
		emulate(t, "cards=4")
		r, top := m.open(t, some(t, "hip", 4), c)
		want := answer(t, r)
		launched := launchedBy(t, 4)
		if g := count(t, 0, graphs); g == 0 {
			t.Error("decoding launched no graph")
		}
		if n := count(t, 1, bytesDown); n != 0 {
			t.Errorf("the second lane sent %d bytes to the host", n)
		}
		for what, f := range map[string]struct {
			config, env, value string
			check              func() error
		}{
			"no peer access": {config: "peers=0", check: func() error {
				if n := count(t, 1, bytesDown); n == 0 {
					return errors.New("nothing went through the host")
				}
				return nil
			}},
			"no collectives of our own": {env: "GGML_ENABLE_CUSTOM_AR", value: "0"},
			"two-shot":                  {env: "GGML_TP_AR_TWOSHOT", value: "1"},
			"two-shot from 64 on":       {env: "GGML_TP_AR_TWOSHOT_MIN_NE", value: "64"},
			"broadcast":                 {env: "GGML_TP_AR_TWOSHOT", value: "0"},
			"no token graph": {env: "GGML_META_TOKEN_GRAPH", value: "0", check: func() error {
				if n := count(t, 0, graphs); n != 0 {
					return fmt.Errorf("%d graphs", n)
				}
				return nil
			}},
			"no gated units": {env: "GGML_CUDA_REPACK_KQUANT_MOE_FUSION", value: "0", check: func() error {
				if n, want := launchedBy(t, 4)-launched, spared(top.Stages[0].Lanes); n != want || want == 0 {
					return fmt.Errorf("%d launches more, expected %d", n, want)
				}
				return nil
			}},
			"capture refused": {config: "capture=0", check: func() error {
				if n := count(t, 0, graphs); n != 0 {
					return fmt.Errorf("%d graphs", n)
				}
				return nil
			}},
		} {
			t.Run(name+" "+what, func(t *testing.T) {
				emulate(t, "cards=4 "+f.config)
				if f.env != "" {
					t.Setenv(f.env, f.value)
				}
				r, _ := m.open(t, some(t, "hip", 4), c)
				if got := answer(t, r); !slices.Equal(got, want) {
					t.Errorf("other bits: %.2g away", distance(got, want))
				}
				if f.check != nil {
					if err := f.check(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		t.Run(name+" not repacked", func(t *testing.T) {
			emulate(t, "cards=4")
			c := c
			c.repack = false
			r, _ := m.open(t, some(t, "hip", 4), c)
			if got := answer(t, r); !(distance(got, want) < 1e-5) {
				t.Errorf("%.2g away", distance(got, want))
			}
		})
	}
}

// launchedBy is the launches of so many cards.
func launchedBy(t *testing.T, cards int) (n int64) {
	for i := range cards {
		n += count(t, i, launches)
	}
	return n
}

// spared is how many launches a conversation has less for gated units: of few rows two each, of prompts that of the activation, and of
// experts that of ordering their slots.
func spared(lanes []plan.Lane) (n int64) {
	for _, rows := range []int{16, 1, 8, 2, 2} { // that the batches' programs are for
		for _, l := range lanes {
			for _, s := range l.Plan.Steps {
				switch s.Op.(type) {
				case plan.Gated:
					if n++; rows <= gpu.Narrow || s.Rows == graph.OutRows {
						n++
					}
				case plan.GatedExperts:
					n += 2
				}
			}
		}
	}
	return n
}

// A card that others use has room for what they leave.
func TestPlanCountsWhatIsFree(t *testing.T) {
	emulatedOnly(t)
	emulate(t, "cards=1 memory=600M")
	path := filepath.Join(t.TempDir(), "model.gguf")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	err = archtest.Write(f, archtest.Meta("llama"), tensor.Q8_0, nil)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	fits := func(free bool) (string, *engine.Lane) {
		p, err := engine.Plan(path, engine.PlanOptions{Options: engine.Options{Cards: []string{"hip:0"}}, Free: free})
		if err != nil {
			t.Fatal(err)
		}
		return p.Topologies[0].Problem, &p.Topologies[0].Stages[0].Lanes[0]
	}
	if problem, l := fits(true); problem != "" || l.Free == nil || *l.Free != 600<<20 {
		t.Errorf("of an empty card: %q, %+v", problem, l)
	}
	d, err := driver.Open("hip")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Use(0); err != nil {
		t.Fatal(err)
	}
	p, err := d.Malloc(300 << 20)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Free(p)
	if problem, l := fits(true); !strings.HasPrefix(problem, "hip:0 has 300 MiB free of 600 and would need ") || l.Room() != 300<<20 {
		t.Errorf("of half of a card: %q, %+v", problem, l)
	}
	if problem, l := fits(false); problem != "" || l.Free != nil || l.Room() != 600<<20 {
		t.Errorf("of what the card has in all: %q, %+v", problem, l)
	}
}

// A decoded token is one launch of a graph; what goes up is the batch's description and a row, what comes down the logits.
func TestATokenIsOneGraph(t *testing.T) {
	emulatedOnly(t)
	m := tiny(t, "qwen35", tensor.Q8_0)
	emulate(t, "cards=1")
	r, _ := m.open(t, some(t, "hip", 1), topology{cards: 1, mode: plan.ModeNone, repack: true})
	answer(t, r)
	before := []int64{count(t, 0, graphs), count(t, 0, bytesUp), count(t, 0, bytesDown)}
	b := device.Batch{Tokens: []int32{1}, Outs: []int32{0}, Seqs: []device.Seq{{Rows: 1, Pos0: 15, PlaneIn: 3, PlaneOut: 3}}}
	if err := r.Run(&b); err != nil {
		t.Fatal(err)
	}
	after := []int64{count(t, 0, graphs), count(t, 0, bytesUp), count(t, 0, bytesDown)}
	if n := after[0] - before[0]; n != 1 {
		t.Errorf("%d graphs", n)
	}
	if n := after[1] - before[1]; n > 64*4+48+rows*28+outs*4 {
		t.Errorf("%d bytes went up", n)
	}
	if n := after[2] - before[2]; n != archtest.Vocab*4 {
		t.Errorf("%d bytes came down", n)
	}
}

// A card that hangs ends the run with its name, whichever lanes wait for it.
func TestHungCard(t *testing.T) {
	emulatedOnly(t)
	t.Setenv("INGOT_CARD_TIMEOUT", "3")
	m := tiny(t, "llama", tensor.Q8_0)
	for _, c := range []struct {
		hang string
		topology
		library bool // the others wait in a sum of the library
	}{
		{"hang=0:40", topology{cards: 1, mode: plan.ModeNone}, false},
		{"hang=1:40", topology{cards: 2, tps: 2, mode: plan.ModeTensor}, false},
		{"hang=2:40", topology{cards: 4, tps: 4, mode: plan.ModeTensor}, false},
		{"hang=1:20", topology{cards: 2, mode: plan.ModeLayer}, false},
		{"hang=2:20", topology{cards: 4, tps: 4, mode: plan.ModeTensor}, true},
	} {
		if c.library {
			byLibrary(t, promptFloats)
		}
		emulate(t, fmt.Sprintf("cards=%d %s", c.cards, c.hang))
		r, _ := m.open(t, some(t, "hip", c.cards), c.topology)
		_, err := conversation(r)
		want := "hip:" + c.hang[5:6]
		if !errors.Is(err, driver.ErrHung) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", c.hang, err)
		}
		if _, again := conversation(r); again == nil {
			t.Errorf("%s: the lanes run on", c.hang)
		}
	}
}

// Every access of every kernel of a run, over lanes and on one card, is in bounds and raced by none.
func TestKernelsOfARunAreCheckedWhole(t *testing.T) {
	emulatedOnly(t)
	for _, name := range []string{"qwen3moe", "qwen35"} {
		m := tiny(t, name, tensor.Q8_0)
		emulate(t, "cards=2 check=1 patience=120")
		r, _ := m.open(t, some(t, "hip", 2), topology{cards: 2, tps: 2, mode: plan.ModeTensor, repack: true})
		answer(t, r)
	}
}
