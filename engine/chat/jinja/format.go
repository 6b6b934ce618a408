package jinja

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Formatting with %, and how one value is formatted and padded.

// printf is format % args, Python's printf-style formatting. self says whether the result is safe.
func (r *run) printf(self Value, format string, arg Value) Value {
	_, safe := self.(markup)
	args, isTuple := arg.(Tuple)
	if !isTuple {
		args = Tuple{arg}
	}
	mapping, _ := arg.(*Object)
	used := 0
	next := func() Value {
		if used >= len(args) {
			r.typeError("not enough arguments for format string")
		}
		used++
		return args[used-1]
	}
	var b strings.Builder
	write := func(s string) {
		r.alloc(int64(len(s)))
		b.WriteString(s)
	}
	named := false
	for {
		i := strings.IndexByte(format, '%')
		if i < 0 {
			write(format)
			break
		}
		write(format[:i])
		format = format[i+1:]
		var spec formatSpec
		var v Value
		keyed := false
		if strings.HasPrefix(format, "(") {
			end := strings.IndexByte(format, ')')
			if end < 0 {
				r.valueError("incomplete format key")
			}
			if mapping == nil {
				r.typeError("format requires a mapping")
			}
			key := format[1:end]
			var ok bool
			if v, ok = mapping.get(key); !ok {
				r.fail("KeyError", "%s", quote(key))
			}
			format = format[end+1:]
			keyed, named = true, true
		}
		n := 0
		for n < len(format) && strings.IndexByte("-+ #0", format[n]) >= 0 {
			switch format[n] {
			case '-':
				spec.align = '<'
			case '+', ' ':
				if spec.sign != '+' {
					spec.sign = format[n]
				}
			case '#':
				spec.alternate = true
			case '0':
				spec.zero = true
			}
			n++
		}
		format = format[n:]
		if strings.HasPrefix(format, "*") {
			spec.width = r.wantInt(next(), 0)
			if spec.width < 0 {
				spec.align, spec.width = '<', -spec.width
			}
			format = format[1:]
		} else {
			spec.width, format = r.digits(format)
		}
		spec.precision = -1
		if strings.HasPrefix(format, ".") {
			if strings.HasPrefix(format, ".*") {
				spec.precision = max(r.wantInt(next(), 0), 0)
				format = format[2:]
			} else {
				spec.precision, format = r.digits(format[1:])
			}
		}
		format = strings.TrimLeft(format, "hlL")
		if format == "" {
			r.valueError("incomplete format")
		}
		verb, size := utf8.DecodeRuneInString(format)
		format = format[size:]
		if verb == '%' {
			write("%")
			continue
		}
		if !strings.ContainsRune("sradiuoxXeEfFgGc", verb) {
			r.valueError("unsupported format character '%c' (0x%x)", verb, verb)
		}
		if !keyed {
			v = next()
		}
		write(r.printfVerb(byte(verb), spec, v, safe))
	}
	if used < len(args) && !named {
		switch arg.(type) {
		case *Object, *List, rangeValue, *undefined: // what can be indexed counts as a mapping
		default:
			r.typeError("not all arguments converted during string formatting")
		}
	}
	return like(self, b.String())
}

func (r *run) printfVerb(verb byte, spec formatSpec, v Value, safe bool) string {
	if spec.align == 0 {
		spec.align = '>'
	}
	switch verb {
	case 's', 'r', 'a':
		s := ""
		switch {
		case verb != 's':
			s = r.repr(v)
		case safe:
			s = r.escape(v)
		default:
			s = r.text(v)
		}
		spec.zero = false
		return r.pad(spec, "", spec.cut(s))
	case 'c':
		if s, ok := asString(v); ok {
			if utf8.RuneCountInString(s) != 1 {
				r.typeError("%%c requires int or char")
			}
			return r.pad(spec, "", s)
		}
		return r.pad(spec, "", string(rune(r.wantInt(v, 0))))
	}
	if u, ok := v.(*undefined); ok {
		r.failUndefined(u)
	}
	if strings.IndexByte("diuxXo", verb) >= 0 {
		if f, ok := v.(float64); ok && strings.IndexByte("diu", verb) >= 0 {
			v = r.toInt(f, nil, 10)
		}
		b, ok := toBig(v)
		if !ok {
			if strings.IndexByte("diu", verb) >= 0 {
				r.typeError("%%%c format: a real number is required, not %s", verb, typeName(v))
			}
			r.typeError("%%%c format: an integer is required, not %s", verb, typeName(v))
		}
		if verb == 'i' || verb == 'u' {
			verb = 'd'
		}
		digits := intDigits(b, verb)
		if n := spec.precision - int64(len(digits)); n > 0 {
			r.alloc(n)
			digits = strings.Repeat("0", int(n)) + digits
		}
		return r.pad(spec, spec.signOf(b.Sign() < 0)+spec.prefixOf(verb), digits)
	}
	f, ok := asFloat(v)
	if !ok {
		r.typeError("must be real number, not %s", typeName(v))
	}
	if spec.precision < 0 {
		spec.precision = 6
	}
	return r.pad(spec, spec.signOf(math.Signbit(f)), r.floatDigits(spec, verb, math.Abs(f)))
}

