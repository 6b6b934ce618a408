package jinja

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// The filters over sequences and dicts.

func addListFilters() {
	for name, f := range map[string]builtin{
		"length": {fn: func(r *run, v Value, a []Value) Value { return r.len(v) }},
		"list":   {fn: func(r *run, v Value, a []Value) Value { return r.list(r.items(v)) }},
		"first": {fn: func(r *run, v Value, a []Value) Value {
			if e, ok := r.iterate(v, "'%s' object is not iterable")(); ok {
				return e
			}
			return &undefined{hint: "No first item, sequence was empty."}
		}},
		"last": {fn: func(r *run, v Value, a []Value) Value {
			n := r.reversible(v)
			if n == 0 {
				return &undefined{hint: "No last item, sequence was empty."}
			}
			return r.nth(v, n-1)
		}},
		"random": {fn: func(r *run, v Value, a []Value) Value {
			n := r.len(v)
			if n == 0 {
				return &undefined{hint: "No random item, sequence was empty."}
			}
			return r.item(v, rand.Int64N(n))
		}},
		"join": {params: []string{"d?", "attribute?"}, fn: joinFilter},
		"items": {fn: func(r *run, v Value, a []Value) Value {
			i := 0
			return &generator{"generator", func() (Value, bool) {
				r.step()
				if _, ok := v.(*undefined); ok {
					return nil, false
				}
				o, ok := v.(*Object)
				if !ok {
					r.typeError("Can only get item pairs from a mapping.")
				}
				if i == len(o.keys) {
					return nil, false
				}
				i++
				return Tuple{o.keys[i-1], o.vals[i-1]}, true
			}}
		}},
		"reverse": {fn: func(r *run, v Value, a []Value) Value {
			if s, ok := asString(v); ok {
				r.alloc(int64(len(s)) * 4)
				runes := []rune(s)
				slices.Reverse(runes)
				return like(v, string(runes))
			}
			if n, ok := length(v); ok && r.iterator(v) != nil {
				return &generator{"list_reverseiterator", func() (Value, bool) {
					r.step()
					if n--; n < 0 {
						return nil, false
					}
					return r.nth(v, n), true
				}}
			}
			if r.iterator(v) == nil {
				r.fail("FilterArgumentError", "argument must be iterable")
			}
			items := r.items(v)
			slices.Reverse(items)
			return r.list(items)
		}},
		"sort": {params: []string{"reverse?", "case_sensitive?", "attribute?"}, fn: func(r *run, v Value, a []Value) Value {
			key := r.keyFunc(a[2], a[1], true)
			return r.list(r.sorted(r.items(v), key, a[0] != missing && truth(a[0])))
		}},
		"dictsort": {params: []string{"case_sensitive?", "by?", "reverse?"}, fn: dictSort},
		"unique": {params: []string{"case_sensitive?", "attribute?"}, fn: func(r *run, v Value, a []Value) Value {
			key := r.keyFunc(a[1], a[0], false)
			seen := map[any]bool{}
			return r.lazy(v, func(e Value) (Value, bool) {
				k := r.hash(key(e))
				if seen[k] {
					return nil, false
				}
				r.alloc(4 * itemSize)
				seen[k] = true
				return e, true
			})
		}},
		"min": {params: []string{"case_sensitive?", "attribute?"}, fn: extreme("<")},
		"max": {params: []string{"case_sensitive?", "attribute?"}, fn: extreme(">")},
		"sum": {params: []string{"attribute?", "start?"}, fn: func(r *run, v Value, a []Value) Value {
			get := r.getter(a[0], nil)
			total := a[1]
			if total == missing {
				total = int64(0)
			}
			next := r.iterate(v, "'%s' object is not iterable")
			for {
				e, ok := next()
				if !ok {
					return total
				}
				total = r.arith("+", total, get(e))
			}
		}},
		"batch":      {params: []string{"linecount", "fill_with?"}, fn: batch},
		"slice":      {params: []string{"slices", "fill_with?"}, fn: sliceFilter},
		"groupby":    {params: []string{"attribute", "default?", "case_sensitive?"}, fn: groupBy},
		"map":        {raw: mapFilter},
		"select":     {raw: selector(false, true)},
		"reject":     {raw: selector(false, false)},
		"selectattr": {raw: selector(true, true)},
		"rejectattr": {raw: selector(true, false)},
		"xmlattr":    {params: []string{"autospace?"}, fn: xmlAttr},
	} {
		filters[name] = f
	}
}

