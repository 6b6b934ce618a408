package conformance

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ingot/kernels/cpu"
)

// recording is the format of reference/logits: greedy steps with the best candidates of each.
type recording struct {
	Cases []struct {
		Steps []struct {
			ID  int
			Top [][2]float64
		}
	}
}

func readRecording(t *testing.T, path string) *recording {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r recording
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return &r
}

// firstMean is the mean |delta log p| of another program's first steps over exact arithmetic's candidates, as far as
// it recorded them.
func firstMean(other, exact *recording) float64 {
	sum, n := 0.0, 0
	for i, c := range exact.Cases {
		theirs := map[float64]float64{}
		for _, t := range other.Cases[i].Steps[0].Top {
			theirs[t[0]] = t[1]
		}
		for _, t := range c.Steps[0].Top {
			if p, ok := theirs[t[0]]; ok {
				sum += math.Abs(p - t[1])
				n++
			}
		}
	}
	return sum / float64(n)
}

// compareLogits is one run of the command.
func compareLogits(t *testing.T, model, ref string, flags ...string) (d struct {
	Mean      float64
	Max       float64
	FirstMean float64 `json:"first_mean"`
	Argmax    float64 `json:"argmax_agree"`
	Steps     int
}) {
	t.Helper()
	stdout, stderr, code := ingot(t, "", append([]string{"compare-logits", model, ref, "-o", "json"}, flags...)...)
	if code != 0 {
		t.Fatalf("compare-logits %s: exit %d, %s", filepath.Base(ref), code, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// On the first step of each case, where the contexts are the same, our error against exact arithmetic, averaged over
// the files, is no larger than llama.cpp's on the same file, and for no file more than 1.5 times it. Where nothing is
// quantized, all steps lie within 0.02 of llama.cpp's own answer, on average and, but for one file, each.
func TestLogitsAgainstExact(t *testing.T) {
	const times, near = 1.5, 0.02
	refs, err := filepath.Glob(filepath.Join(reference(t, "logits"), "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	refs = slices.DeleteFunc(refs, func(p string) bool { return strings.HasSuffix(p, ".exact.json") })
	if len(refs) == 0 {
		t.Fatal("no recordings")
	}
	for _, level := range cpu.Levels() {
		t.Run(level.String(), func(t *testing.T) {
			t.Setenv("INGOT_CPU", level.String())
			var table strings.Builder
			fmt.Fprintf(&table, "%-28s %9s %9s %6s %9s %7s\n", "file", "ours", "theirs", "ratio", "mean", "argmax")
			var ours, theirs, plainSum float64
			var files, plains int
			for _, ref := range refs {
				name := strings.TrimSuffix(filepath.Base(ref), ".json")
				model := reference(t, "models", name+".gguf")
				own := compareLogits(t, model, ref)
				exactPath := strings.TrimSuffix(ref, ".json") + ".exact.json"
				if _, err := os.Stat(exactPath); err == nil {
					exact := compareLogits(t, model, exactPath)
					other := firstMean(readRecording(t, ref), readRecording(t, exactPath))
					ours, theirs, files = ours+exact.FirstMean, theirs+other, files+1
					fmt.Fprintf(&table, "%-28s %9.6f %9.6f %6.2f %9.6f %7.3f\n", name, exact.FirstMean, other, exact.FirstMean/other, own.Mean, own.Argmax)
					if exact.FirstMean > times*other {
						t.Errorf("%s: first steps are %.6f from exact, llama.cpp's %.6f: %.2f times, expected at most %.1f", name, exact.FirstMean, other, exact.FirstMean/other, times)
					}
				} else {
					fmt.Fprintf(&table, "%-28s %9s %9s %6s %9.6f %7.3f\n", name, "-", "-", "-", own.Mean, own.Argmax)
				}
				limit := near
				if far, ok := elsewhere[name]; ok {
					limit = far
				}
				if plain(name) {
					plainSum, plains = plainSum+own.Mean, plains+1
					if own.Mean >= limit {
						t.Errorf("%s: steps are %.6f from llama.cpp's, expected below %.2f", name, own.Mean, limit)
					}
				}
			}
			fmt.Fprintf(&table, "%-28s %9.6f %9.6f %6.2f", "average", ours/float64(files), theirs/float64(files), ours/theirs)
			t.Logf("first steps against exact arithmetic (ours, llama.cpp's), all steps against llama.cpp's (mean, argmax)\n%s", table.String())
			if mean := plainSum / float64(plains); mean >= near {
				t.Errorf("steps of unquantized files are %.6f from llama.cpp's on average, expected below %.2f", mean, near)
			}
			if ours > theirs {
				t.Errorf("first steps are %.6f from exact on average, llama.cpp's %.6f", ours/float64(files), theirs/float64(files))
			}
		})
	}
}

// elsewhere are files on which llama.cpp's own answer leaves exact arithmetic, with the distance to it that remains.
// In qwen35moe-tiny, after the one token of the first case, the second and third expert of layer 2 lie 0.0008 apart
// before the softmax; float64 arithmetic takes the same one as Ingot, llama.cpp the other (its answer is 0.008 from
// float64 with that one choice swapped), and the recurrent state carries the difference through all 16 steps.
var elsewhere = map[string]float64{"qwen35moe-tiny.F16": 0.08}

// plain tells the files whose weights are not quantized.
func plain(name string) bool { return strings.HasSuffix(name, "F16") }
