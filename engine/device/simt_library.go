package device

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"ingot/engine/device/driver"
	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/kernels/gpu"
)

// simtLibrary is a stage's use of RCCL or NCCL for long sums, those of prompts. What a token graph holds stays with our kernels, whose
// order of sums does not depend on a message's length.
//
// A lane's thread puts its sums on its stream with its own member of the group. Where one lane fails, the others' sums would wait for it
// for ever: each aborts its own member, the lanes put what else the run has on their streams nevertheless, as our collectives in it wait
// for all lanes too, and the run ends with the error. From then on the stage does without the library.
type simtLibrary struct {
	*driver.Collectives
	least int           // floats of a sum that goes by it
	comms []driver.Comm // by lane, each touched by its lane's thread alone; 0: aborted
	off   bool          // given up; changes when no lane is in a run
}

// leastByLibrary is where sums begin to go by the library, in floats; INGOT_NCCL_MIN_NE in the environment says another. Four full rounds
// of our own exchange (32 blocks of 1024 floats each): below, its two meetings a round cost less than a ring's 2(n-1) steps; a prompt of
// 512 tokens is ten times as long, the widest batch that verifies drafts a third. Chosen so, not measured: there was no pair of cards.
const leastByLibrary = 4 * 32 * 1024

// openLibrary lets long sums go by the library where GGML_CUDA_ALLREDUCE=nccl asks for it. That it is not there, or does not work, is no
// error; g.without says it.
func (g *simtGroup) openLibrary() error {
	if len(g.lanes) == 1 || os.Getenv("GGML_CUDA_ALLREDUCE") != "nccl" {
		return nil
	}
	var cards []int
	seen := map[int]bool{}
	for _, l := range g.lanes {
		if seen[l.card.index] {
			g.without = fmt.Errorf("%w: it has no two lanes on one card", driver.ErrCollectives)
			return nil
		}
		seen[l.card.index] = true
		cards = append(cards, l.card.index)
	}
	first := g.lanes[0].card
	c, err := first.d.Collectives()
	if err != nil {
		g.without = err
		return nil
	}
	lib := &simtLibrary{Collectives: c, least: leastOfLongSum()}
	joined := make(chan error, 1)
	go func() {
		joined <- first.with(func() (err error) {
			lib.comms, err = c.Join(cards)
			return err
		})
	}()
	select {
	case g.without = <-joined:
	case <-time.After(first.patience):
		g.without = fmt.Errorf("%w: %s does not connect the cards", driver.ErrCollectives, c.Name)
	}
	if g.without != nil {
		return nil
	}
	g.library = lib
	return g.try()
}

// LongSums says by what the sums of prompts go over cards of a kind: "" where no library is asked for or the kind has less than two.
func LongSums(kind string) string {
	if os.Getenv("GGML_CUDA_ALLREDUCE") != "nccl" {
		return ""
	}
	d, err := driver.Open(kind)
	if err != nil || d.Count < 2 {
		return ""
	}
	c, err := d.Collectives()
	if err != nil {
		return fmt.Sprintf("lanes sum by kernels of Ingot's own: %v", err)
	}
	return fmt.Sprintf("lanes sum %d values and more by %s %s", leastOfLongSum(), c.Name, c.Version)
}

// leastOfLongSum is how many floats a sum has at least that goes by the library.
func leastOfLongSum() int {
	if n, err := strconv.Atoi(os.Getenv("INGOT_NCCL_MIN_NE")); err == nil {
		return max(n, 1)
	}
	return leastByLibrary
}

// try sums ones over all lanes: what a library makes for its first sum is there before the first run, or is known to fail. The error is that
// of a card which the attempt has stopped.
func (g *simtGroup) try() (err error) {
	errs := make([]error, len(g.lanes))
	var failed atomic.Bool
	var wait sync.WaitGroup
	for i, l := range g.lanes {
		wait.Go(func() {
			errs[i] = l.card.with(func() error { return l.try(&failed) })
		})
	}
	wait.Wait()
	for i, e := range errs {
		if e != nil && g.without == nil {
			g.without = fmt.Errorf("%s: %w", g.lanes[i].card.name, e)
		}
		if g.lanes[i].failed != nil {
			err = g.lanes[i].failed
		}
	}
	if g.without != nil {
		for _, l := range g.lanes {
			g.abort(l)
		}
		g.library = nil
	}
	return err
}

