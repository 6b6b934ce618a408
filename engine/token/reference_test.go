package token

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ingot/engine/gguf"
)

// reference returns a path below the recorded reference data, which is beside the repository where there is any.
func reference(t testing.TB, name ...string) string {
	path := filepath.Join(append([]string{"..", "..", "..", "shared", "reference"}, name...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skip("no reference data")
	}
	return path
}

func open(t testing.TB, path string) *Vocab {
	t.Helper()
	f, err := gguf.OpenHeader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	v, err := New(f.Meta())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// recorded returns the texts of a vocabulary's .inp file, and the ids of its .out file.
func recorded(t testing.TB, name string) (texts []string, ids [][]int32) {
	t.Helper()
	inp, err := os.ReadFile(reference(t, "vocab", name+".inp"))
	if err != nil {
		t.Fatal(err)
	}
	out, err := os.ReadFile(reference(t, "vocab", name+".out"))
	if err != nil {
		t.Fatal(err)
	}
	texts = strings.Split(string(inp), "\n__ggml_vocab_test__\n")
	for line := range strings.Lines(string(out)) {
		row := []int32{}
		for _, f := range strings.Fields(line) {
			id, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			row = append(row, int32(id))
		}
		ids = append(ids, row)
	}
	if texts[len(texts)-1] == "" {
		texts = texts[:len(texts)-1]
	}
	if len(texts) != len(ids) {
		t.Fatalf("%d texts and %d lines of ids", len(texts), len(ids))
	}
	return texts, ids
}

func TestRecordedVocabularies(t *testing.T) {
	for _, name := range []string{"bert-bge", "deepseek-coder", "gpt-2", "llama-spm", "phi-3", "starcoder"} {
		t.Run(name, func(t *testing.T) {
			v := open(t, reference(t, "vocab", name+".gguf"))
			texts, want := recorded(t, name)
			for i, text := range texts {
				got := v.Encode(text, false)
				if !slices.Equal(got, want[i]) {
					t.Errorf("%q:\n got %d\nwant %d", text, got, want[i])
				}
				if back := v.Decode(got, false); v.Model() != "bert" && back != text {
					t.Errorf("%q decodes to %q", text, back)
				}
			}
		})
	}
}

func TestRoundTripWithoutRecord(t *testing.T) {
	texts, _ := recorded(t, "gpt-2")
	for _, name := range []string{"gpt-neox", "baichuan"} {
		v := open(t, reference(t, "vocab", name+".gguf"))
		for _, text := range texts {
			if back := v.Decode(v.Encode(text, false), false); back != text {
				t.Errorf("%s: %q decodes to %q", name, text, back)
			}
		}
	}
}

func TestSamplePrompts(t *testing.T) {
	data, err := os.ReadFile(reference(t, "sample", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	var expected struct {
		Cases []struct {
			Text   string
			Tokens []int32 `json:"prompt_tokens"`
			Q8     struct {
				Tokens []int32
				Text   string
			} `json:"Q8_0"`
		}
	}
	if err := json.Unmarshal(data, &expected); err != nil {
		t.Fatal(err)
	}
	if len(expected.Cases) != 42 {
		t.Fatalf("%d cases", len(expected.Cases))
	}
	v := open(t, reference(t, "sample", "sample-Q8_0.gguf"))
	for _, c := range expected.Cases {
		if got := v.Encode(c.Text, true); !slices.Equal(got, c.Tokens) {
			t.Errorf("%q:\n got %d\nwant %d", c.Text, got, c.Tokens)
		}
		if got := v.Decode(c.Tokens, true); got != c.Text {
			t.Errorf("decoded %q\nwant %q", got, c.Text)
		}
		if got := v.Decode(c.Q8.Tokens, false); got != c.Q8.Text {
			t.Errorf("answer decoded %q\nwant %q", got, c.Q8.Text)
		}
	}
	end, _ := v.Lookup("<|im_end|>")
	if eos, ok := v.EOS(); !ok || eos != end || !v.IsEOG(end) || !v.IsControl(end) || v.AddBOS() {
		t.Errorf("EOS %d, <|im_end|> %d, IsEOG %v", eos, end, v.IsEOG(end))
	}
}
