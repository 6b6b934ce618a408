package engine

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"ingot/engine/device"
	"ingot/engine/plan"
	"ingot/kernels/cpu"
)

const maxLanes = 64

// deck is the cards that a model is opened on, by name.
type deck struct {
	host  *device.CPU
	cards map[string]device.Card
	names []string // in the order of Options.Cards
}

// deal finds the cards that the options name. A processor of which parts are named, or which is to have several lanes, is
// cut into that many.
func deal(o *Options, host *device.CPU) (*deck, error) {
	d := &deck{host: host, cards: map[string]device.Card{"cpu": host}}
	names, err := found(spell(o.Cards))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		names = []string{"cpu"}
	}
	if len(names) == 1 && names[0] == "cpu" && o.TPS > 1 && (o.Split == "" || o.Split == "tensor") {
		names = spell([]string{fmt.Sprintf("%dxcpu", o.TPS)})
	}
	parts := 0
	moves, err := o.moves()
	if err != nil {
		return nil, err
	}
	all := slices.Clone(names)
	for _, m := range moves {
		all = append(all, m.card)
	}
	var graphics []string
	for _, n := range all {
		if i, ok := cpuPart(n); ok {
			parts = max(parts, i+1)
		} else if device.SimtName(n) {
			if !slices.Contains(graphics, n) {
				graphics = append(graphics, n)
			}
		} else if n != "cpu" {
			return nil, fmt.Errorf("%w: there is no card %q; cards are cpu, cpu:N, hip:N, cuda:N and up to %d of a kind, such as 4xcpu", ErrBadRequest, n, maxLanes)
		}
	}
	opened, err := device.OpenSimt(graphics)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	for i, n := range graphics {
		d.cards[n] = opened[i]
	}
	for _, m := range moves {
		if _, part := cpuPart(m.card); part && !slices.Contains(names, m.card) {
			return nil, fmt.Errorf("%w: Options.Moves names %q, which is none of the cards %s", ErrBadRequest, m.card, strings.Join(names, ", "))
		}
	}
	for i, n := range names {
		if slices.Contains(names[:i], n) {
			return nil, fmt.Errorf("%w: the card %q is named twice; parts of a processor are cpu:0, cpu:1 and so on", ErrBadRequest, n)
		}
	}
	if parts > maxLanes {
		return nil, fmt.Errorf("%w: the CPU in %d parts, expected up to %d", ErrBadRequest, parts, maxLanes)
	}
	for _, c := range host.Cut(parts) {
		d.cards[c.Info().Name] = c
	}
	d.names = names
	return d, nil
}

// found puts all cards of a driver in the place of its name, "hip" or "cuda", and those of the first driver that has any in the place of
// "auto"; without one that is the processor.
func found(names []string) (all []string, err error) {
	for _, n := range names {
		kinds := []string{n}
		if n == "auto" {
			kinds = device.SimtKinds
		} else if !slices.Contains(device.SimtKinds, n) {
			all = append(all, n)
			continue
		}
		var cards []*device.Simt
		for _, kind := range kinds {
			if cards, err = device.SimtCards(kind); err == nil {
				break
			}
		}
		if n == "auto" && err != nil {
			all = append(all, "cpu")
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrBadRequest, n, err)
		}
		for _, c := range cards {
			all = append(all, c.Info().Name)
		}
	}
	return all, nil
}

// spell writes "4xcpu" as cpu:0 to cpu:3, and other kinds of cards likewise.
func spell(names []string) (all []string) {
	for _, n := range names {
		if count, kind, ok := strings.Cut(n, "x"); ok && (kind == "cpu" || slices.Contains(device.SimtKinds, kind)) {
			if k, err := strconv.Atoi(count); err == nil && k > 0 && k <= maxLanes {
				for i := range k {
					all = append(all, fmt.Sprintf("%s:%d", kind, i))
				}
				continue
			}
		}
		all = append(all, n)
	}
	return all
}

// cpuPart is the number in cpu:N.
func cpuPart(name string) (int, bool) {
	n, ok := strings.CutPrefix(name, "cpu:")
	if !ok {
		return 0, false
	}
	i, err := strconv.Atoi(n)
	return i, err == nil && i >= 0
}

type move struct {
	pattern *regexp.Regexp
	card    string
}

// moves reads Options.Moves.
func (o *Options) moves() (all []move, err error) {
	for _, text := range o.Moves {
		at := strings.LastIndex(text, "=")
		if at < 1 || at == len(text)-1 {
			return nil, fmt.Errorf("%w: Options.Moves has %q, expected PATTERN=CARD", ErrBadRequest, text)
		}
		p, err := regexp.Compile(text[:at])
		if err != nil {
			return nil, fmt.Errorf("%w: Options.Moves: %w", ErrBadRequest, err)
		}
		all = append(all, move{p, text[at+1:]})
	}
	return all, nil
}

// newCPU is the processor with that many threads at the level that Options.Level names, or else INGOT_CPU.
func newCPU(threads int, level string) (*device.CPU, error) {
	l, err := levelOf(level)
	if err != nil {
		return nil, err
	}
	return device.NewCPU(threads, l.String())
}

// levelOf is the instruction-set level of that name; "": the one that INGOT_CPU names.
func levelOf(name string) (cpu.Level, error) {
	from := "Options.Level"
	if name == "" {
		name, from = os.Getenv("INGOT_CPU"), "INGOT_CPU"
	}
	l, err := cpu.ParseLevel(name)
	if err != nil {
		return l, fmt.Errorf("%w: %s: %w", ErrBadRequest, from, err)
	}
	return l, nil
}

// spread is how the model is divided among the cards.
func (d *deck) spread(o *Options, keep plan.Storage) plan.Spread {
	s := plan.Spread{Host: d.host.Plan(), Mode: plan.Mode(o.Split), TPS: o.TPS, Shares: o.Shares, Layers: -1, Keep: keep}
	if o.Layers != nil {
		s.Layers = *o.Layers
	}
	for _, n := range d.names {
		s.Cards = append(s.Cards, d.cards[n].Plan())
	}
	moves, _ := o.moves() // read before
	for _, m := range moves {
		s.Moved = append(s.Moved, plan.Move{Pattern: m.pattern, Card: d.cards[m.card].Plan()})
	}
	return s
}
