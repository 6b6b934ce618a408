package jinja

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// What string methods and filters do to text: cutting, joining, case.

// strings makes a list of parts that have self's kind.
func (r *run) strings(self Value, parts []string) Value {
	r.alloc(int64(len(parts)) * itemSize)
	items := make([]Value, len(parts))
	for i, p := range parts {
		items[i] = like(self, p)
	}
	return r.list(items)
}

func (r *run) wantSeparator(v Value) string {
	sep := r.wantString(v)
	if sep == "" {
		r.valueError("empty separator")
	}
	return sep
}

// replace replaces the first n occurrences, all where n is negative.
func (r *run) replace(s, old, to string, n int64) string {
	r.work(len(s))
	count := int64(strings.Count(s, old))
	if n >= 0 {
		count = min(count, n)
	}
	r.alloc(int64(len(s)) + count*int64(len(to)))
	return strings.Replace(s, old, to, int(count))
}

func (r *run) split(s string, sep Value, n int64) []string {
	if n < 0 || n > int64(len(s)) {
		n = int64(len(s))
	}
	if sep != nil && sep != missing {
		return strings.SplitN(s, r.wantSeparator(sep), int(n)+1)
	}
	var parts []string
	for {
		s = strings.TrimLeftFunc(s, isSpace)
		if s == "" {
			return parts
		}
		end := strings.IndexFunc(s, isSpace)
		if int64(len(parts)) == n || end < 0 {
			if int64(len(parts)) < n {
				s = strings.TrimRightFunc(s, isSpace)
			}
			return append(parts, s)
		}
		parts = append(parts, s[:end])
		s = s[end:]
	}
}

func (r *run) rsplit(s string, sep Value, n int64) []string {
	if n < 0 || n > int64(len(s)) {
		n = int64(len(s))
	}
	var parts []string
	if sep != nil && sep != missing {
		sep := r.wantSeparator(sep)
		for int64(len(parts)) < n {
			i := strings.LastIndex(s, sep)
			if i < 0 {
				break
			}
			parts = append(parts, s[i+len(sep):])
			s = s[:i]
		}
		parts = append(parts, s)
	} else {
		for {
			s = strings.TrimRightFunc(s, isSpace)
			if s == "" {
				break
			}
			end := strings.LastIndexFunc(s, isSpace)
			if int64(len(parts)) == n || end < 0 {
				parts = append(parts, s)
				break
			}
			_, size := utf8.DecodeRuneInString(s[end:])
			parts = append(parts, s[end+size:])
			s = s[:end]
		}
	}
	slices.Reverse(parts)
	return parts
}

// splitLines splits where Python's str.splitlines does.
func splitLines(s string, keep bool) []string {
	var lines []string
	start := 0
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRuneInString(s[i:])
		end := i
		i += size
		switch c {
		case '\r':
			if i < len(s) && s[i] == '\n' {
				i++
			}
		case '\n', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		default:
			continue
		}
		if keep {
			end = i
		}
		lines = append(lines, s[start:end])
		start = i
	}
	if start < len(s) {
		lines = append(lines, s[start:])
	}
	return lines
}

func (r *run) expandTabs(s string, size int64) string {
	var b strings.Builder
	col := int64(0)
	for _, c := range s {
		switch c {
		case '\t':
			if size > 0 {
				n := size - col%size
				r.alloc(n)
				b.WriteString(strings.Repeat(" ", int(n)))
				col += n
			}
			continue
		case '\n', '\r':
			col = -1
		}
		b.WriteRune(c)
		col++
	}
	return r.str(b.String())
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// upper and lower use Unicode's full mappings, as Python does: upper("ß") is "SS". A Caser has state: one a call.
func upper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

func lower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

func titleRune(c rune) string {
	if c == 'ß' {
		return "Ss"
	}
	return string(unicode.ToTitle(c))
}

// titleWords is str.title: a letter after a letter is lower, any other upper.
func titleWords(s string) string {
	var b strings.Builder
	inWord := false
	for _, c := range s {
		cased := unicode.IsUpper(c) || unicode.IsLower(c) || unicode.IsTitle(c)
		if cased && inWord {
			b.WriteString(lower(string(c)))
		} else {
			b.WriteString(titleRune(c))
		}
		inWord = cased
	}
	return b.String()
}

func capitalize(s string) string {
	c, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return s
	}
	return titleRune(c) + lower(s[n:])
}

func swapCase(s string) string {
	var b strings.Builder
	for _, c := range s {
		if unicode.IsUpper(c) {
			b.WriteString(lower(string(c)))
		} else {
			b.WriteString(upper(string(c)))
		}
	}
	return b.String()
}

// isCase tells whether s has cased characters and none of the other case.
func isCase(s string, up bool) bool {
	cased := false
	for _, c := range s {
		switch {
		case unicode.IsUpper(c) && !up, unicode.IsLower(c) && up, unicode.IsTitle(c):
			return false
		case unicode.IsUpper(c), unicode.IsLower(c):
			cased = true
		}
	}
	return cased
}
