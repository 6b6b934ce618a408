package jinja

import (
	"math/big"
	"strings"
)

// Python's comparisons: equality over all kinds, order within a kind, membership, and hashing for keys.

// compare applies ==, !=, <, <=, >, >=, in and not in.
func (r *run) compare(op string, a, b Value) bool {
	switch op {
	case "==":
		return r.equal(a, b)
	case "!=":
		return !r.equal(a, b)
	case "in":
		return r.contains(b, a)
	case "not in":
		return !r.contains(b, a)
	}
	c := r.order(op, a, b, 0)
	switch op {
	case "<":
		return c == -1
	case "<=":
		return c == -1 || c == 0
	case ">":
		return c == 1
	}
	return c == 0 || c == 1
}

// unordered is what order returns for NaN.
const unordered = 2

// order compares for op, which errors name: -1, 0, 1 or unordered.
func (r *run) order(op string, a, b Value, depth int) int {
	r.nestData(depth)
	for _, v := range []Value{a, b} {
		if u, ok := v.(*undefined); ok {
			r.failUndefined(u)
		}
	}
	if s, ok := asString(a); ok {
		if t, ok := asString(b); ok {
			r.work(min(len(s), len(t)))
			return strings.Compare(s, t)
		}
	}
	if x, ok := asInt(a); ok {
		if y, ok := asInt(b); ok {
			return compareNumbers(x, y)
		}
	}
	if x, ok := toBig(a); ok {
		if y, ok := toBig(b); ok {
			return x.Cmp(y)
		}
	}
	if x, ok := asFloat(a); ok {
		if y, ok := asFloat(b); ok {
			if x != x || y != y {
				return unordered
			}
			return compareNumbers(x, y)
		}
	}
	x, xList := a.(*List)
	y, yList := b.(*List)
	if xList && yList {
		return r.orderItems(op, x.items, y.items, depth)
	}
	t, xTuple := a.(Tuple)
	u, yTuple := b.(Tuple)
	if xTuple && yTuple {
		return r.orderItems(op, t, u, depth)
	}
	r.typeError("'%s' not supported between instances of '%s' and '%s'", op, typeName(a), typeName(b))
	return 0
}

func (r *run) orderItems(op string, a, b []Value, depth int) int {
	for i := range a {
		if i == len(b) {
			break
		}
		if !r.equalAt(a[i], b[i], depth+1) {
			return r.order(op, a[i], b[i], depth+1)
		}
	}
	return compareNumbers(len(a), len(b))
}

func compareNumbers[T int | int64 | float64](x, y T) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func toBig(v Value) (*big.Int, bool) {
	if b, ok := v.(*big.Int); ok {
		return b, true
	}
	i, ok := asInt(v)
	if !ok {
		return nil, false
	}
	return big.NewInt(i), true
}

func (r *run) equal(a, b Value) bool { return r.equalAt(a, b, 0) }

func (r *run) equalAt(a, b Value, depth int) bool {
	r.nestData(depth)
	if s, ok := asString(a); ok {
		t, ok := asString(b)
		r.work(min(len(s), len(t)))
		return ok && s == t
	}
	switch x := a.(type) {
	case nil:
		return b == nil
	case *undefined:
		_, ok := b.(*undefined)
		return ok
	case bool, int64, float64, *big.Int:
		if i, ok := toBig(a); ok {
			if j, ok := toBig(b); ok {
				return i.Cmp(j) == 0
			}
		}
		f, ok := asFloat(a)
		g, ok2 := asFloat(b)
		return ok && ok2 && f == g
	case *List:
		y, ok := b.(*List)
		return ok && r.equalItems(x.items, y.items, depth)
	case Tuple:
		y, ok := b.(Tuple)
		return ok && r.equalItems(x, y, depth)
	case *Object:
		y, ok := b.(*Object)
		if !ok || len(x.keys) != len(y.keys) {
			return false
		}
		if x == y {
			return true
		}
		for i, k := range x.keys {
			v, ok := y.get(hashOf(k))
			if !ok || !r.equalAt(x.vals[i], v, depth+1) {
				return false
			}
		}
		return true
	case rangeValue:
		y, ok := b.(rangeValue)
		return ok && x.n == y.n && (x.n == 0 || x.start == y.start && (x.n == 1 || x.step == y.step))
	case dictView:
		return false
	}
	switch b.(type) {
	case string, Tuple, dictView: // not the same kind; tuples can't be compared as interfaces
		return false
	}
	return a == b
}

func (r *run) equalItems(a, b []Value, depth int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !r.equalAt(a[i], b[i], depth+1) {
			return false
		}
	}
	return true
}

// contains is "v in seq".
func (r *run) contains(seq, v Value) bool {
	if s, ok := asString(seq); ok {
		sub, ok := asString(v)
		if !ok {
			r.typeError("'in <string>' requires string as left operand, not %s", typeName(v))
		}
		r.work(len(s))
		return strings.Contains(s, sub)
	}
	switch c := seq.(type) {
	case *Object:
		_, ok := c.get(r.hash(v))
		return ok
	case rangeValue:
		f, ok := asFloat(v)
		i := int64(f)
		if !ok || float64(i) != f || c.n == 0 {
			return false
		}
		d := i - c.start
		return d%c.step == 0 && d/c.step >= 0 && d/c.step < c.n
	case dictView:
		if c.kind == "keys" {
			_, ok := c.of.get(r.hash(v))
			return ok
		}
	}
	next := r.iterate(seq, "argument of type '%s' is not iterable")
	for {
		e, ok := next()
		if !ok {
			return false
		}
		if r.equal(e, v) {
			return true
		}
	}
}

// hash gives a dict key's hash, refusing what Python cannot hash.
func (r *run) hash(v Value) any {
	if bad := r.unhashable(v, 0); bad != "" {
		r.typeError("unhashable type: '%s'", bad)
	}
	return hashOf(v)
}

// unhashable names the type that keeps v from being a key; "" where it can be one.
func (r *run) unhashable(v Value, depth int) string {
	switch v := v.(type) {
	case string:
		r.work(len(v))
	case *List, *Object:
		return typeName(v)
	case Tuple:
		for _, e := range v {
			r.nestData(depth)
			r.alloc(int64(depth+1) * itemSize) // hashOf spells tuples, level by level
			if bad := r.unhashable(e, depth+1); bad != "" {
				return bad
			}
		}
	}
	return ""
}
