package device

import (
	"unsafe"

	"ingot/engine/graph"
	"ingot/engine/tensor"
	"ingot/kernels/cpu"
)

// loadSlice is how many bytes of a weight are read before they are repacked or their columns taken: what loading takes beyond
// the weights themselves. The next step still finds them in a processor's last cache.
const loadSlice = 8 << 20

// matrix is a weight as products and embeddings read it.
type matrix struct {
	at       unsafe.Pointer
	typ      cpu.Type
	repacked int32
}

// source finds what a lane holds of a weight in the file's data, row by row. A row is a run of the first axis.
type source struct {
	data       []byte
	file       File // what copies are read from; nil: data itself
	typ        tensor.Type
	row, whole int64           // bytes of a row as the lane holds it, and as the file does
	count      int64           // rows the lane holds, of all its matrices
	rows       []graph.Stretch // of a matrix: those the lane holds; nil: all
	cols       []graph.Stretch // bytes of a row; nil: all
	held, of   int64           // rows a matrix: the lane's, the file's
	cut        []byte          // scratch of copy: whole rows of which the lane holds some columns
}

func sourceOf(w *graph.Weight, d Weight) source {
	of := w.Shape
	if w.Part != nil {
		of = w.Part.Of
	}
	s := source{data: d.Data, typ: d.Type, count: 1, held: 1, of: 1}
	s.row, s.whole = bytesOf(d.Type, w.Shape[0]), bytesOf(d.Type, of[0])
	if len(of) > 1 {
		s.held, s.of = w.Shape[1], of[1]
	}
	for _, n := range w.Shape[1:] {
		s.count *= n
	}
	switch {
	case w.Part == nil:
	case w.Part.Axis == 0:
		for _, c := range w.Part.Stretches {
			s.cols = append(s.cols, graph.Stretch{From: bytesOf(d.Type, c.From), To: bytesOf(d.Type, c.To)})
		}
	default:
		s.rows = w.Part.Stretches
	}
	return s
}

// bytesOf is the size of n values, whole blocks.
func bytesOf(t tensor.Type, n int64) int64 { return n / int64(t.Block()) * int64(t.Size()) }

// at is where row i of those the lane holds lies in the file, and how many rows from there on follow one another.
func (s *source) at(i int64) (row, n int64) {
	if s.rows == nil {
		return i, s.count - i
	}
	m, r := i/s.held, i%s.held
	for _, x := range s.rows {
		if r < x.To-x.From {
			return m*s.of + x.From + r, x.To - x.From - r
		}
		r -= x.To - x.From
	}
	panic("device: a row beyond a weight's part")
}

// run is n rows from row i on where they lie in one piece; ok is false where they do not.
func (s *source) run(i, n int64) (rows []byte, ok bool) {
	row, most := s.at(i)
	if len(s.cols) == 1 && n == 1 {
		return s.data[row*s.whole:][s.cols[0].From:s.cols[0].To], true
	}
	if s.cols != nil || most < n {
		return nil, false
	}
	return s.data[row*s.whole : (row+n)*s.whole], true
}

// copy writes n rows from row i on to dst.
func (s *source) copy(dst []byte, i, n int64) error {
	if s.cols != nil && s.cut == nil {
		s.cut = make([]byte, min(max(loadSlice/s.whole, 1), s.count)*s.whole)
	}
	for n > 0 {
		row, most := s.at(i)
		most = min(most, n)
		to := dst[:most*s.row]
		if s.cols != nil {
			most = min(most, int64(len(s.cut))/s.whole)
			to = s.cut[:most*s.whole]
		}
		if err := s.read(to, s.data[row*s.whole:(row+most)*s.whole]); err != nil {
			return err
		}
		left := dst
		for r := range most {
			for _, c := range s.cols {
				left = left[copy(left, s.cut[r*s.whole+c.From:r*s.whole+c.To]):]
			}
		}
		dst = dst[most*s.row:]
		i, n = i+most, n-most
	}
	return nil
}

func (s *source) read(dst, data []byte) error {
	if s.file == nil {
		copy(dst, data)
		return nil
	}
	return s.file.Read(dst, data)
}

