package jinja

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// From source to tokens: text and tags, and the white space that tags eat around them.

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
