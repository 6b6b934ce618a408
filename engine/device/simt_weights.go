package device

import (
	"fmt"
	"unsafe"

	"ingot/engine/device/driver"
	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/engine/tensor"
	"ingot/kernels/cpu"
	"ingot/kernels/gpu"
)

// simtLayout is where a lane's memory goes, in one allocation beside the states: what it takes is known before loading, and the
// planner asks the same function.
type simtLayout struct {
	at    map[any]int64 // by *graph.Weight (matrices), vectorOf (f32), *graph.Rope; names for the rest
	bytes int64
}

// vectorOf is a weight as kernels that are no products read it: in f32.
type vectorOf struct{ w *graph.Weight }

// tapsOf is a convolution's weight, turned.
type tapsOf struct{ w *graph.Weight }

const simtAlign = 256

func (l *simtLayout) take(key any, bytes int64) {
	if _, ok := l.at[key]; ok {
		return
	}
	l.at[key] = l.bytes
	l.bytes += (bytes + simtAlign - 1) &^ (simtAlign - 1)
}

// layoutOf places the arena, the weights and what a run needs beside them.
func layoutOf(p *plan.Plan, typ func(*graph.Weight) tensor.Type) *simtLayout {
	l := &simtLayout{at: map[any]int64{}}
	l.take("arena", p.Arena)
	l.take("batch", batchBytes(p))
	var part, order int64
	for i := range p.Steps {
		s := &p.Steps[i]
		from := 0
		switch op := s.Op.(type) {
		case graph.Embed:
			if from = len(s.W); i > 0 {
				l.take(s, int64(p.Options.Rows)*s.W[0].Shape[0]*4)
			}
		case graph.Experts:
			order = max(order, gpu.OrderBytes(p.Options.Rows, op.Used, int(s.W[0].Shape[2])))
		case plan.GatedExperts:
			order = max(order, gpu.OrderBytes(p.Options.Rows, op.Used, int(s.W[0].Shape[2])))
		case graph.Conv:
			n, _ := tensor.Elements(s.W[0].Shape)
			l.take(tapsOf{s.W[0]}, n*4)
			from = len(s.W)
		case graph.Rotate:
			l.take(op.Rope, int64(op.Rope.Dims/2)*8)
			from = len(s.W)
		case graph.Attention:
			rows := min(p.Options.Rows, mostSectioned)
			sections := gpu.AttentionSections(rows, op.Heads, op.KVHeads)
			part = max(part, int64(gpu.AttentionPart(rows, op.Heads, op.Dim, sections))*4)
		}
		for _, w := range s.W[:s.Matrices()] {
			if n, err := tensor.Bytes(typ(w), w.Shape); err == nil { // checked when the file was opened
				l.take(w, n)
			}
		}
		for _, w := range s.W[max(from, s.Matrices()):] {
			n, _ := tensor.Elements(w.Shape)
			l.take(vectorOf{w}, n*4)
		}
	}
	l.take("part", part)
	l.take("order", order)
	l.takeTop(p)
	return l
}

// mostSectioned is the most rows of a program in which several blocks share a row's cells.
const mostSectioned = 16

// batchBytes is what struct batch takes with its arrays behind it.
func batchBytes(p *plan.Plan) int64 {
	return batchHead + int64(p.Options.Rows)*(4+24) + int64(p.Options.Outs)*4
}

// simtScratch is what a lane takes beside its weights and states.
func simtScratch(p *plan.Plan, typ func(*graph.Weight) tensor.Type) int64 {
	return layoutOf(p, typ).bytes - p.Arena - weightBytes(p, typ) + exchangeBytes(p)
}

// weightBytes counts the plan's weights as the planner does: as stored, and no tables, which stay in the host's memory.
func weightBytes(p *plan.Plan, typ func(*graph.Weight) tensor.Type) (n int64) {
	all, table := p.Weights()
	for _, w := range all {
		if !table[w] {
			b, _ := tensor.Bytes(typ(w), w.Shape)
			n += b
		}
	}
	return n
}

// staging is pinned memory through which weights go to the card, two slices in turn.
type staging struct {
	l     *simtLane
	half  [2]unsafe.Pointer
	event [2]driver.Event
	turn  int
}

// stagingBytes is a slice: large enough to keep a bus busy.
const stagingBytes = 8 << 20

func newStaging(l *simtLane) (*staging, error) {
	s := &staging{l: l}
	for i := range s.half {
		var err error
		if s.half[i], err = l.card.d.HostMalloc(stagingBytes); err != nil {
			s.free()
			return nil, l.memoryError("pinned memory of the host", stagingBytes, err)
		}
		if s.event[i], err = l.card.d.NewEvent(false); err != nil {
			s.free()
			return nil, err
		}
	}
	return s, nil
}

func (s *staging) free() {
	for i := range s.half {
		if s.event[i] != 0 {
			s.l.card.d.FreeEvent(s.event[i])
		}
		if s.half[i] != nil {
			s.l.card.d.HostFree(s.half[i])
		}
	}
}

// send copies n bytes that fill writes, at most a slice, to the card.
func (s *staging) send(to driver.Ptr, n int64, fill func([]byte) error) error {
	d := s.l.card.d
	i := s.turn
	s.turn = 1 - s.turn
	for { // the slice's last copy must be done
		done, err := d.Passed(s.event[i])
		if err != nil {
			return err
		}
		if done {
			break
		}
	}
	if err := fill(unsafe.Slice((*byte)(s.half[i]), n)); err != nil {
		return err
	}
	if err := d.Upload(to, s.half[i], n, s.l.stream); err != nil {
		return err
	}
	return d.Record(s.event[i], s.l.stream)
}

