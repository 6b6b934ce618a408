package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON in, with the order of keys kept, and out, as Python's json.dumps writes it.

// FromJSON reads one JSON value, keeping the order of keys and Python's difference between 1 and 1.0.
func FromJSON(data []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := readJSON(d, 0)
	if err != nil {
		return nil, fmt.Errorf("json: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("json: more than one value")
	}
	return v, nil
}

func readJSON(d *json.Decoder, depth int) (Value, error) {
	if depth > maxNest {
		return nil, fmt.Errorf("nested deeper than %d", maxNest)
	}
	t, err := d.Token()
	if err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	switch t := t.(type) {
	case json.Delim:
		if t == '[' {
			l := &List{}
			for d.More() {
				v, err := readJSON(d, depth+1)
				if err != nil {
					return nil, err
				}
				l.items = append(l.items, v)
			}
			_, err := d.Token()
			return l, err
		}
		o := NewObject()
		for d.More() {
			k, err := d.Token()
			if err != nil {
				return nil, err
			}
			v, err := readJSON(d, depth+1)
			if err != nil {
				return nil, err
			}
			o.Set(k.(string), v)
		}
		_, err := d.Token()
		return o, err
	case json.Number:
		return number(string(t))
	case string, bool, nil:
		return t, nil
	}
	return nil, fmt.Errorf("unexpected %v", t)
}

func number(s string) (Value, error) {
	if strings.ContainsAny(s, ".eE") {
		f, err := strconv.ParseFloat(s, 64)
		if err != nil && !math.IsInf(f, 0) {
			return nil, err
		}
		return f, nil
	}
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return i, nil
	}
	if len(s) > maxDigits {
		return nil, fmt.Errorf("an integer has more than %d digits", maxDigits)
	}
	b, ok := new(big.Int).SetString(s, 10)
	if !ok {
		return nil, fmt.Errorf("malformed number %s", s)
	}
	return b, nil
}

// dumper writes values as Python's json.dumps does.
type dumper struct {
	printer
	ascii     bool
	sort      bool
	indent    string
	multiline bool
	itemSep   string
	keySep    string
}

func (d *dumper) value(v Value, depth int) {
	d.r.nestData(depth)
	switch v := v.(type) {
	case nil:
		d.write("null")
	case bool:
		d.write(strconv.FormatBool(v))
	case string:
		d.string(v)
	case markup:
		d.string(string(v))
	case int64, *big.Int:
		d.repr(v, depth)
	case float64:
		d.write(jsonFloat(v))
	case *List:
		d.list(v.items, depth)
	case Tuple:
		d.list(v, depth)
	case *Object:
		d.dict(v, depth)
	default:
		name := typeName(v)
		if _, ok := v.(*function); ok {
			name = "builtin_function_or_method"
		}
		d.r.typeError("Object of type %s is not JSON serializable", name)
	}
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return formatFloat(f)
}

func (d *dumper) line(depth int) {
	if d.multiline {
		d.write("\n")
		for ; depth > 0; depth-- {
			d.write(d.indent)
		}
	}
}

func (d *dumper) list(items []Value, depth int) {
	if len(items) == 0 {
		d.write("[]")
		return
	}
	d.write("[")
	for i, v := range items {
		if i > 0 {
			d.write(d.itemSep)
		}
		d.line(depth + 1)
		d.value(v, depth+1)
	}
	d.line(depth)
	d.write("]")
}

func (d *dumper) dict(o *Object, depth int) {
	if len(o.keys) == 0 {
		d.write("{}")
		return
	}
	order := make([]int, len(o.keys))
	d.r.alloc(int64(len(order)) * 8)
	for i := range order {
		order[i] = i
	}
	if d.sort {
		slices.SortStableFunc(order, func(i, j int) int { return d.r.order("<", o.keys[i], o.keys[j], 0) })
	}
	d.write("{")
	for n, i := range order {
		if n > 0 {
			d.write(d.itemSep)
		}
		d.line(depth + 1)
		d.key(o.keys[i])
		d.write(d.keySep)
		d.value(o.vals[i], depth+1)
	}
	d.line(depth)
	d.write("}")
}

func (d *dumper) key(k Value) {
	switch k := k.(type) {
	case string:
		d.string(k)
	case markup:
		d.string(string(k))
	case nil:
		d.write(`"null"`)
	case bool:
		d.write(`"` + strconv.FormatBool(k) + `"`)
	case int64, *big.Int:
		d.write(`"`)
		d.repr(k, 0)
		d.write(`"`)
	case float64:
		d.write(`"` + jsonFloat(k) + `"`)
	default:
		d.r.typeError("keys must be str, int, float, bool or None, not %s", typeName(k))
	}
}

func (d *dumper) string(s string) {
	b := make([]byte, 0, len(s)+2)
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c, size := utf8.DecodeRuneInString(s[i:])
		at := i
		i += size
		esc := ""
		switch c {
		case '"':
			esc = `\"`
		case '\\':
			esc = `\\`
		case '\n':
			esc = `\n`
		case '\r':
			esc = `\r`
		case '\t':
			esc = `\t`
		case '\f':
			esc = `\f`
		case '\b':
			esc = `\b`
		default:
			if c >= ' ' && (c < 0x7f || !d.ascii) {
				continue
			}
		}
		b = append(b, s[from:at]...)
		if esc != "" {
			b = append(b, esc...)
		} else if hi, lo := utf16.EncodeRune(c); c > 0xffff {
			b = appendHex(appendHex(b, 'u', hi, 4), 'u', lo, 4)
		} else {
			b = appendHex(b, 'u', c, 4)
		}
		from = i
	}
	b = append(append(b, s[from:]...), '"')
	d.write(string(b))
}
