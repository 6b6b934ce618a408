package conformance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every recorded text gives the recorded ids, from vocabulary-only files.
func TestTokenizeEqualsRecorded(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(reference(t, "vocab"), "*.inp"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	for _, inp := range files {
		base := strings.TrimSuffix(inp, ".inp")
		t.Run(filepath.Base(base), func(t *testing.T) {
			text, err := os.ReadFile(inp)
			if err != nil {
				t.Fatal(err)
			}
			recorded, err := os.ReadFile(base + ".out")
			if err != nil {
				t.Fatal(err)
			}
			texts := strings.Split(string(text), "\n__ggml_vocab_test__\n")
			if texts[len(texts)-1] == "" { // the file ends with a separator
				texts = texts[:len(texts)-1]
			}
			want := strings.Split(strings.TrimSuffix(string(recorded), "\n"), "\n")
			if len(texts) != len(want) {
				t.Fatalf("%d texts, %d lines of ids", len(texts), len(want))
			}
			for i, text := range texts {
				got, stderr, code := ingot(t, text, "tokenize", "-m", base+".gguf")
				if code != 0 || got != strings.TrimSpace(want[i])+"\n" {
					t.Errorf("%q: exit %d %s\n got %swant %s", text, code, stderr, got, want[i])
				}
			}
			t.Logf("%d texts", len(texts))
		})
	}
}
