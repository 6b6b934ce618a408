package jinja

import (
	"math"
	"math/big"
	"strings"
)

// maxNest bounds recursion over data: comparing, hashing, printing.
const maxNest = 500

func (r *run) nestData(depth int) {
	if depth > maxNest {
		r.over("depth", maxNest)
	}
	r.step()
}

// arith applies a binary operator as Python does.
func (r *run) arith(op string, a, b Value) Value {
	if u, ok := a.(*undefined); ok {
		r.failUndefined(u)
	}
	if op == "%" {
		if format, ok := asString(a); ok {
			return r.printf(a, format, b)
		}
	}
	if u, ok := b.(*undefined); ok {
		r.failUndefined(u)
	}
	if v, ok := r.sequenceOp(op, a, b); ok {
		return v
	}
	x, isInt := asInt(a)
	y, isInt2 := asInt(b)
	if isInt && isInt2 {
		return r.intOp(op, x, y)
	}
	if x, ok := toBig(a); ok {
		if y, ok := toBig(b); ok {
			return r.bigOp(op, x, y)
		}
	}
	f, ok := asFloat(a)
	g, ok2 := asFloat(b)
	if ok && ok2 {
		return r.floatOp(op, f, g)
	}
	name := op
	if op == "**" {
		name = "** or pow()"
	}
	r.typeError("unsupported operand type(s) for %s: '%s' and '%s'", name, typeName(a), typeName(b))
	return nil
}

// sequenceOp is + and * where strings, lists or tuples take part.
func (r *run) sequenceOp(op string, a, b Value) (Value, bool) {
	switch op {
	case "+":
		s, isStr := asString(a)
		t, isStr2 := asString(b)
		switch {
		case isStr && isStr2:
			_, safe := a.(markup)
			_, safe2 := b.(markup)
			if safe || safe2 {
				return markup(r.str(r.escape(a) + r.escape(b))), true
			}
			return r.str(s + t), true
		case isStr:
			r.typeError(`can only concatenate str (not "%s") to str`, typeName(b))
		}
		switch x := a.(type) {
		case *List:
			y, ok := b.(*List)
			if !ok {
				r.typeError(`can only concatenate list (not "%s") to list`, typeName(b))
			}
			r.alloc(int64(len(x.items)+len(y.items)+2) * itemSize)
			items := make([]Value, 0, len(x.items)+len(y.items))
			return &List{append(append(items, x.items...), y.items...)}, true
		case Tuple:
			y, ok := b.(Tuple)
			if !ok {
				r.typeError(`can only concatenate tuple (not "%s") to tuple`, typeName(b))
			}
			r.alloc(int64(len(x)+len(y)+2) * itemSize)
			items := make([]Value, 0, len(x)+len(y))
			return Tuple(append(append(items, x...), y...)), true
		}
	case "*":
		seq, times := a, b
		if !isSequence(seq) {
			seq, times = b, a
		}
		if !isSequence(seq) {
			break
		}
		if _, ok := times.(*big.Int); ok {
			r.fail("OverflowError", "cannot fit 'int' into an index-sized integer")
		}
		n, ok := asInt(times)
		if !ok {
			r.typeError("can't multiply sequence by non-int of type '%s'", typeName(times))
		}
		return r.repeat(seq, max(n, 0)), true
	}
	return nil, false
}

func isSequence(v Value) bool {
	switch v.(type) {
	case string, markup, *List, Tuple:
		return true
	}
	return false
}

func (r *run) repeat(seq Value, n int64) Value {
	// Counted before it is made; the product can't wrap because both factors are held down first.
	n = min(n, math.MaxInt32)
	items := func(v []Value) []Value {
		r.alloc(min(int64(len(v)), math.MaxInt32) * itemSize * n)
		out := make([]Value, 0, len(v)*int(n))
		for ; n > 0 && len(v) > 0; n-- {
			out = append(out, v...)
		}
		return out
	}
	switch v := seq.(type) {
	case *List:
		return &List{items(v.items)}
	case Tuple:
		return Tuple(items(v))
	}
	s, _ := asString(seq)
	r.alloc(min(int64(len(s)), math.MaxInt32) * n)
	s = strings.Repeat(s, int(n))
	if _, safe := seq.(markup); safe {
		return markup(s)
	}
	return s
}

