package token

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"ingot/engine/gguf"
)

func TestBadVocabularies(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(m *gguf.Meta)
		want   string // part of the message
	}{
		{"no model", func(m *gguf.Meta) { m.Delete(keyModel) }, "tokenizer.ggml.model is missing"},
		{"model of another type", func(m *gguf.Meta) { m.Set(keyModel, uint32(3)) }, "expected string"},
		{"unknown model", func(m *gguf.Meta) { m.Set(keyModel, "rwkv") }, `"rwkv" is not supported (gpt2, gemma4, llama, bert`},
		{"unknown pre-tokenizer", func(m *gguf.Meta) { m.Set(keyPre, "martian") }, `"martian" is not supported (known: default gpt-2`},
		{"no tokens", func(m *gguf.Meta) { m.Delete(keyTokens) }, keyTokens},
		{"zero tokens", func(m *gguf.Meta) { m.Set(keyTokens, []string{}) }, "0 tokens"},
		{"too many tokens", func(m *gguf.Meta) { m.Set(keyTokens, make([]string, maxTokens+1)) }, "4194305 tokens"},
		{"tokens of another type", func(m *gguf.Meta) { m.Set(keyTokens, []int32{1}) }, keyTokens},
		{"no merges", func(m *gguf.Meta) { m.Delete(keyMerges) }, keyMerges},
		{"too many merges", func(m *gguf.Meta) { m.Set(keyMerges, make([]string, maxMerges+1)) }, "8388609 merges"},
		{"too few types", func(m *gguf.Meta) { m.Set(keyTypes, []int32{1, 1}) }, "token_type has 2 values for 259 tokens"},
		{"types are texts", func(m *gguf.Meta) { m.Set(keyTypes, []string{"a"}) }, keyTypes},
		{"too few scores", func(m *gguf.Meta) { m.Set(keyModel, "llama"); m.Set(keyScores, []float32{1}) }, "scores has 1 values for 259 tokens"},
		{"BOS is a text", func(m *gguf.Meta) { m.Set("tokenizer.ggml.bos_token_id", "x") }, "bos_token_id"},
		{"flag is a number", func(m *gguf.Meta) { m.Set("tokenizer.ggml.add_bos_token", uint32(1)) }, "add_bos_token"},
		{"no size", func(m *gguf.Meta) { m.Set(keyModel, "no_vocab"); m.Set("general.architecture", "x") }, "needs x.vocab_size"},
		{"too large a size", func(m *gguf.Meta) {
			m.Set(keyModel, "no_vocab")
			m.Set("general.architecture", "x")
			m.Set("x.vocab_size", uint64(math.MaxUint64))
		}, "18446744073709551615 tokens"},
	} {
		m := bpeMeta("gpt-2", []string{"a+b"}, map[string]Type{"<s>": Control, "</s>": Control})
		c.change(m)
		v, err := New(m)
		if err == nil {
			t.Errorf("%s: accepted, %d tokens", c.name, v.Len())
		} else if !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q does not say %q", c.name, err, c.want)
		}
	}
	m := bpeMeta("martian", nil, nil)
	if _, err := New(m); !errors.Is(err, ErrUnsupported) {
		t.Errorf("%v is not ErrUnsupported", err)
	}
}

func TestIDsOutOfRange(t *testing.T) {
	m := bpeMeta("gpt-2", nil, nil)
	m.Set("tokenizer.ggml.bos_token_id", uint32(math.MaxUint32))
	m.Set("tokenizer.ggml.eos_token_id", int32(-1))
	m.Set("tokenizer.ggml.eot_token_id", uint32(256))
	m.Set("tokenizer.ggml.add_bos_token", true)
	v := mustNew(t, m)
	_, bos := v.BOS()
	_, eos := v.EOS()
	_, eot := v.EOT()
	if bos || eos || eot || v.AddBOS() || v.IsEOG(-1) || v.IsEOG(256) {
		t.Errorf("BOS %v, EOS %v, EOT %v", bos, eos, eot)
	}
}

