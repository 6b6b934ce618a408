package token

import (
	"strings"
	"unicode/utf8"
)

// Piece returns the bytes that a token stands for: control and unknown tokens their text, unused ones nothing. A
// piece may end within a character; Stream puts characters together.
func (v *Vocab) Piece(id int32) []byte { return v.appendPiece(nil, id) }

func (v *Vocab) appendPiece(dst []byte, id int32) []byte {
	if id < 0 || int(id) >= len(v.texts) {
		return dst
	}
	text := v.texts[id]
	switch v.types[id] {
	case Unused:
		return dst
	case Control, Unknown, UserDefined:
		return append(dst, text...)
	case Byte:
		if b, ok := byteText(text); ok {
			return append(dst, b)
		}
	}
	if v.byteLevel {
		for _, r := range text {
			if int(r) < len(byteOf) && byteOf[r] >= 0 {
				dst = append(dst, byte(byteOf[r]))
			} else {
				dst = utf8.AppendRune(dst, r)
			}
		}
		return dst
	}
	for {
		before, after, ok := strings.Cut(text, wordStart)
		dst = append(dst, before...)
		if !ok {
			return dst
		}
		dst = append(dst, ' ')
		text = after
	}
}

// byteText reads the text of a byte token, <0xAB>.
func byteText(t string) (byte, bool) {
	if len(t) != 6 || t[:3] != "<0x" || t[5] != '>' {
		return 0, false
	}
	hi, ok1 := hexDigit(t[3])
	lo, ok2 := hexDigit(t[4])
	return hi<<4 | lo, ok1 && ok2
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	}
	return 0, false
}

// Decode returns the text of ids, as a Stream would put it together, less the space that Encode puts before a
// text. Control and unknown tokens are left out unless special is true.
func (v *Vocab) Decode(ids []int32, special bool) string {
	s := v.NewStream()
	s.Special = special
	var b strings.Builder
	for i, id := range ids {
		t := s.Push(id)
		if i == 0 && v.addSpacePrefix && v.Type(id) == Normal {
			t = strings.TrimPrefix(t, " ")
		}
		b.WriteString(t)
	}
	b.WriteString(s.Flush())
	return b.String()
}

// Stream turns tokens, as they come, into text that never ends within a character. Bytes that are not UTF-8
// become U+FFFD, one for each longest run that could have begun a character, as Unicode recommends (chapter 3.9).
type Stream struct {
	Special bool // the texts of control and unknown tokens are part of the text

	v    *Vocab
	held []byte // the beginning of a character
}

// NewStream returns a Stream of the vocabulary's tokens. It is for one goroutine.
func (v *Vocab) NewStream() *Stream { return &Stream{v: v} }

// Push adds a token and returns the characters that are complete with it; often none, for scripts whose
// characters take several tokens.
func (s *Stream) Push(id int32) string {
	if t := s.v.Type(id); !s.Special && (t == Control || t == Unknown) {
		return ""
	}
	s.held = s.v.appendPiece(s.held, id)
	whole := len(s.held) - partial(s.held)
	text := validUTF8(s.held[:whole])
	s.held = append(s.held[:0], s.held[whole:]...)
	return text
}

// Flush returns what is left at the end of an answer: U+FFFD if it stopped within a character, else nothing.
func (s *Stream) Flush() string {
	if len(s.held) == 0 {
		return ""
	}
	s.held = s.held[:0]
	return string(utf8.RuneError)
}

// partial returns the length of the beginning of a character at the end of b, 0 to 3.
func partial(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if tail := b[len(b)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

func validUTF8(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var out strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			for n < len(b) && !utf8.FullRune(b[:n+1]) {
				n++
			}
			out.WriteRune(utf8.RuneError)
		} else {
			out.Write(b[:n])
		}
		b = b[n:]
	}
	return out.String()
}
