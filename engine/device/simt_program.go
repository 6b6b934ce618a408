package device

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"ingot/engine/device/driver"
	"ingot/kernels/gpu"
)

// simtLaunch is a kernel call that does not change from batch to batch: sizes and positions lie in the card's memory.
type simtLaunch struct {
	f       driver.Function
	grid    [3]int
	threads int
	args    []byte
	entry   string
}

// simtProgram is a plan's launches for batches of up to so many rows. The small ones, which decode, become one graph each, which
// replays all that a token takes: the batch's description and rows going up, every kernel, every collective.
type simtProgram struct {
	lane   *simtLane
	rows   int
	ops    []simtOp
	graph  driver.Graph
	graphs bool           // may still become one
	marks  []driver.Event // of a profile: before each launch, and after the last
	outs   int            // of the last batch
	count  int
}

// graphRows is the most rows of a program that is captured: longer ones spend their time in kernels, not between them.
const graphRows = 8

// classOf is the rows of the program that a batch takes: the next power of two.
func classOf(rows, most int) int {
	n := 1
	for n < rows {
		n *= 2
	}
	return min(n, most)
}

// simtClass is what a program is made for: up to so many rows, and whole logits or the best of them.
type simtClass struct {
	rows int
	best bool
}

// program returns the one for a batch, made when first needed.
func (l *simtLane) program(rows int, best bool) (*simtProgram, error) {
	n := classOf(rows, l.plan.Options.Rows)
	class := simtClass{n, best}
	if p := l.programs[class]; p != nil {
		return p, nil
	}
	ops, err := l.build.program(n, best)
	if err != nil {
		return nil, err
	}
	p := &simtProgram{lane: l, rows: n, ops: ops}
	p.graphs = n <= graphRows && !l.spec.Profile && os.Getenv("GGML_META_TOKEN_GRAPH") != "0" && (len(l.group.lanes) == 1 || l.group.direct)
	for i := range ops {
		p.graphs = p.graphs && ops[i].meet == nil
	}
	if l.spec.Profile {
		for range p.launches() + 1 {
			e, err := l.card.d.NewEvent(true)
			if err != nil {
				return nil, err
			}
			p.marks = append(p.marks, e)
		}
	}
	l.programs[class] = p
	return p, nil
}

func (p *simtProgram) launches() (n int) {
	for i := range p.ops {
		n += p.ops[i].marks()
	}
	return n
}

// start puts a batch's work on the stream. Meetings through the host wait in between.
func (p *simtProgram) start(b *Batch) error {
	l, d := p.lane, p.lane.card.d
	p.outs, p.count = len(b.Outs), len(b.Tokens)
	if p.graphs && p.graph == 0 {
		if err := p.capture(); err != nil {
			if !errors.Is(err, driver.ErrCapture) {
				return err
			}
			p.graphs = false // launched one by one from now on
		}
	}
	if p.graph != 0 {
		return d.LaunchGraph(p.graph, l.stream)
	}
	if err := p.prepare(len(b.Tokens)); err != nil {
		return err
	}
	mark := 0
	stamp := func() error {
		if p.marks == nil {
			return nil
		}
		mark++
		return d.Record(p.marks[mark-1], l.stream)
	}
	for i := range p.ops {
		o := &p.ops[i]
		if o.sum != nil { // one mark, whoever sums
			if err := stamp(); err != nil {
				return err
			}
		}
		if n := l.group.floats(o.sum, b); n > 0 {
			o.by = l.group.library.Name
			if err := l.sum(o.sum, n); err != nil {
				return err
			}
			continue
		}
		if o.by = ""; o.meet != nil {
			o.by = "host"
			if err := l.group.meet(l, o.meet, b); err != nil {
				return err
			}
			continue
		}
		for j := range o.launches {
			if o.sum == nil {
				if err := stamp(); err != nil {
					return err
				}
			}
			if err := l.start(&o.launches[j]); err != nil {
				return err
			}
		}
	}
	return stamp()
}

// prepare sends the batch's description and the rows of its tokens.
func (p *simtProgram) prepare(rows int) error {
	l, d := p.lane, p.lane.card.d
	if err := d.Upload(l.build.at("batch"), unsafe.Pointer(&l.batch[0]), int64(len(l.batch)), l.stream); err != nil {
		return err
	}
	for i := range l.embeds {
		e := &l.embeds[i]
		if err := d.Upload(e.to, unsafe.Pointer(&e.rows[0]), int64(rows)*e.w.Shape[0]*4, l.stream); err != nil {
			return err
		}
	}
	return nil
}

// capture records the program as one graph. Rows beyond the batch's go up as they are; kernels leave before them.
func (p *simtProgram) capture() error {
	l, d := p.lane, p.lane.card.d
	if err := d.Capture(l.stream); err != nil {
		return err
	}
	err := p.prepare(p.rows)
	for i := range p.ops {
		for j := range p.ops[i].launches {
			if err == nil {
				err = l.start(&p.ops[i].launches[j])
			}
		}
	}
	g, end := d.EndCapture(l.stream) // a capture that was begun must be ended
	if err == nil {
		err = end
	}
	if err == nil {
		p.graph = g
	}
	return err
}

func (l *simtLane) start(k *simtLaunch) error {
	if err := l.card.d.Launch(k.f, k.grid, k.threads, l.stream, unsafe.Pointer(&k.args[0])); err != nil {
		return fmt.Errorf("%s: %w", k.entry, err)
	}
	return nil
}

// launch runs a kernel that is no part of a program.
func (l *simtLane) launch(g *gpu.Launch) error {
	f, err := l.card.kernels.find(g)
	if err != nil {
		return err
	}
	return l.start(&simtLaunch{f: f, grid: g.Grid, threads: g.Module.Threads(), args: g.Args, entry: g.Entry})
}

// timed reads the marks of a profile, once the stream is done.
func (p *simtProgram) timed() error {
	if p.marks == nil {
		return nil
	}
	mark := 0
	for i := range p.ops {
		o := &p.ops[i]
		for j := range o.marks() {
			took, err := p.lane.card.d.Elapsed(p.marks[mark], p.marks[mark+1])
			if err != nil {
				return err
			}
			mark++
			by := o.by
			if by == "" {
				by = o.launches[j].entry
			}
			p.lane.count(o, by, took, p.count, p.outs)
		}
	}
	return nil
}

func (p *simtProgram) free() {
	d := p.lane.card.d
	if p.graph != 0 {
		d.FreeGraph(p.graph)
	}
	for _, e := range p.marks {
		d.FreeEvent(e)
	}
	for i := range p.ops {
		if s := p.ops[i].sum; s != nil {
			d.FreeEvent(s.reached)
		}
	}
}
