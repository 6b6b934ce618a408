package jinja

import (
	"math"
	"math/big"
	"strings"
)

// The kinds of values and what is asked of all of them.

// Value is what a template computes with:
//
//	nil                  None
//	bool, int64, float64
//	*big.Int             an integer beyond 64 bits
//	string               valid UTF-8; indexed by character, as Python does
//	*List, Tuple, *Object
//
// and kinds that only a template can make: undefined, safe strings, functions, iterators.
type Value any

// List is a Python list. Nothing changes a list after it was made.
type List struct{ items []Value }

// NewList makes a list that owns items.
func NewList(items ...Value) *List { return &List{items} }

// Len is the number of items.
func (l *List) Len() int { return len(l.items) }

// At returns item i.
func (l *List) At(i int) Value { return l.items[i] }

// Tuple is a Python tuple.
type Tuple []Value

// Object is a Python dict: it keeps the order in which keys were first set.
type Object struct {
	keys  []Value
	vals  []Value
	index map[any]int // by hashKey, made when the object outgrows a linear search
}

const linearKeys = 8

// NewObject makes an empty object.
func NewObject() *Object { return &Object{} }

// Len is the number of keys.
func (o *Object) Len() int { return len(o.keys) }

// Set stores a value under a key; a new key goes last.
func (o *Object) Set(key string, v Value) { o.set(key, key, v) }

// Get returns the value under a key.
func (o *Object) Get(key string) (Value, bool) { return o.get(key) }

// Key returns the i-th key; keys that a template made need not be strings.
func (o *Object) Key(i int) Value { return o.keys[i] }

// At returns the value of the i-th key.
func (o *Object) At(i int) Value { return o.vals[i] }

// Clone copies the object; values are shared.
func (o *Object) Clone() *Object {
	c := &Object{keys: append([]Value(nil), o.keys...), vals: append([]Value(nil), o.vals...)}
	if len(c.keys) > linearKeys {
		c.reindex()
	}
	return c
}

func (o *Object) find(hash any) int {
	if o.index != nil {
		if i, ok := o.index[hash]; ok {
			return i
		}
		return -1
	}
	for i, k := range o.keys {
		if hashOf(k) == hash {
			return i
		}
	}
	return -1
}

func (o *Object) get(hash any) (Value, bool) {
	if i := o.find(hash); i >= 0 {
		return o.vals[i], true
	}
	return nil, false
}

// set stores v; hash is hashOf(key).
func (o *Object) set(hash any, key, v Value) {
	if i := o.find(hash); i >= 0 {
		o.vals[i] = v
		return
	}
	o.keys, o.vals = append(o.keys, key), append(o.vals, v)
	if o.index != nil {
		o.index[hash] = len(o.keys) - 1
	} else if len(o.keys) > linearKeys {
		o.reindex()
	}
}

func (o *Object) reindex() {
	o.index = make(map[any]int, len(o.keys))
	for i, k := range o.keys {
		o.index[hashOf(k)] = i
	}
}

// tupleHash keeps a tuple's hash apart from the string that spells it.
type tupleHash string

// hashOf maps a hashable value to a comparable one that is equal exactly where Python's == holds between the
// kinds a dict key can have: 1, 1.0 and True are one key. Tuples must have been checked by run.hash.
func hashOf(v Value) any {
	switch v := v.(type) {
	case string:
		return v
	case markup:
		return string(v)
	case bool:
		if v {
			return int64(1)
		}
		return int64(0)
	case int64:
		return v
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<62 {
			return int64(v)
		}
		return v
	case *big.Int:
		return tupleHash("big " + v.String())
	case Tuple:
		var b strings.Builder
		for _, e := range v {
			switch h := hashOf(e).(type) {
			case string:
				b.WriteString("s" + quote(h))
			case tupleHash:
				b.WriteString("(" + string(h) + ")")
			case int64:
				b.WriteString("i" + formatInt(h))
			case float64:
				b.WriteString("f" + formatFloat(h))
			case nil:
				b.WriteString("n")
			default:
				b.WriteString("?")
			}
			b.WriteByte(',')
		}
		return tupleHash(b.String())
	case *undefined:
		return undefined{}
	}
	return v // pointers: identity
}

