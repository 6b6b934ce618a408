package jinja

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Filters over text that are more than a line.

// titleFilter upcases the first letter of each word; words begin after white space and opening brackets.
func titleFilter(s string) string {
	var b strings.Builder
	first := true
	for _, c := range s {
		if c == '-' || isSpace(c) || strings.ContainsRune("({[<", c) {
			b.WriteRune(c)
			first = true
			continue
		}
		if first {
			b.WriteString(upper(string(c)))
		} else {
			b.WriteString(lower(string(c)))
		}
		first = false
	}
	return b.String()
}

func indent(r *run, v Value, a []Value) Value {
	pad := "    "
	if s, ok := asString(a[0]); ok {
		pad = s
	} else if a[0] != missing {
		n := max(r.wantInt(a[0], 4), 0)
		r.alloc(n)
		pad = strings.Repeat(" ", int(n))
	}
	s, ok := asString(v)
	if !ok {
		if u, isUndefined := v.(*undefined); isUndefined {
			r.failUndefined(u)
		}
		r.typeError("unsupported operand type(s) for +=: '%s' and 'str'", typeName(v))
	}
	first := a[1] != missing && truth(a[1])
	blank := a[2] != missing && truth(a[2])
	lines := splitLines(s+"\n", false)
	r.alloc(int64(len(s)) + int64(len(lines))*int64(len(pad)+itemSize))
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == 0 && first || i > 0 && (line != "" || blank) {
			b.WriteString(pad)
		}
		b.WriteString(line)
	}
	return like(v, b.String())
}

func truncate(r *run, v Value, a []Value) Value {
	length := r.wantInt(a[0], 255)
	end := "..."
	if a[2] != missing {
		end = r.wantString(a[2])
	}
	leeway := int64(5)
	if a[3] != nil {
		leeway = r.wantInt(a[3], 5)
	}
	keep := length - int64(utf8.RuneCountInString(end))
	if keep < 0 {
		r.fail("AssertionError", "expected length >= %d, got %d", utf8.RuneCountInString(end), length)
	}
	if r.len(v) <= length+leeway {
		return v
	}
	s := r.wantString(r.slice(v, [3]Value{nil, keep, nil}))
	if a[1] == missing || !truth(a[1]) {
		if i := strings.LastIndex(s, " "); i >= 0 {
			s = s[:i]
		}
	}
	return like(v, r.str(s+end))
}

func centerFilter(r *run, v Value, a []Value) Value {
	width := a[0]
	if width == missing {
		width = int64(80)
	}
	return stringMethods["center"].fn(r, like(v, r.text(v)), []Value{width, missing})
}

func wordCount(s string) int64 {
	n, in := int64(0), false
	for _, c := range s {
		word := c == '_' || unicode.IsLetter(c) || unicode.IsNumber(c)
		if word && !in {
			n++
		}
		in = word
	}
	return n
}

// stripTags removes comments and tags, and joins what is left by single spaces.
func stripTags(s string) string {
	cut := func(open, end string) {
		var b strings.Builder
		for {
			i := strings.Index(s, open)
			if i < 0 {
				break
			}
			j := strings.Index(s[i:], end)
			if j < 0 {
				break
			}
			b.WriteString(s[:i])
			s = s[i+j+len(end):]
		}
		b.WriteString(s)
		s = b.String()
	}
	cut("<!--", "-->")
	cut("<", ">")
	s = strings.Join(strings.FieldsFunc(s, isSpace), " ")
	return strings.NewReplacer("&amp;", "&", "&gt;", ">", "&lt;", "<", "&#39;", "'", "&#34;", `"`, "&quot;", `"`).Replace(s)
}

func urlEncode(r *run, v Value, a []Value) Value {
	quoted := func(s string, safe string, plus bool) string {
		var b strings.Builder
		for i := 0; i < len(s); i++ {
			c := s[i]
			switch {
			case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_.-~"+safe, c) >= 0:
				b.WriteByte(c)
			case c == ' ' && plus:
				b.WriteByte('+')
			default:
				b.WriteString("%" + strings.ToUpper(strconv.FormatUint(uint64(c)+256, 16)[1:]))
			}
		}
		return r.str(b.String())
	}
	if _, ok := asString(v); ok || r.iterator(v) == nil {
		return quoted(r.text(v), "/", false)
	}
	if o, ok := v.(*Object); ok {
		v = dictView{o, "items"}
	}
	var parts []string
	for _, pair := range r.items(v) {
		kv := r.unpack(pair, 2)
		parts = append(parts, quoted(r.text(kv[0]), "", true)+"="+quoted(r.text(kv[1]), "", true))
	}
	return r.str(strings.Join(parts, "&"))
}
