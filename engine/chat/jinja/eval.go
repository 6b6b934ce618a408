package jinja

import "strings"

// How expressions get their values.

func (n *constExpr) eval(r *run, s *scope) Value {
	r.step()
	return n.v
}

func (n *nameExpr) eval(r *run, s *scope) Value {
	r.step()
	r.line = n.line
	return r.lookup(s, n.name)
}

func evalAll(r *run, s *scope, nodes []expr) []Value {
	vals := make([]Value, len(nodes))
	for i, n := range nodes {
		vals[i] = n.eval(r, s)
	}
	return vals
}

func (n *listExpr) eval(r *run, s *scope) Value {
	r.step()
	return r.list(evalAll(r, s, n.items))
}

func (n *tupleExpr) eval(r *run, s *scope) Value {
	r.step()
	r.alloc(int64(len(n.items)+2) * itemSize)
	return Tuple(evalAll(r, s, n.items))
}

func (n *dictExpr) eval(r *run, s *scope) Value {
	r.step()
	o := &Object{}
	for i := range n.keys {
		k := n.keys[i].eval(r, s)
		v := n.vals[i].eval(r, s)
		r.line = n.line
		r.setItem(o, k, v)
	}
	return o
}

// setItem stores under any hashable key, counted.
func (r *run) setItem(o *Object, k, v Value) {
	r.alloc(4 * itemSize)
	o.set(r.hash(k), k, v)
}

func (n *condExpr) eval(r *run, s *scope) Value {
	r.step()
	if truth(n.test.eval(r, s)) {
		return n.then.eval(r, s)
	}
	if n.other == nil {
		return &undefined{hint: "the inline if-expression evaluated to false and no else section was defined."}
	}
	return n.other.eval(r, s)
}

func (n *andExpr) eval(r *run, s *scope) (v Value) {
	for _, x := range n.items {
		r.step()
		if v = x.eval(r, s); !truth(v) {
			break
		}
	}
	return v
}

func (n *orExpr) eval(r *run, s *scope) (v Value) {
	for _, x := range n.items {
		r.step()
		if v = x.eval(r, s); truth(v) {
			break
		}
	}
	return v
}

func (n *notExpr) eval(r *run, s *scope) Value {
	r.step()
	return !truth(n.x.eval(r, s))
}

func (n *compareExpr) eval(r *run, s *scope) Value {
	left := n.first.eval(r, s)
	for i, op := range n.ops {
		r.step()
		right := n.rest[i].eval(r, s)
		r.line = n.line
		if !r.compare(op, left, right) {
			return false
		}
		left = right
	}
	return true
}

func (n *mathExpr) eval(r *run, s *scope) Value {
	v := n.first.eval(r, s)
	for i, op := range n.ops {
		r.step()
		right := n.rest[i].eval(r, s)
		r.line = n.line
		v = r.arith(op, v, right)
	}
	return v
}

func (n *concatExpr) eval(r *run, s *scope) Value {
	r.step()
	var parts []string
	size := 0
	for _, x := range n.items {
		t := r.text(x.eval(r, s))
		parts = append(parts, t)
		size += len(t)
	}
	r.alloc(int64(size))
	return strings.Join(parts, "")
}

func (n *signExpr) eval(r *run, s *scope) Value {
	r.step()
	v := n.x.eval(r, s)
	r.line = n.line
	op := "+"
	if n.neg {
		op = "-"
	}
	switch x := v.(type) {
	case *undefined:
		r.failUndefined(x)
	case float64:
		if n.neg {
			return -x
		}
		return x
	}
	if _, ok := toBig(v); !ok {
		r.typeError("bad operand type for unary %s: '%s'", op, typeName(v))
	}
	if n.neg {
		return r.arith("-", int64(0), v)
	}
	return r.arith("+", int64(0), v)
}

func (n *attrExpr) eval(r *run, s *scope) Value {
	r.step()
	v := n.x.eval(r, s)
	r.line = n.line
	return r.attr(v, n.name)
}

func (n *itemExpr) eval(r *run, s *scope) Value {
	r.step()
	v := n.x.eval(r, s)
	if sl, ok := n.key.(*sliceExpr); ok {
		var parts [3]Value
		for i, x := range []expr{sl.start, sl.stop, sl.step} {
			if x != nil {
				parts[i] = x.eval(r, s)
			}
		}
		r.line = n.line
		return r.slice(v, parts)
	}
	k := n.key.eval(r, s)
	r.line = n.line
	return r.item(v, k)
}

func (n *sliceExpr) eval(r *run, s *scope) Value {
	r.typeError("a slice can only stand alone between brackets")
	return nil
}

func (n *callExpr) eval(r *run, s *scope) Value {
	r.step()
	fn := n.fn.eval(r, s)
	a := n.args.eval(r, s)
	r.line = n.line
	return r.call(fn, a)
}

func (n *filterExpr) eval(r *run, s *scope) Value {
	r.step()
	v := n.x.eval(r, s)
	a := n.args.eval(r, s)
	r.line = n.line
	return r.filter(n.name, v, a)
}

func (n *testExpr) eval(r *run, s *scope) Value {
	r.step()
	v := n.x.eval(r, s)
	a := n.args.eval(r, s)
	r.line = n.line
	return r.test(n.name, v, a)
}

func (n *bodyExpr) eval(r *run, s *scope) Value {
	r.step()
	return r.capture(func() { r.leaving = execBody(r, &scope{parent: s}, n.body) })
}

// eval evaluates the arguments of a call and spreads * and **.
func (c *callArgs) eval(r *run, s *scope) arguments {
	var a arguments
	if len(c.pos) > 0 {
		a.pos = evalAll(r, s, c.pos)
	}
	for _, k := range c.kw {
		a.kw = append(a.kw, keyword{k.name, k.x.eval(r, s)})
	}
	if c.star != nil {
		a.pos = append(a.pos, r.items(c.star.eval(r, s))...)
	}
	if c.double != nil {
		o, ok := c.double.eval(r, s).(*Object)
		if !ok {
			r.typeError("argument after ** must be a mapping")
		}
		for i, k := range o.keys {
			name, ok := asString(k)
			if !ok {
				r.typeError("keywords must be strings")
			}
			r.alloc(itemSize)
			a.kw = append(a.kw, keyword{name, o.vals[i]})
		}
	}
	return a
}
