package device

import (
	"fmt"

	"ingot/engine/device/driver"
	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/engine/tensor"
	"ingot/kernels/gpu"
)

// simtBuild makes a lane from a plan.
type simtBuild struct {
	lane      *simtLane
	spec      Spec
	layout    *simtLayout
	base      driver.Ptr // of the layout
	sent      map[any]bool
	repacked  map[*graph.Weight]bool
	magnitude map[*graph.Rope]float32
	kv        map[*graph.State][2]driver.Ptr // keys, values
	states    map[*graph.State][2]driver.Ptr // of a convolution, of a delta net
}

func (b *simtBuild) typ(w *graph.Weight) tensor.Type { return b.spec.Weights[w.ID].Type }

func (b *simtBuild) at(key any) driver.Ptr {
	off, ok := b.layout.at[key]
	if !ok {
		panic(fmt.Sprintf("device: no place for %T", key))
	}
	return b.base + driver.Ptr(off)
}

// loc is a value's place in the arena.
func (b *simtBuild) loc(l plan.Loc) gpu.Ptr { return gpu.Ptr(b.at("arena")) + gpu.Ptr(l.Off) }

func (b *simtBuild) vec(w *graph.Weight) gpu.Ptr { return gpu.Ptr(b.at(vectorOf{w})) }

// meeting is a step at which the lanes of a stage meet: what the host does where cards do not reach each other.
type meeting struct {
	in, out plan.Loc
	add     *plan.Loc
	rows    graph.Rows
	times   int
	cols    []int // of AllGather: where each lane's columns begin; nil: a sum
}

// simtOp is one or more launches of a step, or a meeting through the host.
type simtOp struct {
	launches []simtLaunch
	meet     *meeting
	sum      *longSum // what is done instead where the batch is long
	by       string   // who did it in the last run, where that was no kernel of the step
	step     int      // of the plan; -1: top-k, which is none
}

// marks is how many events of a profile come with it.
func (o *simtOp) marks() int {
	if o.sum != nil {
		return 1
	}
	return len(o.launches)
}

