package cpu

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

// What the threads of a team wait for each other when other threads want the same cores: steps of some 20 µs each, as a
// model of a few billion weights has, beside none, one and two busy threads. ns/step is wall time; alone on its cores a
// team takes that of "beside 0".
func BenchmarkBusyMachine(b *testing.B) {
	const steps, cols = 200, 64 << 10
	for _, threads := range []int{1, Cores(), Cores() + 1} {
		for _, busy := range []int{0, 1, 2} {
			b.Run(fmt.Sprintf("%d threads beside %d", threads, busy), func(b *testing.B) {
				var stop atomic.Bool
				defer stop.Store(true)
				for range busy {
					go func() {
						for !stop.Load() {
						}
					}()
				}
				p, _ := addition(b, steps, cols)
				batch, team := oneRow(b), NewTeam(threads)
				defer team.Close()
				worst := time.Duration(0)
				for b.Loop() {
					start := time.Now()
					team.Run(p, batch)
					worst = max(worst, time.Since(start))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/steps, "ns/step")
				b.ReportMetric(float64(worst.Nanoseconds())/steps, "worst-ns/step")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