// markup is a string marked safe; it escapes what is joined to it.
type markup string

// undefined stands for what is not there: it prints as nothing, is false and empty, and refuses all else.
type undefined struct {
	hint  string // the whole message, if set
	of    Value  // the object that lacks it, where owned
	name  Value  // the name or index asked for
	owned bool
	kind  string // exception; "": UndefinedError
}

func undefinedName(name string) *undefined { return &undefined{name: name} }
func undefinedItem(of Value, name Value) *undefined {
	return &undefined{of: of, name: name, owned: true}
}

// message says what is missing, in Jinja's words.
func (u *undefined) message() string {
	switch {
	case u.hint != "":
		return u.hint
	case !u.owned:
		return quote(text(u.name)) + " is undefined"
	}
	if name, ok := u.name.(string); ok {
		return quote(describe(u.of)) + " has no attribute " + quote(name)
	}
	return describe(u.of) + " has no element " + shortRepr(u.name)
}

// namespace is the one kind of value whose attributes a template can set.
type namespace struct{ attrs Object }

// rangeValue is Python's range: lazy.
type rangeValue struct{ start, stop, step, n int64 }

func (v rangeValue) at(i int64) int64 { return v.start + i*v.step }

// generator yields values once, computing each when asked.
type generator struct {
	name string // Python's type name
	next func() (Value, bool)
}

// dictView is what keys(), values() and items() return.
type dictView struct {
	of   *Object
	kind string // keys, values, items
}

func (d dictView) at(i int) Value {
	switch d.kind {
	case "keys":
		return d.of.keys[i]
	case "values":
		return d.of.vals[i]
	}
	return Tuple{d.of.keys[i], d.of.vals[i]}
}

// missing marks an argument that was not given; templates never see it.
type missingValue struct{}

var missing Value = missingValue{}

// typeName is Python's name of a value's type.
func typeName(v Value) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, *big.Int:
		return "int"
	case float64:
		return "float"
	case string:
		return "str"
	case markup:
		return "Markup"
	case *List:
		return "list"
	case Tuple:
		return "tuple"
	case *Object:
		return "dict"
	case *undefined:
		return "Undefined"
	case *namespace:
		return "Namespace"
	case rangeValue:
		return "range"
	case *generator:
		return v.name
	case dictView:
		return "dict_" + v.kind
	case *function:
		return "builtin_function_or_method"
	case *macro:
		return "Macro"
	case *loop:
		return "LoopContext"
	case *cycler:
		return "Cycler"
	case *joiner:
		return "Joiner"
	}
	return "object"
}

// describe is how Jinja names an object in its messages.
func describe(v Value) string {
	switch v.(type) {
	case nil:
		return "None"
	case *namespace, *cycler, *joiner:
		return "jinja2.utils." + typeName(v) + " object"
	case *macro, *loop, *undefined:
		return "jinja2.runtime." + typeName(v) + " object"
	case markup:
		return "markupsafe.Markup object"
	}
	return typeName(v) + " object"
}

// truth is Python's bool(v).
func truth(v Value) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case string:
		return v != ""
	case markup:
		return v != ""
	case *List:
		return len(v.items) > 0
	case Tuple:
		return len(v) > 0
	case *Object:
		return len(v.keys) > 0
	case *undefined:
		return false
	case rangeValue:
		return v.n > 0
	case dictView:
		return len(v.of.keys) > 0
	}
	return true
}

// asString gives the text of a string, safe or not.
func asString(v Value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case markup:
		return string(v), true
	}
	return "", false
}

// asInt gives the value of an int or bool.
func asInt(v Value) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// asFloat gives the value of any number.
func asFloat(v Value) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case *big.Int:
		f, _ := new(big.Float).SetInt(v).Float64()
		return f, true
	}
	i, ok := asInt(v)
	return float64(i), ok
}