// reversible is the length of what Python's reversed takes.
func (r *run) reversible(v Value) int64 {
	n, ok := length(v)
	if !ok {
		r.typeError("'%s' object is not reversible", typeName(v))
	}
	return n
}

// nth is the i-th thing that iterating v yields, where v has a length.
func (r *run) nth(v Value, i int64) Value {
	switch v := v.(type) {
	case *Object:
		return v.keys[i]
	case dictView:
		return v.at(int(i))
	}
	e, _ := r.at(v, i)
	return e
}

func joinFilter(r *run, v Value, a []Value) Value {
	sep := ""
	if a[0] != missing {
		sep = r.text(a[0])
	}
	get := r.getter(a[1], nil)
	next := r.iterate(v, "'%s' object is not iterable")
	var parts []string
	for {
		e, ok := next()
		if !ok {
			return strings.Join(parts, sep)
		}
		t := r.text(get(e))
		r.alloc(int64(len(t)+len(sep)) + itemSize)
		parts = append(parts, t)
	}
}

// getter makes the function behind an attribute argument: a dotted path, a number, or nothing.
func (r *run) getter(attribute, def Value) func(Value) Value {
	if attribute == nil || attribute == missing {
		return func(v Value) Value { return v }
	}
	path := []Value{attribute}
	if s, ok := asString(attribute); ok {
		path = path[:0]
		for _, part := range strings.Split(s, ".") {
			r.alloc(itemSize)
			if i, err := strconv.ParseInt(part, 10, 64); err == nil && part[0] >= '0' && part[0] <= '9' {
				path = append(path, i)
			} else {
				path = append(path, part)
			}
		}
	}
	return func(v Value) Value {
		for _, part := range path {
			r.step()
			v = r.item(v, part)
			if _, ok := v.(*undefined); ok && def != nil {
				v = def
			}
		}
		return v
	}
}

// keyFunc makes a sort key from an attribute, which with multi may list several, and a case_sensitive argument.
func (r *run) keyFunc(attribute, sensitive Value, multi bool) func(Value) Value {
	fold := func(v Value) Value { return v }
	if sensitive == missing || !truth(sensitive) {
		fold = func(v Value) Value {
			if s, ok := asString(v); ok {
				return r.str(lower(s))
			}
			return v
		}
	}
	if !multi {
		get := r.getter(attribute, nil)
		return func(v Value) Value { return fold(get(v)) }
	}
	getters := []func(Value) Value{}
	if s, ok := asString(attribute); ok {
		for _, part := range strings.Split(s, ",") {
			getters = append(getters, r.getter(part, nil))
		}
	} else {
		getters = append(getters, r.getter(attribute, nil))
	}
	// A tuple even for one attribute, as in Jinja: equal values are then never ordered, so missing ones can be sorted.
	return func(v Value) Value {
		key := make(Tuple, len(getters))
		for i, get := range getters {
			key[i] = fold(get(v))
		}
		return key
	}
}

// sorted sorts items, which it owns, by their keys; equal ones stay in order.
func (r *run) sorted(items []Value, key func(Value) Value, reverse bool) []Value {
	type keyed struct{ key, v Value }
	r.alloc(int64(len(items)) * 2 * itemSize)
	pairs := make([]keyed, len(items))
	for i, v := range items {
		pairs[i] = keyed{key(v), v}
	}
	slices.SortStableFunc(pairs, func(a, b keyed) int {
		c := r.order("<", a.key, b.key, 0)
		if c == unordered {
			return 0
		}
		if reverse {
			return -c
		}
		return c
	})
	for i, p := range pairs {
		items[i] = p.v
	}
	return items
}

