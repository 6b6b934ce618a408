package markdown

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseKinds(t *testing.T) {
	src := "# Title\n\nSome **bold** and *thin* `code` ~~gone~~ [a](https://x.org).\n\n" +
		"- one\n- two\n  1. inner\n\n> said\n> so\n\n```go\nfunc f() {}\n\n```\n\n" +
		"| a | b |\n|---|--:|\n| 1 | 2 |\n| 3 |\n\n---\n\n- [x] done\n- [ ] open\n"
	got := Parse(src)
	kinds := make([]Kind, 0, len(got))
	for _, b := range got {
		kinds = append(kinds, b.Kind)
	}
	want := []Kind{Heading, Paragraph, List, Quote, Code, Table, Rule, List}
	if !reflect.DeepEqual(kinds, want) {
		t.Fatalf("kinds %v, want %v", kinds, want)
	}
	if s := got[1].Spans; len(s) != 11 || !s[1].Bold || !s[3].Italic || !s[5].Code || !s[7].Strike ||
		s[9].Link != "https://x.org" {
		t.Errorf("spans %+v", s)
	}
	if l := got[2]; len(l.Items) != 2 || l.Ordered || len(l.Items[1].Blocks) != 2 || !l.Items[1].Blocks[1].Ordered {
		t.Errorf("list %+v", l)
	}
	if c := got[4]; c.Lang != "go" || c.Text != "func f() {}\n" {
		t.Errorf("code %+v", c)
	}
	if tb := got[5]; len(tb.Rows) != 3 || tb.Align[1] != Right || tb.Rows[1][1][0].Text != "2" || tb.Rows[2][1] != nil {
		t.Errorf("table %+v", tb)
	}
	if l := got[7]; !l.Items[0].Task || !l.Items[0].Done || l.Items[1].Done {
		t.Errorf("tasks %+v", l)
	}
}

// A piece of an answer can end anywhere: inside a fence, a table, a list, an emphasis, a character.
func TestParseEveryPrefix(t *testing.T) {
	src := "Hi **there** | x\n\n1. a\n   ```py\n   x = '中文'\n   ```\n2. b\n\n| h |\n|---|\n| `c|d` |\n\n> q <br> <b>raw</b> ![alt](u)\n"
	for i := range len(src) + 1 {
		Parse(src[:i])
	}
	open := Parse("text\n```c\nint main")
	if len(open) != 2 || open[1].Kind != Code || open[1].Text != "int main" {
		t.Errorf("open fence %+v", open)
	}
}

func TestParseDeepNesting(t *testing.T) {
	got := Parse(strings.Repeat("> ", 500) + "deep")
	depth := 0
	for len(got) == 1 && got[0].Kind == Quote {
		got, depth = got[0].Blocks, depth+1
	}
	if depth != maxDepth+1 {
		t.Errorf("depth %d, want %d", depth, maxDepth+1)
	}
}

func TestSoftBreaks(t *testing.T) {
	if got := Parse("one\ntwo")[0].Spans[0].Text; got != "one two" {
		t.Errorf("got %q", got)
	}
	if got := Parse("一\n二")[0].Spans[0].Text; got != "一二" {
		t.Errorf("got %q", got)
	}
	if got := Parse("one  \ntwo")[0].Spans[0].Text; got != "one\ntwo" {
		t.Errorf("got %q", got)
	}
}
