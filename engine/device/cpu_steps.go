package device

import (
	"fmt"
	"unsafe"

	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/kernels/cpu"
)

// step adds the kernel of one plan step.
func (b *cpuBuild) step(s *plan.Step) error {
	rows := cpu.Rows(s.Rows)
	in := func(i int) unsafe.Pointer { return b.at(s.In[i]) }
	stride := func(i int) int64 { return int64(s.In[i].Stride) }
	out := s.Out
	var added unsafe.Pointer
	var addStride int64
	if s.Add != nil {
		added, addStride = b.at(*s.Add), int64(s.Add.Stride)
	}
	var residual int32
	if s.Fine {
		residual = 1
	}
	// vectors are the weights a kernel needs in f32, in the order of the step
	vectors := make([]unsafe.Pointer, len(s.W))
	from := 0
	switch s.Op.(type) {
	case graph.Linear, graph.Experts:
		from = 1
	case graph.Embed, graph.Rotate, graph.Conv:
		from = len(s.W)
	}
	for i := from; i < len(s.W); i++ {
		v, err := b.vector(s.W[i])
		if err != nil {
			return err
		}
		vectors[i] = v
	}

	switch op := s.Op.(type) {
	case graph.Embed:
		m := b.matrices[s.W[0]]
		return b.add(s, &cpu.Embed{W: m.at, Dst: b.at(out[0]), Stride: int64(out[0].Stride), Type: m.typ,
			Cols: int32(s.W[0].Shape[0]), Vocab: int32(s.W[0].Shape[1]), Repacked: m.repacked, Scale: op.Scale})
	case plan.Quantize:
		return b.add(s, &cpu.Quantize{X: in(0), Q8: b.at(out[0]), Stride: stride(0), Cols: int32(s.In[0].Cols()), Rows: rows, Times: int32(s.Times),
			Residual: residual})
	case graph.Linear:
		m := b.matrices[s.W[0]]
		a := &cpu.Matmul{W: m.at, X: in(0), Dst: b.at(out[0]), Add: added, XStride: stride(0), DstStride: int64(out[0].Stride), AddStride: addStride,
			Type: m.typ, M: int32(out[0].Cols()), K: int32(s.W[0].Shape[0]), Rows: rows, Residual: residual, Repacked: m.repacked}
		if len(s.W) > 1 {
			a.Bias = vectors[1]
		}
		return b.add(s, a)
	case graph.Experts:
		m := b.matrices[s.W[0]]
		a := &cpu.Experts{W: m.at, X: in(0), IDs: in(1), Dst: b.at(out[0]), XStride: stride(0), DstStride: int64(out[0].Stride),
			Type: m.typ, M: int32(s.W[0].Shape[1]), K: int32(s.W[0].Shape[0]), Experts: int32(s.W[0].Shape[2]), Used: int32(op.Used), Residual: residual,
			Repacked: m.repacked}
		if len(s.W) > 1 {
			a.Bias = vectors[1]
		}
		if s.Each {
			a.PerSlot = 1
		}
		return b.add(s, a)
	case graph.Norm:
		x := s.In[0]
		a := &cpu.Norm{X: in(0), Dst: b.at(out[0]), Stride: stride(0), Gap: int64(x.Gap), DStride: int64(out[0].Stride), DGap: int64(x.Dim),
			Heads: int32(x.Heads), Cols: int32(x.Dim), Rows: rows, Eps: op.Eps}
		if len(vectors) > 0 {
			a.W = vectors[0]
		}
		if len(s.In) > 1 {
			a.Gate, a.GStride = in(1), stride(1)
		}
		return b.add(s, a)
	case graph.Rotate:
		r, err := b.rotation(op.Rope, s.W)
		if err != nil {
			return err
		}
		a := &cpu.Rope{X: in(0), Freq: r.freq, Stride: stride(0), Gap: int64(s.In[0].Gap), Heads: int32(s.In[0].Heads), Rot: int32(op.Rope.Dims), Mag: r.mag}
		if op.Rope.Neox {
			a.Neox = 1
		}
		return b.add(s, a)
	case plan.Store:
		kv := b.kv[s.State]
		return b.add(s, &cpu.KVStore{K: in(0), V: in(1), KC: kv[0], VC: kv[1], KStride: stride(0), VStride: stride(1), Type: cpu.Type(b.spec.Keys),
			VType: cpu.Type(b.spec.Values), Heads: int32(s.State.KVHeads), Dim: int32(s.State.KVDim), Cells: int32(b.spec.Cells)})
	case graph.Attention:
		kv := b.kv[s.State]
		a := &cpu.Attention{Q: in(0), KC: kv[0], VC: kv[1], Dst: b.at(out[0]), Scratch: b.scratch, Done: b.done, QStride: stride(0), QGap: int64(op.Dim),
			DStride: int64(out[0].Stride), Type: cpu.Type(b.spec.Keys), VType: cpu.Type(b.spec.Values), Heads: int32(op.Heads), KVHeads: int32(op.KVHeads), Dim: int32(op.Dim),
			Cells: int32(b.spec.Cells), Window: int32(s.State.Window), Scale: op.Scale, Cap: op.Cap}
		if s.In[0].Heads > 1 {
			a.QGap = int64(s.In[0].Gap)
		}
		if len(s.In) > 1 {
			a.Gate, a.GStride, a.GGap = in(1), stride(1), int64(s.In[1].Gap)
		}
		if len(s.W) > 0 {
			a.Sinks = vectors[0]
		}
		return b.add(s, a)
	case graph.Conv:
		taps, err := b.taps(s.W[0])
		if err != nil {
			return err
		}
		return b.add(s, &cpu.Conv{X: in(0), W: taps, State: b.states[s.State].conv, Dst: b.at(out[0]), Stride: stride(0),
			DStride: int64(out[0].Stride), Cols: int32(s.State.Conv), Width: int32(s.State.Width)})
	case graph.DeltaNet:
		return b.add(s, &cpu.Delta{QKV: in(0), Alpha: in(1), Beta: in(2), DT: vectors[0], A: vectors[1], State: b.states[s.State].delta,
			Dst: b.at(out[0]), Stride: stride(0), AStride: stride(1), BStride: stride(2), DStride: int64(out[0].Stride),
			KHeads: int32(op.KHeads), VHeads: int32(op.VHeads), Dim: int32(op.Dim), Eps: op.Eps})
	case graph.GLU:
		return b.add(s, &cpu.GLU{Gate: in(0), Up: in(1), Dst: b.at(out[0]), GStride: stride(0), UStride: stride(1), DStride: int64(out[0].Stride),
			Cols: int32(out[0].Cols()), Act: cpu.Act(op.Act), Rows: rows, Times: int32(s.Times)})
	case graph.Route:
		a := &cpu.Route{Logits: in(0), IDs: b.at(out[0]), Weights: b.at(out[1]), Stride: stride(0), Experts: int32(op.Experts), Used: int32(op.Used), Scale: op.Scale}
		if op.Normalize {
			a.Normalize = 1
		}
		if op.Sigmoid {
			a.Sigmoid = 1
		}
		if op.Bias {
			a.Bias = vectors[0]
		}
		if op.Factors {
			a.Factors = vectors[len(vectors)-1]
		}
		return b.add(s, a)
	case graph.Combine:
		a := &cpu.Combine{Y: in(0), Weights: in(1), Add: added, Dst: b.at(out[0]), YStride: stride(0), AddStride: addStride,
			DStride: int64(out[0].Stride), Cols: int32(out[0].Cols()), Used: int32(op.Used)}
		if len(s.In) > 2 {
			a.Shared, a.SStride = in(2), stride(2)
		}
		if len(s.In) > 3 {
			a.SGate = in(3)
		}
		return b.add(s, a)
	case plan.Zero: // a token's rows lie together
		cols := out[0].Cols() * s.Times
		return b.add(s, &cpu.Zero{Dst: b.at(out[0]), DStride: int64(cols), Cols: int32(cols), Rows: rows})
	case plan.AllReduce:
		return b.add(s, &cpu.AllReduce{Exchange: b.lane.exchange.memory.Pointer(), X: in(0), Add: added, Dst: b.at(out[0]), XStride: stride(0),
			AddStride: addStride, DStride: int64(out[0].Stride), Lane: int32(b.spec.Plan.Lane), Cols: int32(out[0].Cols()), Rows: rows})
	case plan.AllGather:
		m, err := b.alloc("joins", int64(len(op.Cols))*4, &b.lane.used.Scratch)
		if err != nil {
			return err
		}
		for i, c := range op.Cols {
			m.Int32s()[i] = int32(c)
		}
		a := &cpu.AllGather{Exchange: b.lane.exchange.memory.Pointer(), Dst: b.at(out[0]), From: m.Pointer(), DStride: int64(out[0].Stride),
			Lane: int32(b.spec.Plan.Lane), Rows: rows, Times: int32(s.Times)}
		if len(s.In) > 0 {
			a.X, a.XStride = in(0), stride(0)
		}
		return b.add(s, a)
	case graph.Gather:
		return b.add(s, &cpu.Gather{X: in(0), Dst: b.at(out[0]), Stride: stride(0), DStride: int64(out[0].Stride), Cols: int32(out[0].Cols())})
	case graph.Add:
		return b.add(s, &cpu.Add{X: in(0), Y: in(1), Dst: b.at(out[0]), XStride: stride(0), YStride: stride(1), DStride: int64(out[0].Stride),
			Cols: int32(out[0].Cols()), Rows: rows, Scale: 1})
	case graph.Softcap:
		a := &cpu.Add{X: in(0), Dst: b.at(out[0]), XStride: stride(0), DStride: int64(out[0].Stride),
			Cols: int32(out[0].Cols()), Rows: rows, Scale: op.Scale, Cap: op.Cap}
		if len(vectors) > 0 {
			a.Factor = vectors[0]
		}
		return b.add(s, a)
	}
	return fmt.Errorf("%w: operation %s", ErrUnsupported, s.Op.Name())
}

// taps is a convolution's weight [width, channels] turned to the kernel's order, in which a tap's channels lie together.
func (b *cpuBuild) taps(w *graph.Weight) (unsafe.Pointer, error) {
	p, err := b.vector(w)
	if err != nil {
		return nil, err
	}
	width, channels := int(w.Shape[0]), int(w.Shape[1])
	m, err := b.alloc("convolutions", int64(width*channels)*4, &b.lane.used.Scratch)
	if err != nil {
		return nil, err
	}
	from, to := unsafe.Slice((*float32)(p), width*channels), m.Float32s()
	for c := range channels {
		for j := range width {
			to[j*channels+c] = from[c*width+j]
		}
	}
	return m.Pointer(), nil
}
