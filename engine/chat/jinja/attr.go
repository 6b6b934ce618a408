package jinja

import (
	"math"
	"strings"
	"unicode/utf8"
)

// Attributes, items and slices, by the rules of Jinja's sandbox.

// attr is v.name: Python's attribute first, else the item under that key.
func (r *run) attr(v Value, name string) Value {
	if a, ok := r.pythonAttr(v, name); ok {
		return a
	}
	if u, ok := v.(*undefined); ok {
		r.failUndefined(u)
	}
	if o, ok := v.(*Object); ok {
		if e, ok := o.get(name); ok {
			return e
		}
	}
	return undefinedItem(v, name)
}

// item is v[key]: the item first, else, for a string key, Python's attribute.
func (r *run) item(v, key Value) Value {
	switch c := v.(type) {
	case *undefined:
		r.failUndefined(c)
	case *Object:
		if r.unhashable(key, 0) == "" {
			if e, ok := c.get(hashOf(key)); ok {
				return e
			}
		}
	default:
		if i, ok := asInt(key); ok {
			if e, ok := r.at(v, i); ok {
				return e
			}
		}
	}
	if name, ok := asString(key); ok {
		if a, ok := r.pythonAttr(v, name); ok {
			return a
		}
	}
	return undefinedItem(v, key)
}

// at is v[i] of a sequence; i may count from the end.
func (r *run) at(v Value, i int64) (Value, bool) {
	if s, ok := asString(v); ok {
		return r.charAt(v, s, i)
	}
	n, ok := length(v)
	if i < 0 {
		i += n
	}
	if !ok || i < 0 || i >= n {
		return nil, false
	}
	switch c := v.(type) {
	case *List:
		return c.items[i], true
	case Tuple:
		return c[i], true
	case rangeValue:
		return c.at(i), true
	}
	return nil, false
}

func (r *run) charAt(v Value, s string, i int64) (Value, bool) {
	r.work(len(s))
	if i < 0 {
		i += int64(utf8.RuneCountInString(s))
	}
	if i < 0 || i >= int64(len(s)) {
		return nil, false
	}
	for at := range s {
		if i == 0 {
			_, n := utf8.DecodeRuneInString(s[at:])
			return like(v, s[at:at+n]), true
		}
		i--
	}
	return nil, false
}

// like gives s the kind of v: safe where v is.
func like(v Value, s string) Value {
	if _, safe := v.(markup); safe {
		return markup(s)
	}
	return s
}

// slice is v[start:stop:step].
func (r *run) slice(v Value, parts [3]Value) Value {
	if u, ok := v.(*undefined); ok {
		r.failUndefined(u)
	}
	n, _ := length(v)
	switch v.(type) {
	case string, markup, *List, Tuple, rangeValue:
	case *Object:
		r.typeError("unhashable type: 'slice'")
	default:
		r.typeError("'%s' object is not subscriptable", typeName(v))
	}
	var at [3]int64
	given := [3]bool{}
	for i, p := range parts {
		if p == nil {
			continue
		}
		x, isInt := asInt(p)
		if !isInt {
			r.typeError("slice indices must be integers or None or have an __index__ method")
		}
		at[i], given[i] = x, true
	}
	step := int64(1)
	if given[2] {
		if step = max(at[2], -math.MaxInt64); step == 0 {
			r.valueError("slice step cannot be zero")
		}
	}
	low, high := int64(0), n // where indices are held
	start, stop := int64(0), n
	if step < 0 {
		low, high = -1, n-1
		start, stop = n-1, -1
	}
	hold := func(x int64) int64 {
		if x < 0 {
			x += n
		}
		return min(max(x, low), high)
	}
	if given[0] {
		start = hold(at[0])
	}
	if given[1] {
		stop = hold(at[1])
	}
	count := int64(0)
	if step > 0 && start < stop {
		count = (stop-start-1)/step + 1
	} else if step < 0 && stop < start {
		count = (start-stop-1)/-step + 1
	}
	if c, ok := v.(rangeValue); ok {
		return rangeValue{c.start + start*c.step, c.start + stop*c.step, c.step * step, count}
	}
	if s, ok := asString(v); ok {
		return like(v, r.sliceString(s, start, step, count, n))
	}
	pick := func(items []Value) []Value {
		if step == 1 {
			return items[start : start+count : start+count]
		}
		r.alloc(count * itemSize)
		out := make([]Value, count)
		for i := range out {
			out[i] = items[start+int64(i)*step]
		}
		return out
	}
	switch c := v.(type) {
	case *List:
		return &List{pick(c.items)}
	case Tuple:
		return Tuple(pick(c))
	}
	return nil
}

