package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// filter applies a filter by name.
func (r *run) filter(name string, v Value, a arguments) Value {
	f, ok := filters[name]
	if !ok {
		r.fail("TemplateRuntimeError", "No filter named %s found.", quote(name))
	}
	if f.raw != nil {
		return f.raw(r, v, a)
	}
	return f.fn(r, v, r.bind(name, f.params, a))
}

var filters map[string]builtin

func textFilter(f func(string) string) builtin {
	return builtin{fn: func(r *run, v Value, a []Value) Value {
		s := r.text(v)
		r.work(len(s))
		return like(v, r.str(f(s)))
	}}
}

func init() {
	filters = map[string]builtin{
		"upper":      textFilter(upper),
		"lower":      textFilter(lower),
		"capitalize": textFilter(capitalize),
		"title": {fn: func(r *run, v Value, a []Value) Value {
			return r.str(titleFilter(r.text(v)))
		}},
		"trim": {params: []string{"chars?"}, fn: func(r *run, v Value, a []Value) Value {
			s := r.text(v)
			r.work(len(s))
			return like(v, r.strip(s, a[0], true, true))
		}},
		"string": {fn: func(r *run, v Value, a []Value) Value { return like(v, r.text(v)) }},
		"safe": {fn: func(r *run, v Value, a []Value) Value {
			return markup(r.text(v))
		}},
		"escape":      {fn: func(r *run, v Value, a []Value) Value { return markup(r.escape(v)) }},
		"forceescape": {fn: func(r *run, v Value, a []Value) Value { return markup(r.escape(r.text(v))) }},
		"replace": {params: []string{"old", "new", "count?"}, fn: func(r *run, v Value, a []Value) Value {
			n := int64(-1)
			if a[2] != nil {
				n = r.wantInt(a[2], -1)
			}
			return r.replace(r.text(v), r.text(a[0]), r.text(a[1]), n)
		}},
		"indent":    {params: []string{"width?", "first?", "blank?"}, fn: indent},
		"truncate":  {params: []string{"length?", "killwords?", "end?", "leeway?"}, fn: truncate},
		"center":    {params: []string{"width?"}, fn: centerFilter},
		"wordcount": {fn: func(r *run, v Value, a []Value) Value { return wordCount(r.text(v)) }},
		"format": {raw: func(r *run, v Value, a arguments) Value {
			if len(a.kw) == 0 {
				return r.printf(v, r.text(v), Tuple(a.pos))
			}
			o := &Object{}
			for _, k := range a.kw {
				r.setItem(o, k.name, k.v)
			}
			return r.printf(v, r.text(v), o)
		}},
		"striptags": {fn: func(r *run, v Value, a []Value) Value { return r.str(stripTags(r.text(v))) }},
		"urlencode": {fn: urlEncode},
		"tojson": {params: []string{"ensure_ascii?", "indent?", "separators?", "sort_keys?"},
			fn: func(r *run, v Value, a []Value) Value { return r.toJSON(v, a[0], a[1], a[2], a[3]) }},
		"pprint": {fn: func(r *run, v Value, a []Value) Value { return r.repr(v) }},

		"abs": {fn: func(r *run, v Value, a []Value) Value {
			switch x := v.(type) {
			case *undefined:
				r.failUndefined(x)
			case float64:
				return math.Abs(x)
			}
			i, ok := toBig(v)
			if !ok {
				r.typeError("bad operand type for abs(): '%s'", typeName(v))
			}
			if i.Sign() < 0 {
				return r.arith("-", int64(0), v)
			}
			return r.arith("+", int64(0), v)
		}},
		"int": {params: []string{"default?", "base?"}, fn: func(r *run, v Value, a []Value) Value {
			def := a[0]
			if def == missing {
				def = int64(0)
			}
			return r.toInt(v, def, r.wantInt(a[1], 10))
		}},
		"float": {params: []string{"default?"}, fn: func(r *run, v Value, a []Value) Value {
			if f, ok := r.toFloat(v); ok {
				return f
			}
			if a[0] == missing {
				return 0.0
			}
			return a[0]
		}},
		"round": {params: []string{"precision?", "method?"}, fn: round},
		"filesizeformat": {params: []string{"binary?"}, fn: func(r *run, v Value, a []Value) Value {
			f, ok := r.toFloat(v)
			if !ok {
				r.valueError("could not convert to float: %s", r.repr(v))
			}
			return fileSize(f, a[0] != missing && truth(a[0]))
		}},

		"default": {params: []string{"default_value?", "boolean?"}, fn: func(r *run, v Value, a []Value) Value {
			_, undef := v.(*undefined)
			if !undef && (a[1] == missing || !truth(a[1]) || truth(v)) {
				return v
			}
			if a[0] == missing {
				return ""
			}
			return a[0]
		}},
		"attr": {params: []string{"name"}, fn: func(r *run, v Value, a []Value) Value {
			if u, ok := v.(*undefined); ok {
				r.failUndefined(u)
			}
			name := r.wantString(a[0])
			if x, ok := r.pythonAttr(v, name); ok {
				return x
			}
			return undefinedItem(v, name)
		}},
	}
	addListFilters()
	for alias, name := range map[string]string{"d": "default", "e": "escape", "count": "length"} {
		filters[alias] = filters[name]
	}
}

