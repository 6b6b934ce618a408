package device

import (
	"time"
	"unsafe"

	"ingot/engine/graph"
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
		for _, w := range s.W[:s.Matrices()] {
			if seen[w] {
				continue
			}
			seen[w] = true
			from := b.spec.source(w)
			b.lane.matrices = append(b.lane.matrices, region{b.matrices[w].at, from.count * from.row})
		}
	}
}
