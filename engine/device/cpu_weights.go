package device

import (
	"unsafe"

	"ingot/engine/graph"
	"ingot/kernels/cpu"
)

// repackSlice is how many bytes of a weight are repacked before their source is released: what loading takes beyond
// the weights themselves.
const repackSlice = 32 << 20

// matrix is a weight as products and embeddings read it.
func (b *cpuBuild) matrix(w *graph.Weight) (_ unsafe.Pointer, _ cpu.Type, repacked int32) {
	d := b.spec.Weights[w.ID]
	if p, ok := b.packed[w]; ok {
		return p, cpu.Type(d.Type), 1
	}
	return unsafe.Pointer(unsafe.SliceData(d.Data)), cpu.Type(d.Type), 0
}

// repack copies every matrix that kernels read faster in another order, and releases what it read.
func (b *cpuBuild) repack() error {
	var list []*graph.Weight
	var total int64
	seen := map[*graph.Weight]bool{}
	for i := range b.spec.Plan.Steps {
		s := &b.spec.Plan.Steps[i]
		switch s.Op.(type) {
		case graph.Embed, graph.Linear, graph.Experts:
		default:
			continue
		}
		w := s.W[0]
		if d := b.spec.Weights[w.ID]; !seen[w] && cpu.Type(d.Type).Repacks() && w.Shape[1] >= cpu.Group {
			seen[w] = true
			list = append(list, w)
			total += aligned(len(d.Data))
		}
	}
	if total == 0 {
		return nil
	}
	var uncounted int64 // the weights are counted whether repacked or not
	m, err := b.alloc("weights", total, &uncounted)
	if err != nil {
		return err
	}
	b.lane.batch.Resize(0, 0, 0)
	var at, done int64
	for _, w := range list {
		b.packed[w] = m.At(at)
		at += aligned(len(b.spec.Weights[w.ID].Data))
		err := b.repackWeight(w, b.packed[w], func(n int) {
			if done += int64(n); b.spec.Progress != nil {
				b.spec.Progress(float64(done) / float64(total))
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// repackWeight copies one weight to dst, a slice at a time.
func (b *cpuBuild) repackWeight(w *graph.Weight, dst unsafe.Pointer, did func(bytes int)) error {
	d := b.spec.Weights[w.ID]
	rows, matrices := w.Shape[1], int64(1)
	if len(w.Shape) > 2 {
		matrices = w.Shape[2]
	}
	if rows%cpu.Group == 0 { // no group reaches into the next matrix
		rows, matrices = rows*matrices, 1
	}
	row := int64(len(d.Data)) / (rows * matrices)
	most := max(repackSlice/row/cpu.Group, 1) * cpu.Group
	for i := range matrices {
		for j := int64(0); j < rows; j += most {
			n, from := min(most, rows-j), (i*rows+j)*row
			src := d.Data[from : from+n*row]
			p := cpu.NewProgram(b.lane.program.Level())
			err := p.Add(&cpu.Repack{Src: unsafe.Pointer(unsafe.SliceData(src)), Dst: unsafe.Add(dst, from), M: n, Type: cpu.Type(d.Type), K: int32(w.Shape[0])})
			if err == nil {
				b.lane.team.Run(p, b.lane.batch)
			}
			p.Free()
			if err != nil {
				return err
			}
			if b.spec.Release != nil {
				b.spec.Release(src)
			}
			did(len(src))
		}
	}
	return nil
}

func aligned(bytes int) int64 { return (int64(bytes) + 63) &^ 63 }