func (l *simtLane) try(failed *atomic.Bool) (err error) {
	const n = 1024 // floats; the inbox is larger
	d, lib := l.card.d, l.group.library
	host, err := l.room(n * 4)
	if err != nil {
		return err
	}
	v := unsafe.Slice((*float32)(host), n)
	for i := range v {
		v[i] = 1
	}
	if err = d.Upload(l.inbox, host, n*4, l.stream); err == nil {
		err = lib.Sum(l.inbox, l.inbox, n, lib.comms[l.index], l.stream)
	}
	if err != nil {
		failed.Store(true)
		return err
	}
	var lost error
	if err = d.Download(host, l.inbox, n*4, l.stream); err == nil {
		err = d.SyncWithin(l.stream, l.card.patience, func() {
			if c := lib.comms[l.index]; c != 0 && lost == nil {
				if lost = lib.Failed(c); lost != nil {
					failed.Store(true)
				}
			}
			if failed.Load() {
				l.group.abort(l)
			}
		})
	}
	if err != nil {
		failed.Store(true)
		l.failed = fmt.Errorf("%s: %w", l.card.name, err)
		return err
	}
	if i := slices.IndexFunc(v, func(x float32) bool { return x != float32(len(l.group.lanes)) }); i >= 0 && !failed.Load() {
		return fmt.Errorf("%w: %s sums %d ones to %v", driver.ErrCollectives, lib.Name, len(l.group.lanes), v[i])
	}
	return lost
}

// abort takes a lane's stream out of sums that others do not come to. The library may wait for the card meanwhile; a hung one is not
// waited for.
func (g *simtGroup) abort(l *simtLane) {
	comm := g.library.comms[l.index]
	if comm == 0 {
		return
	}
	g.library.comms[l.index] = 0
	abort := g.library.Abort
	done := make(chan error, 1)
	go func() { done <- l.card.with(func() error { return abort(comm) }) }()
	select {
	case <-done:
	case <-time.After(2 * time.Second):
	}
	g.mu.Lock()
	g.gaveUp = true
	g.mu.Unlock()
}

// leave frees a lane's member.
func (g *simtGroup) leave(l *simtLane) {
	if g.library == nil || g.library.comms[l.index] == 0 {
		return
	}
	if g.library.off {
		g.abort(l)
		return
	}
	g.library.Leave(g.library.comms[l.index])
	g.library.comms[l.index] = 0
}

// fail makes a run's error known to the other lanes while this one goes on with it.
func (g *simtGroup) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failed == nil {
		g.failed = err
	}
	g.turn.Broadcast()
}

func (g *simtGroup) lost() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failed != nil
}

// longSum is an AllReduce of many rows by the library: to = the sum of the lanes' from. after adds what the step adds.
type longSum struct {
	from, to driver.Ptr
	rows     graph.Rows
	width    int // floats for each row that is counted
	after    []simtLaunch
	reached  driver.Event // whether the card came to it
}

// longSum is nil for a step that stays with our kernels: it is another, or it cannot be long, or its rows have gaps, or there is no memory
// for the sum beside what is added to it.
func (b *simtBuild) longSum(i, rows int) (*longSum, error) {
	s := &b.spec.Plan.Steps[i]
	lib := b.lane.group.library
	if _, ok := s.Op.(plan.AllReduce); !ok || lib == nil || rows <= graphRows {
		return nil, nil
	}
	most, times := rows, max(s.Times, 1)
	if s.Rows == graph.OutRows {
		most = min(rows, b.spec.Plan.Options.Outs)
	}
	x, out := s.In[0], s.Out[0]
	cols, to := out.Cols(), out
	if s.Add != nil && overlap(out, *s.Add, most*times) {
		to = x
		if !dies(b.spec.Plan, i, x, most*times) {
			return nil, nil
		}
	}
	if most*times*cols < lib.least || x.Stride != cols || to.Stride != cols || s.Add != nil && times > 1 {
		return nil, nil
	}
	sum := &longSum{from: driver.Ptr(b.loc(x)), to: driver.Ptr(b.loc(to)), rows: s.Rows, width: times * cols}
	if s.Add != nil {
		a := gpu.AddArgs{Batch: gpu.Ptr(b.at("batch")), X: b.loc(to), Y: b.loc(*s.Add), Dst: b.loc(out), XStride: int64(cols), YStride: int64(s.Add.Stride),
			DStride: int64(out.Stride), Cols: int32(cols), Rows: int32(s.Rows), Scale: 1}
		g, err := a.Launch(b.lane.card.info(), most)
		if err != nil {
			return nil, err
		}
		f, err := b.lane.card.kernels.find(&g)
		if err != nil {
			return nil, err
		}
		sum.after = []simtLaunch{{f: f, grid: g.Grid, threads: g.Module.Threads(), args: g.Args, entry: g.Entry}}
	}
	var err error
	sum.reached, err = b.lane.card.d.NewEvent(false)
	return sum, err
}

