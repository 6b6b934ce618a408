package token

import (
	"github.com/dlclark/regexp2"
)

// splitter cuts a piece of a text, which begins at base, and appends where its parts end, or some of them where the limit is reached.
type splitter interface {
	split(ends []int32, s string, base int, l *limit) []int32
}

// splitters returns what runs the patterns in turn.
func (p *preTokenizer) splitters() []splitter {
	loadClasses()
	if p.scans == nil {
		return p.regexps()
	}
	out := make([]splitter, len(p.scans))
	for i, s := range p.scans {
		out[i] = s
	}
	return out
}

func (p *preTokenizer) regexps() []splitter {
	out := make([]splitter, len(p.patterns))
	for i, s := range p.patterns {
		out[i] = pattern{regexp2.MustCompile(s, regexp2.None)}
	}
	return out
}

// splitWords returns where the words of text, which is not empty, end. The second slice is scratch; both are
// returned for the next call.
func splitWords(text string, split []splitter, ends, scratch []int32, l *limit) (_, _ []int32) {
	ends = append(ends[:0], int32(len(text)))
	for _, p := range split {
		scratch = scratch[:0]
		start := int32(0)
		for _, end := range ends {
			scratch = p.split(scratch, text[start:end], int(start), l)
			start = end
		}
		ends, scratch = scratch, ends
	}
	return ends, scratch
}

// scan returns the length of the first part of s, which is not empty.
type scan func(s string) int

func (f scan) split(ends []int32, s string, base int, l *limit) []int32 {
	for len(s) > 0 && !l.ended() {
		n := f(s)
		base += n
		s = s[n:]
		ends = append(ends, int32(base))
	}
	return ends
}

// pattern is a regular expression with lookahead.
type pattern struct{ re *regexp2.Regexp }

func (p pattern) split(ends []int32, s string, base int, l *limit) []int32 {
	cut := func(end int) {
		if end > base {
			ends = append(ends, int32(end))
			base = end
		}
	}
	// regexp2 counts characters: at is the byte where character chars begins.
	at, chars, limit := base, 0, base+len(s)
	text := s
	seek := func(to int) {
		for i := range text {
			if chars == to {
				at += i
				text = text[i:]
				return
			}
			chars++
		}
		at, text = limit, ""
	}
	// An error is a timeout, and none is set.
	m, _ := p.re.FindStringMatch(s)
	for m != nil && !l.ended() {
		seek(m.Index)
		cut(at)
		seek(m.Index + m.Length)
		cut(at)
		m, _ = p.re.FindNextMatch(m)
	}
	cut(limit)
	return ends
}
