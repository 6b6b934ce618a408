package jinja

import "math/big"

// The functions that every template can call.

// maxRange is the longest range the sandbox allows.
const maxRange = 100000

var globals map[string]Value

func init() {
	globals = map[string]Value{
		"raise_exception": &function{name: "raise_exception", params: []string{"message"}, fn: func(r *run, a []Value) Value {
			panic(abort{&RaiseError{Message: r.text(a[0]), Line: r.line}})
		}},
		"strftime_now": &function{name: "strftime_now", params: []string{"format"}, fn: func(r *run, a []Value) Value {
			format := r.wantString(a[0])
			r.alloc(int64(len(format)) * 12) // no directive of two bytes makes more than 24
			return strftime(format, r.limits.Now())
		}},
		"range":     variadic("range", makeRange),
		"namespace": variadic("namespace", func(r *run, a arguments) Value { return &namespace{*makeDict(r, a)} }),
		"dict":      variadic("dict", func(r *run, a arguments) Value { return makeDict(r, a) }),
		"cycler": variadic("cycler", func(r *run, a arguments) Value {
			if len(a.pos) == 0 {
				r.fail("RuntimeError", "at least one item has to be provided")
			}
			return &cycler{items: a.pos}
		}),
		"joiner": &function{name: "joiner", params: []string{"sep?"}, fn: func(r *run, a []Value) Value {
			if a[0] == missing {
				return &joiner{sep: ", "}
			}
			return &joiner{sep: a[0]}
		}},
	}
}

func makeRange(r *run, a arguments) Value {
	if len(a.kw) > 0 {
		r.typeError("range() takes no keyword arguments")
	}
	if len(a.pos) == 0 || len(a.pos) > 3 {
		r.typeError("range expected 1 to 3 arguments, got %d", len(a.pos))
	}
	v := [3]int64{0, 0, 1}
	for i, x := range a.pos {
		if _, ok := x.(*big.Int); ok {
			r.fail("OverflowError", "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange)
		}
		v[i] = r.wantInt(x, 0)
	}
	if len(a.pos) == 1 {
		v[0], v[1] = 0, v[0]
	}
	start, stop, step := v[0], v[1], v[2]
	if step == 0 {
		r.valueError("range() arg 3 must not be zero")
	}
	// Differences as unsigned numbers can't overflow.
	n := uint64(0)
	if step > 0 && start < stop {
		n = (uint64(stop)-uint64(start)-1)/uint64(step) + 1
	} else if step < 0 && start > stop {
		n = (uint64(start)-uint64(stop)-1)/-uint64(step) + 1
	}
	if n > maxRange {
		r.fail("OverflowError", "Range too big. The sandbox blocks ranges larger than MAX_RANGE (%d).", maxRange)
	}
	return rangeValue{start, stop, step, int64(n)}
}

// makeDict is dict(): from a mapping or pairs, then keywords.
func makeDict(r *run, a arguments) *Object {
	o := &Object{}
	if len(a.pos) > 1 {
		r.typeError("dict expected at most 1 argument, got %d", len(a.pos))
	}
	if len(a.pos) == 1 {
		if from, ok := a.pos[0].(*Object); ok {
			for i, k := range from.keys {
				r.setItem(o, k, from.vals[i])
			}
		} else {
			for _, pair := range r.items(a.pos[0]) {
				kv := r.unpack(pair, 2)
				r.setItem(o, kv[0], kv[1])
			}
		}
	}
	for _, k := range a.kw {
		r.setItem(o, k.name, k.v)
	}
	return o
}

// cycler goes round its items.
type cycler struct {
	items []Value
	pos   int
}

func (c *cycler) attr(name string) (Value, bool) {
	switch name {
	case "current":
		return c.items[c.pos], true
	case "items":
		return Tuple(c.items), true
	case "pos":
		return int64(c.pos), true
	case "next":
		return &function{name: name, fn: func(r *run, a []Value) Value {
			v := c.items[c.pos]
			c.pos = (c.pos + 1) % len(c.items)
			return v
		}}, true
	case "reset":
		return &function{name: name, fn: func(r *run, a []Value) Value { c.pos = 0; return nil }}, true
	}
	return nil, false
}

// joiner is empty when first called, its separator after.
type joiner struct {
	sep  Value
	used bool
}

func (j *joiner) call() Value {
	if !j.used {
		j.used = true
		return ""
	}
	return j.sep
}
