package jinja

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
)

// The methods of strings.

// builtin is a method of a kind: its parameters as in function, and what it does with the object.
type builtin struct {
	params []string
	fn     func(r *run, self Value, a []Value) Value
	raw    func(r *run, self Value, a arguments) Value
}

// method looks up a method of v, bound to v.
func (r *run) method(v Value, name string) (Value, bool) {
	var table map[string]builtin
	switch v.(type) {
	case string, markup:
		table = stringMethods
	case *List, Tuple:
		table = listMethods
	case *Object:
		table = dictMethods
	case float64:
		table = floatMethods
	default:
		return nil, false
	}
	m, ok := table[name]
	if !ok {
		return nil, false
	}
	f := &function{name: name, params: m.params}
	if m.raw != nil {
		f.raw = func(r *run, a arguments) Value { return m.raw(r, v, a) }
	} else {
		f.fn = func(r *run, a []Value) Value {
			if s, ok := asString(v); ok {
				r.work(len(s))
			}
			return m.fn(r, v, a)
		}
	}
	return f, true
}

// wantString is the text of an argument that must be a string.
func (r *run) wantString(v Value) string {
	s, ok := asString(v)
	if !ok {
		if u, isUndefined := v.(*undefined); isUndefined {
			r.typeError("must be str, not %s", typeName(u))
		}
		r.typeError("must be str, not %s", typeName(v))
	}
	return s
}

// wantInt is an argument that must be an integer; without it, the default.
func (r *run) wantInt(v Value, def int64) int64 {
	if v == missing {
		return def
	}
	i, ok := asInt(v)
	if !ok {
		if u, isUndefined := v.(*undefined); isUndefined {
			r.failUndefined(u)
		}
		r.typeError("'%s' object cannot be interpreted as an integer", typeName(v))
	}
	return i
}

// mapText makes a method that maps the text and keeps its kind.
func mapText(f func(string) string) builtin {
	return builtin{fn: func(r *run, self Value, a []Value) Value {
		s, _ := asString(self)
		return like(self, r.str(f(s)))
	}}
}

// testText makes a method that asks whether a text has at least one character and all satisfy f.
func testText(f func(rune) bool) builtin {
	return builtin{fn: func(r *run, self Value, a []Value) Value {
		s, _ := asString(self)
		return s != "" && strings.IndexFunc(s, func(c rune) bool { return !f(c) }) < 0
	}}
}

func stripped(left, right bool) builtin {
	return builtin{params: []string{"chars?"}, fn: func(r *run, self Value, a []Value) Value {
		s, _ := asString(self)
		return like(self, r.strip(s, a[0], left, right))
	}}
}

// strip removes white space, or the characters given, from the ends of s.
func (r *run) strip(s string, chars Value, left, right bool) string {
	in := isSpace
	if chars != nil && chars != missing {
		set, ok := asString(chars)
		if !ok {
			r.typeError("strip arg must be None or str")
		}
		// A long set over a long text is a product: count it.
		r.work(len(set) * (1 + len(s)/64))
		in = func(c rune) bool { return strings.ContainsRune(set, c) }
	}
	if left {
		s = strings.TrimLeftFunc(s, in)
	}
	if right {
		s = strings.TrimRightFunc(s, in)
	}
	return s
}

func affix(has func(s, affix string) bool, name string) builtin {
	return builtin{params: []string{"affix", "start?", "end?"}, fn: func(r *run, self Value, a []Value) Value {
		s, _ := asString(self)
		s, _ = r.window(s, a[1], a[2])
		if t, ok := a[0].(Tuple); ok {
			return slices.ContainsFunc(t, func(v Value) bool { r.step(); return has(s, r.wantString(v)) })
		}
		x, ok := asString(a[0])
		if !ok {
			r.typeError("%s first arg must be str or a tuple of str, not %s", name, typeName(a[0]))
		}
		return has(s, x)
	}}
}

// window cuts s to [start:end) in characters, and returns the bytes before it.
func (r *run) window(s string, start, end Value) (string, int) {
	if (start == missing || start == nil) && (end == missing || end == nil) {
		return s, 0
	}
	opt := func(v Value) Value {
		if v == missing {
			return nil
		}
		return v
	}
	head, _ := asString(r.slice(s, [3]Value{nil, opt(start), nil}))
	if start == missing || start == nil {
		head = ""
	}
	out, _ := asString(r.slice(s, [3]Value{opt(start), opt(end), nil}))
	return out, len(head)
}

