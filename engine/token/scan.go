package token

import (
	"strings"
	"unicode/utf8"
)

// The patterns of pre.go by hand. A scan sees the rest of a piece and returns how long its first part is: a match
// of the pattern at its beginning, else what lies before the first match.

// scanGPT2 is reGPT2.
func scanGPT2(s string) int {
	if s[0] == '\'' {
		if n := contraction(s, 0); n > 0 {
			return n
		}
	}
	i := 0
	if s[0] == ' ' {
		i = 1
	}
	switch c, n := at(s, i); {
	case n == 0:
		return i
	case c&letter != 0:
		return run(s, i+n, letter)
	case c&number != 0:
		return run(s, i+n, number)
	case c&space == 0:
		return runNot(s, i+n, space|letter|number)
	}
	return scanSpaces(s)
}

// contraction returns the length of 's, 't, 'm, 'd, 're, 've or 'll at the start of s; fold is 0x20 to take
// capitals too.
func contraction(s string, fold byte) int {
	if len(s) < 2 {
		return 0
	}
	switch a := s[1] | fold; a {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v', 'l':
		if len(s) > 2 {
			if b := s[2] | fold; b == 'e' && a != 'l' || b == 'l' && a == 'l' {
				return 3
			}
		}
	}
	return 0
}

// scanSpaces is \s+(?!\S)|\s+ where s begins with white space: the last one goes with what follows it.
func scanSpaces(s string) int {
	end, last := 0, 0
	for {
		c, n := at(s, end)
		if c&space == 0 {
			break
		}
		end, last = end+n, end
	}
	if end == len(s) || last == 0 {
		return end
	}
	return last
}

// scanLineSpaces is reSpace where s begins with white space: up to the last line break of it, if any.
func scanLineSpaces(s string) int {
	end := run(s, 0, space)
	if n := strings.LastIndexAny(s[:end], "\r\n"); n >= 0 {
		return n + 1
	}
	return scanSpaces(s)
}

// words is the pattern of llama 3 and qwen2: contractions, a word with the character before it, up to so many
// digits, other characters with a space before and line breaks after, white space.
type words struct {
	digits int
	marks  bool // combining marks belong to words
}

func (w words) next(s string) int {
	in := letter
	if w.marks {
		in |= mark
	}
	b := s[0]
	if b == '\'' {
		if n := contraction(s, 0x20); n > 0 {
			return n
		}
	}
	c, n := at(s, 0)
	if c&in != 0 {
		return run(s, n, in)
	}
	if c&number != 0 {
		return digits(s, n, w.digits)
	}
	if b != '\r' && b != '\n' {
		if c2, n2 := at(s, n); c2&in != 0 {
			return run(s, n+n2, in)
		}
	}
	if n := others(s, in|number|space, "\r\n"); n > 0 {
		return n
	}
	return scanLineSpaces(s)
}

// digits returns the end of up to most digits, of which the first ends at i.
func digits(s string, i, most int) int {
	for range most - 1 {
		c, n := at(s, i)
		if c&number == 0 {
			break
		}
		i += n
	}
	return i
}

// others is " ?[^avoid]+[after]*", 0 for no match.
func others(s string, avoid class, after string) int {
	i := 0
	if s[0] == ' ' {
		i = 1
	}
	c, n := at(s, i)
	if n == 0 || c&avoid != 0 {
		return 0
	}
	i = runNot(s, i+n, avoid)
	for i < len(s) && strings.IndexByte(after, s[i]) >= 0 {
		i++
	}
	return i
}

// cased is the pattern of tekken and gpt-4o, where a word ends before a capital that follows small letters.
type cased struct {
	digits int
	suffix bool // a contraction belongs to its word
}

func (w cased) next(s string) int {
	if n := w.word(s); n > 0 {
		if w.suffix && n < len(s) && s[n] == '\'' {
			n += contraction(s[n:], 0x20)
		}
		return n
	}
	c, n := at(s, 0)
	if c&number != 0 {
		return digits(s, n, w.digits)
	}
	if n := others(s, letter|number|space, "\r\n/"); n > 0 {
		return n
	}
	return scanLineSpaces(s)
}

// word is reCased1|reCased2, 0 for no match. The first character may be one before the word; one that may also be
// in it, a mark, is tried as the former first.
func (w cased) word(s string) int {
	c, n := at(s, 0)
	if c&number != 0 || s[0] == '\r' || s[0] == '\n' {
		return 0
	}
	before := 0
	if c&letter == 0 {
		before = n
	}
	if n := casedLow(s, before); n > 0 {
		return n
	}
	if c&mark != 0 {
		return casedLow(s, 0)
	}
	if end := run(s, before, upper|uncase|mark); end > before {
		return end
	}
	return 0
}

// casedLow is [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+ at i, 0 for no match.
func casedLow(s string, i int) int {
	back := 0 // the end of the last character that both sets hold
	for {
		c, n := at(s, i)
		if c&(upper|uncase|mark) == 0 {
			if c&lower != 0 {
				return run(s, i+n, lower|uncase|mark)
			}
			return back
		}
		i += n
		if c&(uncase|mark) != 0 {
			back = i
		}
	}
}

// scanDeepSeek3 is reDeepSeek3.
func scanDeepSeek3(s string) int {
	return between(s, func(s string) int {
		b := s[0]
		c, n := at(s, 0)
		if b < utf8.RuneSelf && c&(punct|symbols) != 0 && len(s) > 1 && asciiLetter(s[1]) {
			i := 2
			for i < len(s) && asciiLetter(s[i]) {
				i++
			}
			return i
		}
		if c&(letter|mark) != 0 {
			return run(s, n, letter|mark)
		}
		if c&(punct|symbols) == 0 && b != '\r' && b != '\n' {
			if c2, n2 := at(s, n); c2&(letter|mark) != 0 {
				return run(s, n+n2, letter|mark)
			}
		}
		i := 0
		if b == ' ' {
			i = 1
		}
		if c, n := at(s, i); c&(punct|symbols) != 0 {
			i = run(s, i+n, punct|symbols)
			for i < len(s) && (s[i] == '\r' || s[i] == '\n') {
				i++
			}
			return i
		}
		if c&space != 0 {
			return scanLineSpaces(s)
		}
		return 0
	})
}

func asciiLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }
