package token

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"ingot/engine/gguf"
)

// byteLevel writes a text as byte-level vocabularies do.
func byteLevel(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		b.WriteRune(byteRune[c])
	}
	return b.String()
}

// bpeMeta is a byte-level vocabulary: the 256 bytes by value, then what the merges make, then special tokens. Parts
// of merges are written as plain text with "+" between them.
func bpeMeta(pre string, merges []string, special map[string]Type) *gguf.Meta {
	var texts, list []string
	var types []int32
	add := func(text string, t Type) {
		texts = append(texts, text)
		types = append(types, int32(t))
	}
	for b := range 256 {
		add(byteLevel(string([]byte{byte(b)})), Normal)
	}
	for _, m := range merges {
		left, right, _ := strings.Cut(m, "+")
		list = append(list, byteLevel(left)+" "+byteLevel(right))
		add(byteLevel(left+right), Normal)
	}
	for _, name := range sortedKeys(special) {
		add(name, special[name])
	}
	m := gguf.NewMeta()
	m.Set(keyModel, "gpt2")
	if pre != "" {
		m.Set(keyPre, pre)
	}
	m.Set(keyTokens, texts)
	m.Set(keyTypes, types)
	m.Set(keyMerges, list)
	return m
}

func sortedKeys(m map[string]Type) (keys []string) {
	for k := range m {
		keys = append(keys, k)
	}
	for i := range keys {
		for j := range keys[:i] {
			if keys[i] < keys[j] {
				keys[i], keys[j] = keys[j], keys[i]
			}
		}
	}
	return keys
}

func mustNew(t testing.TB, m Meta) *Vocab {
	t.Helper()
	v, err := New(m)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// show writes ids as their texts.
func show(v *Vocab, ids []int32) string {
	var out []string
	for _, id := range ids {
		out = append(out, v.Text(id))
	}
	return strings.Join(out, " ")
}

// spmMeta is a SentencePiece vocabulary: <unk>, <s>, </s>, the 256 byte tokens, then texts with their scores falling
// from -1.
func spmMeta(texts ...string) *gguf.Meta {
	tokens := []string{"<unk>", "<s>", "</s>"}
	types := []int32{int32(Unknown), int32(Control), int32(Control)}
	scores := []float32{0, 0, 0}
	for b := range 256 {
		tokens = append(tokens, fmt.Sprintf("<0x%02X>", b))
		types = append(types, int32(Byte))
		scores = append(scores, 0)
	}
	for i, t := range texts {
		tokens = append(tokens, t)
		types = append(types, int32(Normal))
		scores = append(scores, -1-float32(i))
	}
	m := gguf.NewMeta()
	m.Set(keyModel, "llama")
	m.Set(keyTokens, tokens)
	m.Set(keyTypes, types)
	m.Set(keyScores, scores)
	return m
}

// largeMeta is a byte-level vocabulary of n tokens, grown by random merges as training does.
func largeMeta(n int) *gguf.Meta {
	r := rand.New(rand.NewPCG(5, 6))
	tokens := make([]string, 256, n)
	for b := range tokens {
		tokens[b] = byteLevel(string([]byte{byte(b)}))
	}
	seen := map[string]bool{}
	merges := make([]string, 0, n)
	for len(tokens) < n {
		a, b := tokens[r.IntN(len(tokens))], tokens[r.IntN(len(tokens))]
		if len(a)+len(b) > 24 || seen[a+b] {
			continue
		}
		seen[a+b] = true
		tokens = append(tokens, a+b)
		merges = append(merges, a+" "+b)
	}
	m := gguf.NewMeta()
	m.Set(keyModel, "gpt2")
	m.Set(keyPre, "qwen2")
	m.Set(keyTokens, tokens)
	m.Set(keyTypes, make([]int32, n))
	m.Set(keyMerges, merges)
	return m
}

func BenchmarkLoad(b *testing.B) {
	m := largeMeta(250_000)
	b.Run("New", func(b *testing.B) {
		for b.Loop() {
			mustNew(b, m)
		}
	})
	b.Run("NewWarm", func(b *testing.B) {
		for b.Loop() {
			mustNew(b, m).Warm()
		}
	})
}

const english = "The engine reads the prompt, splits it into words and merges their bytes; it's 1234 times a day (or more).\n"

func BenchmarkEncode(b *testing.B) {
	for _, name := range []string{"gpt-2", "starcoder", "deepseek-coder", "llama-spm", "bert-bge"} {
		b.Run(name, func(b *testing.B) {
			v := open(b, reference(b, "vocab", name+".gguf"))
			v.Warm()
			text := strings.Repeat(english, 1000)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				v.Encode(text, true)
			}
		})
	}
	b.Run("one-word", func(b *testing.B) {
		v := open(b, reference(b, "vocab", "gpt-2.gguf"))
		v.Warm()
		text := strings.Repeat("a", 100_000)
		b.SetBytes(int64(len(text)))
		for b.Loop() {
			v.Encode(text, true)
		}
	})
}
