package device

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"unsafe"

	"ingot/engine/device/driver"
	"ingot/engine/plan"
	"ingot/kernels/gpu"
)

// simtTop is how a lane takes the best of its logits, where a batch says that these are enough: in the program, by two kernels
// after the last step. Of a head that lanes share each takes the best of its own columns, and the host merges them; so the step that
// joins the columns is left out.
type simtTop struct {
	x     plan.Loc // what they are taken of; no columns: this lane has none
	first int32    // the token of the first column
	steps int      // of the plan that come before
}

// topRows is the most rows of a batch whose best are taken: what they are taken by needs memory for each.
const topRows = 32

// topOf says where a plan's best logits come from; false for all lanes of a stage alike: they cannot be had.
func topOf(p *plan.Plan) (t simtTop, ok bool) {
	cols := p.Logits.Cols()
	if cols == 0 || cols > gpu.MaxTopCols {
		return t, false
	}
	t.steps = len(p.Steps)
	joined := slices.ContainsFunc(p.Kept, func(k plan.Kept) bool { return k.At.Off == p.Logits.Off }) // a hook sees the whole rows
	last := &p.Steps[len(p.Steps)-1]
	if op, gather := last.Op.(plan.AllGather); gather && last.Out[0] == p.Logits && !joined {
		t.steps--
		if len(last.In) > 0 {
			t.x, t.first = last.In[0], int32(op.Cols[p.Lane])
		}
	} else if p.Lane == 0 {
		t.x = p.Logits
	}
	return t, true
}

// takeTop makes room for the kernels.
func (l *simtLayout) takeTop(p *plan.Plan) {
	if t, ok := topOf(p); ok && t.x.Cols() > 0 {
		rows := min(p.Options.Outs, topRows)
		l.take("top parts", int64(gpu.TopKParts(rows, t.x.Cols(), gpu.MaxTopK))*4)
		l.take("top", int64(gpu.TopKResult(rows, gpu.MaxTopK))*4)
	}
}

// top is the launches that take the best of up to so many rows.
func (b *simtBuild) top(t simtTop, outs int) ([]gpu.Launch, error) {
	if t.x.Cols() == 0 {
		return nil, nil
	}
	return gpu.TopKArgs{Batch: gpu.Ptr(b.at("batch")), X: b.loc(t.x), Parts: gpu.Ptr(b.at("top parts")), Dst: gpu.Ptr(b.at("top")), Stride: int64(t.x.Stride),
		Cols: int32(t.x.Cols()), K: gpu.MaxTopK}.Launch(b.lane.card.info(), min(outs, topRows))
}

// best is how many of the best logits the lanes take of each wanted row; 0: whole rows go to the host. INGOT_CARD_TOP_K=0, a switch for
// diagnosis, makes it so for every batch.
func (l *simtLane) best(b *Batch) int {
	if _, ok := topOf(l.plan); !ok || b.Best < 1 || b.Best > gpu.MaxTopK || len(b.Outs) == 0 || len(b.Outs) > topRows || os.Getenv("INGOT_CARD_TOP_K") == "0" {
		return 0
	}
	return b.Best
}

// fetch brings a run's scores to the host: the best of the lane's columns, or on the first lane whole rows.
func (l *simtLane) fetch(outs int) error {
	from, to, n := driver.Ptr(0), unsafe.Pointer(nil), 0
	switch {
	case outs == 0:
	case l.k > 0 && l.tops != nil:
		from, to, n = l.build.at("top"), unsafe.Pointer(&l.tops[0]), gpu.TopKResult(outs, l.k)
	case l.k == 0 && l.logits != nil:
		from, to, n = driver.Ptr(l.build.loc(l.plan.Logits)), unsafe.Pointer(&l.logits[0]), outs*l.plan.Logits.Stride
	}
	if n == 0 {
		return nil
	}
	if err := l.card.d.Download(to, from, int64(n)*4, l.stream); err != nil {
		return fmt.Errorf("%s: %w", l.card.name, err)
	}
	return nil
}

// Scores merges what the lanes of the stage found, in lane order.
func (l *simtLane) Scores(i int) Scores {
	if l.k == 0 {
		at := l.plan.Logits
		return Scores{Logits: l.logits[i*at.Stride : i*at.Stride+at.Cols()]}
	}
	type scored struct {
		logit float32
		id    int32
	}
	var all, tops []scored // tops: the largest of each lane, in turn with
	var logs []float32     // the logs of their sums
	each := gpu.TopKResult(1, l.k)
	for _, o := range l.group.lanes {
		if o.tops == nil {
			continue
		}
		row := o.tops[i*each : (i+1)*each]
		ids := unsafe.Slice((*int32)(unsafe.Pointer(&row[0])), each)
		for j := 1; j < each && ids[j+1] >= 0; j += 2 {
			all = append(all, scored{row[j], ids[j+1] + o.top.first})
			if j == 1 {
				tops, logs = append(tops, all[len(all)-1]), append(logs, row[0])
			}
		}
	}
	if len(tops) > 1 {
		slices.SortFunc(all, func(a, b scored) int { return cmp.Or(cmp.Compare(b.logit, a.logit), cmp.Compare(a.id, b.id)) })
		all = all[:min(len(all), l.k)]
	}
	s := Scores{Logits: make([]float32, len(all)), IDs: make([]int32, len(all))}
	for j, x := range all {
		s.Logits[j], s.IDs[j] = x.logit, x.id
	}
	sum := 0.0
	for j, t := range tops {
		below := float64(t.logit) - float64(all[0].logit)
		if t.logit == all[0].logit { // also where both are infinite, whose difference is NaN
			below = 0
		}
		sum += math.Exp(float64(logs[j]) + below)
	}
	s.Log = math.Log(sum)
	return s
}
