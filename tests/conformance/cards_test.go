package conformance

import (
	"fmt"
	"strings"
	"testing"

	"ingot/tests/fakecard"
)

// On emulated cards the first steps of each case are as near exact arithmetic as TestLogitsAgainstExact asks of the processor, on one
// card and over several.
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
		{"qwen35-mini.Q4_K_M", []string{"--cards", "hip:0"}},
		{"qwen35-mini.Q4_K_M", []string{"--cards", "2xhip", "-tps", "2"}},
		{"qwen35-mini.Q4_K_M", []string{"--cards", "4xhip", "-tps", "2"}},
		{"qwen35-mini.Q4_K_M", []string{"--cards", "2xhip", "-sm", "layer"}},
		{"qwen35-mini.Q8_0", []string{"--cards", "hip:0"}},
		{"qwen35moe-mini.Q4_K_M", []string{"--cards", "hip:0"}},
		{"qwen35moe-mini.Q4_K_M", []string{"--cards", "2xhip", "-tps", "2"}},
	} {
		t.Run(c.model+" "+strings.Join(c.flags, " "), func(t *testing.T) {
			for _, e := range fakecard.Environment(lib, fmt.Sprintf("cards=4 run=%d", i)) {
				k, v, _ := strings.Cut(e, "=")
				t.Setenv(k, v)
			}
			model, exact := reference(t, "models", c.model+".gguf"), reference(t, "logits", c.model+".exact.json")
			d := compareLogits(t, model, exact, append(c.flags, "-ub", "8")...)
			theirs := firstMean(readRecording(t, reference(t, "logits", c.model+".json")), readRecording(t, exact))
			if d.FirstMean > times*theirs {
				t.Errorf("first steps are %.6f from exact, llama.cpp's %.6f: %.2f times, expected at most %.1f", d.FirstMean, theirs, d.FirstMean/theirs, times)
			}
			t.Logf("%.6f from exact, llama.cpp's %.6f", d.FirstMean, theirs)
		})
	}
}