// bytes copies a slice of any size.
func (s *staging) bytes(to driver.Ptr, b []byte) error {
	for len(b) > 0 {
		n := min(len(b), stagingBytes)
		if err := s.send(to, int64(n), func(dst []byte) error { copy(dst, b); return nil }); err != nil {
			return err
		}
		to, b = to+driver.Ptr(n), b[n:]
	}
	return nil
}

// upload brings all weights of the plan to the card.
func (b *simtBuild) upload() error {
	st, err := newStaging(b.lane)
	if err != nil {
		return err
	}
	defer st.free()
	var total, done int64
	for key := range b.layout.at {
		if w, ok := key.(*graph.Weight); ok {
			n, _ := tensor.Bytes(b.typ(w), w.Shape)
			total += n
		}
	}
	for i := range b.spec.Plan.Steps {
		s := &b.spec.Plan.Steps[i]
		for j, w := range s.W {
			key, err := b.role(s, j)
			if err != nil || key == nil || b.sent[key] {
				continue
			}
			b.sent[key] = true
			switch key.(type) {
			case *graph.Weight:
				err = b.matrix(st, w, func(n int64) {
					if done += n; b.spec.Progress != nil && total > 0 {
						b.spec.Progress(float64(done) / float64(total))
					}
				})
			default:
				err = b.floats(st, key, w)
			}
			if err != nil {
				return fmt.Errorf("%s: %s: %w", b.lane.card.name, w.Name, err)
			}
		}
		if op, ok := s.Op.(graph.Rotate); ok && !b.sent[op.Rope] {
			b.sent[op.Rope] = true
			if err := b.rotation(st, op.Rope, s.W); err != nil {
				return err
			}
		}
	}
	return b.lane.sync()
}

// role is what a step reads its j-th weight as: the layout's key; nil: it stays on the host.
func (b *simtBuild) role(s *plan.Step, j int) (any, error) {
	switch s.Op.(type) {
	case graph.Embed, graph.Rotate:
		return nil, nil
	case graph.Conv:
		return tapsOf{s.W[j]}, nil
	}
	if j < s.Matrices() {
		return s.W[j], nil
	}
	return vectorOf{s.W[j]}, nil
}

// matrix uploads the lane's part of a product's weight in slices of whole rows, and puts it in the order that kernels read
// fastest.
func (b *simtBuild) matrix(st *staging, w *graph.Weight, did func(int64)) error {
	src := b.spec.source(w)
	to := b.at(w)
	matrices := src.count / src.held
	repack := b.spec.Repack && gpu.Type(src.typ).Repacks(int(src.held), int(w.Shape[0]))
	var raw driver.Ptr
	if repack { // a matrix goes to the card as it is stored, and from there to its place
		var err error
		if raw, err = b.lane.card.d.Malloc(src.held * src.row); err != nil {
			repack = false // memory is tight: it is read where it lies
		} else {
			defer func() {
				b.lane.sync()
				b.lane.card.d.Free(raw)
			}()
		}
	}
	b.repacked[w] = repack
	most := max(stagingBytes/src.row, 1)
	if src.row > stagingBytes {
		return fmt.Errorf("%w: a row of %d bytes", ErrUnsupported, src.row)
	}
	for m := range matrices {
		dst := to + driver.Ptr(m*src.held*src.row)
		into := dst
		if repack {
			into = raw
		}
		for r := int64(0); r < src.held; r += most {
			n := min(most, src.held-r)
			first := m*src.held + r
			if err := st.send(into+driver.Ptr(r*src.row), n*src.row, func(to []byte) error { return src.copy(to, first, n) }); err != nil {
				return err
			}
			did(n * src.row)
		}
		if repack {
			l, err := gpu.Repack{RepackArgs: gpu.RepackArgs{Src: gpu.Ptr(raw), Dst: gpu.Ptr(dst), M: src.held, K: int32(w.Shape[0])}, Type: gpu.Type(src.typ)}.Launch(b.lane.card.info())
			if err != nil {
				return err
			}
			if err := b.lane.launch(&l); err != nil {
				return err
			}
		}
	}
	return nil
}

// floats uploads a small weight in f32; a convolution's turned, so that a tap's channels lie together.
func (b *simtBuild) floats(st *staging, key any, w *graph.Weight) error {
	v, err := b.vector(w)
	if err != nil {
		return err
	}
	if _, ok := key.(tapsOf); ok {
		width, channels := int(w.Shape[0]), int(w.Shape[1])
		turned := make([]float32, len(v))
		for c := range channels {
			for j := range width {
				turned[j*channels+c] = v[c*width+j]
			}
		}
		v = turned
	}
	return st.bytes(b.at(key), bytesIn(v))
}

// vector is the lane's part of a weight in f32.
func (b *simtBuild) vector(w *graph.Weight) ([]float32, error) {
	src := b.spec.source(w)
	raw := make([]byte, src.count*src.row)
	if err := src.copy(raw, 0, src.count); err != nil {
		return nil, err
	}
	n, err := tensor.Elements(w.Shape)
	if err != nil {
		return nil, err
	}
	v := make([]float32, n)
	return v, cpu.Dequantize(cpu.Type(src.typ), raw, v)
}

func (b *simtBuild) rotation(st *staging, r *graph.Rope, w []*graph.Weight) error {
	var factors []float32
	if len(w) > 0 {
		v, err := b.vector(w[0])
		if err != nil {
			return err
		}
		factors = v[:r.Dims/2]
	}
	freqs, mag := r.Freqs(factors)
	b.magnitude[r] = float32(mag)
	return st.bytes(b.at(r), bytesIn(freqs))
}

func bytesIn[T any](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}