// intOp computes in 64 bits, and goes to bigOp where the result may not fit.
func (r *run) intOp(op string, x, y int64) Value {
	const small = 1 << 31
	switch op {
	case "+", "-":
		if z := x + y; op == "+" && (z > x) == (y > 0) {
			return z
		}
		if z := x - y; op == "-" && (z < x) == (y > 0) {
			return z
		}
	case "*":
		if -small < x && x < small && -small < y && y < small {
			return x * y
		}
	case "/":
		if y != 0 {
			return float64(x) / float64(y)
		}
	case "//", "%":
		if y == 0 || y == -1 {
			break
		}
		q, m := x/y, x%y
		if m != 0 && (m < 0) != (y < 0) {
			q, m = q-1, m+y
		}
		if op == "%" {
			return m
		}
		return q
	}
	return r.bigOp(op, big.NewInt(x), big.NewInt(y))
}

// maxBits bounds integers; Python refuses to print ones of more than maxDigits digits.
const maxBits = 1 << 14

// bigOp computes with integers of any size up to maxBits.
func (r *run) bigOp(op string, x, y *big.Int) Value {
	r.alloc(int64(x.BitLen()+y.BitLen()) / 8)
	z := new(big.Int)
	switch op {
	case "+":
		z.Add(x, y)
	case "-":
		z.Sub(x, y)
	case "*":
		z.Mul(x, y)
	case "/", "//", "%":
		if y.Sign() == 0 {
			message := map[string]string{"/": "division by zero", "//": "integer division or modulo by zero", "%": "integer modulo by zero"}
			r.fail("ZeroDivisionError", "%s", message[op])
		}
		if op == "/" {
			f, _ := new(big.Rat).SetFrac(x, y).Float64()
			if math.IsInf(f, 0) {
				r.fail("OverflowError", "integer division result too large for a float")
			}
			return f
		}
		m := new(big.Int)
		z.DivMod(x, y, m)
		// DivMod leaves a remainder that is never negative; Python's has the divisor's sign.
		if m.Sign() != 0 && y.Sign() < 0 {
			z.Sub(z, big.NewInt(1))
			m.Add(m, y)
		}
		if op == "%" {
			z = m
		}
	case "**":
		if y.Sign() < 0 {
			f, _ := asFloat(x)
			g, _ := asFloat(y)
			return r.floatOp(op, f, g)
		}
		if x.BitLen() > 1 && (!y.IsInt64() || y.Int64() > maxBits/int64(x.BitLen()-1)) {
			r.fail("OverflowError", "integer too large")
		}
		if x.BitLen() <= 1 && !y.IsInt64() {
			y = new(big.Int).And(y, big.NewInt(1))
			y.Add(y, big.NewInt(2)) // 0, 1 and -1 only care whether the exponent is odd
		}
		z.Exp(x, y, nil)
	}
	if z.BitLen() > maxBits {
		r.fail("OverflowError", "integer too large")
	}
	if z.IsInt64() {
		return z.Int64()
	}
	return z
}

func (r *run) floatOp(op string, x, y float64) Value {
	switch op {
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		if y == 0 {
			r.fail("ZeroDivisionError", "float division by zero")
		}
		return x / y
	case "//", "%":
		if y == 0 {
			message := "float floor division by zero"
			if op == "%" {
				message = "float modulo"
			}
			r.fail("ZeroDivisionError", "%s", message)
		}
		m := math.Mod(x, y)
		q := (x - m) / y
		switch {
		case m != 0 && (m < 0) != (y < 0):
			m += y
			q--
		case m == 0:
			m = math.Copysign(0, y)
		}
		if op == "%" {
			return m
		}
		if q == 0 {
			return math.Copysign(0, x/y)
		}
		if f := math.Floor(q); q-f <= 0.5 {
			return f
		} else {
			return f + 1
		}
	}
	if x == 0 && y < 0 {
		r.fail("ZeroDivisionError", "0.0 cannot be raised to a negative power")
	}
	if x < 0 && y != math.Trunc(y) {
		r.valueError("complex numbers are not supported")
	}
	z := math.Pow(x, y)
	if math.IsInf(z, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		r.fail("OverflowError", "(34, 'Numerical result out of range')")
	}
	return z
}

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
	r.checkHashable(v, 0)
	return hashOf(v)
}

func (r *run) checkHashable(v Value, depth int) {
	switch v := v.(type) {
	case string:
		r.work(len(v))
	case *List, *Object:
		r.typeError("unhashable type: '%s'", typeName(v))
	case Tuple:
		for _, e := range v {
			r.nestData(depth)
			r.alloc(int64(depth+1) * itemSize) // hashOf spells tuples, level by level
			r.checkHashable(e, depth+1)
		}
	}
}
