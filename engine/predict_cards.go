package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"ingot/engine/device"
	"ingot/engine/plan"
	"ingot/kernels/cpu"
)

// described is the cards of a prediction: their sheets by name, and the processor for what does not fit the others.
type described struct {
	cards  []plan.Card
	host   *plan.Card // nil: not among the cards
	sheets map[string]*plan.Sheet
	free   map[string]int64 // bytes, of cards that are here, where that was asked for
}

func (d *described) named(name string) *plan.Card {
	if i := slices.IndexFunc(d.cards, func(c plan.Card) bool { return c.Name == name }); i >= 0 {
		return &d.cards[i]
	}
	if d.host != nil && d.host.Name == name {
		return d.host
	}
	return nil
}

func (d *described) names() string {
	var all []string
	for _, c := range d.cards {
		all = append(all, c.Name)
	}
	if d.host != nil {
		all = append(all, d.host.Name)
	}
	return strings.Join(all, ", ")
}

// described reads Options.Cards: names of data sheets, of cards that are here, and cpu; nothing: the cards that are here.
func (o *PlanOptions) described() (*described, error) {
	var more []plan.Sheet
	var err error
	if len(o.Sheets) > 0 {
		if more, err = plan.ReadSheets(o.Sheets); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBadRequest, err)
		}
	}
	present, err := Devices()
	if err != nil {
		return nil, err
	}
	names := o.Cards
	if len(names) == 0 {
		for _, c := range present {
			names = append(names, c.Name)
		}
	}
	d := &described{sheets: map[string]*plan.Sheet{}, free: map[string]int64{}}
	here := func(name string, free int64) {
		if o.Free {
			d.free[name] = free
		}
	}
	add := func(name string, s plan.Sheet) {
		d.sheets[name] = &s
		d.cards = append(d.cards, device.Described(name, s.Bandwidth))
	}
	processors, parts := 0, false
	for _, item := range spell(names) {
		if _, part := cpuPart(item); item == "cpu" || part {
			processors++
			parts = parts || part
			continue
		}
		if i := slices.IndexFunc(present, func(c Card) bool { return c.Name == item }); i >= 0 {
			add(item, sheetOf(&present[i], more))
			here(item, present[i].Free)
			continue
		}
		sheets, err := plan.ParseCards(item, more)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBadRequest, err)
		}
		for _, s := range sheets {
			add(fmt.Sprintf("%s:%d", s.Name, len(d.cards)), s)
		}
	}
	if n := len(d.cards) + processors; n > maxLanes {
		return nil, fmt.Errorf("%w: %d cards, expected %d at most", ErrBadRequest, n, maxLanes)
	}
	if processors == 0 {
		return d, nil
	}
	card, err := newCPU(o.Threads, o.Level)
	if err != nil {
		return nil, err
	}
	info := card.Info()
	s, err := processor(info)
	if err != nil {
		return nil, err
	}
	if len(d.cards) > 0 && (parts || processors > 1) {
		return nil, fmt.Errorf("%w: parts of the processor beside other cards", ErrBadRequest)
	}
	if len(d.cards) > 0 {
		c := card.Plan()
		d.host, d.sheets[c.Name] = &c, s
		here(c.Name, info.Free)
		return d, nil
	}
	if processors == 1 && o.TPS > 1 {
		processors = o.TPS
	}
	lanes := []*device.CPU{card}
	if processors > 1 {
		lanes = card.Cut(processors)
	}
	for _, c := range lanes { // lanes of a processor share its memory, and each counts its own share
		part, n := *s, float64(len(lanes))
		part.Memory, part.Bandwidth, part.F16, part.I8 = s.Memory/n, s.Bandwidth/n, s.F16/n, s.I8/n
		p := c.Plan()
		d.sheets[p.Name] = &part
		here(p.Name, info.Free/int64(len(lanes)))
		d.cards = append(d.cards, p)
	}
	return d, nil
}

// sheetOf is the data sheet of a card that is here, found by its description; of one that is not known a guess.
func sheetOf(c *Card, more []plan.Sheet) plan.Sheet {
	gib := float64(c.Total) / (1 << 30)
	for _, s := range append(slices.Clone(more), plan.Sheets...) {
		if strings.Contains(plainText(c.Description), plainText(s.Name)) && gib < 1.1*s.Memory {
			s.Memory = gib
			return s
		}
	}
	return plan.Sheet{Name: c.Description, Memory: gib, Bandwidth: 400, F16: 20}
}

func plainText(s string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(s))
}

// limits are the processor's, measured once for each number of threads.
var limits struct {
	sync.Mutex
	of map[int]*cpu.Limits
}

// processor is the sheet of this machine's processor, from what it was measured to do.
func processor(info device.Info) (*plan.Sheet, error) {
	limits.Lock()
	defer limits.Unlock()
	l := limits.of[info.Threads]
	if l == nil {
		var err error
		if l, err = cpu.MeasureLimits(context.Background(), info.Threads, 256<<20); err != nil {
			return nil, err
		}
		if limits.of == nil {
			limits.of = map[int]*cpu.Limits{}
		}
		limits.of[info.Threads] = l
	}
	// A multiply-add is two operations. Without an instruction of its own a level multiplies as it adds: little.
	floats, ints := 2*l.Peak(info.Level, "bf16", "f32")/1e12, 2*l.Peak(info.Level, "int8")/1e12
	return &plan.Sheet{Name: "cpu", CPU: true, Memory: float64(info.Total) / (1 << 30), Bandwidth: l.Read / 1e9, F16: max(floats, 0.01), I8: ints}, nil
}