// mappedVector tells whether kernels can read a vector where it is mapped.
func mappedVector(w *graph.Weight, t tensor.Type) bool {
	return t == tensor.F32 && (w.Part == nil || len(w.Shape) == 1 && len(w.Part.Stretches) == 1)
}

// weights finds or makes the matrices that kernels read: repacked where that is faster, copied where the lane's part
// does not lie in one piece, otherwise mapped.
func (b *cpuBuild) weights() error {
	type job struct {
		w      *graph.Weight
		s      source
		repack bool
	}
	var jobs []job
	var total int64
	used, table := b.spec.Plan.Weights()
	products := map[*graph.Weight]bool{}
	for i := range b.spec.Plan.Steps {
		switch s := &b.spec.Plan.Steps[i]; s.Op.(type) {
		case graph.Embed, graph.Linear, graph.Experts:
			products[s.W[0]] = true
		}
	}
	for _, w := range used {
		s := b.spec.source(w)
		if b.card.counts(table[w]) {
			b.lane.used.Weights += s.count * s.row
		}
		if !products[w] {
			continue
		}
		repack := b.spec.Repack && !table[w] && cpu.Type(s.typ).Repacks() && s.held >= cpu.Group
		if run, ok := s.run(0, s.count); ok && !repack {
			if err := b.spec.need(run); err != nil {
				return err
			}
			b.matrices[w] = matrix{unsafe.Pointer(unsafe.SliceData(run)), cpu.Type(s.typ), 0}
			continue
		}
		jobs = append(jobs, job{w, s, repack})
		total += aligned(s.count * s.row)
	}
	if total == 0 {
		return nil
	}
	var uncounted int64 // the weights are counted whether copied or not
	m, err := b.alloc("weights", total, &uncounted)
	if err != nil {
		return err
	}
	b.lane.batch.Resize(0, 0, 0)
	var at, done int64
	for _, j := range jobs {
		x := matrix{m.At(at), cpu.Type(j.s.typ), 0}
		if j.repack {
			x.repacked = 1
		}
		b.matrices[j.w] = x
		at += aligned(j.s.count * j.s.row)
		err := b.fill(&x, &j.s, j.w.Shape[0], func(n int64) {
			if done += n; b.spec.Progress != nil {
				b.spec.Progress(float64(done) / float64(total))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fill copies one weight to its place, a slice at a time.
func (b *cpuBuild) fill(x *matrix, s *source, cols int64, did func(bytes int64)) error {
	rows, matrices := s.held, s.count/s.held
	if rows%cpu.Group == 0 { // no group reaches into the next matrix
		rows, matrices = s.count, 1
	}
	most := max(loadSlice/s.row/cpu.Group, 1) * cpu.Group
	if need := min(most, rows) * s.row; x.repacked != 0 && int64(len(b.stored)) < need {
		b.stored = make([]byte, max(need, loadSlice))
	}
	for i := range matrices {
		for j := int64(0); j < rows; j += most {
			n, first := min(most, rows-j), i*rows+j
			dst := unsafe.Add(x.at, first*s.row)
			if x.repacked == 0 {
				if err := s.copy(unsafe.Slice((*byte)(dst), n*s.row), first, n); err != nil {
					return err
				}
			} else {
				if err := s.copy(b.stored, first, n); err != nil {
					return err
				}
				if err := b.repack(dst, b.stored[:n*s.row], n, cols, x.typ); err != nil {
					return err
				}
			}
			did(n * s.row)
		}
	}
	return nil
}

// repack puts n rows in the order that kernels read fastest.
func (b *cpuBuild) repack(dst unsafe.Pointer, src []byte, n, cols int64, t cpu.Type) error {
	p := cpu.NewProgram(b.lane.program.Level())
	defer p.Free()
	if err := p.Add(&cpu.Repack{Src: unsafe.Pointer(unsafe.SliceData(src)), Dst: dst, M: n, Type: t, K: int32(cols)}); err != nil {
		return err
	}
	b.lane.team.Run(p, b.lane.batch)
	return nil
}

func aligned(bytes int64) int64 { return (bytes + 63) &^ 63 }
