package token

import (
	"sync"
	"unicode"
	"unicode/utf8"
)

// class is the set of Unicode properties that patterns ask for. A character without any is unassigned, a control
// or a format character.
type class uint8

const (
	lower   class = 1 << iota // Ll
	upper                     // Lu, Lt
	uncase                    // Lm, Lo
	mark                      // M
	number                    // N
	punct                     // P
	symbols                   // S
	space                     // White_Space

	letter = lower | upper | uncase
)

// classTable holds the class of every character; 1.1 MB, filled in about a millisecond.
var classTable *[unicode.MaxRune + 1]class

var loadClasses = sync.OnceFunc(func() {
	classTable = new([unicode.MaxRune + 1]class)
	for _, t := range []struct {
		table *unicode.RangeTable
		class class
	}{
		{unicode.Ll, lower}, {unicode.Lu, upper}, {unicode.Lt, upper}, {unicode.Lm, uncase}, {unicode.Lo, uncase},
		{unicode.M, mark}, {unicode.N, number}, {unicode.P, punct}, {unicode.S, symbols},
		{unicode.White_Space, space},
	} {
		for _, r := range t.table.R16 {
			for c := uint32(r.Lo); c <= uint32(r.Hi); c += uint32(r.Stride) {
				classTable[c] |= t.class
			}
		}
		for _, r := range t.table.R32 {
			for c := r.Lo; c <= r.Hi; c += r.Stride {
				classTable[c] |= t.class
			}
		}
	}
})

// at returns the class and the length of the character at s[i:]; length 0 at the end.
func at(s string, i int) (class, int) {
	if i >= len(s) {
		return 0, 0
	}
	if b := s[i]; b < utf8.RuneSelf {
		return classTable[b], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return classTable[r], n
}

// run returns where the characters of any of these classes, from i on, end.
func run(s string, i int, of class) int {
	for {
		c, n := at(s, i)
		if c&of == 0 {
			return i
		}
		i += n
	}
}

// runNot returns where the characters of none of these classes, from i on, end.
func runNot(s string, i int, of class) int {
	for {
		c, n := at(s, i)
		if n == 0 || c&of != 0 {
			return i
		}
		i += n
	}
}
