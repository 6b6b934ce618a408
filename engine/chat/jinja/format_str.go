package jinja

import (
	"math"
	"strings"
	"unicode/utf8"
)

// str.format: its fields and its format specifications.

// format is str.format with the sandbox's attribute rules.
func (r *run) format(self Value, a arguments) Value {
	s, _ := asString(self)
	_, safe := self.(markup)
	f := &formatter{r: r, args: a, safe: safe}
	f.run(s, 0)
	return like(self, f.b.String())
}

// formatter fills the fields of one format string.
type formatter struct {
	r    *run
	args arguments
	safe bool
	auto int64 // next automatic index; -1: the string numbers its fields
	b    strings.Builder
}

func (f *formatter) write(s string) {
	f.r.alloc(int64(len(s)))
	f.b.WriteString(s)
}

func (f *formatter) run(s string, depth int) {
	r := f.r
	if depth > 1 {
		r.valueError("Max string recursion exceeded")
	}
	for {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			f.write(s)
			return
		}
		f.write(s[:i])
		c := s[i]
		s = s[i+1:]
		if s != "" && s[0] == c {
			f.write(string(c))
			s = s[1:]
			continue
		}
		if c == '}' {
			r.valueError("Single '}' encountered in format string")
		}
		level, end := 1, -1
		for j := 0; j < len(s) && level > 0; j++ {
			switch s[j] {
			case '{':
				level++
			case '}':
				if level--; level == 0 {
					end = j
				}
			}
		}
		if end < 0 {
			r.valueError("expected '}' before end of string")
		}
		f.write(f.field(s[:end], depth))
		s = s[end+1:]
	}
}

// field formats "name!conversion:spec".
func (f *formatter) field(s string, depth int) string {
	r := f.r
	name, spec := s, ""
	// A colon or mark inside brackets belongs to the name.
	brackets := 0
	for i := 0; i < len(s); i++ {
		if s[i] == '[' {
			brackets++
		} else if s[i] == ']' {
			brackets--
		} else if brackets <= 0 && (s[i] == ':' || s[i] == '!') {
			name, spec = s[:i], s[i:]
			break
		}
	}
	v := f.value(name)
	conversion := byte(0)
	if strings.HasPrefix(spec, "!") {
		if len(spec) < 2 || len(spec) > 2 && spec[2] != ':' {
			r.valueError("expected ':' after conversion specifier")
		}
		conversion, spec = spec[1], spec[2:]
	}
	spec = strings.TrimPrefix(spec, ":")
	if strings.Contains(spec, "{") {
		inner := &formatter{r: r, args: f.args, auto: f.auto}
		inner.run(spec, depth+1)
		spec, f.auto = inner.b.String(), inner.auto
	}
	switch conversion {
	case 0:
	case 's':
		v = r.text(v)
	case 'r', 'a':
		v = r.repr(v)
	default:
		r.valueError("Unknown conversion specifier %c", conversion)
	}
	if f.safe {
		v = r.escape(v)
	}
	return r.formatValue(v, spec)
}

// value looks a field up: an index or name, then attributes and items.
func (f *formatter) value(name string) Value {
	r := f.r
	end := strings.IndexAny(name, ".[")
	if end < 0 {
		end = len(name)
	}
	first, rest := name[:end], name[end:]
	var v Value
	if first == "" || first[0] >= '0' && first[0] <= '9' {
		i := f.auto
		if first != "" {
			if f.auto > 0 {
				r.valueError("cannot switch from automatic field numbering to manual field specification")
			}
			i, _ = r.digits(first)
			f.auto = -1
		} else if f.auto++; i < 0 {
			r.valueError("cannot switch from manual field specification to automatic field numbering")
		}
		if i >= int64(len(f.args.pos)) {
			r.fail("IndexError", "Replacement index %d out of range for positional args tuple", i)
		}
		v = f.args.pos[i]
	} else {
		found := false
		for _, k := range f.args.kw {
			if k.name == first {
				v, found = k.v, true
			}
		}
		if !found {
			r.fail("KeyError", "%s", quote(first))
		}
	}
	for rest != "" {
		r.step()
		if rest[0] == '.' {
			rest = rest[1:]
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			v = r.attr(v, rest[:end])
			rest = rest[end:]
			continue
		}
		end := strings.IndexByte(rest, ']')
		if rest[0] != '[' || end < 0 {
			r.valueError("Missing ']' in format string")
		}
		var key Value = rest[1:end]
		if i, ok := parseInt(rest[1:end], 10); ok {
			key = i
		}
		v = r.item(v, key)
		rest = rest[end+1:]
	}
	return v
}

