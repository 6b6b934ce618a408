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

type kind uint8

const (
	tEOF kind = iota
	tData
	tVarBegin
	tVarEnd
	tBlockBegin
	tBlockEnd
	tName
	tString
	tInt
	tFloat
	tOp
)

// token is one lexeme. val holds text, name, string or operator; num the value of a number.
type token struct {
	kind kind
	line int
	val  string
	num  Value
}

func (t token) is(k kind, val string) bool { return t.kind == k && t.val == val }

// String names the token in syntax errors.
func (t token) String() string {
	switch t.kind {
	case tEOF:
		return "end of template"
	case tData:
		return "template data"
	case tVarBegin:
		return "'{{'"
	case tVarEnd:
		return "'}}'"
	case tBlockBegin:
		return "'{%'"
	case tBlockEnd:
		return "'%}'"
	case tString:
		return "a string"
	case tInt, tFloat:
		return "a number"
	}
	return "'" + t.val + "'"
}

// lexer cuts a source into tokens in one pass, with Jinja's trim_blocks and lstrip_blocks on.
type lexer struct {
	src       string // newlines are \n, one trailing newline is gone
	pos       int
	line      int
	lineStart bool // the last tag ended with a newline, so text before the next may be a line's indentation
	tokens    []token
}

func (l *lexer) fail(format string, args ...any) error {
	return &SyntaxError{Line: l.line, Message: fmt.Sprintf(format, args...)}
}

func lex(source string) ([]token, error) {
	source = strings.ReplaceAll(source, "\r\n", "\n")
	source = strings.ReplaceAll(source, "\r", "\n")
	source = strings.TrimSuffix(source, "\n")
	if !utf8.ValidString(source) {
		source = strings.ToValidUTF8(source, "\uFFFD")
	}
	l := &lexer{src: source, line: 1, lineStart: true, tokens: make([]token, 0, len(source)/8+1)}
	for l.pos < len(l.src) {
		if err := l.root(); err != nil {
			return nil, err
		}
	}
	l.emit(tEOF, "", nil)
	return l.tokens, nil
}

func (l *lexer) emit(k kind, val string, num Value) {
	l.tokens = append(l.tokens, token{k, l.line, val, num})
}

// advance moves over n bytes and counts their lines.
func (l *lexer) advance(n int) {
	l.line += strings.Count(l.src[l.pos:l.pos+n], "\n")
	l.pos += n
}

// root reads text up to the next tag, and the tag.
func (l *lexer) root() error {
	rest := l.src[l.pos:]
	at := 0
	for {
		i := strings.IndexByte(rest[at:], '{')
		if i < 0 || at+i+1 >= len(rest) {
			l.data(rest, len(rest))
			return nil
		}
		at += i
		if c := rest[at+1]; c == '{' || c == '%' || c == '#' {
			break
		}
		at++
	}
	tag := rest[at+1]
	sign := byte(0)
	if at+2 < len(rest) && (rest[at+2] == '-' || rest[at+2] == '+') {
		sign = rest[at+2]
	}
	l.data(l.stripBefore(rest[:at], sign, tag == '{'), at)
	open := 2
	if sign != 0 {
		open = 3
	}
	switch tag {
	case '#':
		return l.comment(open)
	case '%':
		if n := matchRaw(l.src[l.pos:], "raw", false); n > 0 {
			return l.raw(n)
		}
		l.emit(tBlockBegin, "", nil)
		l.advance(open)
		return l.tag(tBlockEnd)
	}
	l.emit(tVarBegin, "", nil)
	l.advance(open)
	return l.tag(tVarEnd)
}

// data emits text, which stands for the next n bytes of the source.
func (l *lexer) data(text string, n int) {
	if text != "" {
		l.emit(tData, text, nil)
	}
	l.advance(n)
}

// stripBefore applies a tag's sign, or lstrip_blocks, to the text before it.
func (l *lexer) stripBefore(text string, sign byte, variable bool) string {
	if sign == '-' {
		return strings.TrimRightFunc(text, isSpace)
	}
	if sign == '+' || variable {
		return text
	}
	at := strings.LastIndexByte(text, '\n') + 1
	if (at > 0 || l.lineStart) && strings.TrimLeftFunc(text[at:], isSpace) == "" {
		return text[:at]
	}
	return text
}

