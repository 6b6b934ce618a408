package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"ingot/engine"
)

var someLimits = &engine.Limits{Threads: 2, Read1: 10e9, Read: 20e9, Pattern: "4 streams a thread", Rates: []engine.Rate{
	{Instruction: "vfmadd ymm", Type: "f32", Level: "avx2", PerSecond: 50e9},
	{Instruction: "vpdpbusd", Type: "int8", Level: "avx512", PerSecond: 400e9},
}}

func TestShareOfLimits(t *testing.T) {
	for _, c := range []struct {
		test          benchTest
		weights, want string
	}{
		{benchTest{gen: 4}, "Q8_0", "8.0 GB/s 40.0%"},          // 2 tokens a second of 4 GB
		{benchTest{gen: 4, depth: 9}, "F16", "8.0 GB/s 40.0%"}, // weights, whatever the cache adds
		{benchTest{prompt: 4}, "Q8_0", "20.0 GMAC/s 5.0%"},     // half a prompt a second of 40e9
		{benchTest{prompt: 4}, "BF16", "20.0 GMAC/s 40.0%"},    // of what multiplies floats
		{benchTest{prompt: 2, gen: 2}, "Q8_0", "- -"},          // a mixture has no one limit
	} {
		r := benchRow{model: &benchModelInfo{weights: c.weights}, test: c.test, nanos: []int64{2e9}, level: "avx512", limits: someLimits, bytes: 4e9, macs: 40e9}
		if got := r.workText() + " " + r.shareText(); got != c.want {
			t.Errorf("%s of %s: %q, expected %q", c.test.name(), c.weights, got, c.want)
		}
	}
	r := benchRow{model: &benchModelInfo{}, test: benchTest{prompt: 1}, nanos: []int64{1}, level: "generic", limits: someLimits}
	if r.shareText() != "-" {
		t.Errorf("a level without instructions of its own has the share %q", r.shareText())
	}
}

func TestShareOfReadingInTurn(t *testing.T) {
	r := benchRow{model: &benchModelInfo{}, test: benchTest{gen: 4}, nanos: []int64{1e9, 2e9}, limits: someLimits, bytes: 4e9, reads: []float64{20e9, 16e9}}
	if got := r.readText() + " " + r.readShareText(); got != "18.0 GB/s 65.0%" { // 16 of 20 and 8 of 16
		t.Errorf("two repetitions: %q", got)
	}
	r.test.prompt = 4
	if got := r.readShareText(); got != "-" {
		t.Errorf("a prompt: %q", got)
	}
	r.test.prompt, r.reads = 0, []float64{0, 0} // a card that does not tell
	if got := r.readText() + " " + r.readShareText(); got != "- -" {
		t.Errorf("nothing read: %q", got)
	}
}

func TestLimitsArePrinted(t *testing.T) {
	print := func(format string) string {
		var b strings.Builder
		if err := printLimits(&b, format, []*engine.Limits{someLimits}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	var rows []limitRow
	if err := json.Unmarshal([]byte(print("json")), &rows); err != nil || len(rows) != 4 ||
		rows[1] != (limitRow{2, "read", "", "", 20, "GB/s"}) || rows[3] != (limitRow{2, "int8", "vpdpbusd", "avx512", 400, "GMAC/s"}) {
		t.Errorf("%v, %+v", err, rows)
	}
	if got := strings.Count(print("jsonl"), "\n"); got != 4 {
		t.Errorf("%d lines of jsonl", got)
	}
	const csv = "threads,limit,instruction,level,value,unit\n1,read,,,10.00,GB/s\n2,read,,,20.00,GB/s\n2,f32,vfmadd ymm,avx2,50.00,GMAC/s\n2,int8,vpdpbusd,avx512,400.00,GMAC/s\n"
	if got := print("csv"); got != csv {
		t.Errorf("csv:\n%s", got)
	}
	if got := print("md"); !strings.Contains(got, "| int8  |       2 | vpdpbusd             | avx512 |    400.0 GMAC/s |\n") ||
		!strings.HasSuffix(got, "|\n\nread fastest by 2 threads: 4 streams a thread\n") {
		t.Errorf("md:\n%s", got)
	}
}

// Each number of threads is listed once, also one, which is measured beside the others.
func TestLimitsOfSeveralThreads(t *testing.T) {
	one := &engine.Limits{Threads: 1, Read1: 9e9, Read: 9e9, Pattern: "1 stream a thread"}
	var b strings.Builder
	if err := printLimits(&b, "csv", []*engine.Limits{one, someLimits}); err != nil {
		t.Fatal(err)
	}
	const csv = "threads,limit,instruction,level,value,unit\n1,read,,,9.00,GB/s\n2,read,,,20.00,GB/s\n2,f32,vfmadd ymm,avx2,50.00,GMAC/s\n2,int8,vpdpbusd,avx512,400.00,GMAC/s\n"
	if b.String() != csv {
		t.Errorf("csv:\n%s", b.String())
	}
	b.Reset()
	if err := printLimits(&b, "md", []*engine.Limits{one}); err != nil || !strings.HasSuffix(b.String(), "\nread fastest by 1 thread: 1 stream a thread\n") {
		t.Errorf("%v, md:\n%s", err, b.String())
	}
}

// A share that has no meaning is no number: a prompt is not bounded by reading, and generic code has no limit of its own.
func TestSharesWithoutMeaning(t *testing.T) {
	r := benchRow{model: &benchModelInfo{}, test: benchTest{prompt: 4}, nanos: []int64{1e9}, reads: []float64{20e9}, level: "generic", limits: someLimits, on: &engine.Options{}}
	var b strings.Builder
	(&benchPrinter{w: &b, format: "jsonl", limits: true}).row(&r)
	(&benchPrinter{w: &b, format: "csv", limits: true}).row(&r)
	for _, want := range []string{`"share_of_limit": null, "read_bytes_per_s": 20000000000, "share_of_read": null`, `,"","20000000000",""` + "\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%s is not in\n%s", want, b.String())
		}
	}
}
