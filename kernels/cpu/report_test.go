package cpu

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// limitsOf measures this machine's limits once a process for each number of threads.
func limitsOf(b testing.TB, threads int) *Limits {
	measured.Lock()
	defer measured.Unlock()
	if l := measured.by[threads]; l != nil {
		return l
	}
	l, err := MeasureLimits(context.Background(), threads, 0)
	if err != nil {
		b.Fatal(err)
	}
	measured.by[threads] = l
	return l
}

var measured = struct {
	sync.Mutex
	by map[int]*Limits
}{by: map[int]*Limits{}}

// reportWork ends a benchmark each of whose turns reads so many bytes from memory and makes so many multiply-adds with
// weights (or a cache) of a type: it reports both rates and "%limit", the time that the nearer of the machine's two limits
// leaves, for so many threads at that level, by the time taken. A level whose instructions have no measured rate gets no share.
// Call it after the last turn.
func reportWork(b *testing.B, level Level, typ Type, threads int, bytes, macs int64) {
	seconds := b.Elapsed().Seconds() / float64(b.N) // before the limits are measured
	l := limitsOf(b, threads)
	if peak := l.peakOf(level, typ); peak > 0 {
		b.ReportMetric(100*max(float64(bytes)/l.Read, float64(macs)/peak)/seconds, "%limit")
	}
	if bytes > 0 {
		b.ReportMetric(float64(bytes)/seconds/1e9, "GB/s")
	}
	if macs > 0 {
		b.ReportMetric(float64(macs)/seconds/1e9, "GMAC/s")
	}
	b.ReportMetric(0, "ns/op")
}

// peakOf is the fastest way a level has to multiply weights of a type: those that are not quantized stay floats.
func (l *Limits) peakOf(level Level, typ Type) float64 {
	if values, _ := typ.Block(); values == 1 {
		return l.Peak(level.String(), "bf16", "f32")
	}
	return l.Peak(level.String())
}

// The limits that shares are of, one a line.
func BenchmarkLimits(b *testing.B) {
	for _, threads := range slices.Compact([]int{1, Cores()}) {
		l := limitsOf(b, threads)
		line := func(name string, rate float64, unit string) {
			b.Run(fmt.Sprint(name, "/", threads), func(b *testing.B) {
				for b.Loop() {
				}
				b.ReportMetric(rate/1e9, unit)
				b.ReportMetric(0, "ns/op")
			})
		}
		line("read", l.Read, "GB/s")
		for _, r := range l.Rates {
			line(r.Level+"/"+r.Type, r.PerSecond, "GMAC/s")
		}
	}
}