// closed is called at a tag's closing characters, n bytes long, and eats what the tag's sign or trim_blocks eats.
func (l *lexer) closed(n int, strip, trim bool) {
	rest := l.src[l.pos+n:]
	switch {
	case strip:
		n += len(rest) - len(strings.TrimLeftFunc(rest, isSpace))
	case trim && strings.HasPrefix(rest, "\n"):
		n++
	}
	l.advance(n)
	l.lineStart = l.pos > 0 && l.src[l.pos-1] == '\n'
}

// comment skips a comment whose opening is n bytes long.
func (l *lexer) comment(n int) error {
	end := strings.Index(l.src[l.pos+n:], "#}")
	if end < 0 {
		return l.fail("a comment has no end")
	}
	sign := byte(0)
	if end > 0 {
		sign = l.src[l.pos+n+end-1]
	}
	l.advance(n + end)
	l.closed(2, sign == '-', sign != '+')
	return nil
}

// matchRaw returns the length of a raw or endraw tag at the start of s, or 0. Where plus is set, a closing + counts.
func matchRaw(s, word string, plus bool) int {
	i := 2
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		i++
	}
	skip := func() { i = len(s) - len(strings.TrimLeftFunc(s[i:], isSpace)) }
	skip()
	if !strings.HasPrefix(s[i:], word) {
		return 0
	}
	i += len(word)
	skip()
	if strings.HasPrefix(s[i:], "-%}") || plus && strings.HasPrefix(s[i:], "+%}") {
		return i + 3
	}
	if strings.HasPrefix(s[i:], "%}") {
		return i + 2
	}
	return 0
}

// raw reads a raw block whose opening tag is n bytes long.
func (l *lexer) raw(n int) error {
	l.advance(n - 2)
	l.closed(2, l.src[l.pos-1] == '-', false)
	rest := l.src[l.pos:]
	for at := 0; ; at++ {
		i := strings.Index(rest[at:], "{%")
		if i < 0 {
			return l.fail("a raw block has no end")
		}
		at += i
		n := matchRaw(rest[at:], "endraw", true)
		if n == 0 {
			continue
		}
		l.data(l.stripBefore(rest[:at], rest[at+2], false), at)
		l.advance(n - 2)
		sign := l.src[l.pos-1]
		l.closed(2, sign == '-', sign != '+')
		return nil
	}
}

var operators = []string{"//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[", "]", "(", ")", "{", "}", ">", "<", "=", ".", ":", "|", ",", ";"}

var closing = map[string]string{"(": ")", "[": "]", "{": "}"}

// tag reads the tokens of a tag up to its end, which closes only where brackets are balanced.
func (l *lexer) tag(end kind) error {
	closer := "}}"
	if end == tBlockEnd {
		closer = "%}"
	}
	var open []string
	for {
		rest := l.src[l.pos:]
		if n := len(rest) - len(strings.TrimLeftFunc(rest, isSpace)); n > 0 {
			l.advance(n)
			rest = l.src[l.pos:]
		}
		if rest == "" {
			return l.fail("the template ends inside a tag")
		}
		if len(open) == 0 {
			sign := rest[0]
			if strings.HasPrefix(rest, closer) {
				l.emit(end, "", nil)
				l.closed(2, false, end == tBlockEnd)
				return nil
			}
			if (sign == '-' || sign == '+' && end == tBlockEnd) && strings.HasPrefix(rest[1:], closer) {
				l.emit(end, "", nil)
				l.closed(3, sign == '-', false)
				return nil
			}
		}
		c, size := utf8.DecodeRuneInString(rest)
		switch {
		case c >= '0' && c <= '9':
			if err := l.number(rest); err != nil {
				return err
			}
			continue
		case c == '_' || unicode.IsLetter(c):
			n := size
			for n < len(rest) {
				c, size := utf8.DecodeRuneInString(rest[n:])
				if c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c) {
					break
				}
				n += size
			}
			l.emit(tName, rest[:n], nil)
			l.advance(n)
			continue
		case c == '\'' || c == '"':
			if err := l.string(rest); err != nil {
				return err
			}
			continue
		}
		op := ""
		for _, o := range operators {
			if strings.HasPrefix(rest, o) {
				op = o
				break
			}
		}
		switch op {
		case "":
			return l.fail("unexpected character %q", c)
		case "(", "[", "{":
			open = append(open, closing[op])
		case ")", "]", "}":
			if len(open) == 0 {
				return l.fail("unexpected '%s'", op)
			}
			if want := open[len(open)-1]; want != op {
				return l.fail("unexpected '%s', expected '%s'", op, want)
			}
			open = open[:len(open)-1]
		}
		l.emit(tOp, op, nil)
		l.advance(len(op))
	}
}

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