func (r *run) toJSON(v, ascii, indent, separators, sort Value) Value {
	d := &dumper{printer: printer{r: r}, itemSep: ", ", keySep: ": "}
	d.ascii = ascii != missing && truth(ascii)
	d.sort = sort != missing && truth(sort)
	if indent != missing && indent != nil {
		d.multiline = true
		d.itemSep = ","
		if s, ok := asString(indent); ok {
			d.indent = s
		} else {
			n := max(r.wantInt(indent, 0), 0)
			r.alloc(n)
			d.indent = strings.Repeat(" ", int(n))
		}
	}
	if separators != missing && separators != nil {
		pair := r.unpack(separators, 2)
		d.itemSep, d.keySep = r.wantString(pair[0]), r.wantString(pair[1])
	}
	d.value(v, 0)
	return d.b.String()
}

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

// toInt is the int filter; def where v is no number.
func (r *run) toInt(v, def Value, base int64) Value {
	if s, ok := asString(v); ok {
		if i, ok := parseInt(s, base); ok {
			return i
		}
	}
	switch x := v.(type) {
	case int64, *big.Int:
		return v
	case bool:
		i, _ := asInt(v)
		return i
	case float64:
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return def
		}
	}
	f, ok := r.toFloat(v)
	if !ok || math.IsInf(f, 0) || math.IsNaN(f) {
		return def
	}
	f = math.Trunc(f)
	if f >= -1<<63 && f < 1<<63 {
		return int64(f)
	}
	b, _ := big.NewFloat(f).Int(nil)
	return b
}

// parseInt is Python's int(s, base).
func parseInt(s string, base int64) (Value, bool) {
	s = strings.TrimFunc(s, isSpace)
	if base != 0 && (base < 2 || base > 36) || len(s) > maxDigits {
		return nil, false
	}
	sign := ""
	if strings.HasPrefix(s, "-") || strings.HasPrefix(s, "+") {
		sign, s = s[:1], s[1:]
	}
	lower := strings.ToLower(s)
	prefix := map[int64]string{16: "0x", 8: "0o", 2: "0b"}
	for b, p := range prefix {
		if (base == b || base == 0) && strings.HasPrefix(lower, p) {
			s = strings.TrimPrefix(s[2:], "_")
			base = b
			break
		}
	}
	if base == 0 {
		base = 10
	}
	if strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
		return nil, false
	}
	s = strings.ReplaceAll(s, "_", "")
	if s == "" || s[0] == '-' || s[0] == '+' {
		return nil, false
	}
	if i, err := strconv.ParseInt(sign+s, int(base), 64); err == nil {
		return i, true
	}
	b, ok := new(big.Int).SetString(sign+s, int(base))
	return b, ok
}

// toFloat is Python's float(v) of a number or text.
func (r *run) toFloat(v Value) (float64, bool) {
	if u, ok := v.(*undefined); ok {
		r.failUndefined(u)
	}
	if f, ok := asFloat(v); ok {
		return f, true
	}
	s, ok := asString(v)
	if !ok {
		return 0, false
	}
	s = strings.ToLower(strings.TrimFunc(s, isSpace))
	switch strings.TrimLeft(s, "+-") {
	case "inf", "infinity", "nan":
	default:
		if strings.ContainsAny(s, "xpin") || strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
			return 0, false
		}
		s = strings.ReplaceAll(s, "_", "")
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

func round(r *run, v Value, a []Value) Value {
	digits := r.wantInt(a[0], 0)
	method := "common"
	if a[1] != missing {
		method, _ = asString(a[1])
	}
	if u, ok := v.(*undefined); ok {
		r.failUndefined(u)
	}
	f, ok := asFloat(v)
	if !ok {
		r.typeError("type %s doesn't define __round__ method", typeName(v))
	}
	switch method {
	case "common":
		if i, ok := asInt(v); ok && digits >= 0 {
			return i
		}
		if b, ok := v.(*big.Int); ok {
			return b
		}
		out := roundHalfEven(f, digits)
		if _, ok := v.(float64); !ok {
			return int64(out)
		}
		return out
	case "ceil", "floor":
		digits = min(max(digits, -300), 300)
		scale := math.Pow10(int(digits))
		if method == "ceil" {
			return math.Ceil(f*scale) / scale
		}
		return math.Floor(f*scale) / scale
	}
	r.fail("FilterArgumentError", "method must be common, ceil or floor")
	return nil
}

// roundHalfEven rounds the exact value of f to a decimal place, as Python does.
func roundHalfEven(f float64, digits int64) float64 {
	if math.IsInf(f, 0) || math.IsNaN(f) || digits > 330 {
		return f
	}
	if digits >= 0 {
		out, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'f', int(digits), 64), 64)
		return out
	}
	if digits < -309 {
		return 0
	}
	scale := math.Pow10(int(-digits))
	return math.RoundToEven(f/scale) * scale
}

func fileSize(f float64, binary bool) string {
	base, names := 1000.0, []string{"kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"}
	if binary {
		base, names = 1024, []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"}
	}
	switch {
	case f == 1:
		return "1 Byte"
	case f < base:
		return formatInt(int64(f)) + " Bytes"
	}
	i := 0
	unit := base * base
	for f >= unit && i+1 < len(names) {
		unit *= base
		i++
	}
	return strconv.FormatFloat(base*f/unit, 'f', 1, 64) + " " + names[i]
}
