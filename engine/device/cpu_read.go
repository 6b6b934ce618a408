package device

import (
	"time"
	"unsafe"

	"ingot/engine/graph"
	"ingot/engine/plan"
)

// A region is memory that holds weights.
type region struct {
	at    unsafe.Pointer
	bytes int64
}

// ReadWeights reads every matrix of the lane's products once, with the lane's threads, and does nothing with them. Beside a
// run's time it tells how near the run came to what memory gave at that moment. No run may be in progress.
func (l *cpuLane) ReadWeights() (bytes int64, took time.Duration) {
	for _, r := range l.matrices {
		n, t := l.team.Read(r.at, r.bytes)
		bytes, took = bytes+n, took+t
	}
	return bytes, took
}

// remember lists the matrices of the plan's products, each once.
func (b *cpuBuild) remember() {
	seen := map[*graph.Weight]bool{}
	for i := range b.spec.Plan.Steps {
		s := &b.spec.Plan.Steps[i]
		if !plan.Product(s.Op) || seen[s.W[0]] {
			continue
		}
		seen[s.W[0]] = true
		from := b.spec.source(s.W[0])
		b.lane.matrices = append(b.lane.matrices, region{b.matrices[s.W[0]].at, from.count * from.row})
	}
}
