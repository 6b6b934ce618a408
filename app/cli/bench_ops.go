package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"ingot/engine"
)

// addOps adds a repetition's operations to those of the earlier ones.
func (r *benchRow) addOps(ops []engine.OpTime) {
	for _, o := range ops {
		i := slices.IndexFunc(r.ops, func(e engine.OpTime) bool { return e.Op == o.Op && e.Type == o.Type && e.Level == o.Level })
		if i < 0 {
			r.ops = append(r.ops, o)
			continue
		}
		e := &r.ops[i]
		e.Calls, e.Bytes, e.MACs, e.Time = e.Calls+o.Calls, e.Bytes+o.Bytes, e.MACs+o.MACs, e.Time+o.Time
	}
}

// opRow is one line of where the time went.
type opRow struct {
	Op      string  `json:"op"`
	Weights string  `json:"weights"` // their type, or the cache's
	Level   string  `json:"level"`
	Calls   int64   `json:"calls"`
	PerCall float64 `json:"us_per_call"`
	Share   float64 `json:"share"`      // of the measured time
	Bytes   float64 `json:"gb_per_s"`   // of weights; 0 for what is no product
	MACs    float64 `json:"gmac_per_s"` // multiply-adds with weights
}

// between is what no step took: choosing what to compute, waking threads, handing logits out.
const between = "between steps"

// opRows are the operations, the longest first, and last what was spent between them.
func (r *benchRow) opRows() []opRow {
	var wall, inside time.Duration
	for _, n := range r.nanos {
		wall += time.Duration(n)
	}
	ops := slices.Clone(r.ops)
	slices.SortStableFunc(ops, func(a, b engine.OpTime) int { return int(b.Time - a.Time) })
	keys, values := strings.ToUpper(cmp.Or(r.on.CacheK, "f16")), strings.ToUpper(cmp.Or(r.on.CacheV, "f16"))
	var rows []opRow
	for _, o := range ops {
		inside += o.Time
		if cache := o.Op == "attention" || o.Op == "kv_store"; cache && o.Type == keys && keys != values {
			o.Type += "/" + values
		}
		seconds := max(o.Time, 1).Seconds()
		rows = append(rows, opRow{o.Op, o.Type, o.Level, o.Calls, float64(o.Time) / 1e3 / float64(max(o.Calls, 1)), o.Time.Seconds() / wall.Seconds(),
			float64(o.Bytes) / seconds / 1e9, float64(o.MACs) / seconds / 1e9})
	}
	return append(rows, opRow{Op: between, Share: max(wall-inside, 0).Seconds() / wall.Seconds()})
}

func (r *benchRow) printOps(w io.Writer, title string) {
	fmt.Fprintf(w, "\n%s: where the time went\n\n", title)
	fmt.Fprintln(w, "| operation     | weights   | level   |  share |   calls |  µs/call |   GB/s |  GMAC/s |")
	fmt.Fprintln(w, "| ------------- | --------- | ------- | -----: | ------: | -------: | -----: | ------: |")
	number := func(x float64, format string) string {
		if x == 0 {
			return ""
		}
		return fmt.Sprintf(format, x)
	}
	for _, o := range r.opRows() {
		fmt.Fprintf(w, "| %-13s | %-9s | %-7s | %5.1f%% | %7s | %8s | %6s | %7s |\n", o.Op, o.Weights, o.Level, 100*o.Share,
			number(float64(o.Calls), "%.0f"), number(o.PerCall, "%.1f"), number(o.Bytes, "%.1f"), number(o.MACs, "%.1f"))
	}
}