// Vocabularies that no training makes must neither hang nor panic, and give ids that exist.
func TestHostileVocabularies(t *testing.T) {
	deep := gguf.NewMeta() // "a", "aa", "aaa", ...: each merge grows one by one
	var tokens, merges []string
	for n := 1; n <= 2000; n++ {
		tokens = append(tokens, strings.Repeat("a", n))
		if n > 1 {
			merges = append(merges, strings.Repeat("a", n-1)+" a")
		}
	}
	deep.Set(keyModel, "gpt2")
	deep.Set(keyTokens, tokens)
	deep.Set(keyMerges, merges)

	empty := gguf.NewMeta()
	empty.Set(keyModel, "gpt2")
	empty.Set(keyPre, "llama-bpe")
	empty.Set(keyTokens, []string{"", "", ""})
	empty.Set(keyTypes, []int32{3, 4, -7})
	empty.Set(keyMerges, []string{"  ", "   ", "a  b"})

	same := gguf.NewMeta()
	same.Set(keyModel, "gpt2")
	same.Set(keyTokens, slices.Repeat([]string{"a"}, 100_000))
	same.Set(keyTypes, slices.Repeat([]int32{4}, 100_000))
	same.Set(keyMerges, slices.Repeat([]string{"a a"}, 100_000))

	special := gguf.NewMeta() // every text is almost matched at every place
	var near []string
	for n := 1; n <= 600; n++ {
		near = append(near, strings.Repeat("a", n)+"b")
	}
	special.Set(keyModel, "gpt2")
	special.Set(keyTokens, near)
	special.Set(keyTypes, slices.Repeat([]int32{4}, len(near)))
	special.Set(keyMerges, []string{})

	scores := spmMeta(append(tokens, "▁")...)
	nan := make([]float32, len(tokens)+260)
	for i := range nan {
		nan[i] = []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 0}[i%4]
	}
	scores.Set(keyScores, nan)

	bert := gguf.NewMeta()
	bert.Set(keyModel, "bert")
	bert.Set(keyTokens, append(slices.Clone(near), "▁a", "▁"))

	text := strings.Repeat("a", 100_000)
	for name, m := range map[string]*gguf.Meta{"deep": deep, "empty": empty, "same": same, "special": special, "scores": scores, "bert": bert} {
		begin := time.Now()
		v := mustNew(t, m)
		for _, text := range []string{text, strings.Repeat(" ", 50_000), strings.Repeat("\xff", 1000), "a\x00b", strings.Repeat("a b", 1000)} {
			ids := v.Encode(text, true)
			for _, id := range ids {
				if id < 0 || int(id) >= v.Len() {
					t.Fatalf("%s: id %d of %d", name, id, v.Len())
				}
			}
			v.Decode(ids, true)
		}
		if d := time.Since(begin); d > 20*time.Second {
			t.Errorf("%s: took %v", name, d)
		}
	}
}

// FuzzVocabulary makes a vocabulary of what it is given.
func FuzzVocabulary(f *testing.F) {
	f.Add("gpt2", "a\nb\nab\n<s>", "a b\n \n", []byte{1, 1, 1, 3}, "abab<s>")
	f.Add("llama", "<unk>\n▁\na\n<0x41>", "", []byte{2, 1, 1, 6}, "a A")
	f.Add("bert", "▁a\nb\n[PAD]", "", []byte{1, 1, 3}, "ab [PAD]")
	f.Fuzz(func(t *testing.T, model, tokens, merges string, types []byte, text string) {
		m := gguf.NewMeta()
		m.Set(keyModel, model)
		m.Set(keyTokens, strings.Split(tokens, "\n"))
		m.Set(keyMerges, strings.Split(merges, "\n"))
		if len(types) > 0 {
			m.Set(keyTypes, types)
		}
		scores := make([]float32, len(types)+len(tokens)+1)
		for i, t := range types {
			scores[i] = float32(t) - 100
		}
		m.Set(keyScores, scores)
		v, err := New(m)
		if err != nil {
			return
		}
		for _, special := range []bool{false, true} {
			for _, id := range v.Encode(text, special) {
				if id < 0 || int(id) >= v.Len() {
					t.Fatalf("id %d of %d", id, v.Len())
				}
			}
		}
	})
}
