package device

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"ingot/engine/device/driver"
	"ingot/engine/plan"
	"ingot/kernels/gpu"
)

// Simt is a graphics card.
type Simt struct {
	d       *driver.Driver
	index   int
	name    string
	props   driver.Props
	kernels *kernels
	// patience is how long a run may take before the card counts as hung.
	patience time.Duration
}

// SimtKinds are the drivers there may be, in the order in which cards are listed.
var SimtKinds = []string{"hip", "cuda"}

const defaultPatience = 2 * time.Minute

// SimtCards lists the cards of a kind of driver, "hip" or "cuda". The error says in one line why there are none.
//
// INGOT_CARD_TIMEOUT in the environment is the seconds after which a card that does not finish a run counts as hung; 120.
func SimtCards(kind string) ([]*Simt, error) {
	d, err := driver.Open(kind)
	if err != nil {
		return nil, err
	}
	patience := defaultPatience
	if s, err := strconv.ParseFloat(os.Getenv("INGOT_CARD_TIMEOUT"), 64); err == nil && s > 0 {
		patience = time.Duration(s * float64(time.Second))
	}
	var all []*Simt
	for i := range d.Count {
		c := &Simt{d: d, index: i, name: fmt.Sprintf("%s:%d", kind, i), patience: patience}
		if err := c.with(func() (err error) {
			c.props, err = d.Props(i)
			return err
		}); err != nil {
			return nil, fmt.Errorf("%s: %w", c.name, err)
		}
		c.kernels = &kernels{card: c, modules: map[gpu.Module]driver.Module{}, functions: map[string]driver.Function{}}
		all = append(all, c)
	}
	return all, nil
}

// SimtName tells whether a card's name is one of a graphics card: "hip:0", or "hip:0.1" for a lane of its own on a card that has
// several.
func SimtName(name string) bool {
	kind, _, ok := strings.Cut(name, ":")
	return ok && slices.Contains(SimtKinds, kind)
}

// OpenSimt finds the cards with these names. The error wraps driver.ErrNoCard or says why the driver cannot be used.
func OpenSimt(names []string) ([]Card, error) {
	kinds := map[string][]*Simt{}
	var all []Card
	for _, name := range names {
		kind, number, _ := strings.Cut(name, ":")
		cards, ok := kinds[kind]
		if !ok {
			var err error
			if cards, err = SimtCards(kind); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			kinds[kind] = cards
		}
		number, _, _ = strings.Cut(number, ".")
		i, err := strconv.Atoi(number)
		if err != nil || i < 0 || i >= len(cards) {
			return nil, fmt.Errorf("%s: %w of that name; the last is %s:%d", name, driver.ErrNoCard, kind, len(cards)-1)
		}
		c := *cards[i]
		c.name = name
		all = append(all, &c)
	}
	return all, nil
}

// with calls f on a thread whose card this is.
func (c *Simt) with(f func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := c.d.Use(c.index); err != nil {
		return err
	}
	return f()
}

// Info describes the card.
func (c *Simt) Info() Info {
	i := Info{Name: c.name, Description: fmt.Sprintf("%s, %s", c.props.Name, strings.SplitN(c.props.Arch, ":", 2)[0]), Level: c.props.Arch, Bus: c.props.BusID}
	c.with(func() (err error) {
		i.Free, i.Total, err = c.d.MemInfo()
		return err
	})
	return i
}

// Plan is what the planner must know of the card.
func (c *Simt) Plan() plan.Card {
	return Described(c.name, 1)
}

// info is what launches depend on.
func (c *Simt) info() gpu.Card {
	return gpu.Card{Wave: c.props.Wave, Units: max(c.props.Units, 1), MMA: gpu.HasMMA(c.props.Arch)}
}

// load makes the lanes of a stage, each on a thread of its own: uploads overlap.
func (c *Simt) load(cards []Card, specs []Spec) ([]Lane, error) {
	g, err := newSimtGroup(cards, specs)
	if err != nil {
		return nil, err
	}
	lanes, errs := make([]Lane, len(cards)), make([]error, len(cards))
	var wait sync.WaitGroup
	var mu sync.Mutex
	done := make([]float64, len(cards))
	for i, card := range cards {
		wait.Go(func() {
			s := specs[i]
			s.Progress = func(part float64) {
				mu.Lock()
				defer mu.Unlock()
				done[i] = part
				sum := 0.0
				for _, d := range done {
					sum += d
				}
				if specs[0].Progress != nil {
					specs[0].Progress(sum / float64(len(done)))
				}
			}
			card := card.(*Simt)
			errs[i] = card.with(func() error {
				l, err := newSimtLane(card, s, g, i)
				if err == nil {
					lanes[i] = l
				}
				return err
			})
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		for _, l := range lanes {
			if l != nil {
				l.Close()
			}
		}
		for _, err := range errs {
			if err != nil {
				return nil, err
			}
		}
	}
	if err := g.join(lanes); err != nil {
		for _, l := range lanes {
			l.Close()
		}
		return nil, err
	}
	return lanes, nil
}

// kernels are the compiled ones of a card, shared by its lanes.
type kernels struct {
	card      *Simt
	mu        sync.Mutex
	modules   map[gpu.Module]driver.Module
	functions map[string]driver.Function
}

// find returns a launch's kernel, compiled now where the cache on disk does not have it.
func (k *kernels) find(l *gpu.Launch) (driver.Function, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := l.Module.String() + " " + l.Entry
	if f, ok := k.functions[name]; ok {
		return f, nil
	}
	m, ok := k.modules[l.Module]
	if !ok {
		var err error
		if m, err = k.module(l.Module); err != nil {
			return 0, fmt.Errorf("%s: %w", k.card.name, err)
		}
		k.modules[l.Module] = m
	}
	f, err := k.card.d.Find(m, l.Entry)
	if err != nil {
		return 0, fmt.Errorf("%s: %v: %w", k.card.name, l.Module, err)
	}
	k.functions[name] = f
	return f, nil
}

func (k *kernels) module(m gpu.Module) (driver.Module, error) {
	d := k.card.d
	text, err := gpu.Source(d.Kind, m)
	if err != nil {
		return 0, err
	}
	image, err := d.Cached(kernelCache(), driver.Source{Name: m.File, Text: text}, k.card.props.Arch, []string{"-std=c++17"})
	if err != nil {
		return 0, fmt.Errorf("%v: %w", m, err)
	}
	return d.Load(image)
}

// kernelCache is the folder of compiled kernels: INGOT_KERNEL_CACHE, or one in the user's cache. Of a driver that the environment
// names nothing is kept.
func kernelCache() string {
	if dir, ok := os.LookupEnv("INGOT_KERNEL_CACHE"); ok {
		return dir
	}
	if os.Getenv("INGOT_HIP_LIBRARY") != "" || os.Getenv("INGOT_CUDA_LIBRARY") != "" {
		return ""
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "ingot", "kernels")
}
