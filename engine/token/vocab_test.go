package token

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ingot/engine/gguf"
)

func chatVocab(t testing.TB) *Vocab {
	m := bpeMeta("qwen2", []string{"h+e", "l+l", "he+ll", "hell+o", " +w", "o+r", " w+or", "l+d", " wor+ld"}, map[string]Type{
		"<|endoftext|>": Control, "<|im_start|>": Control, "<|im_end|>": Normal, "<think>": UserDefined, "<think>ing": UserDefined,
		"<|fim_pad|>": Control, "<pad>": Unused,
	})
	texts, _ := m.Strings(keyTokens)
	m.Set("tokenizer.ggml.eos_token_id", uint32(slices.Index(texts, "<|im_end|>")))
	m.Set("tokenizer.ggml.bos_token_id", uint32(slices.Index(texts, "<|endoftext|>")))
	m.Set("tokenizer.ggml.add_bos_token", true)
	return mustNew(t, m)
}

func TestByteLevelBPE(t *testing.T) {
	v := chatVocab(t)
	for _, c := range []struct {
		text    string
		special bool
		want    string
	}{
		{"hello world", false, "hello Ġworld"},
		{"hello  world", false, "hello Ġ Ġworld"},
		{"<|im_start|>hello<|im_end|>\n", true, "<|im_start|> hello <|im_end|> Ċ"},
		{"<|im_end|>", false, "< | i m _ e n d | >"},
		{"a<think>b", false, "a <think> b"},
		{"<think>ing", true, "<think>ing"},
		{"<thinkhello", true, "< t h i n k hello"},
		{"<|im_start|", true, "< | i m _ s t a r t |"},
		{"é", false, "Ã ©"},
		{"", true, ""},
	} {
		if got := show(v, v.Encode(c.text, c.special)); got != c.want {
			t.Errorf("%q, special %v:\n got %s\nwant %s", c.text, c.special, got, c.want)
		}
	}
}

func TestTokensOfAVocabulary(t *testing.T) {
	v := chatVocab(t)
	id := func(text string) int32 {
		id, ok := v.Lookup(text)
		if !ok {
			t.Fatalf("no token %q", text)
		}
		return id
	}
	if v.Len() != 256+9+7 {
		t.Errorf("%d tokens", v.Len())
	}
	if id := id("Ġworld"); string(v.Piece(id)) != " world" || v.Type(id) != Normal || v.Text(id) != "Ġworld" {
		t.Errorf("Ġworld: piece %q, type %d", v.Piece(id), v.Type(id))
	}
	// The file calls it normal; it ends a turn.
	if id := id("<|im_end|>"); !v.IsControl(id) || !v.IsEOG(id) || string(v.Piece(id)) != "<|im_end|>" {
		t.Errorf("<|im_end|>: type %d, EOG %v", v.Type(id), v.IsEOG(id))
	}
	if eos, ok := v.EOS(); !ok || eos != id("<|im_end|>") {
		t.Errorf("EOS %d", eos)
	}
	if eot, ok := v.EOT(); !ok || eot != id("<|im_end|>") {
		t.Errorf("EOT %d", eot)
	}
	if bos, ok := v.BOS(); !ok || bos != id("<|endoftext|>") || !v.AddBOS() || v.AddEOS() {
		t.Errorf("BOS %d, added %v", bos, v.AddBOS())
	}
	var eog []string
	for i := range int32(v.Len()) {
		if v.IsEOG(i) {
			eog = append(eog, v.Text(i))
		}
	}
	if want := []string{"<|endoftext|>", "<|fim_pad|>", "<|im_end|>"}; !slices.Equal(eog, want) {
		t.Errorf("tokens that end an answer: %q, want %q", eog, want)
	}
	if p := v.Piece(id("<pad>")); len(p) != 0 {
		t.Errorf("an unused token stands for %q", p)
	}
	if _, ok := v.Lookup("nothing"); ok {
		t.Error("found what is not there")
	}
	for _, id := range []int32{-1, int32(v.Len()), math.MaxInt32, math.MinInt32} {
		if v.Text(id) != "" || v.Type(id) != Unused || v.Piece(id) != nil || v.IsEOG(id) || v.Decode([]int32{id}, true) != "" {
			t.Errorf("id %d exists", id)
		}
	}
	ids := v.Encode("<|im_start|>hello<think> world<|im_end|>", true)
	if got := v.Decode(ids, false); got != "hello<think> world" {
		t.Errorf("decoded %q", got)
	}
	if got := v.Decode(ids, true); got != "<|im_start|>hello<think> world<|im_end|>" {
		t.Errorf("decoded %q with special tokens", got)
	}
}

