package token

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"ingot/engine/gguf"
)

// limited are vocabularies of each kind, with a text of 60 tokens.
func limited() map[string]*gguf.Meta {
	bert := gguf.NewMeta()
	bert.Set(keyModel, "bert")
	bert.Set(keyTokens, []string{"[UNK]", "▁ab", "▁c"})
	return map[string]*gguf.Meta{
		"bpe":       bpeMeta("gpt-2", []string{"a+b", "Ġ+ab", "Ġ+c"}, nil),
		"spm":       spmMeta("▁", "a", "b", "c", "ab", "▁ab", "▁c"),
		"wordpiece": bert,
	}
}

func TestEncodeWithin(t *testing.T) {
	for name, m := range limited() {
		v := mustNew(t, m)
		text := strings.Repeat(" ab c", 30)
		want := v.Encode(text, true)
		n := len(want)
		for _, most := range []int{n, n + 1} {
			if got, err := v.EncodeWithin(t.Context(), text, true, most); err != nil || !slices.Equal(got, want) {
				t.Errorf("%s: at most %d: %d tokens, %v", name, most, len(got), err)
			}
		}
		for _, most := range []int{0, 1, n - 1} {
			if got, err := v.EncodeWithin(t.Context(), text, true, most); !errors.Is(err, ErrMany) {
				t.Errorf("%s: at most %d: %d tokens, %v", name, most, len(got), err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, n := range []int{1, 1000} {
			if got, err := v.EncodeWithin(ctx, strings.Repeat(text, n), true, 1e9); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: of an ended request: %d tokens, %v", name, len(got), err)
			}
		}
	}
}

// One word of any length costs a bounded number of bytes of memory for each of its own; one that has too many tokens
// whatever they are costs nothing.
func TestLongWordMemory(t *testing.T) {
	text := strings.Repeat("a", 1<<20)
	for name, m := range map[string]*gguf.Meta{"bpe": bpeMeta("qwen2", []string{"a+a", "aa+aa"}, nil), "spm": spmMeta("▁", "a", "aa", "aaaa")} {
		v := mustNew(t, m)
		v.Warm()
		taken := func(most int) float64 {
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			if _, err := v.EncodeWithin(t.Context(), text, false, most); (err == nil) != (most == 1<<20) {
				t.Fatalf("%s: %v", name, err)
			}
			runtime.ReadMemStats(&after)
			return float64(after.TotalAlloc-before.TotalAlloc) / float64(len(text))
		}
		if few := taken(1000); few > 0.1 {
			t.Errorf("%s: %.1f bytes taken for each byte of a text that is too long", name, few)
		}
		// A symbol is 20 bytes and a candidate 16; the queue starts with one for each byte and seldom grows.
		if all := taken(1 << 20); all > 100 { // 37 to 39; twice that under the race detector
			t.Errorf("%s: %.1f bytes taken for each byte of a text", name, all)
		}
	}
}
