package device

import (
	"slices"
	"time"

	"ingot/engine/graph"
	"ingot/engine/plan"
	"ingot/engine/tensor"
)

// Work is what the products cost at least.
func (l *simtLane) Work(rows, outs int) (bytes, macs int64) {
	for i := range l.plan.Steps {
		s := &l.plan.Steps[i]
		b, m := stepWork(s, l.build.typ, rows, outs)
		bytes, macs = bytes+b, macs+m
	}
	return bytes, macs
}

// stepWork is the bytes of packed weights that a step reads for so many rows, of experts as many as the rows can use, and its
// multiply-adds.
func stepWork(s *plan.Step, typ func(*graph.Weight) tensor.Type, rows, outs int) (bytes, macs int64) {
	n := int64(rows)
	if s.Rows == graph.OutRows {
		n = int64(outs)
	}
	if n == 0 {
		return 0, 0
	}
	for _, w := range s.W[:s.Matrices()] {
		elements, _ := tensor.Elements(w.Shape[:min(len(w.Shape), 2)])
		one, _ := tensor.Bytes(typ(w), w.Shape[:min(len(w.Shape), 2)])
		if len(w.Shape) < 3 {
			bytes, macs = bytes+one, macs+n*elements
			continue
		}
		used := n * int64(s.Times)
		bytes, macs = bytes+one*min(w.Shape[2], used), macs+used*elements
	}
	return bytes, macs
}

// Profile returns the timings of each kind of kernel.
func (l *simtLane) Profile() []Timing {
	if !l.spec.Profile {
		return nil
	}
	var list []Timing
	for _, t := range l.timing {
		list = append(list, *t)
	}
	slices.SortFunc(list, func(a, b Timing) int { return int(b.Time - a.Time) })
	l.timing = nil
	return list
}

// count adds a launch to the timings.
func (l *simtLane) count(o *simtOp, entry string, took time.Duration, rows, outs int) {
	t := Timing{Op: "top_k", Level: entry}
	var b, m int64
	if o.step >= 0 {
		s := &l.plan.Steps[o.step]
		t.Op = s.Op.Name()
		if s.Matrices() > 0 {
			t.Type = l.build.typ(s.W[0]).String()
		}
		b, m = stepWork(s, l.build.typ, rows, outs)
	}
	key := t.Op + t.Type + t.Level
	if l.timing == nil {
		l.timing = map[string]*Timing{}
	}
	if l.timing[key] == nil {
		l.timing[key] = &t
	}
	alike := int64(0) // launches of the step with this kernel, which share its work
	for i := range o.launches {
		if o.launches[i].entry == entry {
			alike++
		}
	}
	b, m = b/max(alike, 1), m/max(alike, 1)
	x := l.timing[key]
	x.Calls, x.Bytes, x.MACs, x.Time = x.Calls+1, x.Bytes+b, x.MACs+m, x.Time+took
}