// digits reads a decimal number from the start of s.
func (r *run) digits(s string) (int64, string) {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	if n == 0 {
		return 0, s
	}
	v, err := strconv.ParseInt(s[:n], 10, 32)
	if err != nil {
		r.valueError("Too many decimal digits in format string")
	}
	return v, s[n:]
}

// formatSpec is a format of one value: [[fill]align][sign][#][0][width][grouping][.precision][verb].
type formatSpec struct {
	fill      string
	align     byte // < > ^ =, 0: by kind
	sign      byte
	alternate bool
	zero      bool
	width     int64
	grouping  byte
	precision int64 // -1: none
	verb      byte
}

func (f formatSpec) cut(s string) string {
	if f.precision < 0 {
		return s
	}
	n := f.precision
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func (f formatSpec) signOf(negative bool) string {
	switch {
	case negative:
		return "-"
	case f.sign == '+' || f.sign == ' ':
		return string(f.sign)
	}
	return ""
}

func (f formatSpec) prefixOf(verb byte) string {
	if f.alternate && strings.IndexByte("xXob", verb) >= 0 {
		return "0" + string(verb)
	}
	return ""
}

// pad brings sign and body to the width; zeros go between them.
func (r *run) pad(f formatSpec, sign, body string) string {
	n := f.width - int64(utf8.RuneCountInString(sign)+utf8.RuneCountInString(body))
	if n <= 0 {
		return sign + body
	}
	fill := f.fill
	if fill == "" {
		fill = " "
	}
	align := f.align
	if f.zero && align != '<' {
		align = '='
		if f.fill == "" {
			fill = "0"
		}
	}
	r.alloc(n * int64(len(fill)))
	fills := func(n int64) string { return strings.Repeat(fill, int(n)) }
	switch align {
	case '<':
		return sign + body + fills(n)
	case '^':
		return fills(n/2) + sign + body + fills(n-n/2)
	case '=':
		return sign + fills(n) + body
	}
	return fills(n) + sign + body
}

func intDigits(b *big.Int, verb byte) string {
	base := map[byte]int{'d': 10, 'x': 16, 'X': 16, 'o': 8, 'b': 2}[verb]
	s := new(big.Int).Abs(b).Text(base)
	if verb == 'X' {
		s = strings.ToUpper(s)
	}
	return s
}

// floatDigits formats f, which is not negative.
func (r *run) floatDigits(spec formatSpec, verb byte, f float64) string {
	s := ""
	switch {
	case math.IsInf(f, 0):
		s = "inf"
	case math.IsNaN(f):
		s = "nan"
	default:
		p := spec.precision
		r.alloc(p)
		lower := verb | 0x20
		if lower == 'g' {
			p = max(p, 1)
			e := strconv.FormatFloat(f, 'e', int(p-1), 64)
			exp, _ := strconv.Atoi(e[strings.IndexByte(e, 'e')+1:])
			if f != 0 && (exp < -4 || int64(exp) >= p) {
				s = trimZeros(e, spec.alternate)
			} else {
				s = trimZeros(strconv.FormatFloat(f, 'f', int(max(p-1-int64(exp), 0)), 64), spec.alternate)
			}
		} else {
			s = strconv.FormatFloat(f, lower, int(p), 64)
		}
	}
	if verb < 'a' {
		s = strings.ToUpper(s)
	}
	return s
}

// trimZeros drops the zeros at the end of a fraction.
func trimZeros(s string, keep bool) string {
	if keep {
		return s
	}
	exp := ""
	if i := strings.IndexByte(s, 'e'); i >= 0 {
		s, exp = s[:i], s[i:]
	}
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s + exp
}

// group puts separators between the digits of an integer part.
func group(s string, sep byte, size int) string {
	frac := ""
	if i := strings.IndexAny(s, ".e"); i >= 0 {
		s, frac = s[:i], s[i:]
	}
	var b strings.Builder
	for i := range len(s) {
		if i > 0 && (len(s)-i)%size == 0 {
			b.WriteByte(sep)
		}
		b.WriteByte(s[i])
	}
	return b.String() + frac
}
