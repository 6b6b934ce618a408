package device

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"
	"unsafe"

	"ingot/engine/device/driver"
	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/kernels/gpu"
)

// simtGroup is the lanes of a stage. Where their cards reach each other's memory they meet in kernels (kernels/gpu/lanes.gpu); where not,
// through the host's. Long sums can go by the driver's library instead (simt_library.go).
type simtGroup struct {
	lanes  []*simtLane
	direct bool
	staged bool // other stages follow or came before

	library *simtLibrary   // nil: it was not asked for, or
	without error          // why it is not used
	running []*simtProgram // by lane: of the run in progress

	mu      sync.Mutex
	turn    *sync.Cond
	arrived int
	round   int
	failed  error // of the run in progress
	gaveUp  bool  // a lane has left the library's group
	left    int
	sent    [2][]hostShare // by round's parity and lane: what lanes have sent to the host
}

// hostShare is a lane's values of a meeting, and where it makes its result.
type hostShare struct {
	in, add []float32
	buffer  hostBuffer
}

// newSimtGroup decides how lanes meet. Switches: GGML_ENABLE_CUSTOM_AR=0 and GGML_CUDA_ALLREDUCE=none go through the host;
// GGML_CUDA_ALLREDUCE=nccl lets long sums go by the library, internal is what is done without it.
func newSimtGroup(cards []Card, specs []Spec) (*simtGroup, error) {
	g := &simtGroup{lanes: make([]*simtLane, len(cards)), running: make([]*simtProgram, len(cards)),
		direct: os.Getenv("GGML_ENABLE_CUSTOM_AR") != "0" && os.Getenv("GGML_CUDA_ALLREDUCE") != "none"}
	g.turn = sync.NewCond(&g.mu)
	g.sent = [2][]hostShare{make([]hostShare, len(cards)), make([]hostShare, len(cards))}
	g.staged = len(specs[0].Plan.In) > 0 || len(specs[0].Plan.Out) > 0
	if len(cards) > gpu.MaxLanes {
		return nil, fmt.Errorf("%w: a stage of %d lanes, where up to %d are possible", ErrUnsupported, len(cards), gpu.MaxLanes)
	}
	for _, a := range cards {
		x, ok := a.(*Simt)
		if !ok || x.d.Kind != cards[0].(*Simt).d.Kind {
			return nil, fmt.Errorf("%w: a stage of %s and %s", ErrUnsupported, cards[0].Info().Name, a.Info().Name)
		}
		for _, b := range cards {
			if y, ok := b.(*Simt); ok && x.index != y.index && !x.d.CanReach(x.index, y.index) {
				g.direct = false
			}
		}
	}
	return g, nil
}

// exchangeBytes is what a lane's inbox, flags and epoch take; 0: it has no company.
func exchangeBytes(p *plan.Plan) int64 {
	if p.Lanes < 2 {
		return 0
	}
	x := gpu.NewExchange(p.Lane, p.Lanes)
	inbox, flags, epoch := x.Bytes()
	return inbox + flags + epoch
}