func (r *run) sliceString(s string, start, step, count, n int64) string {
	r.work(len(s))
	if count == 0 {
		return ""
	}
	ascii := n == int64(len(s))
	if step == 1 && ascii {
		return s[start : start+count]
	}
	if step == 1 {
		from, to, i := len(s), len(s), int64(0)
		for at := range s {
			if i == start {
				from = at
			}
			if i == start+count {
				to = at
				break
			}
			i++
		}
		return s[from:to]
	}
	r.alloc(int64(len(s)) * 4)
	runes := []rune(s)
	var b strings.Builder
	for i := int64(0); i < count; i++ {
		b.WriteRune(runes[start+i*step])
	}
	return b.String()
}

// unsafe lists, per kind, the methods that would change a value; the sandbox knows them and refuses their use.
var unsafe = map[string]string{
	"list": " append clear pop reverse insert sort extend remove ",
	"dict": " clear pop popitem setdefault update ",
}

// pythonAttr is getattr(v, name) in the sandbox; ok is false where Python has no such attribute.
func (r *run) pythonAttr(v Value, name string) (Value, bool) {
	switch c := v.(type) {
	case *namespace:
		if e, ok := c.attrs.get(name); ok {
			return e, true
		}
	case *loop:
		if e, ok := c.attr(r, name); ok {
			return e, true
		}
	case *macro:
		if e, ok := c.attr(name); ok {
			return e, true
		}
	case *cycler:
		if e, ok := c.attr(name); ok {
			return e, true
		}
	case Tuple:
		// groupby makes pairs whose halves have names.
		if len(c) == 2 && (name == "grouper" || name == "list") {
			if _, ok := c[1].(*List); ok {
				if name == "list" {
					return c[1], true
				}
				return c[0], true
			}
		}
	case bool, int64:
		i, _ := asInt(v)
		switch name {
		case "real", "numerator":
			return i, true
		case "imag":
			return int64(0), true
		case "denominator":
			return int64(1), true
		}
	case float64:
		switch name {
		case "real":
			return c, true
		case "imag":
			return 0.0, true
		}
	case rangeValue:
		switch name {
		case "start":
			return c.start, true
		case "stop":
			return c.stop, true
		case "step":
			return c.step, true
		}
	}
	if isDunder[name] || strings.Contains(unsafe[typeName(v)], " "+name+" ") {
		return &undefined{
			hint: "access to attribute " + quote(name) + " of " + quote(typeName(v)) + " object is unsafe.",
			of:   v, name: name, owned: true, kind: "SecurityError",
		}, true
	}
	return r.method(v, name)
}

// isDunder lists the special attributes every Python object has.
var isDunder = map[string]bool{}

func init() {
	for _, n := range strings.Fields(`__class__ __delattr__ __dir__ __doc__ __eq__ __format__ __ge__ __getattribute__
		__gt__ __hash__ __init__ __init_subclass__ __le__ __lt__ __ne__ __new__ __reduce__ __reduce_ex__ __repr__
		__setattr__ __sizeof__ __str__ __subclasshook__`) {
		isDunder[n] = true
	}
}

func (m *macro) attr(name string) (Value, bool) {
	switch name {
	case "name":
		if m.def.name == "" {
			return "caller", true
		}
		return m.def.name, true
	case "arguments":
		t := make(Tuple, len(m.def.names))
		for i, n := range m.def.names {
			t[i] = n
		}
		return t, true
	case "catch_kwargs":
		return m.def.kwargs, true
	case "catch_varargs":
		return m.def.varargs, true
	case "caller":
		return m.def.caller, true
	}
	return nil, false
}
