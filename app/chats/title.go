package chats

import (
	"strings"
	"unicode"
)

// titleRunes is the longest automatic title.
const titleRunes = 48

// title makes a conversation's name of its first question: the first words, cut at the end of one.
func title(text string) string {
	r := []rune(strings.Join(strings.Fields(text), " "))
	if len(r) <= titleRunes {
		return string(r)
	}
	cut := titleRunes - 1 // room for the dots
	for i := cut; i > titleRunes/3; i-- {
		if r[i] == ' ' {
			return strings.TrimRightFunc(string(r[:i]), unicode.IsPunct) + "…"
		}
	}
	// One long word, or a script without spaces: not between a letter and its marks.
	for cut > 1 && (unicode.Is(unicode.M, r[cut]) || r[cut] == '\u200d' || r[cut-1] == '\u200d') {
		cut--
	}
	return string(r[:cut]) + "…"
}
