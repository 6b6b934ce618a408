package jinja

import (
	"math"
	"math/big"
	"strings"
)

// Python's arithmetic: on numbers, and + and * on strings, lists and tuples.

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