func dictSort(r *run, v Value, a []Value) Value {
	by := "key"
	if a[1] != missing {
		by, _ = asString(a[1])
	}
	pos := map[string]int64{"key": 0, "value": 1}
	i, ok := pos[by]
	if !ok {
		r.fail("FilterArgumentError", `You can only sort by either "key" or "value"`)
	}
	o, ok := v.(*Object)
	if !ok {
		if u, isUndefined := v.(*undefined); isUndefined {
			r.failUndefined(u)
		}
		r.fail("AttributeError", "'%s' object has no attribute 'items'", typeName(v))
	}
	return r.list(r.sorted(r.items(dictView{o, "items"}), r.keyFunc(i, a[0], false), a[2] != missing && truth(a[2])))
}

func extreme(op string) func(r *run, v Value, a []Value) Value {
	return func(r *run, v Value, a []Value) Value {
		key := r.keyFunc(a[1], a[0], false)
		next := r.iterate(v, "'%s' object is not iterable")
		best, ok := next()
		if !ok {
			return &undefined{hint: "No aggregated item, sequence was empty."}
		}
		bestKey := key(best)
		for {
			e, ok := next()
			if !ok {
				return best
			}
			if k := key(e); r.compare(op, k, bestKey) {
				best, bestKey = e, k
			}
		}
	}
}

func mapFilter(r *run, v Value, a arguments) Value {
	if !truth(v) {
		return r.lazy(r.list(nil), nil)
	}
	if len(a.pos) == 0 {
		attribute, ok := a.take("attribute")
		if !ok {
			r.fail("FilterArgumentError", "map requires a filter argument")
		}
		def, _ := a.take("default")
		if len(a.kw) > 0 {
			r.fail("FilterArgumentError", "Unexpected keyword argument %s", quote(a.kw[0].name))
		}
		get := r.getter(attribute, def)
		return r.lazy(v, func(e Value) (Value, bool) { return get(e), true })
	}
	name := r.wantString(a.pos[0])
	rest := arguments{a.pos[1:], a.kw}
	return r.lazy(v, func(e Value) (Value, bool) { return r.filter(name, e, rest), true })
}

// selector makes select, reject and their attr forms.
func selector(byAttr, keep bool) func(r *run, v Value, a arguments) Value {
	return func(r *run, v Value, a arguments) Value {
		if !truth(v) {
			return r.lazy(r.list(nil), nil)
		}
		get := func(v Value) Value { return v }
		if byAttr {
			if len(a.pos) == 0 {
				r.fail("FilterArgumentError", "Missing parameter for attribute name")
			}
			get = r.getter(a.pos[0], nil)
			a.pos = a.pos[1:]
		}
		test := truth
		if len(a.pos) > 0 {
			name := r.wantString(a.pos[0])
			rest := arguments{a.pos[1:], a.kw}
			test = func(v Value) bool { return truth(r.test(name, v, rest)) }
		}
		return r.lazy(v, func(e Value) (Value, bool) { return e, test(get(e)) == keep })
	}
}

func xmlAttr(r *run, v Value, a []Value) Value {
	o, ok := v.(*Object)
	if !ok {
		r.fail("AttributeError", "'%s' object has no attribute 'items'", typeName(v))
	}
	var parts []string
	for i, k := range o.keys {
		key := r.text(k)
		if _, undef := o.vals[i].(*undefined); undef || o.vals[i] == nil {
			continue
		}
		if strings.ContainsAny(key, " \t\n\r\f\v/>=") {
			r.valueError("Invalid character in attribute name: %s", quote(key))
		}
		parts = append(parts, r.escape(key)+`="`+r.escape(o.vals[i])+`"`)
	}
	s := strings.Join(parts, " ")
	if s != "" && (a[0] == missing || truth(a[0])) {
		s = " " + s
	}
	return r.str(s)
}