func TestMergesOfTextsThatAreNoTokens(t *testing.T) {
	m := bpeMeta("gpt-2", []string{"a+b", "c+d", "ab+cd"}, nil)
	texts, _ := m.Strings(keyTokens)
	texts = slices.Clone(texts)
	texts[256] = "other" // "ab" is made on the way to "abcd" and is no token
	texts['z'] = "other2"
	m.Set(keyTokens, texts)
	merges, _ := m.Strings(keyMerges)
	m.Set(keyMerges, append([]string{"", "x", " ", "ab", "nospace", "q "}, merges...))
	v := mustNew(t, m)
	for text, want := range map[string]string{"abcd": "abcd", "ab": "a b", "abab": "a b a b", "az": "a", "abx": "a b x"} {
		if got := show(v, v.Encode(text, false)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestIgnoreMerges(t *testing.T) {
	// "hello" is a token that no merge makes.
	for pre, want := range map[string]string{"llama-bpe": "hello", "qwen2": "he l l o"} {
		m := bpeMeta(pre, []string{"h+e"}, map[string]Type{"hello": Normal, "system": Control})
		v := mustNew(t, m)
		if got := show(v, v.Encode("hello", false)); got != want {
			t.Errorf("%s: %s, want %s", pre, got, want)
		}
		// A word of plain text never becomes a control token.
		if got := show(v, v.Encode("system", false)); got != "s y s t e m" {
			t.Errorf("%s: %s", pre, got)
		}
	}
}

func TestSentencePiece(t *testing.T) {
	m := spmMeta("▁", "a", "b", "c", "▁a", "bc", "ab", "▁a▁b")
	v := mustNew(t, m)
	for text, want := range map[string]string{
		"a":     "▁a",
		"abc":   "▁a bc", // ▁a scores best, then bc
		" a":    "▁ ▁a",
		"x":     "▁ <0x78>",
		"é":     "▁ <0xC3> <0xA9>",
		"\xff":  "▁ <0xFF>",
		"a</s>": "▁a </s>",
		"</s>a": "</s> ▁a",
	} {
		if got := show(v, v.Encode(text, true)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if got := v.Decode(v.Encode(text, false), false); got != strings.ToValidUTF8(text, "\ufffd") {
			t.Errorf("%q decodes to %q", text, got)
		}
	}
	if bos, ok := v.BOS(); !ok || bos != 1 || !v.AddBOS() || !v.AddSpacePrefix() {
		t.Errorf("BOS %d, added %v, space prefix %v", bos, v.AddBOS(), v.AddSpacePrefix())
	}
	if eos, _ := v.EOS(); !v.IsEOG(eos) || eos != 2 {
		t.Errorf("EOS %d", eos)
	}
	m.Set("tokenizer.ggml.add_space_prefix", false)
	v = mustNew(t, m)
	if got := show(v, v.Encode("ab", false)); got != "ab" {
		t.Errorf("without a space: %s", got)
	}
	// These models swallow the white space after a control token.
	m.Set("general.name", "Phi-3-mini")
	v = mustNew(t, m)
	if got := show(v, v.Encode("a</s> \n b<s> b", true)); got != "a </s> b <s> ▁ b" {
		t.Errorf("white space after control tokens: %s", got)
	}
}

func TestWordPiece(t *testing.T) {
	m := gguf.NewMeta()
	m.Set(keyModel, "bert")
	m.Set(keyTokens, []string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁hello", "▁wo", "rld", "▁,", "▁中", "▁cafe", "▁!", "▁~", "▁ß", "▁", "d"})
	m.Set(keyTypes, []int32{3, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1})
	m.Set("tokenizer.ggml.unknown_token_id", uint32(1))
	m.Set("tokenizer.ggml.cls_token_id", uint32(2))
	v := mustNew(t, m)
	for text, want := range map[string]string{
		"Hello, WORLD!":        "▁hello ▁, ▁wo rld ▁!",
		"café CAFÉ cafe\u0301": "▁cafe ▁cafe ▁cafe",
		"中中hello":              "▁中 ▁中 ▁hello",
		"zzz hello worldz":     "[UNK] ▁hello [UNK]",
		"  \t\u2003\n":         "",
		"he\u200dllo\x00":      "▁hello",
		"~":                    "▁~",
		"[SEP] hello":          "[SEP] ▁hello",
	} {
		if got := show(v, v.Encode(text, true)); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	if bos, ok := v.BOS(); !ok || bos != 2 {
		t.Errorf("BOS %d %v", bos, ok)
	}
	m.Set("tokenizer.ggml.normalizer.lowercase", false)
	v = mustNew(t, m)
	if got := show(v, v.Encode("Hello hello café", false)); got != "[UNK] ▁hello [UNK]" {
		t.Errorf("cased: %s", got)
	}
}

func TestVocabularyWithoutTexts(t *testing.T) {
	m := gguf.NewMeta()
	m.Set(keyModel, "no_vocab")
	m.Set("general.architecture", "qwen3")
	m.Set("qwen3.vocab_size", uint32(1000))
	v := mustNew(t, m)
	v.Warm()
	_, eos := v.EOS()
	_, found := v.Lookup("a")
	if v.Len() != 1000 || v.Encode("hello", true) != nil || v.Decode([]int32{5, 999, 2000}, true) != "" || eos || found || v.AddBOS() {
		t.Errorf("%d tokens, EOS %v", v.Len(), eos)
	}
}

func TestEndOfAnswerTexts(t *testing.T) {
	for _, c := range []struct {
		name  string
		texts map[string]Type
		want  []string // sorted
		user  string   // becomes user-defined
	}{
		{"llama 3", map[string]Type{"<|eot_id|>": Control, "<|eom_id|>": Control, "<|begin_of_text|>": Control}, []string{"<|eom_id|>", "<|eot_id|>"}, ""},
		{"deepseek", map[string]Type{"<｜end▁of▁sentence｜>": Control, "<｜User｜>": Control}, []string{"<｜end▁of▁sentence｜>"}, ""},
		{"gpt-oss", map[string]Type{"<|return|>": Control, "<|call|>": Control, "<|end|>": Control, "<|channel|>": Control}, []string{"<|call|>", "<|return|>"}, "<|end|>"},
		{"phi", map[string]Type{"<|end|>": Control, "<|user|>": Control}, []string{"<|end|>"}, ""},
		{"code", map[string]Type{"<|repo_name|>": Control, "<|file_sep|>": Control, "<|fim_prefix|>": Control}, []string{"<|file_sep|>", "<|repo_name|>"}, ""},
		{"gemma 4", map[string]Type{"</s>": Normal, "<|tool_response>": Control, "<turn|>": Control}, []string{"<turn|>", "<|tool_response>"}, ""},
	} {
		v := mustNew(t, bpeMeta("gpt-2", nil, c.texts))
		var got []string
		for id := range int32(v.Len()) {
			if v.IsEOG(id) {
				got = append(got, v.Text(id))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if id, _ := v.Lookup(c.user); c.user != "" && v.Type(id) != UserDefined {
			t.Errorf("%s: %s is of type %d", c.name, c.user, v.Type(id))
		}
	}
}

func TestLongWord(t *testing.T) {
	v := mustNew(t, bpeMeta("qwen2", []string{"a+a", "aa+aa", "aaaa+aaaa"}, nil))
	text := strings.Repeat("a", 100_001)
	begin := time.Now()
	ids := v.Encode(text, false)
	if d := time.Since(begin); d > 5*time.Second { // some 20 ms on an idle machine; quadratic work takes minutes
		t.Errorf("took %v", d)
	}
	if len(ids) != 12501 || v.Decode(ids, false) != text {
		t.Errorf("%d tokens", len(ids))
	}
}

// The search for short words and the heap for long ones do the same.
func TestShortAndLongWords(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	v := mustNew(t, bpeMeta("gpt-2", []string{"a+b", "b+a", "a+a", "ab+a", "b+b", "ba+ab", "aa+b", "aba+b", "c+aa", "a+ba"}, nil))
	w := &bpeWork{bpe: v.encoder().(*bpe), limit: unlimited()}
	for range 5000 {
		word := make([]byte, 1+r.IntN(70))
		for i := range word {
			word[i] = "aabbc"[r.IntN(5)]
		}
		short := w.mergeShort(nil, string(word))
		if long := w.mergeLong(nil, string(word)); !slices.Equal(short, long) {
			t.Fatalf("%s: %s or %s", word, show(v, short), show(v, long))
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	v := chatVocab(t)
	want := v.Encode("hello world", true)
	fresh := chatVocab(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if got := fresh.Encode("hello world", true); !slices.Equal(got, want) {
					t.Errorf("%d, want %d", got, want)
				}
				fresh.Lookup("hello")
				fresh.Decode(want, false)
			}
		})
	}
	wg.Wait()
}

func FuzzByteLevelRoundTrip(f *testing.F) {
	v := chatVocab(f)
	f.Add("hello world<think>", true)
	f.Add("\xff<|im_end|> é\u0301 中文 😀\r\n", false)
	f.Fuzz(func(t *testing.T, text string, special bool) {
		want := string([]rune(text)) // bytes that are not UTF-8 become U+FFFD
		if got := v.Decode(v.Encode(text, special), true); got != want {
			t.Errorf("%q decodes to %q", want, got)
		}
	})
}
