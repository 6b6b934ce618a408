package jinja

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Numbers and strings as Python writes them.

// digits returns how many bytes of s are digits in the set, with single underscores between them.
func digits(s, set string) int {
	n := 0
	for n < len(s) {
		if strings.IndexByte(set, s[n]) >= 0 {
			n++
		} else if s[n] == '_' && n > 0 && n+1 < len(s) && strings.IndexByte(set, s[n+1]) >= 0 {
			n += 2
		} else {
			break
		}
	}
	return n
}

const decimal = "0123456789"

func (l *lexer) number(s string) error {
	afterDot := l.pos > 0 && l.src[l.pos-1] == '.'
	n := digits(s, decimal)
	m := n
	if !afterDot {
		if m < len(s) && s[m] == '.' {
			if d := digits(s[m+1:], decimal); d > 0 {
				m += 1 + d
			}
		}
		if m < len(s) && (s[m] == 'e' || s[m] == 'E') {
			e := m + 1
			if e < len(s) && (s[e] == '+' || s[e] == '-') {
				e++
			}
			if d := digits(s[e:], decimal); d > 0 {
				m = e + d
			}
		}
	}
	if m > n {
		f, err := strconv.ParseFloat(strings.ReplaceAll(s[:m], "_", ""), 64)
		if err != nil && f == 0 {
			return l.fail("malformed number %s", s[:m])
		}
		l.emit(tFloat, s[:m], f)
		l.advance(m)
		return nil
	}
	base := 10
	if len(s) > 2 && s[0] == '0' {
		set := ""
		switch s[1] {
		case 'x', 'X':
			base, set = 16, "0123456789abcdefABCDEF"
		case 'o', 'O':
			base, set = 8, "01234567"
		case 'b', 'B':
			base, set = 2, "01"
		}
		rest := strings.TrimPrefix(s[2:], "_")
		if d := digits(rest, set); set != "" && d > 0 {
			n = len(s) - len(rest) + d
		} else {
			base = 10
		}
	}
	if base == 10 && s[0] == '0' {
		n = digits(s, "0") // 007 is 00 and 7, which no rule takes
	}
	clean := strings.ReplaceAll(s[:n], "_", "")
	if base != 10 {
		clean = clean[2:]
	}
	v, err := strconv.ParseInt(clean, base, 64)
	if err == nil {
		l.emit(tInt, s[:n], v)
	} else if b, ok := new(big.Int).SetString(clean, base); ok && len(clean) <= maxDigits {
		l.emit(tInt, s[:n], b)
	} else {
		return l.fail("number too long")
	}
	l.advance(n)
	return nil
}

// string reads a quoted string and its escapes.
func (l *lexer) string(s string) error {
	q := s[0]
	n := 1
	for n < len(s) && s[n] != q {
		if s[n] == '\\' {
			n++
		}
		n++
	}
	if n >= len(s) {
		return l.fail("a string has no end")
	}
	val, err := unescape(s[1:n])
	if err != nil {
		return l.fail("%v", err)
	}
	l.emit(tString, val, nil)
	l.advance(n + 1)
	return nil
}

var simpleEscapes = map[byte]string{'\n': "", '\\': "\\", '\'': "'", '"': "\"", 'a': "\a", 'b': "\b", 'f': "\f", 'n': "\n", 'r': "\r", 't': "\t", 'v': "\v"}

// unescape reads Python's string escapes; one that Python does not know stays as it is.
func unescape(s string) (string, error) {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s, nil
	}
	var b strings.Builder
	high := rune(-1) // a first surrogate waiting for its second
	for i >= 0 {
		if high >= 0 && (i > 0 || s[1] != 'u') {
			b.WriteRune(utf8.RuneError)
			high = -1
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		c := s[0]
		code, size := 0, 0
		if e, ok := simpleEscapes[c]; ok {
			b.WriteString(e)
			s = s[1:]
		} else if c >= '0' && c <= '7' {
			for size < 3 && size < len(s) && s[size] >= '0' && s[size] <= '7' {
				code = code*8 + int(s[size]-'0')
				size++
			}
		} else if want := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]; want > 0 {
			size = 1 + want
			if len(s) < size {
				return "", fmt.Errorf("truncated \\%c escape", c)
			}
			v, err := strconv.ParseUint(s[1:size], 16, 32)
			if err != nil || v > unicode.MaxRune {
				return "", fmt.Errorf("malformed \\%c escape", c)
			}
			code = int(v)
		} else if c == 'N' {
			return "", fmt.Errorf("\\N escapes are not supported")
		} else {
			b.WriteByte('\\')
		}
		if size > 0 {
			s = s[size:]
			r := rune(code)
			switch {
			case high >= 0 && utf16.DecodeRune(high, r) != utf8.RuneError:
				b.WriteRune(utf16.DecodeRune(high, r))
				high = -1
			case r >= 0xD800 && r < 0xDC00:
				if high >= 0 {
					b.WriteRune(utf8.RuneError)
				}
				high = r
			default:
				if high >= 0 {
					b.WriteRune(utf8.RuneError)
					high = -1
				}
				b.WriteRune(r)
			}
		}
		i = strings.IndexByte(s, '\\')
	}
	if high >= 0 {
		b.WriteRune(utf8.RuneError)
	}
	b.WriteString(s)
	return b.String(), nil
}

// isSpace is Python's str.isspace for one character.
func isSpace(r rune) bool {
	return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f
}
