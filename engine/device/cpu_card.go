package device

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/engine/tensor"
	"ingot/kernels/cpu"
)

// CPU is the processor as a card, or a set of its cores.
type CPU struct {
	name    string
	threads int
	level   cpu.Level
	cores   []int // that the threads are bound to, one each; nil: the system chooses
	parts   int   // of the processor, which is one of them; 0: all of it
	team    *sharedTeam
}

// NewCPU returns the processor with that many threads (below 1: one a physical core) at an instruction-set level
// ("": the best there is).
func NewCPU(threads int, level string) (*CPU, error) {
	l, err := cpu.ParseLevel(level)
	if err != nil {
		return nil, err
	}
	if threads < 1 {
		threads = cpu.Cores()
	}
	return &CPU{name: "cpu", threads: threads, level: l, team: &sharedTeam{threads: threads}}, nil
}

// Cut divides the processor into n cards, cpu:0 to cpu:n-1, which share its threads evenly, at least one each. Where every
// thread can have a core of its own it gets one, a card's cores side by side and so on one memory node as far as they fit.
func (c *CPU) Cut(n int) []*CPU {
	cores := cpu.CoreList()
	var all []*CPU
	for i := range n {
		from, to := c.threads*i/n, c.threads*(i+1)/n
		p := &CPU{name: fmt.Sprintf("cpu:%d", i), threads: max(to-from, 1), level: c.level, parts: n}
		if n <= c.threads && c.threads <= len(cores) {
			p.cores = slices.Clone(cores[from:to])
		}
		p.team = &sharedTeam{threads: p.threads, cores: p.cores}
		all = append(all, p)
	}
	return all
}

// Info describes the processor.
func (c *CPU) Info() Info {
	total, free := systemMemory()
	if c.parts > 0 { // of memory that all parts share
		total, free = total/int64(c.parts), free/int64(c.parts)
	}
	return Info{Name: c.name, Description: fmt.Sprintf("%s, %s, %v", processorName(), threads(c.threads), c.level),
		Total: total, Free: free, Threads: c.threads, Level: c.level.String()}
}

func threads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// Plan is what the planner must know of the processor.
func (c *CPU) Plan() plan.Card {
	return plan.Card{Name: c.name, Speed: float64(c.threads), QuantRow: cpu.QuantizedRow, Scratch: c.scratch, Table: c.parts == 0}
}

// counts tells whether a weight counts as the card's memory: the parts of a processor share the tables they look up in.
func (c *CPU) counts(table bool) bool { return !table || c.parts == 0 }

// scratch is what a lane allocates beside the plan's arena, its weights and its states.
func (c *CPU) scratch(p *plan.Plan, typ func(*graph.Weight) tensor.Type) (n int64) {
	if floats := attentionFloats(p); floats > 0 {
		n += (floats + cpu.AttentionShared) * 4 * int64(c.threads)
	}
	if p.Lanes > 1 {
		n += cpu.ExchangeBytes(exchanged(p))
	}
	vectors, ropes := map[*graph.Weight]bool{}, map[*graph.Rope]bool{}
	for i := range p.Steps {
		s := &p.Steps[i]
		from := 0
		switch op := s.Op.(type) {
		case graph.Linear, graph.Experts:
			from = 1
		case graph.Embed:
			from = len(s.W)
		case graph.Conv:
			n += s.W[0].Shape[0] * s.W[0].Shape[1] * 4
		case graph.Rotate:
			if ropes[op.Rope] {
				from = len(s.W)
			} else {
				ropes[op.Rope] = true
				n += int64(op.Rope.Dims/2) * 8
			}
		case plan.AllGather:
			n += int64(len(op.Cols)) * 4
		}
		for _, w := range s.W[min(from, len(s.W)):] {
			if elements, err := tensor.Elements(w.Shape); err == nil && !vectors[w] && !mappedVector(w, typ(w)) {
				n += elements * 4
			}
			vectors[w] = true
		}
	}
	return n
}

// attentionFloats is what one thread needs to attend.
func attentionFloats(p *plan.Plan) (n int64) {
	for i := range p.Steps {
		if a, ok := p.Steps[i].Op.(graph.Attention); ok {
			n = max(n, int64(cpu.AttentionScratch(a.Heads, a.KVHeads, a.Dim)))
		}
	}
	return n
}

// sharedTeam is the threads of a card, which the lanes of several stages may share; they run one at a time.
type sharedTeam struct {
	threads int
	cores   []int
	mu      sync.Mutex
	team    *cpu.Team
	users   int
}

// take starts the threads for the first user; the system may have none left.
func (s *sharedTeam) take() (t *cpu.Team, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users == 0 {
		if s.team, err = startTeam(s.threads, s.cores); err != nil {
			return nil, err
		}
	}
	s.users++
	return s.team, nil
}

func (s *sharedTeam) give() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.users--; s.users == 0 {
		s.team.Close()
	}
}

func startTeam(threads int, cores []int) (t *cpu.Team, err error) {
	if len(cores) > 0 {
		return cpu.NewPinnedTeam(cores)
	}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case error:
			if err = p; !errors.Is(p, cpu.ErrThreads) {
				panic(p)
			}
		default:
			panic(p)
		}
	}()
	return cpu.NewTeam(threads), nil
}

// load makes the lanes of a stage, each on a thread bound as the lane's own will be, so that the memory it fills is the
// nearest to it.
func (c *CPU) load(cards []Card, specs []Spec) ([]Lane, error) {
	var x *exchange
	if len(cards) > 1 {
		var n []int
		floats := int64(0)
		for i, card := range cards {
			part, ok := card.(*CPU)
			if !ok {
				return nil, fmt.Errorf("%w: a stage of %s and %s", ErrUnsupported, c.name, card.Info().Name)
			}
			n = append(n, part.threads)
			floats = max(floats, exchanged(specs[i].Plan))
		}
		var err error
		if x, err = newExchange(n, floats); err != nil {
			return nil, err
		}
	}
	lanes, errs := make([]*cpuLane, len(cards)), make([]error, len(cards))
	type step struct {
		lane int
		done float64
	}
	steps := make(chan step)
	var wait sync.WaitGroup
	for i, card := range cards {
		wait.Add(1)
		go func() {
			defer wait.Done()
			part, s := card.(*CPU), specs[i]
			if len(part.cores) > 0 { // the thread ends with the goroutine: it is not to be used for anything else
				runtime.LockOSThread()
				cpu.Pin(part.cores[0])
			}
			s.Progress = func(done float64) { steps <- step{i, done} }
			lanes[i], errs[i] = part.lane(s, x)
		}()
	}
	go func() {
		wait.Wait()
		close(steps)
	}()
	done := make([]float64, len(cards))
	for s := range steps {
		done[s.lane] = s.done
		sum := 0.0
		for _, d := range done {
			sum += d
		}
		if specs[0].Progress != nil {
			specs[0].Progress(sum / float64(len(cards)))
		}
	}
	if err := errors.Join(errs...); err != nil {
		for i, l := range lanes {
			if errs[i] == nil {
				l.exchange = nil // closed here, once
				l.Close()
			}
		}
		if x != nil {
			x.memory.Free()
		}
		return nil, first(errs)
	}
	var all []Lane
	for _, l := range lanes {
		all = append(all, l)
	}
	return all, nil
}

func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
