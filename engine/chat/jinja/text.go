package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// How values print: Python's str and repr, and HTML escaping.

// maxDigits is Python's limit on the digits of an integer that is read or printed.
const maxDigits = 4300

// text is str(v), counted.
func (r *run) text(v Value) string {
	switch v := v.(type) {
	case string:
		return v
	case *undefined:
		return ""
	case markup:
		return string(v)
	}
	p := printer{r: r}
	p.repr(v, 0)
	return p.b.String()
}

// repr is repr(v), counted.
func (r *run) repr(v Value) string {
	p := printer{r: r}
	p.repr(v, 0)
	return p.b.String()
}

// text is str(v) of a value that is printed in an error message: a name or a number.
func text(v Value) string {
	if s, ok := asString(v); ok {
		return s
	}
	return shortRepr(v)
}

// shortRepr is repr(v) of a scalar, for error messages.
func shortRepr(v Value) string {
	switch v := v.(type) {
	case string, markup, nil, bool, int64, float64, *big.Int:
		p := printer{}
		p.repr(v, 0)
		return p.b.String()
	default:
		return typeName(v)
	}
}

// printer writes values as Python's repr does. With r set, it counts what it writes.
type printer struct {
	r *run
	b strings.Builder
}

func (p *printer) write(s string) {
	if p.r != nil {
		p.r.alloc(int64(len(s)))
	}
	p.b.WriteString(s)
}

func (p *printer) repr(v Value, depth int) {
	if p.r != nil {
		p.r.nestData(depth)
	}
	switch v := v.(type) {
	case nil:
		p.write("None")
	case bool:
		if v {
			p.write("True")
		} else {
			p.write("False")
		}
	case int64:
		p.write(formatInt(v))
	case *big.Int:
		p.write(v.String())
	case float64:
		p.write(formatFloat(v))
	case string:
		p.write(quote(v))
	case markup:
		p.write("Markup(" + quote(string(v)) + ")")
	case *List:
		p.items("[", v.items, "]", depth)
	case Tuple:
		end := ")"
		if len(v) == 1 {
			end = ",)"
		}
		p.items("(", v, end, depth)
	case *Object:
		p.object(v, depth)
	case *undefined:
		p.write("Undefined")
	case *namespace:
		p.write("<Namespace ")
		p.object(&v.attrs, depth)
		p.write(">")
	case rangeValue:
		p.write("range(" + formatInt(v.start) + ", " + formatInt(v.stop))
		if v.step != 1 {
			p.write(", " + formatInt(v.step))
		}
		p.write(")")
	case dictView:
		p.write("dict_" + v.kind + "([")
		for i := range v.of.keys {
			if i > 0 {
				p.write(", ")
			}
			p.repr(v.at(i), depth+1)
		}
		p.write("])")
	case *macro:
		name := "anonymous"
		if v.def.name != "" {
			name = quote(v.def.name)
		}
		p.write("<Macro " + name + ">")
	case *loop:
		p.write("<LoopContext " + formatInt(v.index0+1) + "/")
		if p.r != nil {
			p.write(formatInt(v.len(p.r)))
		}
		p.write(">")
	case *function:
		p.write("<built-in function " + v.name + ">")
	default:
		p.write("<" + typeName(v) + " object>")
	}
}

func (p *printer) items(open string, items []Value, end string, depth int) {
	p.write(open)
	for i, e := range items {
		if i > 0 {
			p.write(", ")
		}
		p.repr(e, depth+1)
	}
	p.write(end)
}

func (p *printer) object(o *Object, depth int) {
	p.write("{")
	for i, k := range o.keys {
		if i > 0 {
			p.write(", ")
		}
		p.repr(k, depth+1)
		p.write(": ")
		p.repr(o.vals[i], depth+1)
	}
	p.write("}")
}

func formatInt(v int64) string { return strconv.FormatInt(v, 10) }

// formatFloat is Python's repr of a float: the shortest digits that read back, an exponent outside 1e-4 to 1e16.
func formatFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// quote is Python's repr of a string.
func quote(s string) string {
	q := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		q = '"'
	}
	b := make([]byte, 0, len(s)+2)
	b = append(b, q)
	for _, c := range s {
		switch {
		case c == rune(q) || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, `\n`...)
		case c == '\r':
			b = append(b, `\r`...)
		case c == '\t':
			b = append(b, `\t`...)
		case c < ' ' || c == 0x7f:
			b = appendHex(b, 'x', c, 2)
		case c < 0x7f || unicode.IsPrint(c):
			b = utf8.AppendRune(b, c)
		case c <= 0xff:
			b = appendHex(b, 'x', c, 2)
		case c <= 0xffff:
			b = appendHex(b, 'u', c, 4)
		default:
			b = appendHex(b, 'U', c, 8)
		}
	}
	return string(append(b, q))
}

func appendHex(b []byte, letter byte, c rune, digits int) []byte {
	b = append(b, '\\', letter)
	for i := digits - 1; i >= 0; i-- {
		b = append(b, "0123456789abcdef"[c>>(4*i)&15])
	}
	return b
}

var escapes = strings.NewReplacer("&", "&amp;", ">", "&gt;", "<", "&lt;", "'", "&#39;", `"`, "&#34;")

// escape is markupsafe's: v's text with HTML's characters replaced, unless v is safe already.
func (r *run) escape(v Value) string {
	if m, ok := v.(markup); ok {
		return string(m)
	}
	s := r.text(v)
	r.work(len(s))
	return r.str(escapes.Replace(s))
}
