package jinja

import (
	"math"
	"strings"
)

// The table of filters over single values.

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