// formatValue is Python's format(v, spec).
func (r *run) formatValue(v Value, text string) string {
	if text == "" {
		return r.text(v)
	}
	f := r.parseSpec(text)
	if f.precision > math.MaxInt32 {
		r.valueError("precision too big")
	}
	switch x := v.(type) {
	case string, markup:
		s, _ := asString(x)
		if f.verb != 0 && f.verb != 's' {
			r.valueError("Unknown format code '%c' for object of type 'str'", f.verb)
		}
		if f.align == '=' || f.sign != 0 {
			r.valueError("Sign not allowed in string format specifier")
		}
		f.zero = false // zeros go behind a string
		if f.align == 0 {
			f.align = '<'
		}
		return r.pad(f, "", f.cut(s))
	case bool:
		if f.verb == 0 {
			v = int64(0)
			if x {
				v = int64(1)
			}
		}
	}
	if f.align == 0 {
		f.align = '>'
	}
	b, isInt := toBig(v)
	switch {
	case isInt && (f.verb == 0 || strings.IndexByte("dxXobcn", f.verb) >= 0):
		if f.precision >= 0 {
			r.valueError("Precision not allowed in integer format specifier")
		}
		verb := f.verb
		switch verb {
		case 'c':
			return r.pad(f, "", string(rune(r.wantInt(v, 0))))
		case 0, 'n':
			verb = 'd'
		}
		digits := intDigits(b, verb)
		if f.grouping != 0 {
			size := 3
			if verb != 'd' {
				size = 4
			}
			digits = group(digits, f.grouping, size)
		}
		return r.pad(f, f.signOf(b.Sign() < 0)+f.prefixOf(verb), digits)
	}
	x, ok := asFloat(v)
	if !ok {
		r.typeError("unsupported format string passed to %s.__format__", typeName(v))
	}
	if f.verb != 0 && strings.IndexByte("eEfFgGn%", f.verb) < 0 {
		r.valueError("Unknown format code '%c' for object of type 'float'", f.verb)
	}
	sign := f.signOf(math.Signbit(x))
	x = math.Abs(x)
	digits := ""
	switch {
	case f.verb == 0 && f.precision < 0:
		digits = formatFloat(x)
	case f.verb == '%':
		if f.precision < 0 {
			f.precision = 6
		}
		digits = r.floatDigits(f, 'f', x*100) + "%"
	default:
		verb := f.verb
		if verb == 0 || verb == 'n' {
			verb = 'g'
		}
		if f.precision < 0 {
			f.precision = 6
		}
		digits = r.floatDigits(f, verb, x)
		if f.verb == 0 && !strings.ContainsAny(digits, ".ein") {
			digits += ".0"
		}
	}
	if f.grouping != 0 {
		digits = group(digits, f.grouping, 3)
	}
	return r.pad(f, sign, digits)
}

func (r *run) parseSpec(s string) formatSpec {
	f := formatSpec{precision: -1}
	isAlign := func(s string) bool { return s != "" && strings.IndexByte("<>^=", s[0]) >= 0 }
	_, n := utf8.DecodeRuneInString(s)
	if n < len(s) && isAlign(s[n:]) {
		f.fill, f.align, s = s[:n], s[n], s[n+1:]
	} else if isAlign(s) {
		f.align, s = s[0], s[1:]
	}
	eat := func(set string) byte {
		if s != "" && strings.IndexByte(set, s[0]) >= 0 {
			c := s[0]
			s = s[1:]
			return c
		}
		return 0
	}
	f.sign = eat("+- ")
	f.alternate = eat("#") != 0
	if eat("0") != 0 {
		f.zero = f.align == 0
		if f.fill == "" {
			f.fill = "0"
		}
	}
	f.width, s = r.digits(s)
	f.grouping = eat(",_")
	if eat(".") != 0 {
		if s == "" || s[0] < '0' || s[0] > '9' {
			r.valueError("Format specifier missing precision")
		}
		f.precision, s = r.digits(s)
	}
	f.verb = eat("bcdeEfFgGnosxX%")
	if s != "" {
		r.valueError("Invalid format specifier")
	}
	return f
}
