package chat

import (
	"strings"
	"testing"
)

// splitAll feeds text to a splitter in pieces that end at the given offsets.
func splitAll(s *Splitter, text string, cuts ...int) (reasoning, answer string) {
	at := 0
	for _, c := range append(cuts, len(text)) {
		r, a := s.Push(text[at:c])
		reasoning, answer = reasoning+r, answer+a
		at = c
	}
	r, a := s.Flush()
	return reasoning + r, answer + a
}

var (
	think   = DetectTags("<think></think>")
	mistral = DetectTags("[THINK] [/THINK]")
	gemma   = DetectTags("<|channel>thought")
	granite = DetectTags("between <think></think> and <response></response>")
	cohere  = DetectTags("<|START_THINKING|> <|START_RESPONSE|>")
	apriel  = DetectTags("[BEGIN FINAL RESPONSE]")
	gptoss  = DetectTags("<|channel|>analysis")
)

// Each answer splits the same however it is cut.
func TestSplitter(t *testing.T) {
	for _, c := range []struct {
		name              string
		tags              Tags
		inThought         bool
		text              string
		reasoning, answer string
	}{
		{"no thought", think, false, "Hello <b>\nthere", "", "Hello <b>\nthere"},
		{"no tags known", Tags{}, false, "<think>a</think>b", "", "<think>a</think>b"},
		{"thought", think, false, "<think>\nLet me see.\n\nYes.\n</think>\n\nHello\n", "Let me see.\n\nYes.", "Hello\n"},
		{"space before", think, false, "\n <think>a</think>b", "a", "b"},
		{"space only", think, false, " \n ", "", " \n "},
		{"prompt opened it", think, true, "a\nb\n</think>\n\nHi", "a\nb", "Hi"},
		{"opened twice", think, true, "<think>\na\n</think>\nHi", "a", "Hi"},
		{"empty thought", think, false, "<think>\n\n</think>\n\nHi", "", "Hi"},
		{"never closed", think, true, "a\n< / think>\n</thin", "a\n< / think>\n</thin", ""},
		{"looks like a tag", think, true, "if a </ b then </thinker> or </think>x", "if a </ b then </thinker> or ", "x"},
		{"tag in the answer", think, false, "Use <think> and </think>.", "", "Use <think> and </think>."},
		{"tag in the answer after a thought", think, true, "a</think>Use <think>b</think>.", "a", "Use <think>b</think>."},
		{"only half a tag", think, false, "<thi", "", "<thi"},
		{"characters of several bytes", think, true, "思考中\n</think>\n答え", "思考中", "答え"},
		{"mistral", mistral, false, "[THINK]a [b]\n[/THINK]c", "a [b]", "c"},
		{"gemma", gemma, false, "<|channel>thought\na\n<channel|>b", "a", "b"},
		{"granite", granite, false, "<think>a</think>\n<response>b</response>", "a", "b"},
		{"granite without a thought", granite, false, "plain <response>", "", "plain <response>"},
		{"cohere", cohere, true, "a<|END_THINKING|><|START_RESPONSE|>b<|END_RESPONSE|>", "a", "b"},
		{"apriel", apriel, true, "steps\n\n[BEGIN FINAL RESPONSE]\nb\n[END FINAL RESPONSE]", "steps", "b"},
		{"vendor tags", DetectTags("</seed:think>"), false, "<seed:think>a</seed:think>b", "a", "b"},
		{"kimi tags", DetectTags("◁think▷"), false, "◁think▷a◁/think▷b", "a", "b"},
		{"harmony", gptoss, false, "<|channel|>analysis<|message|>hm\n<|end|><|start|>assistant<|channel|>final<|message|>Hi <b><|return|>", "hm\n", "Hi <b>"},
		{"harmony, two thoughts", gptoss, false, "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>analysis<|message|>b<|end|><|start|>assistant<|channel|>final<|message|>c", "a\nb", "c"},
		{"harmony, cut off", gptoss, false, "<|channel|>analysis<|message|>a <|en", "a <|en", ""},
		{"harmony, preamble", gptoss, false, "<|channel|>commentary<|message|>I will look.<|end|><|start|>assistant<|channel|>final<|message|> Done", "", "I will look. Done"},
		{"harmony, marks not passed on", gptoss, false, "plain text", "", "plain text"},
		{"harmony, thought open", gptoss, true, "more<|end|><|start|>assistant<|channel|>final<|message|>x", "more", "x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check := func(cuts ...int) {
				t.Helper()
				r, a := splitAll(NewSplitter(c.inThought, c.tags), c.text, cuts...)
				if r != c.reasoning || a != c.answer {
					t.Fatalf("cut at %v: thought %q, answer %q; want %q, %q", cuts, r, a, c.reasoning, c.answer)
				}
			}
			check()
			for i := 0; i <= len(c.text); i++ {
				check(i)
				for j := i; j <= len(c.text); j++ {
					check(i, j)
				}
			}
			all := make([]int, len(c.text))
			for i := range all {
				all[i] = i
			}
			check(all...)
		})
	}
}

// What can't be part of a mark comes out at once.
func TestSplitterHoldsBackLittle(t *testing.T) {
	s := NewSplitter(true, think)
	for _, step := range []struct{ push, reasoning, answer string }{
		{"a", "a", ""}, {" b", " b", ""}, {"\n", "", ""}, {"c<", "\nc", ""}, {"/th", "", ""}, {"e ", "</the ", ""},
		{"</think>", "", ""}, {"\n\n", "", ""}, {"d", "", "d"}, {"<think>\n", "", "<think>\n"},
	} {
		if r, a := s.Push(step.push); r != step.reasoning || a != step.answer {
			t.Errorf("%q gave %q and %q, want %q and %q", step.push, r, a, step.reasoning, step.answer)
		}
	}
}

func FuzzSplitter(f *testing.F) {
	f.Add("<think>\na\n</think>\n\nb", 3, 9, false)
	f.Add("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b", 5, 30, true)
	f.Fuzz(func(t *testing.T, text string, i, j int, in bool) {
		n := len(text) + 1
		i, j = (i%n+n)%n, (j%n+n)%n
		for _, tags := range []Tags{think, granite, gptoss} {
			r1, a1 := splitAll(NewSplitter(in, tags), text)
			r2, a2 := splitAll(NewSplitter(in, tags), text, min(i, j), max(i, j))
			if r1 != r2 || a1 != a2 {
				t.Errorf("%q cut at %d and %d: %q %q, whole %q %q", text, min(i, j), max(i, j), r2, a2, r1, a1)
			}
			if len(r1)+len(a1) > len(text)+strings.Count(text, "<|") {
				t.Errorf("%q grew: %q %q", text, r1, a1)
			}
		}
	})
}