// finder makes find, rfind, index and rindex: positions count characters.
func finder(last, must bool) builtin {
	return builtin{params: []string{"sub", "start?", "end?"}, fn: func(r *run, self Value, a []Value) Value {
		s, _ := asString(self)
		in, before := r.window(s, a[1], a[2])
		sub := r.wantString(a[0])
		i := strings.Index(in, sub)
		if last {
			i = strings.LastIndex(in, sub)
		}
		if i < 0 {
			if must {
				r.valueError("substring not found")
			}
			return int64(-1)
		}
		return int64(utf8.RuneCountInString(s[:before+i]))
	}}
}

func padded(f func(s string, fill string, missing int64) string) builtin {
	return builtin{params: []string{"width", "fillchar?"}, fn: func(r *run, self Value, a []Value) Value {
		s, _ := asString(self)
		fill := " "
		if a[1] != missing {
			if fill = r.wantString(a[1]); utf8.RuneCountInString(fill) != 1 {
				r.typeError("The fill character must be exactly one character long")
			}
		}
		n := r.wantInt(a[0], 0) - int64(utf8.RuneCountInString(s))
		if n <= 0 {
			return self
		}
		if n > r.maxMemory {
			r.over("memory", r.maxMemory)
		}
		r.alloc(2 * n * int64(len(fill))) // the padding, and the text it is put into
		return like(self, r.str(f(s, fill, n)))
	}}
}

var stringMethods map[string]builtin

