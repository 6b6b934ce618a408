package token

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ingot/engine/gguf"
)

// plainMeta is a vocabulary as Gemma 4 has it: special tokens, byte tokens, then characters and what merges make of them.
func plainMeta(model, pre string) *gguf.Meta {
	texts := []string{"<pad>", "<eos>", "<bos>", "<|turn>", "<turn|>", "<|tool_response>", "</s>", "<|channel>", "<channel|>"}
	types := slices.Repeat([]int32{int32(Control)}, len(texts))
	for b := range 256 {
		texts, types = append(texts, fmt.Sprintf("<0x%02X>", b)), append(types, int32(Byte))
	}
	for _, s := range []string{"h", "i", "t", "e", "r", "▁", "\n", "\n\n", "é", "th", "the", "▁the", "▁▁", "hi", "▁hi", "ére"} {
		texts, types = append(texts, s), append(types, int32(Normal))
	}
	m := gguf.NewMeta()
	m.Set(keyModel, model)
	if pre != "" {
		m.Set(keyPre, pre)
	}
	m.Set(keyTokens, texts)
	m.Set(keyTypes, types)
	m.Set(keyMerges, []string{"▁ ▁", "t h", "th e", "▁ the", "h i", "▁ hi", "é r", "ér e", "x y"})
	m.Set("tokenizer.ggml.bos_token_id", uint32(2))
	m.Set("tokenizer.ggml.eos_token_id", uint32(1))
	m.Set("tokenizer.ggml.add_bos_token", false)
	return m
}

func TestPlainBPE(t *testing.T) {
	for _, names := range [][2]string{{"gemma4", ""}, {"gpt2", "gemma4"}} {
		v := mustNew(t, plainMeta(names[0], names[1]))
		if bos, ok := v.BOS(); !ok || bos != 2 || !v.AddBOS() || v.AddSpacePrefix() || v.Pre() != "gemma4" {
			t.Errorf("%v: BOS %d, added %v, space before %v, pre-tokenizer %q", names, bos, v.AddBOS(), v.AddSpacePrefix(), v.Pre())
		}
		for _, c := range []struct{ text, want string }{
			{"hi the", "hi ▁the"},
			{" hi", "▁hi"},
			{"the   the", "the ▁▁ ▁the"}, // spaces are words' own: no cut lies between
			{"the\n\nthe", "the \n\n the"},
			{"the\n\n\nthe", "the \n \n \n the"}, // no token of three, and no merge of line breaks
			{"ére", "ére"},
			{"ér", "<0xC3> <0xA9> <0x72>"},             // a text between merges that is no token falls into its bytes
			{"ü", "<0xC3> <0xBC>"},                     // a character that is no token does
			{"😀 i", "<0xF0> <0x9F> <0x98> <0x80> ▁ i"}, // neighbours of one merge on
			{"xy", "<0x78> <0x79>"},                    // so does a merge of such characters
			{"<|turn>hi<turn|>\n", "<|turn> hi <turn|> \n"},
		} {
			ids := v.Encode(c.text, true)
			if got := show(v, ids); got != c.want {
				t.Errorf("%v: %q:\n got %q\nwant %q", names, c.text, got, c.want)
			}
			if back := v.Decode(ids, true); back != c.text {
				t.Errorf("%v: %q comes back as %q", names, c.text, back)
			}
		}
		for text, ends := range map[string]bool{"<eos>": true, "<turn|>": true, "<|tool_response>": true, "</s>": false, "<|turn>": false, "<channel|>": false} {
			if id, _ := v.Lookup(text); v.IsEOG(id) != ends {
				t.Errorf("%v: %s ends an answer: %v", names, text, !ends)
			}
		}
	}
}

// What llama.cpp (August 2026) made of 100 random texts, BOS first, by a vocabulary of random merges of the same kind: testdata/plain.gguf,
// which has one tensor so that llama.cpp opens it.
func TestPlainBPEAsRecorded(t *testing.T) {
	v := open(t, filepath.Join("testdata", "plain.gguf"))
	data, err := os.ReadFile(filepath.Join("testdata", "plain.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Text string
		IDs  []int32
	}
	if err := json.Unmarshal(data, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		bos, _ := v.BOS()
		if ids := append([]int32{bos}, v.Encode(c.Text, true)...); !slices.Equal(ids, c.IDs) {
			t.Errorf("%q:\n got %s\nwant %s", c.Text, show(v, ids), show(v, c.IDs))
		}
	}
	if len(cases) != 100 {
		t.Errorf("%d texts", len(cases))
	}
}
