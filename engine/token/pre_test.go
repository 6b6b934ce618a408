package token

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// scanned lists the pre-tokenizers that are written by hand, both ways.
var scanned = sync.OnceValue(func() (list []bothWays) {
	for i := range preTokenizers {
		if p := &preTokenizers[i]; p.scans != nil {
			list = append(list, bothWays{strings.Fields(p.names)[0], p.splitters(), p.regexps()})
		}
	}
	return list
})

type bothWays struct {
	name            string
	scans, patterns []splitter
}

// checkScans compares the hand-written form of every pre-tokenizer with its published patterns.
func checkScans(t *testing.T, text string) {
	t.Helper()
	if text == "" {
		return
	}
	for _, p := range scanned() {
		got, _ := splitWords(text, p.scans, nil, nil, unlimited())
		want, _ := splitWords(text, p.patterns, nil, nil, unlimited())
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q\n got %q\nwant %q", p.name, text, cutAt(text, got), cutAt(text, want))
		}
	}
}

func cutAt(text string, ends []int32) (words []string) {
	start := int32(0)
	for _, end := range ends {
		words = append(words, text[start:end])
		start = end
	}
	return words
}

// alphabet has characters of every class, and those that patterns name.
var alphabet = []string{
	"a", "b", "s", "t", "re", "ll", "x", "Z", "S", "LL", "'", "'", " ", " ", "  ", "\t", "\n", "\r", "\r\n", "1", "2", "345", "٣", "½",
	".", ",", "!", "(", "-", "_", "$", "+", "<", "^", "`", "|", "~", "/", "€", "é", "É", "ß", "ǅ", "ʰ", "ª", "ж", "Ж", "ա", "ა", "中", "龥", "龦", "の", "ー", "한",
	"\u0301", "\u0903", "\u093e", "\u00a0", "\u2003", "\u3000", "。", "！", "「", "\u200d", "\u0000", "\u0085", "\ufeff", "\ufffd", "😀", "𝐀", "𐐀", "\U0002f800", "\U000e0001",
}

func randomText(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

func TestScansEqualPatterns(t *testing.T) {
	for _, text := range []string{
		"Hello, world! I'm sure we'Ve 123456 things;\n\n  don't\tyou?  ", " ", "  ", "\n", " \n ", "a  b", "x   \n\n  y",
		"getHTTPResponse ABCdef 中ABC中d I'LL 'tis", "3.14 $100 <tag>\r\n\t=> {}", "'", "''", "'s's", "/path//to\n//", "!\u0301a", "\u0301", " \u0301b",
		strings.Repeat(" ", 700) + "x", strings.Repeat("\n ", 300), strings.Repeat("7", 100),
	} {
		checkScans(t, text)
	}
	r := rand.New(rand.NewPCG(1, 2))
	n := 3000
	if testing.Short() {
		n = 300
	}
	for range n {
		checkScans(t, randomText(r, 1+r.IntN(16)))
	}
}

func FuzzScans(f *testing.F) {
	f.Add("Hello world's\n 123")
	f.Add(strings.Join(alphabet, ""))
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 4096 {
			checkScans(t, string([]rune(text)))
		}
	})
}

// Every pattern must compile and cover its text, the ones without a hand-written form too.
func TestPatternsCoverText(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range preTokenizers {
		p := &preTokenizers[i]
		split := p.splitters()
		for range 50 {
			text := randomText(r, 40)
			ends, _ := splitWords(text, split, nil, nil, unlimited())
			last := int32(0)
			for _, end := range ends {
				if end <= last {
					t.Fatalf("%s: empty word in %q: ends %d", p.names, text, ends)
				}
				last = end
			}
			if int(last) != len(text) {
				t.Fatalf("%s: %q is covered to %d of %d", p.names, text, last, len(text))
			}
		}
	}
}

func TestPreTokenizerExamples(t *testing.T) {
	// Expected words are as %q writes them.
	for _, c := range []struct{ pre, text, want string }{
		{"gpt-2", "I've 12  cats!\n", `["I" "'ve" " 12" " " " cats" "!" "\n"]`},
		{"llama-bpe", "I'VE 12345 cats!!\n\n x", `["I" "'VE" " " "123" "45" " cats" "!!\n\n" " x"]`},
		{"qwen2", "12 cafe\u0301s", "[\"1\" \"2\" \" cafe\" \"\u0301s\"]"},
		{"qwen35", "12 cafe\u0301s", "[\"1\" \"2\" \" cafe\u0301s\"]"},
		{"starcoder", "x=42", `["x" "=" "4" "2"]`},
		{"falcon", "a+b 12345", `["a" "+" "b" " " "123" "45"]`},
		{"", "a+b 12345`", `["a" "+" "b" " " "123" "45" "` + "`" + `"]`},
		{"tekken", "getURLFor 'x", `["get" "URLFor" " '" "x"]`},
		{"gpt-4o", "Don't 1234//\n", `["Don't" " " "123" "4" "//\n"]`},
		{"deepseek-v3", "f(x) 你好", `["f" "(x" ")" " " "你好"]`},
		{"deepseek-coder", "ab 12你\n", `["ab" " " "1" "2" "你" "\n"]`},
	} {
		p, err := preFor(c.pre)
		if err != nil {
			t.Fatal(err)
		}
		ends, _ := splitWords(c.text, p.splitters(), nil, nil, unlimited())
		if got := fmt.Sprintf("%q", cutAt(c.text, ends)); got != c.want {
			t.Errorf("%s %q:\n got %s\nwant %s", c.pre, c.text, got, c.want)
		}
	}
}

func BenchmarkSplit(b *testing.B) {
	text := strings.Repeat("The quick brown fox jumps over the lazy dog, and it's 1234 times faster (they say).\n", 1000)
	for _, name := range []string{"qwen2", "llama-bpe", "gpt-2", "deepseek-coder", "tekken"} {
		p, _ := preFor(name)
		split := p.splitters()
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var ends, next []int32
			for b.Loop() {
				ends, next = splitWords(text, split, ends, next, unlimited())
			}
		})
	}
}