func init() {
	repeat := func(s string, n int64) string { return strings.Repeat(s, int(n)) }
	stringMethods = map[string]builtin{
		"upper":      mapText(upper),
		"lower":      mapText(lower),
		"casefold":   mapText(func(s string) string { return cases.Fold().String(s) }),
		"title":      mapText(titleWords),
		"capitalize": mapText(capitalize),
		"swapcase":   mapText(swapCase),
		"strip":      stripped(true, true),
		"lstrip":     stripped(true, false),
		"rstrip":     stripped(false, true),
		"startswith": affix(strings.HasPrefix, "startswith"),
		"endswith":   affix(strings.HasSuffix, "endswith"),
		"find":       finder(false, false),
		"rfind":      finder(true, false),
		"index":      finder(false, true),
		"rindex":     finder(true, true),
		"ljust":      padded(func(s, fill string, n int64) string { return s + repeat(fill, n) }),
		"rjust":      padded(func(s, fill string, n int64) string { return repeat(fill, n) + s }),
		"center": padded(func(s, fill string, n int64) string {
			left := n / 2
			if width := n + int64(utf8.RuneCountInString(s)); n&width&1 == 1 {
				left++
			}
			return repeat(fill, left) + s + repeat(fill, n-left)
		}),
		"zfill": {params: []string{"width"}, fn: func(r *run, self Value, a []Value) Value {
			s, _ := asString(self)
			n := r.wantInt(a[0], 0) - int64(utf8.RuneCountInString(s))
			if n <= 0 {
				return self
			}
			r.alloc(n)
			sign := ""
			if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
				sign, s = s[:1], s[1:]
			}
			return like(self, sign+repeat("0", n)+s)
		}},
		"isspace":   testText(isSpace),
		"isalpha":   testText(unicode.IsLetter),
		"isdigit":   testText(unicode.IsDigit),
		"isdecimal": testText(unicode.IsDigit),
		"isnumeric": testText(unicode.IsNumber),
		"isalnum":   testText(func(c rune) bool { return unicode.IsLetter(c) || unicode.IsNumber(c) }),
		"isascii": {fn: func(r *run, self Value, a []Value) Value {
			s, _ := asString(self)
			return strings.IndexFunc(s, func(c rune) bool { return c > 0x7f }) < 0
		}},
		"isidentifier": {fn: func(r *run, self Value, a []Value) Value {
			s, _ := asString(self)
			for i, c := range s {
				if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c) && !unicode.IsMark(c)) {
					return false
				}
			}
			return s != ""
		}},
		"isprintable": {fn: func(r *run, self Value, a []Value) Value {
			s, _ := asString(self)
			return strings.IndexFunc(s, func(c rune) bool { return !unicode.IsPrint(c) }) < 0
		}},
		"isupper": {fn: func(r *run, self Value, a []Value) Value { s, _ := asString(self); return isCase(s, true) }},
		"islower": {fn: func(r *run, self Value, a []Value) Value { s, _ := asString(self); return isCase(s, false) }},
		"istitle": {fn: func(r *run, self Value, a []Value) Value {
			s, _ := asString(self)
			return titleWords(s) == s && lower(s) != upper(s)
		}},
		"count": {params: []string{"sub", "start?", "end?"}, fn: func(r *run, self Value, a []Value) Value {
			s, _ := asString(self)
			in, _ := r.window(s, a[1], a[2])
			return int64(strings.Count(in, r.wantString(a[0])))
		}},
		"replace": {params: []string{"old", "new", "count?"}, fn: func(r *run, self Value, a []Value) Value {
			s, _ := asString(self)
			to := r.wantString(a[1])
			if _, safe := self.(markup); safe {
				to = r.escape(a[1])
			}
			return like(self, r.replace(s, r.wantString(a[0]), to, r.wantInt(a[2], -1)))
		}},
		"removeprefix": {params: []string{"prefix"}, fn: func(r *run, self Value, a []Value) Value {
			s, _ := asString(self)
			return like(self, strings.TrimPrefix(s, r.wantString(a[0])))
		}},
		"removesuffix": {params: []string{"suffix"}, fn: func(r *run, self Value, a []Value) Value {
			s, _ := asString(self)
			return like(self, strings.TrimSuffix(s, r.wantString(a[0])))
		}},
		"expandtabs": {params: []string{"tabsize?"}, fn: func(r *run, self Value, a []Value) Value {
			s, _ := asString(self)
			return like(self, r.expandTabs(s, r.wantInt(a[0], 8)))
		}},
		"split": {params: []string{"sep?", "maxsplit?"}, fn: func(r *run, self Value, a []Value) Value {
			s, _ := asString(self)
			return r.strings(self, r.split(s, a[0], r.wantInt(a[1], -1)))
		}},
		"rsplit": {params: []string{"sep?", "maxsplit?"}, fn: func(r *run, self Value, a []Value) Value {
			s, _ := asString(self)
			return r.strings(self, r.rsplit(s, a[0], r.wantInt(a[1], -1)))
		}},
		"splitlines": {params: []string{"keepends?"}, fn: func(r *run, self Value, a []Value) Value {
			s, _ := asString(self)
			return r.strings(self, splitLines(s, a[0] != missing && truth(a[0])))
		}},
		"partition": {params: []string{"sep"}, fn: func(r *run, self Value, a []Value) Value {
			s, _ := asString(self)
			sep := r.wantSeparator(a[0])
			if i := strings.Index(s, sep); i >= 0 {
				return Tuple{like(self, s[:i]), like(self, sep), like(self, s[i+len(sep):])}
			}
			return Tuple{like(self, s), like(self, ""), like(self, "")}
		}},
		"rpartition": {params: []string{"sep"}, fn: func(r *run, self Value, a []Value) Value {
			s, _ := asString(self)
			sep := r.wantSeparator(a[0])
			if i := strings.LastIndex(s, sep); i >= 0 {
				return Tuple{like(self, s[:i]), like(self, sep), like(self, s[i+len(sep):])}
			}
			return Tuple{like(self, ""), like(self, ""), like(self, s)}
		}},
		"join": {params: []string{"iterable"}, fn: func(r *run, self Value, a []Value) Value {
			s, _ := asString(self)
			_, safe := self.(markup)
			next := r.iterate(a[0], "can only join an iterable")
			var parts []string
			for i := 0; ; i++ {
				v, ok := next()
				if !ok {
					break
				}
				t, ok := asString(v)
				if safe {
					t = r.escape(v)
				} else if !ok {
					r.typeError("sequence item %d: expected str instance, %s found", i, typeName(v))
				}
				parts = append(parts, t)
				r.alloc(int64(len(t)+len(s)) + itemSize)
			}
			return like(self, strings.Join(parts, s))
		}},
		"format": {raw: func(r *run, self Value, a arguments) Value { return r.format(self, a) }},
		"format_map": {params: []string{"mapping"}, fn: func(r *run, self Value, a []Value) Value {
			o, ok := a[0].(*Object)
			if !ok {
				r.typeError("format_map() takes a dict")
			}
			var args arguments
			for i, k := range o.keys {
				name, _ := asString(k)
				args.kw = append(args.kw, keyword{name, o.vals[i]})
			}
			return r.format(self, args)
		}},
	}
}
