package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"ingot/engine"
)

// workRate is what the row's work comes to, and the limit that bounds it: for tokens written one by one the bytes a second
// of weights, for a prompt the multiply-adds a second with them. ok is false for both in one.
func (r *benchRow) workRate() (rate, limit float64, unit string, ok bool) {
	t := r.test
	switch {
	case t.prompt == 0:
		return mean(r.rates()) * float64(r.bytes), r.limits.Read, "GB/s", true
	case t.gen == 0:
		return mean(r.rates()) / float64(t.prompt) * float64(r.macs), r.peak(), "GMAC/s", true
	}
	return 0, 0, "", false
}

// peak is the fastest that the level's instructions multiply: what is not quantized is not multiplied as int8.
func (r *benchRow) peak() float64 {
	if slices.Contains([]string{"F32", "F16", "BF16"}, r.model.weights) {
		return r.limits.Peak(r.level, "bf16", "f32")
	}
	return r.limits.Peak(r.level)
}

func (r *benchRow) workText() string {
	rate, _, unit, ok := r.workRate()
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.1f %s", rate/1e9, unit)
}

func (r *benchRow) shareText() string {
	rate, limit, _, ok := r.workRate()
	if !ok || limit == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*rate/limit)
}

// readShare is a token's weights a second as a share of what reading alone gave around each repetition: 1 is as fast as
// memory. Only for tokens written one by one: a prompt is not bounded by memory.
func (r *benchRow) readShare() (share float64, ok bool) {
	if r.test.prompt > 0 || len(r.reads) == 0 {
		return 0, false
	}
	var shares []float64
	for i, rate := range r.rates() {
		if r.reads[i] == 0 {
			return 0, false
		}
		shares = append(shares, rate*float64(r.bytes)/r.reads[i])
	}
	return mean(shares), true
}

func (r *benchRow) readText() string {
	if len(r.reads) == 0 || r.reads[0] == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f GB/s", mean(r.reads)/1e9)
}

func (r *benchRow) readShareText() string {
	share, ok := r.readShare()
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*share)
}

// limitFields are further columns of the csv and json forms. A share is nil where it has no meaning.
func (r *benchRow) limitFields() []field {
	var share, ofRead any
	read := 0.0
	if len(r.nanos) > 0 { // none: the names are asked for
		if rate, limit, _, ok := r.workRate(); ok && limit > 0 {
			share = six(rate / limit)
		}
		if x, ok := r.readShare(); ok {
			ofRead = six(x)
		}
	}
	if len(r.reads) > 0 {
		read = mean(r.reads)
	}
	return []field{
		{"level", r.level}, {"bytes_per_token", r.bytes}, {"macs_per_prompt", r.macs},
		{"limit_bytes_per_s", int64(r.limits.Read)}, {"limit_macs_per_s", int64(r.peak())}, {"share_of_limit", share},
		{"read_bytes_per_s", int64(read)}, {"share_of_read", ofRead},
	}
}

const limitLegend = `
work: weights read (tg) or multiplied (pp) a second; of limit: its share of the most that this machine does;
reading: weights read and not used, in turn with the test; of reading: the share of that.
Above 100% the weights fit in a cache, or the machine was busy while the limit was measured.
`

// limitRow is one line of a machine's limits.
type limitRow struct {
	Threads     int     `json:"threads"`
	Limit       string  `json:"limit"` // "read" or the type of the factors
	Instruction string  `json:"instruction"`
	Level       string  `json:"level"`
	Value       float64 `json:"value"`
	Unit        string  `json:"unit"`
}

// limitRows are those of each number of threads. What one thread reads is measured beside any number, and listed once.
func limitRows(all []*engine.Limits) (rows []limitRow) {
	if limitsOf(all, 1) == nil {
		rows = append(rows, limitRow{1, "read", "", "", all[0].Read1 / 1e9, "GB/s"})
	}
	for _, l := range all {
		rows = append(rows, limitRow{l.Threads, "read", "", "", l.Read / 1e9, "GB/s"})
		for _, r := range l.Rates {
			rows = append(rows, limitRow{l.Threads, r.Type, r.Instruction, r.Level, r.PerSecond / 1e9, "GMAC/s"})
		}
	}
	return rows
}

// limitsOf are the limits for a number of threads; nil where they were not measured.
func limitsOf(all []*engine.Limits, threads int) *engine.Limits {
	if i := slices.IndexFunc(all, func(l *engine.Limits) bool { return l.Threads == threads }); i >= 0 {
		return all[i]
	}
	return nil
}

// printLimits prints what was measured for each number of threads.
func printLimits(w io.Writer, format string, limits []*engine.Limits) error {
	rows := limitRows(limits)
	switch format {
	case "json":
		return writeJSON(w, rows)
	case "jsonl":
		for _, r := range rows {
			if err := json.NewEncoder(w).Encode(r); err != nil {
				return err
			}
		}
		return nil
	case "csv":
		fmt.Fprintln(w, "threads,limit,instruction,level,value,unit")
		for _, r := range rows {
			fmt.Fprintf(w, "%d,%s,%s,%s,%.2f,%s\n", r.Threads, r.Limit, r.Instruction, r.Level, r.Value, r.Unit)
		}
		return nil
	}
	fmt.Fprintf(w, "| limit | threads | %-20s | level  | %15s |\n", "instruction", "at most")
	fmt.Fprintf(w, "| ----- | ------: | %s | ------ | %s: |\n", strings.Repeat("-", 20), strings.Repeat("-", 14))
	for _, r := range rows {
		fmt.Fprintf(w, "| %-5s | %7d | %-20s | %-6s | %15s |\n", r.Limit, r.Threads, r.Instruction, r.Level, fmt.Sprintf("%.1f %s", r.Value, r.Unit))
	}
	fmt.Fprintln(w)
	for _, l := range limits {
		fmt.Fprintf(w, "read fastest by %s: %s\n", counted(l.Threads, "thread"), l.Pattern)
	}
	return nil
}