// program makes the launches of all steps for batches of up to so many rows; with best, of those that the best logits need, and
// of the kernels that take these.
func (b *simtBuild) program(rows int, best bool) ([]simtOp, error) {
	p := b.spec.Plan
	outs, seqs := min(rows, p.Options.Outs), min(rows, max(b.spec.Slots, 1))
	steps := len(p.Steps)
	if best {
		steps = b.lane.top.steps
	}
	var ops []simtOp
	for i := range p.Steps[:steps] {
		s := &p.Steps[i]
		op := simtOp{step: i}
		list, err := b.step(i, s, rows, outs, seqs)
		if err != nil {
			return nil, fmt.Errorf("%s: %s of layer %d: %w", b.lane.card.name, s.Op.Name(), s.Layer, err)
		}
		if list == nil {
			op.meet = b.meeting(s)
		}
		if err := op.add(b, list); err != nil {
			return nil, err
		}
		if op.sum, err = b.longSum(i, rows); err != nil {
			return nil, err
		}
		if op.meet != nil || len(op.launches) > 0 {
			ops = append(ops, op)
		}
	}
	if best {
		op := simtOp{step: -1}
		list, err := b.top(b.lane.top, outs)
		if err == nil {
			err = op.add(b, list)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.lane.card.name, err)
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// add finds the kernels of launches.
func (o *simtOp) add(b *simtBuild, list []gpu.Launch) error {
	for j := range list {
		f, err := b.lane.card.kernels.find(&list[j])
		if err != nil {
			return err
		}
		o.launches = append(o.launches, simtLaunch{f: f, grid: list[j].Grid, threads: list[j].Module.Threads(), args: list[j].Args, entry: list[j].Entry})
	}
	return nil
}

// meeting is nil for a step that does nothing on the card.
func (b *simtBuild) meeting(s *plan.Step) *meeting {
	switch op := s.Op.(type) {
	case plan.AllReduce:
		return &meeting{in: s.In[0], out: s.Out[0], add: s.Add, rows: s.Rows, times: max(s.Times, 1)}
	case plan.AllGather:
		return &meeting{in: s.In[0], out: s.Out[0], rows: s.Rows, times: max(s.Times, 1), cols: op.Cols}
	}
	return nil
}

// step is the launches of one step; nil: none, or a meeting through the host.
func (b *simtBuild) step(i int, s *plan.Step, rows, outs, seqs int) ([]gpu.Launch, error) {
	c := b.lane.card.info()
	batch := gpu.Ptr(b.at("batch"))
	n := rows
	if s.Rows == graph.OutRows {
		n = outs
	}
	times := max(s.Times, 1)
	in := func(i int) gpu.Ptr { return b.loc(s.In[i]) }
	stride := func(i int) int64 { return int64(s.In[i].Stride) }
	out := func(i int) gpu.Ptr { return b.loc(s.Out[i]) }
	var dstride, addStride int64
	var added gpu.Ptr
	if len(s.Out) > 0 {
		dstride = int64(s.Out[0].Stride)
	}
	if s.Add != nil {
		added, addStride = b.loc(*s.Add), int64(s.Add.Stride)
	}
	var residual int32
	if s.Fine {
		residual = 1
	}
	one := func(l gpu.Launch, err error) ([]gpu.Launch, error) { return []gpu.Launch{l}, err }
	which := int32(s.Rows)

	switch op := s.Op.(type) {
	case graph.Embed: // the host has put the rows there, or beside the arena where other values may lie before
		if i == 0 {
			return []gpu.Launch{}, nil
		}
		cols := int64(s.W[0].Shape[0])
		return one(gpu.AddArgs{Batch: batch, X: gpu.Ptr(b.at(s)), Dst: out(0), XStride: cols, DStride: dstride, Cols: int32(cols), Rows: which, Scale: 1}.Launch(c, n))
	case plan.Quantize:
		return one(gpu.QuantizeArgs{Batch: batch, X: in(0), Q8: out(0), Stride: stride(0), Cols: int32(s.In[0].Cols()), Rows: which,
			Times: int32(times), Residual: residual}.Launch(c, n))
	case graph.Linear, plan.Gated:
		w := s.W[0]
		a := gpu.Matmul{Type: gpu.Type(b.typ(w)), MatmulArgs: gpu.MatmulArgs{Batch: batch, X: in(0), Dst: out(0), Add: added, XStride: stride(0) * 4,
			DStride: dstride, AddStride: addStride, M: int32(s.Out[0].Cols()), K: int32(w.Shape[0]), Rows: which, Residual: residual}}
		if op, ok := op.(plan.Gated); ok {
			a.Act = int32(op.Act)
		}
		return b.matrices(s, func(m matrices) ([]gpu.Launch, error) {
			a.W, a.Up, a.Bias, a.UpBias, a.Repacked = m.w, m.up, m.bias, m.upBias, m.repacked
			return a.Launch(c, n)
		})
	case graph.Experts, plan.GatedExperts:
		w := s.W[0]
		a := gpu.Experts{Type: gpu.Type(b.typ(w)), ExpertsArgs: gpu.ExpertsArgs{Batch: batch, X: in(0), IDs: in(1), Dst: out(0), Order: gpu.Ptr(b.at("order")),
			XStride: stride(0) * 4, DStride: dstride, M: int32(s.Out[0].Cols()), K: int32(w.Shape[0]), Experts: int32(w.Shape[2]), Used: int32(times),
			Residual: residual, Of: int32(w.Shape[1])}}
		if s.Each {
			a.PerSlot = 1
		}
		if op, ok := op.(plan.GatedExperts); ok {
			a.Act = int32(op.Act)
		}
		return b.matrices(s, func(m matrices) ([]gpu.Launch, error) {
			a.W, a.Up, a.Bias, a.UpBias, a.Repacked = m.w, m.up, m.bias, m.upBias, m.repacked
			return a.Launch(c, n)
		})
	case graph.Norm:
		x := s.In[0]
		a := gpu.NormArgs{Batch: batch, X: in(0), Dst: out(0), Stride: stride(0), Gap: int64(x.Gap), DStride: dstride, DGap: int64(x.Dim),
			Heads: int32(x.Heads), Cols: int32(x.Dim), Rows: which, Eps: op.Eps}
		if len(s.W) > 0 {
			a.W = b.vec(s.W[0])
		}
		if len(s.In) > 1 {
			a.Gate, a.GStride = in(1), stride(1)
		}
		return one(a.Launch(c, n))
	case graph.Rotate:
		a := gpu.RopeArgs{Batch: batch, X: in(0), Freq: gpu.Ptr(b.at(op.Rope)), Stride: stride(0), Gap: int64(s.In[0].Gap), Heads: int32(s.In[0].Heads),
			Rot: int32(op.Rope.Dims), Mag: b.magnitude[op.Rope]}
		if op.Rope.Neox {
			a.Neox = 1
		}
		return one(a.Launch(c, n))
	case plan.Store:
		kv := b.kv[s.State]
		return one(gpu.KVStoreArgs{Batch: batch, K: in(0), V: in(1), KC: gpu.Ptr(kv[0]), VC: gpu.Ptr(kv[1]), KStride: stride(0), VStride: stride(1),
			Type: gpu.Type(b.spec.Keys), VType: gpu.Type(b.spec.Values), Heads: int32(s.State.KVHeads), Dim: int32(s.State.KVDim), Cells: int32(b.spec.Cells)}.Launch(c, n))
	case graph.Attention:
		kv := b.kv[s.State]
		a := gpu.Attention{Type: gpu.Type(b.spec.Keys), VType: gpu.Type(b.spec.Values), Dim: op.Dim, AttentionArgs: gpu.AttentionArgs{Batch: batch, Q: in(0),
			KC: gpu.Ptr(kv[0]), VC: gpu.Ptr(kv[1]), Dst: out(0), Part: gpu.Ptr(b.at("part")), QStride: stride(0), QGap: int64(op.Dim), DStride: dstride,
			Heads: int32(op.Heads), KVHeads: int32(op.KVHeads), Cells: int32(b.spec.Cells), Window: int32(s.State.Window),
			Sections: gpu.AttentionSections(rows, op.Heads, op.KVHeads), Scale: op.Scale, Cap: op.Cap}}
		if s.In[0].Heads > 1 {
			a.QGap = int64(s.In[0].Gap)
		}
		if len(s.In) > 1 {
			a.Gate, a.GStride, a.GGap = in(1), stride(1), int64(s.In[1].Gap)
		}
		if len(s.W) > 0 {
			a.Sinks = b.vec(s.W[0])
		}
		return a.Launch(c, n, seqs)
	case graph.Conv:
		return one(gpu.ConvArgs{Batch: batch, X: in(0), W: gpu.Ptr(b.at(tapsOf{s.W[0]})), State: gpu.Ptr(b.states[s.State][0]), Dst: out(0),
			Stride: stride(0), DStride: dstride, Cols: int32(s.State.Conv), Width: int32(s.State.Width)}.Launch(c, n, seqs))
	case graph.DeltaNet:
		return one(gpu.Delta{Dim: op.Dim, DeltaArgs: gpu.DeltaArgs{Batch: batch, QKV: in(0), Alpha: in(1), Beta: in(2), DT: b.vec(s.W[0]), A: b.vec(s.W[1]),
			State: gpu.Ptr(b.states[s.State][1]), Dst: out(0), Stride: stride(0), AStride: stride(1), BStride: stride(2), DStride: dstride,
			KHeads: int32(op.KHeads), VHeads: int32(op.VHeads), Eps: op.Eps}}.Launch(c, seqs))
	case graph.GLU:
		return one(gpu.GLUArgs{Batch: batch, Gate: in(0), Up: in(1), Dst: out(0), GStride: stride(0), UStride: stride(1), DStride: dstride,
			Cols: int32(s.Out[0].Cols()), Act: int32(op.Act), Rows: which, Times: int32(times)}.Launch(c, n))
	case graph.Route:
		a := gpu.RouteArgs{Batch: batch, Logits: in(0), IDs: out(0), Weights: out(1), Stride: stride(0), Experts: int32(op.Experts), Used: int32(op.Used), Scale: op.Scale}
		if op.Normalize {
			a.Normalize = 1
		}
		if op.Sigmoid {
			a.Sigmoid = 1
		}
		if op.Bias {
			a.Bias = b.vec(s.W[0])
		}
		if op.Factors {
			a.Factors = b.vec(s.W[len(s.W)-1])
		}
		return one(a.Launch(c, n))
	case graph.Combine:
		a := gpu.CombineArgs{Batch: batch, Y: in(0), Weights: in(1), Add: added, Dst: out(0), YStride: stride(0), AddStride: addStride, DStride: dstride,
			Cols: int32(s.Out[0].Cols()), Used: int32(op.Used)}
		if len(s.In) > 2 {
			a.Shared, a.SStride = in(2), stride(2)
		}
		if len(s.In) > 3 {
			a.SGate = in(3)
		}
		return one(a.Launch(c, n))
	case graph.Gather:
		return one(gpu.GatherArgs{Batch: batch, X: in(0), Dst: out(0), Stride: stride(0), DStride: dstride, Cols: int32(s.Out[0].Cols())}.Launch(c, outs))
	case graph.Add:
		return one(gpu.AddArgs{Batch: batch, X: in(0), Y: in(1), Dst: out(0), XStride: stride(0), YStride: stride(1), DStride: dstride,
			Cols: int32(s.Out[0].Cols()), Rows: which, Scale: 1}.Launch(c, n))
	case graph.Softcap:
		a := gpu.AddArgs{Batch: batch, X: in(0), Dst: out(0), XStride: stride(0), DStride: dstride, Cols: int32(s.Out[0].Cols()), Rows: which,
			Scale: op.Scale, Cap: op.Cap}
		if len(s.W) > 0 {
			a.Factor = b.vec(s.W[0])
		}
		return one(a.Launch(c, n))
	case plan.Zero:
		return one(gpu.ZeroArgs{Batch: batch, Dst: out(0), DStride: dstride, Cols: int32(s.Out[0].Cols()), Rows: which, Times: int32(times)}.Launch(c, n))
	case plan.AllReduce:
		if !b.lane.group.direct {
			return nil, nil
		}
		cols := s.Out[0].Cols()
		return one(gpu.AllReduceArgs{Batch: batch, X: in(0), Add: added, Dst: out(0), XStride: stride(0), AddStride: addStride, DStride: dstride, Cols: int32(cols),
			Rows: which, Times: int32(times), Lanes: b.lane.exchange}.Launch(c, b.lane.group.twoShot(n*times*cols)))
	case plan.AllGather:
		if !b.lane.group.direct {
			return nil, nil
		}
		a := gpu.AllGatherArgs{Batch: batch, X: in(0), Dst: out(0), XStride: stride(0), DStride: dstride, Rows: which, Times: int32(times), Lanes: b.lane.exchange}
		for t, col := range op.Cols {
			a.At[t] = int32(col)
		}
		return one(a.Launch(c))
	}
	return nil, fmt.Errorf("%w: operation %s", ErrUnsupported, s.Op.Name())
}

// matrices are what a product's launch multiplies with: one matrix, or those of a gated unit.
type matrices struct {
	w, up, bias, upBias gpu.Ptr
	repacked            bool
}

// matrices launches a product. The matrices of a gated unit go together, but where there was memory to repack one of them only.
func (b *simtBuild) matrices(s *plan.Step, launch func(matrices) ([]gpu.Launch, error)) ([]gpu.Launch, error) {
	w := s.W[0]
	m := matrices{w: gpu.Ptr(b.at(w)), repacked: b.repacked[w]}
	biases := s.W[s.Matrices():]
	if len(biases) > 0 {
		m.bias = b.vec(biases[0])
	}
	if s.Matrices() == 1 {
		if _, gated := s.Op.(plan.GatedExperts); gated { // halves of one
			m.up = m.w
		}
		return launch(m)
	}
	up := matrices{up: gpu.Ptr(b.at(s.W[1])), repacked: b.repacked[s.W[1]]}
	if len(biases) > 1 {
		up.upBias = b.vec(biases[1])
	}
	if m.repacked == up.repacked {
		m.up, m.upBias = up.up, up.upBias
		return launch(m)
	}
	first, err := launch(m)
	if err != nil {
		return nil, err
	}
	second, err := launch(up)
	return append(first, second...), err
}
