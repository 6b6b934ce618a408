package token

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// wordPiece is the tokenizer of BERT: words of the normalized text are covered from the left by the longest
// tokens; a word that cannot be covered becomes the unknown token. Texts that begin a word start with wordStart.
type wordPiece struct {
	unk          int32
	tokens       *matcher
	lower, strip bool
}

func newWordPiece(v *Vocab, lower, strip bool) *wordPiece {
	ids := make([]int32, len(v.texts))
	for i := range ids {
		ids[i] = int32(i)
	}
	loadClasses()
	return &wordPiece{unk: v.unk, tokens: newMatcher(v.texts, ids), lower: lower, strip: strip}
}

func (w *wordPiece) encode(dst []int32, text string, _ bool, l *limit) []int32 {
	var word strings.Builder
	flush := func() {
		if word.Len() > 0 {
			dst = w.encodeWord(dst, wordStart+word.String())
			word.Reset()
		}
	}
	if w.strip {
		text = norm.NFD.String(text)
	}
	for _, r := range text {
		if l.over(len(dst)) {
			break
		}
		c := classTable[r]
		switch {
		case c&space != 0:
			flush()
		case r == 0 || r == utf8.RuneError || unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
		case w.strip && c&mark != 0 && unicode.Is(unicode.Mn, r):
		default:
			alone := c&punct != 0 || r < 0x7F && c&symbols != 0 || isIdeograph(r)
			if w.lower {
				r = unicode.ToLower(r)
			}
			if alone {
				flush()
			}
			word.WriteRune(r)
			if alone {
				flush()
			}
		}
	}
	flush()
	return dst
}

func (w *wordPiece) encodeWord(dst []int32, word string) []int32 {
	before := len(dst)
	for word != "" {
		n, id := w.tokens.longest(word)
		if n == 0 {
			dst = dst[:before]
			break
		}
		dst = append(dst, id)
		word = word[n:]
	}
	if len(dst) == before && w.unk != none {
		dst = append(dst, w.unk)
	}
	return dst
}

// isIdeograph tells the CJK blocks whose characters BERT takes as words.
func isIdeograph(r rune) bool {
	switch {
	case r < 0x3400:
		return false
	case r <= 0x4DBF, r >= 0x4E00 && r <= 0x9FFF, r >= 0xF900 && r <= 0xFAFF:
		return true
	case r >= 0x20000 && r <= 0x2A6DF, r >= 0x2A700 && r <= 0x2B81F, r >= 0x2B920 && r <= 0x2CEAF, r >= 0x2F800 && r <= 0x2FA1F:
		return true
	}
	return false
}
