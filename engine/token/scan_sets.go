package token

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Scans for patterns that match some characters and leave the others between matches.

// between returns the length of a match at the start of s, else the distance to the first one. match returns 0
// where there is none, and is called once for each character at most.
func between(s string, match func(string) int) int {
	if n := match(s); n > 0 {
		return n
	}
	for i := range s {
		if i > 0 && match(s[i:]) > 0 {
			return i
		}
	}
	return len(s)
}

// scanSpaced is \s?[set]+.
func scanSpaced(in func(class, rune) bool) scan {
	// member returns the length of the character at i where it is in the set, else 0.
	member := func(s string, i int) int {
		if i >= len(s) {
			return 0
		}
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		if in(classTable[r], r) {
			return n
		}
		return 0
	}
	match := func(s string) int {
		i := 0
		if c, n := at(s, 0); c&space != 0 && member(s, n) > 0 {
			i = n
		}
		for {
			n := member(s, i)
			if n == 0 {
				return i
			}
			i += n
		}
	}
	return func(s string) int { return between(s, match) }
}

func inClass(of class) func(class, rune) bool {
	return func(c class, _ rune) bool { return c&of != 0 }
}

// inSet reads a set of characters and ranges, without escapes.
func inSet(set string) func(class, rune) bool {
	t := &unicode.RangeTable{}
	rs := []rune(set)
	for i := 0; i < len(rs); i++ {
		lo, hi := rs[i], rs[i]
		if i+2 < len(rs) && rs[i+1] == '-' {
			hi = rs[i+2]
			i += 2
		}
		t.R32 = append(t.R32, unicode.Range32{Lo: uint32(lo), Hi: uint32(hi), Stride: 1})
	}
	slices.SortFunc(t.R32, func(a, b unicode.Range32) int { return cmp.Compare(a.Lo, b.Lo) })
	return func(_ class, r rune) bool { return unicode.Is(t, r) }
}

// scanRuns is [class]+.
func scanRuns(of class) scan {
	return func(s string) int {
		c, n := at(s, 0)
		if c&of != 0 {
			return run(s, n, of)
		}
		return runNot(s, n, of)
	}
}

// scanPunctRuns is [\p{P}...]+ with more characters, which are ASCII.
func scanPunctRuns(more string) scan {
	in := func(s string, i int) (bool, int) {
		c, n := at(s, i)
		return c&punct != 0 || n == 1 && c&symbols != 0 && strings.IndexByte(more, s[i]) >= 0, n
	}
	return func(s string) int {
		first, i := in(s, 0)
		for {
			same, n := in(s, i)
			if n == 0 || same != first {
				return i
			}
			i += n
		}
	}
}

// scanSet is [set]+.
func scanSet(in func(rune) bool) scan {
	return func(s string) int {
		first, _ := utf8.DecodeRuneInString(s)
		want := in(first)
		for i, r := range s {
			if in(r) != want {
				return i
			}
		}
		return len(s)
	}
}

// isCJK is reCJK: from Samaritan to the ideographs, and Hangul.
func isCJK(r rune) bool { return r >= 0x800 && r <= 0x9FA5 || r >= 0xAC00 && r <= 0xD7FF }

func isHanKana(r rune) bool { return r >= 0x4E00 && r <= 0x9FA5 || r >= 0x3040 && r <= 0x30FF }

// scanDigit is \p{N}.
func scanDigit(s string) int {
	if c, n := at(s, 0); c&number != 0 {
		return n
	}
	return runNot(s, 0, number)
}

// scanDigits3 is \p{N}{1,3}.
func scanDigits3(s string) int {
	if c, n := at(s, 0); c&number != 0 {
		return digits(s, n, 3)
	}
	return runNot(s, 0, number)
}

// scanThreeDigits is [0-9][0-9][0-9].
func scanThreeDigits(s string) int {
	digit := func(b byte) bool { return b >= '0' && b <= '9' }
	for i := 0; i+2 < len(s); i++ {
		if digit(s[i]) && digit(s[i+1]) && digit(s[i+2]) {
			if i == 0 {
				return 3
			}
			return i
		}
	}
	return len(s)
}

// scanNewline is [\r\n].
func scanNewline(s string) int {
	switch n := strings.IndexAny(s, "\r\n"); n {
	case -1:
		return len(s)
	case 0:
		return 1
	default:
		return n
	}
}

// scanLines is [^\n]+|[\n]+.
func scanLines(s string) int {
	return scanSet(func(r rune) bool { return r == '\n' })(s)
}

// scanLastSpace is \s+\z.
func scanLastSpace(s string) int {
	if n := len(strings.TrimRightFunc(s, unicode.IsSpace)); n > 0 {
		return n
	}
	return len(s)
}