func overlap(a, b plan.Loc, rows int) bool {
	return a.Off < b.Off+int64(rows*b.Stride*4) && b.Off < a.Off+int64(rows*a.Stride*4)
}

// dies tells whether nobody reads a value after step i: none does before something else is written where it lies. Memory that is given back
// goes to others, so what begins in a living value's memory is that value, or a part of it.
func dies(p *plan.Plan, i int, x plan.Loc, rows int) bool {
	within := func(l plan.Loc) bool { return l.Off >= x.Off && l.Off < x.Off+int64(rows*x.Stride*4) }
	for j := i + 1; j < len(p.Steps); j++ {
		s := &p.Steps[j]
		if slices.ContainsFunc(s.In, within) || s.Add != nil && within(*s.Add) {
			return false
		}
		if slices.ContainsFunc(s.Out, within) {
			return true
		}
	}
	return !slices.ContainsFunc(p.Kept, func(k plan.Kept) bool { return within(k.At) }) &&
		!slices.ContainsFunc(p.Out, func(o plan.Port) bool { return within(o.At) }) &&
		(p.Logits.Cols() == 0 || !within(p.Logits) && !within(p.Hidden))
}

// floats is how long the sum of a batch is where it goes by the library, else 0. All lanes come to the same.
func (g *simtGroup) floats(s *longSum, b *Batch) int {
	if s == nil || g.library == nil || g.library.off {
		return 0
	}
	n := len(b.Tokens)
	if s.rows == graph.OutRows {
		n = len(b.Outs)
	}
	if n *= s.width; n < g.library.least {
		return 0
	}
	return n
}

// sum puts a sum on the stream; once the run is lost, only what comes after it.
func (l *simtLane) sum(s *longSum, floats int) error {
	g := l.group
	if l.lost == nil && !g.lost() {
		err := l.card.d.Record(s.reached, l.stream)
		if err == nil {
			l.summed = true
			err = g.library.Sum(s.to, s.from, int64(floats), g.library.comms[l.index], l.stream)
		}
		if err != nil {
			l.lose(err)
		}
	}
	for i := range s.after {
		if err := l.start(&s.after[i]); err != nil {
			return err
		}
	}
	return nil
}

// lose remembers why the run is lost and tells the others.
func (l *simtLane) lose(err error) {
	l.lost = fmt.Errorf("%s: %w", l.card.name, err)
	l.group.fail(l.lost)
	l.group.abort(l)
}

// watch looks, while the lane waits for its card, for what the library learned meanwhile and for the other lanes' failing.
func (l *simtLane) watch() {
	g := l.group
	if !l.summed || g.library.comms[l.index] == 0 {
		return
	}
	if err := g.library.Failed(g.library.comms[l.index]); err != nil {
		l.lose(err)
	} else if g.lost() {
		g.abort(l)
	}
}

// settle ends a lane's run: what the library said of it comes first.
func (l *simtLane) settle(err error) error {
	if l.lost != nil {
		err = l.lost
	}
	if l.summed && (err != nil || l.group.lost()) {
		l.group.abort(l)
	}
	l.lost, l.summed = nil, false
	return err
}

// reached counts, for each lane, the library's sums of the program in progress that its card came to.
func (g *simtGroup) reached() []uint32 {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := make([]uint32, len(g.lanes))
	for i, p := range g.running {
		if p == nil {
			continue
		}
		for j := range p.ops {
			if s := p.ops[j].sum; s != nil {
				if ok, err := p.lane.card.d.Passed(s.reached); ok && err == nil {
					n[i]++
				}
			}
		}
	}
	return n
}

// Meets says how the lanes of a stage exchange values; "" for one that is alone.
func (l *simtLane) Meets() string {
	g := l.group
	if len(g.lanes) == 1 {
		return ""
	}
	s := "through the host's memory"
	if g.direct {
		s = "by kernels, card to card"
	}
	switch {
	case g.without != nil:
		s += fmt.Sprintf(" (%v)", g.without)
	case g.library != nil && g.library.off:
		s += fmt.Sprintf(" (%s was given up after an error)", g.library.Name)
	case g.library != nil:
		s += fmt.Sprintf(", sums of %d values and more by %s %s", g.library.least, g.library.Name, g.library.Version)
	}
	return s
}
