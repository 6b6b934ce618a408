package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ingot/tests/fakecard"
)

// On emulated cards the first steps of each case are as near exact arithmetic as TestLogitsAgainstExact asks of the processor, on one
// card and over several. That topologies agree among themselves tests/cards shows.
func TestLogitsOnCards(t *testing.T) {
	const times = 1.5
	if testing.Short() {
		t.Skip("compiles the kernels for the emulated cards")
	}
	if fakecard.Compiler() == "" {
		t.Skip("no C++ compiler for the emulated cards")
	}
	lib, err := fakecard.Build()
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		model string
		flags []string
	}{
		{"qwen35-mini.Q4_K_M", []string{"--cards", "4xhip", "-tps", "2"}},
		{"qwen35-mini.Q8_0", []string{"--cards", "hip:0"}},
		{"qwen35moe-mini.Q4_K_M", []string{"--cards", "2xhip", "-tps", "2"}},
	} {
		t.Run(c.model+" "+strings.Join(c.flags, " "), func(t *testing.T) {
			for _, e := range fakecard.Environment(lib, fmt.Sprintf("cards=4 run=%d", i)) {
				k, v, _ := strings.Cut(e, "=")
				t.Setenv(k, v)
			}
			model, exact := reference(t, "models", c.model+".gguf"), reference(t, "logits", c.model+".exact.json")
			d := compareLogits(t, model, firstSteps(t, exact, 2), append(c.flags, "-ub", "8")...)
			theirs := firstMean(readRecording(t, reference(t, "logits", c.model+".json")), readRecording(t, exact))
			if d.FirstMean > times*theirs {
				t.Errorf("first steps are %.6f from exact, llama.cpp's %.6f: %.2f times, expected at most %.1f", d.FirstMean, theirs, d.FirstMean/theirs, times)
			}
			t.Logf("%.6f from exact, llama.cpp's %.6f", d.FirstMean, theirs)
		})
	}
}

// firstSteps writes a recording anew with its cases cut after so many steps: emulated cards are slow.
func firstSteps(t *testing.T, path string, n int) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Cases []struct {
			Prompt json.RawMessage   `json:"prompt"`
			Steps  []json.RawMessage `json:"steps"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for i := range r.Cases {
		r.Cases[i].Steps = r.Cases[i].Steps[:min(n, len(r.Cases[i].Steps))]
	}
	if b, err = json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "first.json")
	if err := os.WriteFile(cut, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return cut
}