// join makes the lanes known to each other and prepares their programs for one row, with whole logits or the best, and for the most.
func (g *simtGroup) join(lanes []Lane) error {
	for i, l := range lanes {
		g.lanes[i] = l.(*simtLane)
	}
	for i, l := range g.lanes {
		if err := l.card.with(func() error { return g.reach(i, l) }); err != nil {
			return err
		}
	}
	if err := g.openLibrary(); err != nil {
		return err
	}
	for _, l := range g.lanes {
		err := l.card.with(func() error {
			_, best := topOf(l.plan)
			for _, c := range []simtClass{{1, false}, {1, best}, {l.plan.Options.Rows, false}} {
				if _, err := l.program(c.rows, c.best); err != nil {
					return err
				}
			}
			return l.sync()
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (g *simtGroup) reach(i int, l *simtLane) error {
	if len(g.lanes) == 1 {
		return nil
	}
	l.exchange = gpu.NewExchange(i, len(g.lanes))
	inbox, flags, _ := l.exchange.Bytes()
	for j, other := range g.lanes {
		if g.direct && other.card.index != l.card.index {
			if err := l.card.d.Reach(other.card.index); err != nil {
				return fmt.Errorf("%s to %s: %w", l.card.name, other.card.name, err)
			}
		}
		l.exchange.Inbox[j] = gpu.Ptr(other.inbox)
		l.exchange.Flags[j] = gpu.Ptr(other.inbox) + gpu.Ptr(inbox)
	}
	l.exchange.Epoch = gpu.Ptr(l.inbox) + gpu.Ptr(inbox+flags)
	return nil
}

// twoShot chooses the collective for a message of so many floats: with many lanes each of them would send too much to all others.
// GGML_TP_AR_TWOSHOT=0 or 1 forces one, GGML_TP_AR_TWOSHOT_MIN_NE is where a group of four alone changes over.
func (g *simtGroup) twoShot(floats int) bool {
	switch os.Getenv("GGML_TP_AR_TWOSHOT") {
	case "0":
		return false
	case "1":
		return true
	}
	least := 8192
	if n, err := strconv.Atoi(os.Getenv("GGML_TP_AR_TWOSHOT_MIN_NE")); err == nil {
		least = n
	}
	n := len(g.lanes)
	return n > 4 || n == 4 && (g.staged || floats >= least)
}

// run runs a lane's share of a batch; every lane runs once for each. Where one fails the others, which may wait for it, give up.
func (g *simtGroup) run(l *simtLane, f func() error) (err error) {
	if len(g.lanes) == 1 {
		return f()
	}
	defer func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if err != nil && g.failed == nil {
			g.failed = err
		}
		if err == nil && g.failed != nil {
			err = ErrPeer
		}
		g.turn.Broadcast()
		if g.left++; g.left == len(g.lanes) {
			g.left, g.arrived, g.failed = 0, 0, nil
			if g.library != nil && g.gaveUp {
				g.library.off = true
			}
		}
	}()
	return f()
}

// wait lets the lanes meet on the host.
func (g *simtGroup) wait() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	round := g.round
	if g.arrived++; g.arrived == len(g.lanes) {
		g.arrived = 0
		g.round++
		g.turn.Broadcast()
	}
	for g.round == round {
		if g.failed != nil || g.left > 0 {
			return ErrPeer
		}
		g.turn.Wait()
	}
	return nil
}

// meet is a collective through the host's memory: every lane sends its values there and makes the result for itself, in lane order, so
// that all have the same bits. What a round leaves is read until the next one begins; rounds take turns with two buffers.
func (g *simtGroup) meet(l *simtLane, m *meeting, b *Batch) error {
	rows := len(b.Tokens)
	if m.rows == graph.OutRows {
		rows = len(b.Outs)
	}
	rows *= m.times
	d := l.card.d
	g.mu.Lock()
	own := &g.sent[g.round%2][l.index]
	all := g.sent[g.round%2]
	g.mu.Unlock()
	in, out := int64(rows*m.in.Stride), int64(rows*m.out.Cols())
	var add int64
	if m.add != nil {
		add = int64(rows * m.add.Stride)
	}
	if n := (in + add + out) * 4; own.buffer.bytes < n {
		size := int64(64 << 10)
		for size < n {
			size *= 2
		}
		p, err := l.pin(size)
		if err != nil {
			return err
		}
		own.buffer = hostBuffer{p, size}
	}
	floats := unsafe.Slice((*float32)(own.buffer.at), in+add+out)
	own.in, own.add = floats[:in], floats[in:in+add]
	result := floats[in+add:]
	if rows > 0 {
		if in > 0 {
			if err := d.Download(unsafe.Pointer(&own.in[0]), driver.Ptr(l.build.loc(m.in)), in*4, l.stream); err != nil {
				return err
			}
		}
		if add > 0 {
			if err := d.Download(unsafe.Pointer(&own.add[0]), driver.Ptr(l.build.loc(*m.add)), add*4, l.stream); err != nil {
				return err
			}
		}
		if err := l.sync(); err != nil {
			return err
		}
	}
	if err := g.wait(); err != nil {
		return err
	}
	if rows == 0 {
		return nil
	}
	m.make(result, own, all, rows)
	return g.put(l, m, result, rows)
}

// make sums, or joins columns.
func (m *meeting) make(result []float32, own *hostShare, all []hostShare, rows int) {
	cols := m.out.Cols()
	for r := range rows {
		dst := result[r*cols : (r+1)*cols]
		if m.cols != nil {
			for t := range all {
				n := m.cols[t+1] - m.cols[t]
				if n > 0 {
					stride := len(all[t].in) / rows
					copy(dst[m.cols[t]:], all[t].in[r*stride:r*stride+n])
				}
			}
			continue
		}
		for c := range dst {
			sum := all[0].in[r*m.in.Stride+c]
			for t := 1; t < len(all); t++ {
				sum += all[t].in[r*m.in.Stride+c]
			}
			if m.add != nil {
				sum += own.add[r*m.add.Stride+c]
			}
			dst[c] = sum
		}
	}
}

// put sends the result to its place; rows that lie apart there go one by one.
func (g *simtGroup) put(l *simtLane, m *meeting, result []float32, rows int) error {
	at, cols := driver.Ptr(l.build.loc(m.out)), m.out.Cols()
	if m.out.Stride == cols {
		return l.card.d.Upload(at, unsafe.Pointer(&result[0]), int64(rows*cols)*4, l.stream)
	}
	for r := range rows {
		if err := l.card.d.Upload(at+driver.Ptr(r*m.out.Stride*4), unsafe.Pointer(&result[r*cols]), int64(cols)*4, l.stream); err != nil {
			return err
		}
	}
	return nil
}

// blame finds who keeps a hung stage waiting: lanes write the round that they have come to into the others' flags, and the one that is
// furthest behind hangs. Where all have come to the same round it is the one that is behind in the library's sums. The others' error is
// ErrPeer, with its name.
func (g *simtGroup) blame(l *simtLane, err error) error {
	if len(g.lanes) == 1 || !errors.Is(err, driver.ErrHung) {
		return err
	}
	come, e := g.rounds(l)
	if e != nil {
		return err
	}
	last := behind(come)
	if g.library != nil && come[last] == come[l.index] {
		come = g.reached()
		last = behind(come)
	}
	if last == l.index || come[last] == come[l.index] {
		return err
	}
	return fmt.Errorf("%w: %s does not answer", ErrPeer, g.lanes[last].card.name)
}

func behind(come []uint32) (last int) {
	for i := range come {
		if int32(come[i]-come[last]) < 0 {
			last = i
		}
	}
	return last
}

// rounds is what round of our kernels each lane has come to.
func (g *simtGroup) rounds(l *simtLane) ([]uint32, error) {
	come := make([]uint32, len(g.lanes))
	if !g.direct {
		return come, nil
	}
	for at := range 2 { // the first lane's flags tell of all others, the second's of the first
		flags, err := g.flags(l, g.lanes[at])
		if err != nil {
			return nil, err
		}
		for i, f := range flags {
			if from := i % len(g.lanes); from != at && int32(f-come[from]) > 0 {
				come[from] = f
			}
		}
	}
	return come, nil
}

// flags reads a lane's flags on a stream of its own, for the lane's does not move.
func (g *simtGroup) flags(l, of *simtLane) ([]uint32, error) {
	inbox, flags, _ := l.exchange.Bytes()
	d := l.card.d
	s, err := d.NewStream()
	if err != nil {
		return nil, err
	}
	host, err := d.HostMalloc(flags)
	if err != nil {
		return nil, err
	}
	if err := d.Download(host, of.inbox+driver.Ptr(inbox), flags, s); err != nil {
		return nil, err
	}
	if err := d.SyncWithin(s, 2*time.Second, nil); err != nil {
		return nil, err
	}
	v := append([]uint32(nil), unsafe.Slice((*uint32)(host), flags/4)...)
	d.HostFree(host)
	d.FreeStream(s)
	return v, nil
}
